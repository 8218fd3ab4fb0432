# SPDX-License-Identifier: MIT
"""Runs each fuzzer for a fixed number of inputs, from its seeds and what it found before, and
compares random graphs (tests/fuzz/graph_fuzz.py).

The seeds of tests/fuzz/NAME_fuzz.cc are tests/fuzz/seeds/NAME/; what it finds goes to
BUILD/fuzz/corpus/NAME/, crashes to BUILD/fuzz/.
"""

import argparse
import os
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--runs", type=int, default=100000)
    parser.add_argument("--graphs", type=int, default=20000)
    parser.add_argument("fuzzers", nargs="*")
    options = parser.parse_args()
    failed = []
    for fuzzer in options.fuzzers:
        name = os.path.basename(fuzzer)
        folders = [os.path.join(options.build, "fuzz", "corpus", name)]
        os.makedirs(folders[0], exist_ok=True)
        seeds = os.path.join("tests", "fuzz", "seeds", name)
        folders += [seeds] if os.path.isdir(seeds) else []
        print("== %s: %d inputs" % (name, options.runs), flush=True)
        command = [fuzzer, "-runs=%d" % options.runs, "-timeout=10", "-rss_limit_mb=2048",
                   "-print_final_stats=1",
                   "-artifact_prefix=%s/fuzz/%s-" % (options.build, name)] + folders
        if subprocess.run(command).returncode != 0:
            failed.append(name)
    print("== graphs: %d" % options.graphs, flush=True)
    environment = dict(os.environ, CAMSHAFT_BUILD=os.path.abspath(options.build))
    command = [sys.executable, os.path.join("tests", "fuzz", "graph_fuzz.py"),
               "--graphs=%d" % options.graphs]
    if subprocess.run(command, env=environment).returncode != 0:
        failed.append("graphs")
    for name in failed:
        print("FAILED: %s" % name)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
