# SPDX-License-Identifier: MIT
"""Checks every kernel of networks under oclgrind, an OpenCL device that interprets kernels:
accesses out of bounds, data races, reads of memory that nobody wrote. Nightly: `scons
test-oclgrind`.

Each different launch of a plan runs alone, on buffers of exactly its arguments' sizes
(simulation.py), all work-groups of it or, with --quick, some. That each reads only what launches
before it have written follows from the plan (launches.check_arena) and from the whole check, which
finds what a kernel leaves unwritten. Kernels with planted faults are run first. What was run, and
the results, stay in BUILD/oclgrind.

What follows -- is for `camshaft compile`:

    build/venv/bin/python tools/oclgrind --quick net.onnx -- --dtype f16 --shape x=1x3x64x64
"""

import argparse
import json
import os
import shutil
import subprocess
import sys

from oclgrind.launches import Unsupported, read_launches
from oclgrind.planted import check_planted
from oclgrind.runs import run_all
from oclgrind.simulation import write_simulation

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NETWORKS = (
    os.path.join(ROOT, "models", "roadnet", "roadnet.onnx"),
    # A network of another project, which stands beside the checkout and is not part of it.
    os.path.join(os.path.dirname(ROOT), "shared", "models", "driver_monitoring.onnx"),
)


def prepare(compile_options, camshaft, networks, folder, is_whole):
    """Writes the simulations of networks and their list; sentences on the arenas."""
    checks, wrong = [], []
    for index, path in enumerate(networks):
        network = os.path.splitext(os.path.basename(path))[0]
        if any(os.path.basename(other) == os.path.basename(path) for other in networks[:index]):
            network += "_%d" % index
        plan = os.path.join(folder, network + ".plan")
        done = subprocess.run([camshaft, "compile", path, "--target", "opencl", "-o", plan,
                               *compile_options], check=False, capture_output=True, text=True)
        if done.returncode != 0:
            raise Unsupported(done.stderr)
        launches, problems = read_launches(camshaft, plan)
        os.remove(plan)
        wrong += ["%s: %s" % (network, problem) for problem in problems]
        for number, launch in enumerate(launches):
            name = "%s_%s_%03d" % (network, "whole" if is_whole else "quick", number)
            parts = write_simulation(launch, folder, name, is_whole)
            checks.append({"name": name, "kernel": launch.name, "parts": parts,
                           "of": launch.groups, "unit": "groups" if launch.group > 1 else "items",
                           "cost": parts * launch.cost // launch.groups})
        print("%-24s %d different launches" % (network, len(launches)), flush=True)
    if not checks:
        raise Unsupported("there is nothing to check")
    with open(os.path.join(folder, "list.json"), "w", encoding="utf-8") as f:
        json.dump(checks, f, indent=1)
    return wrong


def check(options, camshaft, networks, folder):
    """Everything; whether it is clean."""
    count, wrong = check_planted(folder)
    print("planted faults: %d, %d not found" % (count, len(wrong)), flush=True)
    for is_whole in ((False,) if options.quick else (False, True)):
        wrong += prepare(options.compile_options, camshaft, networks, folder, is_whole)
        out = os.path.join(folder, "whole.txt" if is_whole else "quick.txt")
        clean, dirty, late = run_all(folder, out, options.jobs)
        print("%s: %d clean, %d with findings" % ("whole" if is_whole else "quick", clean,
                                                  len(dirty)), flush=True)
        wrong += dirty + late
    for sentence in wrong:
        print("FAILED: " + sentence)
    return not wrong


def parse(arguments):
    """The options; compile_options is what follows --."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--quick", action="store_true",
                        help="only some work-groups: the first, the last, at borders, between")
    parser.add_argument("--prepare", metavar="FOLDER",
                        help="only write there what runs.py runs, elsewhere perhaps")
    parser.add_argument("networks", nargs="*", help="ONNX files; by default %s" % ", ".join(
        os.path.basename(path) for path in NETWORKS))
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser.parse_args(arguments[:end])
    options.compile_options = arguments[end + 1:]
    return options


def main(arguments):
    """0 where all is clean."""
    options = parse(arguments)
    camshaft = os.path.abspath(os.path.join(options.build, "camshaft"))
    networks = [os.path.abspath(path) for path in options.networks or NETWORKS]
    for path in [path for path in networks if not os.path.exists(path)]:
        if options.networks:
            return "%s: there is no such file" % path
        print("%s is not on this machine" % path)
        networks.remove(path)
    try:
        if options.prepare:
            os.makedirs(options.prepare, exist_ok=True)
            wrong = prepare(options.compile_options, camshaft, networks, options.prepare,
                            not options.quick)
            return "\n".join(wrong) or 0
        if shutil.which("oclgrind-kernel") is None:
            return "oclgrind is not on this machine: tools/setup.sh --oclgrind installs it"
        folder = os.path.abspath(os.path.join(options.build, "oclgrind"))
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        return 0 if check(options, camshaft, networks, folder) else 1
    except Unsupported as reason:
        return str(reason)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
