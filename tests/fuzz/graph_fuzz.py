#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Differential fuzzer: random graphs on the oracle, llvm, cpu and onnxruntime.

    graph_fuzz.py [--seed N] [--graphs N] [--jobs N] [--keep FILE]

Prints each disagreement with the smallest recipe that still has it and the graph in text, and ends
with a count; exit code 1 if there was any. With --keep, recipes are appended to a file.
"""

import argparse
import os
import sys
import time

import numpy as np
import onnx

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TESTS, "fuzz"), os.path.join(TESTS, "support")]

import graph_maker  # noqa: E402
import graph_ops  # noqa: E402
import graph_ops_attention  # noqa: E402
import graph_ops_control  # noqa: E402
import graph_ops_networks  # noqa: E402
import graph_ops_nn  # noqa: E402
import graph_ops_quantized  # noqa: E402
import graph_ops_rows  # noqa: E402
import graph_ops_vision  # noqa: E402
from graph_compare import Runner  # noqa: E402

OPERATORS = {name: make for family in (
    graph_ops, graph_ops_nn, graph_ops_vision, graph_ops_rows, graph_ops_control,
    graph_ops_quantized, graph_ops_attention, graph_ops_networks)
             for name, make in family.OPERATORS.items()}
MOST_STEPS = 8
CHUNK = 240  # graphs between two lines of progress


def random_recipe(seed):
    """The recipe that a seed stands for, as long as no operator is added."""
    rng = np.random.default_rng(seed)
    names = list(OPERATORS)
    weights = np.array([1.0 if n in graph_ops.OPERATORS else 3.0 for n in names])
    count = int(rng.integers(1, MOST_STEPS + 1))
    return seed, tuple(str(n) for n in rng.choice(names, count, p=weights / weights.sum()))


def make(recipe, number=0):
    """The graph of a recipe; `number` makes its names differ from other graphs'."""
    return graph_maker.make_graph(recipe, OPERATORS, "g%d_" % number)


def minimize(recipe, kind, runner):
    """A recipe with as few steps as still gives a verdict of that kind."""
    seed, names = recipe
    shrinking = True
    while shrinking and len(names) > 1:
        shorter = [names[:i] + names[i + 1:] for i in range(len(names))]
        graphs = [make((seed, n)) for n in shorter]
        shrinking = False
        for candidate, graph in zip(shorter, graphs):
            if graph.nodes and runner.compare([graph])[0].kind == kind:
                names, shrinking = candidate, True
                break
    return seed, names


def recipe_text(recipe):
    """A line of the file of recipes."""
    return "%d %s" % (recipe[0], " ".join(recipe[1]))


def parse_recipe(line):
    """The recipe of a line, or None for a comment."""
    words = line.split("#")[0].split()
    return (int(words[0]), tuple(words[1:])) if words else None


def report(recipe, verdict, runner, keep):
    """Prints a disagreement."""
    small = minimize(recipe, verdict.kind, runner)
    graph = make(small)
    [again] = runner.compare([graph])
    print("\n%s\n  %s: %s\n%s" % (recipe_text(small), verdict.kind, again.text or verdict.text,
                                  onnx.printer.to_text(graph_maker.to_model([graph]))), flush=True)
    if keep:
        with open(keep, "a", encoding="utf-8") as f:
            f.write("%s  # %s: %s\n" % (recipe_text(small), verdict.kind, again.text[:200]))


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--graphs", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep")
    options = parser.parse_args(arguments)
    runner = Runner(options.jobs)
    start, done, wrong, peers = time.monotonic(), 0, 0, 0
    for first in range(options.seed, options.seed + options.graphs, CHUNK):
        last = min(first + CHUNK, options.seed + options.graphs)
        recipes = [random_recipe(seed) for seed in range(first, last)]
        graphs = [(r, make(r, i)) for i, r in enumerate(recipes)]
        graphs = [(r, g) for r, g in graphs if g.nodes]
        for (recipe, _), verdict in zip(graphs, runner.compare([g for _, g in graphs])):
            peers += verdict.peers > 0
            if verdict.kind:
                wrong += 1
                report(recipe, verdict, runner, options.keep)
        done += len(graphs)
        print("seeds %d to %d: %d graphs, %d confirmed by onnxruntime, %d disagreements, %.0f s" % (
            options.seed, last - 1, done, peers, wrong, time.monotonic() - start), flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
