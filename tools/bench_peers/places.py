# SPDX-License-Identifier: MIT
"""Where things are: the repository, the build, the other engines."""

import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("CAMSHAFT_BUILD", os.path.join(ROOT, "build")))
CAMSHAFT = os.path.join(BUILD, "camshaft")
DEVICE_CAMSHAFT = os.path.join(BUILD, "runtime", "camshaft")
LIBRARY = os.path.join(BUILD, "runtime", "libcamshaft.so")
CONFORMANCE = os.path.join(BUILD, "tools", "reference", "conformance")
# Made by tools/setup.sh, whatever the build folder: packages with networks, and the environment of
# the other engines.
PACKAGES = os.path.join(ROOT, "build", "networks")
PEERS = os.path.join(ROOT, "build", "peers")
PEERS_PYTHON = os.path.join(PEERS, "bin", "python")


class Absent(Exception):
    """An engine, a network or a tool is not on this machine. The text is one sentence."""


def package_file(*parts):
    """A file of an installed package with networks."""
    return os.path.join(PACKAGES, *parts)


def one_sentence(text, limit=240):
    """The last line of a text that says something, shortened: for a cell or a line of a table."""
    lines = [" ".join(line.split()) for line in str(text).splitlines() if line.strip()]
    last = lines[-1] if lines else "it gave no reason"
    return last if len(last) <= limit else last[:limit - 3] + "..."
