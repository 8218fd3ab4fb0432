#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs an ONNX model with ONNX Runtime on the CPU: the reference of `camshaft compare`.

    ort_run.py MODEL.onnx --inputs in.npz --outputs out.npz [--threads N] [--time N]

Reads each graph input by its name and writes each graph output by its name. Inputs that have a
default may be left out. With --time, runs N
times more and prints one line of JSON: session_ms (creation), first_ms (first run), p50_ms, p99_ms.
"""

import argparse
import json
import sys
import time

import numpy as np
import onnxruntime


def milliseconds_since(start):
    return (time.perf_counter() - start) * 1e3


def open_session(path, threads):
    """A session that uses the given number of threads and no other."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def select_inputs(session, path):
    """The graph's inputs from an .npz file; other arrays in it are an error."""
    needed = {i.name for i in session.get_inputs()}
    known = needed | {i.name for i in session.get_overridable_initializers()}
    with np.load(path) as arrays:
        given = set(arrays.files)
        if not needed <= given <= known:
            raise ValueError("%s holds %s, the model's inputs are %s" % (
                path, sorted(given), sorted(known)))
        return {name: arrays[name] for name in sorted(given)}


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--inputs", required=True)
    parser.add_argument("--outputs", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--time", type=int, default=0, metavar="N")
    return parser.parse_args(arguments)


def main(arguments):
    options = parse(arguments)
    start = time.perf_counter()
    session = open_session(options.model, options.threads)
    timing = {"session_ms": milliseconds_since(start)}
    inputs = select_inputs(session, options.inputs)
    start = time.perf_counter()
    results = session.run(None, inputs)
    timing["first_ms"] = milliseconds_since(start)
    # A file object keeps numpy from appending ".npz" to the given name.
    with open(options.outputs, "wb") as f:
        np.savez(f, **{o.name: r for o, r in zip(session.get_outputs(), results)})
    if options.time > 0:
        runs = []
        for _ in range(options.time):
            start = time.perf_counter()
            session.run(None, inputs)
            runs.append(milliseconds_since(start))
        timing["p50_ms"], timing["p99_ms"] = (float(np.percentile(runs, p)) for p in (50, 99))
        print(json.dumps({name: round(ms, 4) for name, ms in timing.items()}))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (ValueError, OSError, RuntimeError) as error:
        print("ort_run: %s" % error, file=sys.stderr)
        sys.exit(2)
