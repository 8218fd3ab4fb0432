# SPDX-License-Identifier: MIT
"""Runs the benchmarks one after another: C++ programs, then tools/bench_peers."""

import argparse
import os
import shlex
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--args", default="", help="arguments of every C++ program")
    parser.add_argument("--peers-args", default="", help="arguments of tools/bench_peers")
    parser.add_argument("binaries", nargs="*")
    options = parser.parse_args()
    env = dict(os.environ, CAMSHAFT_BUILD=os.path.abspath(options.build),
               CAMSHAFT_BIN=os.path.abspath(os.path.join(options.build, "camshaft")))
    commands = [[binary, *shlex.split(options.args)] for binary in options.binaries]
    commands.append([sys.executable, "tools/bench_peers", *shlex.split(options.peers_args)])
    failed = []
    for command in commands:
        print("== %s" % " ".join(command), flush=True)
        if subprocess.run(command, env=env).returncode != 0:
            failed.append(command[0])
    for name in failed:
        print("FAILED: %s" % name)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
