# SPDX-License-Identifier: MIT
"""Prints the sizes of the device build and fails where a limit or a dependency is broken."""

import os
import subprocess
import sys

LIMITS = {"camshaft": 4 << 20, "libcamshaft.so": 1 << 20}
# Parts of the C library itself; a device needs nothing else.
C_LIBRARY = ("libc.so", "libm.so", "libdl.so", "libpthread.so", "librt.so", "ld-linux")


def needed_libraries(path):
    """The shared libraries that a file asks the loader for."""
    dump = subprocess.run(["readelf", "-dW", path], capture_output=True, text=True, check=True)
    return [line.split("[")[1].rstrip("]") for line in dump.stdout.splitlines()
            if "(NEEDED)" in line]


def problems(path, limit):
    """What is wrong with one file, a sentence each."""
    size = os.path.getsize(path)
    if size > limit:
        yield "%s has %d bytes, the limit is %d" % (path, size, limit)
    for library in needed_libraries(path):
        if not library.startswith(C_LIBRARY):
            yield "%s needs %s, but a device has only the C library" % (path, library)


def main(folder):
    found = []
    for name, limit in LIMITS.items():
        path = os.path.join(folder, name)
        if os.path.exists(path):
            print("%-28s %9d bytes, limit %d" % (path, os.path.getsize(path), limit))
            found += problems(path, limit)
    for problem in found:
        print("error: " + problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
