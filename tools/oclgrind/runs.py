# SPDX-License-Identifier: MIT
"""Runs prepared simulations (see simulation.py) under oclgrind, a process each, longest first, and
writes a line for each as it ends. Needs this file, the folder, python3 and oclgrind-kernel:

    python3 runs.py FOLDER --out RESULTS [--jobs N] [--limit SECONDS] [--program OCLGRIND-KERNEL]

FOLDER/list.json lists them. What RESULTS has already is not run again, so that a run which was
ended by its limit is continued by the same command.
"""

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

SHOWN_LINES = 40  # of a log with findings
# Its detector of uninitialised values doesn't know what the optimiser makes of a kernel, so kernels
# are compiled as written. Two groups that store the same value race, too.
SETTINGS = {"OCLGRIND_" + name: value for name, value in {
    "DATA_RACES": "1", "UNIFORM_WRITES": "1", "UNINITIALIZED": "1", "NUM_THREADS": "1",
    "BUILD_OPTIONS": "-cl-opt-disable"}.items()}


@dataclass
class Outcome:
    """What oclgrind said: the first line of each finding, the log; seconds."""

    findings: list
    log: str
    seconds: float


def unwritten_words(lines):
    """How many words of the buffers that oclgrind-kernel printed still hold the pattern."""
    return sum(1 for line in lines if line.rstrip().endswith("= 0x7fa5a5a5"))


def run_simulation(folder, name, program="oclgrind-kernel", timeout=None):
    """Runs FOLDER/NAME.sim. subprocess.TimeoutExpired after `timeout` seconds."""
    start = time.monotonic()
    with tempfile.NamedTemporaryFile() as log:
        with subprocess.Popen([program, name + ".sim"], cwd=folder, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                              env={**os.environ, **SETTINGS, "OCLGRIND_LOG": log.name}) as child:
            try:
                output, _ = child.communicate(timeout=timeout)
            except BaseException:
                child.kill()
                raise
        log.seek(0)
        text = log.read().decode(errors="replace")
    lines = output.splitlines()
    findings = re.findall(r"^\S.*", text, re.MULTILINE)
    if child.returncode != 0:
        findings.append("oclgrind-kernel ended with %d: %s" % (child.returncode, output[-300:]))
    elif unwritten_words(lines):
        findings.append("%d words of what it writes are not written" % unwritten_words(lines))
    return Outcome(findings, text, time.monotonic() - start)


def describe(check, outcome):
    """The lines of a result."""
    text = "%s\t%s\t%d of %d %s\t%d findings\t%.1f s\n" % (
        check["name"], check["kernel"], check["parts"], check["of"], check["unit"],
        len(outcome.findings), outcome.seconds)
    shown = outcome.findings + outcome.log.splitlines() if outcome.findings else []
    return text + "".join("    %s\n" % line for line in shown[:SHOWN_LINES])


def names_in(path):
    """Those that a file of results has."""
    if not os.path.exists(path):
        return set()
    with open(path, encoding="utf-8") as f:
        return {line.split("\t")[0] for line in f if not line.startswith(" ")}


def run_all(folder, out, jobs, limit_s=None, program="oclgrind-kernel"):
    """Runs what `out` lacks: (how many were clean, the names with findings, those not run for want
    of time)."""
    with open(os.path.join(folder, "list.json"), encoding="utf-8") as f:
        checks = json.load(f)
    done = names_in(out)
    checks = sorted((c for c in checks if c["name"] not in done), key=lambda c: -c["cost"])
    end = time.monotonic() + limit_s if limit_s else None
    clean, dirty, late = 0, [], []

    def run(check):
        left = None if end is None else end - time.monotonic()
        if left is not None and left <= 0:
            return None
        try:
            return run_simulation(folder, check["name"], program, left)
        except subprocess.TimeoutExpired:
            return None

    with open(out, "a", encoding="utf-8") as f, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(run, check): check for check in checks}
        for future in concurrent.futures.as_completed(running):
            check, outcome = running[future], future.result()
            if outcome is None:
                late.append(check["name"])
                continue
            clean += not outcome.findings
            dirty += [check["name"]] if outcome.findings else []
            f.write(describe(check, outcome))
            f.flush()
            print("[%d/%d] %s" % (clean + len(dirty), len(checks), describe(check, outcome)),
                  end="", flush=True)
    return clean, dirty, late


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--out", required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=float, help="seconds after which all is ended")
    parser.add_argument("--program", default="oclgrind-kernel")
    options = parser.parse_args()
    clean, dirty, late = run_all(options.folder, options.out, options.jobs, options.limit,
                                 options.program)
    print("%d clean, %d with findings, %d not run in time" % (clean, len(dirty), len(late)))
    return 0 if not dirty and not late else 1


if __name__ == "__main__":
    sys.exit(main())
