# SPDX-License-Identifier: MIT
"""Runs the benchmarks one after another: C++ programs, and tests/perf/*_bench.py."""

import argparse
import glob
import os
import shlex
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--args", default="", help="arguments of every benchmark")
    parser.add_argument("binaries", nargs="*")
    options = parser.parse_args()
    env = dict(os.environ, CAMSHAFT_BUILD=os.path.abspath(options.build),
               CAMSHAFT_BIN=os.path.abspath(os.path.join(options.build, "camshaft")))
    scripts = sorted(glob.glob("tests/perf/*_bench.py"))
    failed = []
    for command in [[b] for b in options.binaries] + [[sys.executable, s] for s in scripts]:
        print("== %s" % command[-1], flush=True)
        if subprocess.run(command + shlex.split(options.args), env=env).returncode != 0:
            failed.append(command[-1])
    for name in failed:
        print("FAILED: %s" % name)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
