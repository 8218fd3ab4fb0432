# SPDX-License-Identifier: MIT
"""Runs every kernel of networks under oclgrind: accesses out of bounds, data races, reads of memory
that nobody wrote. Nightly: `scons test-oclgrind`. Kernels with planted faults are run first, to see
that these are found.

oclgrind is an OpenCL device that interprets kernels, so a network takes long. Its detector of
uninitialised values doesn't know what the optimiser makes, so kernels are compiled as written.
"""

import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import time

DRIVERS = ("/usr/lib/oclgrind/liboclgrind-rt-icd.so", "/usr/lib/*/oclgrind/liboclgrind-rt-icd.so")
SHOWN = 4000  # characters of a log with findings

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NETWORKS = (
    os.path.join(ROOT, "models", "roadnet", "roadnet.onnx"),
    # A network of another project, which stands beside the checkout and is not part of it.
    os.path.join(os.path.dirname(ROOT), "shared", "models", "driver_monitoring.onnx"),
)

# What a kernel of 64 items does to 64 numbers, and what must be said of it.
PLANTED = {
    "out[i] = in[i + 1];": "Invalid read",
    "out[i + 1] = in[i];": "Invalid write",
    "out[i / 2] = in[i] + i;": "data race",
    "local float t[64]; t[i] = in[i]; out[i] = t[63 - i];": "Uninitialized value",
    "float x; if (in[i] > 2) x = 1; out[i] = x > 0 ? 1 : 2;": "Uninitialized value",
}
HARMLESS = "local float t[64]; t[i] = in[i]; barrier(CLK_LOCAL_MEM_FENCE); out[i] = t[63 - i];"


def find_driver():
    """The path of oclgrind's driver."""
    found = [path for pattern in DRIVERS for path in glob.glob(pattern)]
    if not found:
        sys.exit("oclgrind is not on this machine: tools/setup.sh --oclgrind installs it")
    return found[0]


def environment(folder, log, quick):
    """What makes oclgrind the only OpenCL device, with all of its checks."""
    vendors = os.path.join(folder, "oclgrind.icd")
    with open(vendors, "w", encoding="utf-8") as f:
        f.write(find_driver() + "\n")
    # Where most groups don't run, what the next kernel reads has no value.
    names = ("DATA_RACES", "CHECK_API", "QUICK" if quick else "UNINITIALIZED")
    checks = {"OCLGRIND_" + name: "1" for name in names}
    return {**os.environ, **checks, "OCL_ICD_VENDORS": vendors, "OCLGRIND_LOG": log,
            # More than one, so that each kernel is a launch of its own.
            "OCLGRIND_COMPUTE_UNITS": "4", "OCLGRIND_NUM_THREADS": str(os.cpu_count()),
            "OCLGRIND_BUILD_OPTIONS": "-cl-opt-disable"}


def run(command, folder, quick=False):
    """Runs a command on oclgrind: (what it found, the log, seconds)."""
    log = os.path.join(folder, "log")
    with open(log, "w", encoding="utf-8"):
        pass
    start = time.monotonic()
    done = subprocess.run(command, env=environment(folder, log, quick), capture_output=True,
                          text=True, check=False, stdin=subprocess.DEVNULL, cwd=folder)
    seconds = time.monotonic() - start
    with open(log, encoding="utf-8", errors="replace") as f:
        text = f.read()
    if done.returncode != 0:
        sys.exit("%s ended with %d: %s%s" % (" ".join(command), done.returncode,
                                             done.stderr[-SHOWN:], text[-SHOWN:]))
    return re.findall(r"^\S.*", text, re.MULTILINE), text, seconds


def check_planted(folder):
    """Sentences about planted faults that were not found."""
    wrong = []
    for body, wanted in {**PLANTED, HARMLESS: None}.items():
        with open(os.path.join(folder, "planted.cl"), "w", encoding="utf-8") as f:
            f.write("kernel void planted(global const float* in, global float* out) {\n"
                    "  const int i = get_global_id(0);\n  %s\n}\n" % body)
        with open(os.path.join(folder, "planted.sim"), "w", encoding="utf-8") as f:
            f.write("planted.cl\nplanted\n64 1 1\n64 1 1\n<size=256 float fill=1>\n"
                    "<size=256 float fill=0>\n")
        found, _, _ = run(["oclgrind-kernel", "planted.sim"], folder)
        is_right = not found if wanted is None else any(wanted in line for line in found)
        if not is_right:
            wrong.append("'%s' should give %r, and gives %s" % (body, wanted, found[:3]))
    return wrong


def check_network(camshaft, path, folder, quick):
    """Whether a network is clean; prints what was found."""
    plan = os.path.join(folder, "network.plan")
    subprocess.run([camshaft, "compile", path, "--target", "opencl", "-o", plan], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    shown = subprocess.run([camshaft, "inspect", plan, "--json"], check=True, capture_output=True,
                           text=True).stdout
    kernels = json.loads(shown)["targets"][0]["kernels"]
    found, text, seconds = run([camshaft, "run", plan, "--device", "opencl:0", "--random"], folder,
                               quick)
    print("%-40s %4d kernels, %d findings, %.0f s" % (os.path.basename(path), kernels, len(found),
                                                      seconds), flush=True)
    if found:
        print(text[:SHOWN], flush=True)
    return not found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--quick", action="store_true",
                        help="only the first and the last work-group of each launch, and without "
                             "the check of uninitialised values")
    parser.add_argument("networks", nargs="*", help="ONNX files; by default %s" % ", ".join(
        os.path.basename(path) for path in NETWORKS))
    options = parser.parse_args()
    camshaft = os.path.abspath(os.path.join(options.build, "camshaft"))
    with tempfile.TemporaryDirectory() as folder:
        wrong = check_planted(folder)
        print("planted faults: %d, %d not found" % (len(PLANTED), len(wrong)), flush=True)
        for sentence in wrong:
            print("  " + sentence)
        is_clean = not wrong
        for path in options.networks or NETWORKS:
            if not os.path.exists(path):
                print("%s is not on this machine" % path)
                continue
            is_clean = check_network(camshaft, os.path.abspath(path), folder,
                                     options.quick) and is_clean
    return 0 if is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
