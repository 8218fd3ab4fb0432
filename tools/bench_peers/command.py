# SPDX-License-Identifier: MIT
"""Camshaft beside other engines on the same networks, interleaved, each at its documented best
settings for latency at batch 1 in float32.

    build/venv/bin/python tools/bench_peers                          all networks, one thread
    build/venv/bin/python tools/bench_peers --networks resnet18,vit_tiny --threads 1,2
    build/venv/bin/python tools/bench_peers --networks my/net.onnx --shape x=1x3x224x224
    build/venv/bin/python tools/bench_peers --rounds 5 --least 100   a p99 in each round; takes long
    build/venv/bin/python tools/bench_peers --loading                opening, memory, idle time

Times are from inputs in an engine's memory to outputs in the process's. Engines run in processes of
their own, pinned alike and stopped while another one is timed. "to best": the median over rounds of
an engine's time divided by the best peer's, marked *. "p99/p50": the median over rounds, too; of
a burst with fewer than 100 runs p99 is the slowest. "of peak": direct arithmetic divided by the
measured multiply-add peak; Winograd needs less. "error": the largest against the double-precision
oracle, 1 being rtol 1e-3, atol 1e-4; what is beyond is marked !. An engine that is absent or fails
gets one sentence.
"""

import argparse
import json
import os
import sys

from bench_peers import loading, rounds, subjects, table
from bench_peers.places import BUILD, Absent
from bench_peers.roster import DEFAULT, ROSTER
from buildsys.targets import near


def names_out_of(known):
    """An argument type: names by commas out of those that are known."""
    def parse(text):
        names = text.split(",")
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError("%s is none of %s" % (name, ", ".join(known)))
        return names
    return parse


def numbers(text):
    """An argument type: numbers by commas."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError("%s: numbers by commas" % text) from None


def shape(text):
    """An argument type: NAME=1x3x224x224, as (name, extents)."""
    name, _, extents = text.rpartition("=")
    parts = extents.split("x") if extents else []
    if not name or not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise argparse.ArgumentTypeError("%s: write NAME=1x3x224x224" % text)
    return name, [int(part) for part in parts]


def networks(names, shapes, known):
    """The subjects by these names or files. Raises ValueError: what is wrong."""
    found = []
    for name in names:
        if name not in known and not name.endswith(".onnx"):
            raise ValueError("%s%s is none of %s, and no path to an ONNX file" % (
                name, near(name, known), ", ".join(known)))
        found.append(known[name] if name in known else subjects.file_subject(name, shapes))
    for name in shapes:
        if not any(name in subject.shapes for subject in found):
            raise ValueError("--shape %s: no file among the networks has an input of that name" %
                             name)
    return found


def parse(arguments, known):
    """The options, their networks as subjects; ends the process where they are wrong."""
    parser = argparse.ArgumentParser(prog="bench_peers", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", type=lambda text: text.split(","), default=list(known),
                        help="by commas, or paths to ONNX files; all: %s" % ", ".join(known))
    parser.add_argument("--shape", type=shape, action="append", default=[], metavar="NAME=SHAPE",
                        help="of an input of a file, as in x=1x3x224x224; its values are random")
    parser.add_argument("--peers", type=names_out_of(ROSTER), default=DEFAULT,
                        help="engines by commas, of %s (%s)" % (", ".join(ROSTER),
                                                               "default: all but camshaft_cpu"))
    parser.add_argument("--threads", type=numbers, default=[1], help="such as 1,2 (default 1)")
    parser.add_argument("--cpus", type=numbers, default=sorted(os.sched_getaffinity(0))[::-1],
                        help="for the threads, in this order (default: the last ones)")
    parser.add_argument("--rounds", type=int, default=7, help="default 7")
    parser.add_argument("--seconds", type=float, default=0.25, help="of a burst (default 0.25)")
    parser.add_argument("--least", type=int, default=3, help="runs of a burst (default 3)")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall",
                        help="cpu: time on a core, for one thread on a busy machine")
    parser.add_argument("--priority", type=int, default=0, metavar="1..99",
                        help="run all engines with SCHED_RR at this priority")
    parser.add_argument("--beam", type=int, default=0, help="tinygrad's BEAM; takes long")
    parser.add_argument("--loading", action="store_true",
                        help="opening, first run, memory, idle time, instead of runs")
    parser.add_argument("--json", metavar="FILE", help="write all figures there")
    parser.add_argument("--markdown", action="store_true", help="also print a table for documents")
    options = parser.parse_args(arguments)
    if min(options.threads) < 1 or max(options.threads) > len(options.cpus):
        parser.error("--threads %s: there are %d CPUs" % (options.threads, len(options.cpus)))
    if not 0 <= options.priority <= 99:
        parser.error("--priority %d: from 1 to 99" % options.priority)
    if options.clock == "cpu" and options.threads != [1]:
        parser.error("--clock cpu adds up threads: it is for --threads 1")
    try:
        options.networks = networks(options.networks, dict(options.shape), known)
    except ValueError as wrong:
        parser.error(str(wrong))
    return options


class Progress:
    """A line on a terminal, written over; nothing elsewhere."""

    def __init__(self):
        self._is_terminal = sys.stderr.isatty()

    def __call__(self, text):
        if self._is_terminal:
            sys.stderr.write("\r\033[K" + text)
            sys.stderr.flush()

    def print(self, text):
        """A result."""
        self("")
        print(text, flush=True)


def each(options, progress):
    """(prepared subject, settings) of all that is to be measured; says what is absent."""
    for subject in options.networks:
        try:
            prepared = subjects.prepare(subject, os.path.join(BUILD, "bench"))
        except Absent as absent:
            progress.print("%s: %s\n" % (subject.name, absent))
            continue
        for threads in options.threads:
            yield prepared, rounds.Settings(threads, tuple(options.cpus[:threads]), options.rounds,
                                            options.seconds, options.least, beam=options.beam,
                                            clock=options.clock, priority=options.priority)


def measure_all(options, progress):
    """Prints a table a network; returns the document for --json."""
    outcomes = []
    for prepared, settings in each(options, progress):
        outcomes.append(rounds.measure(prepared, options.peers, settings, progress))
        progress.print(table.outcome_text(outcomes[-1]))
    for threads in options.threads:
        progress.print(table.summary_text([o for o in outcomes if o.threads == threads]))
    if options.markdown:
        progress.print(table.markdown(outcomes, options.peers))
    return table.as_json(outcomes)


def load_all(options, progress):
    """As measure_all, for --loading."""
    rows = []
    for prepared, settings in each(options, progress):
        rows += loading.measure(options.peers, prepared, settings, progress)
        progress.print(loading.network_text(rows[-len(options.peers):]))
    progress.print("\n" + loading.text(rows))
    return {"loading": [row.as_json() for row in rows]}


def main(arguments):
    """0 where everything was tried."""
    options = parse(arguments, subjects.all_subjects())
    progress = Progress()
    document = (load_all if options.loading else measure_all)(options, progress)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump(document, f, indent=1)
    return 0
