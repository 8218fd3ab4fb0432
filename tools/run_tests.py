# SPDX-License-Identifier: MIT
"""Runs all tests and closes with one line: N passed, N failed.

Catch2 binaries come as arguments. Found by name: tests/**/*_test.py (unittest), tests/must_fail/*.cc
(files that must not compile, see _must_fail), and tools/check_deps. No test is timed; a watchdog
ends one that hangs, and counts it as failed.
"""

import argparse
import concurrent.futures
import glob
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml
from dataclasses import dataclass

TOOLS = os.path.dirname(os.path.abspath(__file__))
WATCHDOG_S = {"test": 600, "test-long": 3600}
TAIL_CHARACTERS = 6000


@dataclass
class Outcome:
    """The result of one program: cases that passed and failed, and what to show of the failures."""

    name: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    text: str = ""


@dataclass
class Finished:
    """What a child process left."""

    code: int
    output: str


def run_child(command, options, extra_env=None):
    """Runs a command in its own process group under the watchdog."""
    env = dict(os.environ, CAMSHAFT_BUILD=os.path.abspath(options.build),
               CAMSHAFT_BIN=os.path.abspath(os.path.join(options.build, "camshaft")),
               CAMSHAFT_CXX=options.cxx, PYTHONDONTWRITEBYTECODE="1", **(extra_env or {}))
    if options.kind == "test-long":
        env["CAMSHAFT_TEST_LONG"] = "1"
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             stdin=subprocess.DEVNULL, env=env, start_new_session=True)
    try:
        output = child.communicate(timeout=options.watchdog)[0]
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        output = child.communicate()[0] + b"\nended by the watchdog: it hung\n"
    return Finished(child.returncode, output.decode(errors="replace"))


def catch_binary(path, options):
    """One Catch2 binary. A test case without an assertion fails."""
    outcome = Outcome(os.path.basename(path))
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.xml")
        spec = ["[long]"] if options.kind == "test-long" else []
        done = run_child([path, "-r", "junit", "-o", report, "-w", "NoAssertions"] + spec, options)
        try:
            cases = list(xml.parse(report).iter("testcase"))
        except (OSError, xml.ParseError):
            cases = []
    for case in cases:
        faults = case.findall("failure") + case.findall("error")
        outcome.failed += 1 if faults else 0
        outcome.passed += 0 if faults else 1
        for fault in faults:
            outcome.text += "  %s\n%s\n" % (case.get("name"), (fault.text or "").strip())
    if not cases and options.kind == "test-long" and done.code == 0:
        return outcome
    if (done.code != 0 and not outcome.failed) or not cases:
        outcome.failed += 1
        outcome.text += "  exit code %d, %d cases reported\n%s" % (done.code, len(cases),
                                                                   done.output[-TAIL_CHARACTERS:])
    return outcome


def python_file(path, options):
    """One file of unittest cases, through tools/buildsys/unittest_file.py."""
    outcome = Outcome(os.path.relpath(path))
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        done = run_child([sys.executable, os.path.join(TOOLS, "buildsys", "unittest_file.py"), path,
                          report], options)
        counts = {}
        if os.path.exists(report):
            with open(report, encoding="utf-8") as f:
                counts = json.load(f)
    outcome.passed, outcome.failed = counts.get("passed", 0), counts.get("failed", 0)
    outcome.skipped = counts.get("skipped", 0)
    if not counts or (done.code != 0 and not outcome.failed):
        outcome.failed += 1
    if outcome.failed:
        outcome.text = done.output[-TAIL_CHARACTERS:]
    return outcome


def must_fail(path, options):
    """A file that must not compile, for the reason in its line `// must-fail: REGULAR EXPRESSION`."""
    outcome = Outcome(os.path.relpath(path))
    with open(path, encoding="utf-8") as f:
        reason = re.search(r"^// must-fail: (.+)$", f.read(), re.MULTILINE)
    done = run_child([options.cxx, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wshadow",
                      "-Werror", "-Wthread-safety", "-fno-exceptions", "-fno-rtti", "-I.",
                      "-I" + os.path.join(options.build, "gen"), path], options)
    if reason and done.code == 1 and re.search(reason[1], done.output):
        outcome.passed = 1
    else:
        outcome.failed = 1
        outcome.text = "  expected a compile error like: %s\n%s" % (
            reason[1] if reason else "(no must-fail line)", done.output[-TAIL_CHARACTERS:])
    return outcome


def check_deps(_, options):
    """The dependency checker over the tree."""
    done = run_child([sys.executable, os.path.join(TOOLS, "check_deps"), "."], options)
    return Outcome("check_deps", int(done.code == 0), int(done.code != 0),
                   text="" if done.code == 0 else done.output)


def jobs_to_run(options):
    """All (function, path) pairs, slow ones first."""
    jobs = [(python_file, p) for p in sorted(glob.glob("tests/**/*_test.py", recursive=True))]
    jobs += [(catch_binary, p) for p in options.binaries]
    if options.kind == "test":
        jobs += [(must_fail, p) for p in sorted(glob.glob("tests/must_fail/*.cc"))]
        jobs.append((check_deps, "check_deps"))
    return [(f, p) for f, p in jobs if options.filter in p]


def timed(job, options):
    """A job's outcome and the seconds that it took, beside whatever else ran."""
    function, path = job
    start = time.monotonic()
    outcome = function(path, options)
    return outcome, time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=sorted(WATCHDOG_S), default="test")
    parser.add_argument("--build", default="build", help="folder of this configuration's programs")
    parser.add_argument("--jobs", "-j", type=int, default=1)
    parser.add_argument("--cxx", default="clang++-19")
    parser.add_argument("--filter", default="", help="only tests whose path holds this text")
    parser.add_argument("--watchdog", type=float, help="seconds until a program counts as hung")
    parser.add_argument("binaries", nargs="*")
    options = parser.parse_args()
    options.watchdog = options.watchdog or WATCHDOG_S[options.kind]
    jobs = jobs_to_run(options)
    outcomes = []
    with concurrent.futures.ThreadPoolExecutor(max(1, options.jobs)) as pool:
        running = [pool.submit(timed, job, options) for job in jobs]
        for done in concurrent.futures.as_completed(running):
            outcome, seconds = done.result()
            outcomes.append(outcome)
            print("[%d/%d] %-40s %4d passed, %d failed %6.0f s" % (
                len(outcomes), len(jobs), outcome.name, outcome.passed, outcome.failed, seconds),
                  flush=True)
            if outcome.text:
                print(outcome.text, flush=True)
    failed = sum(o.failed for o in outcomes)
    skipped = sum(o.skipped for o in outcomes)
    for outcome in outcomes:
        if outcome.failed:
            print("FAILED: %s" % outcome.name)
    passed = sum(o.passed for o in outcomes)
    print("%d passed, %d failed%s" % (passed, failed, ", %d skipped" % skipped if skipped else ""))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
