#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs an ONNX model with ONNX Runtime on the CPU: the reference of `camshaft compare`.

    ort_run.py MODEL.onnx --inputs in.npz --outputs out.npz [--threads N] [--time N]

Reads each graph input by its name and writes each graph output by its name. Inputs that have a
default may be left out. With --time, runs N times more and prints one line of JSON: session_ms
(creation), first_ms (first run), p50_ms, p99_ms. A failure is one line, "ort_run: " and a sentence.
"""

import argparse
import json
import sys
import time

try:
    import numpy as np
    import onnxruntime
except ImportError as missing:
    print("ort_run: %s has no %s: run tools/setup.sh, or name another Python in CAMSHAFT_PYTHON" % (
        sys.executable, missing.name or missing), file=sys.stderr)
    sys.exit(2)

# The element types that .npz files have, as ONNX Runtime and as plans call them.
TYPES = {"tensor(float)": ("float32", "f32"), "tensor(double)": ("float64", "f64"),
         "tensor(float16)": ("float16", "f16"), "tensor(bool)": ("bool", "bool"),
         **{"tensor(%sint%d)" % (sign, bits): ("%sint%d" % (sign, bits), "%s%d" % (kind, bits))
            for sign, kind in (("", "i"), ("u", "u")) for bits in (8, 16, 32, 64)}}


def milliseconds_since(start):
    return (time.perf_counter() - start) * 1e3


def open_session(path, threads):
    """A session that uses the given number of threads and no other."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # of a class of its own for each reason
        if type(error).__name__ == "InvalidProtobuf":
            raise ValueError("this is no ONNX model, or it is cut short") from error
        raise ValueError("ONNX Runtime can't load the model: %s" % error) from error


def input_text(name, dtype, shape):
    """'x' (f32[1x3])"""
    extents = "x".join("?" if extent is None else str(extent) for extent in shape)
    return "'%s' (%s[%s])" % (name, dtype, extents)


def fits(declared, array):
    """Whether an array can be an input. A dimension may be free, a shape or a type not known."""
    if declared.type in TYPES and array.dtype != TYPES[declared.type][0]:
        return False
    if declared.shape and len(declared.shape) != array.ndim:
        return False
    return all(extent == got for extent, got in zip(declared.shape, array.shape)
               if isinstance(extent, int))


def select_inputs(session, path):
    """The graph's inputs from an .npz file; other arrays in it are an error."""
    needed = session.get_inputs()
    known = {i.name: i for i in [*needed, *session.get_overridable_initializers()]}
    with np.load(path) as file:
        arrays = {name: file[name] for name in sorted(file.files)}
    if ({i.name for i in needed} <= set(arrays) <= set(known) and
            all(fits(known[name], array) for name, array in arrays.items())):
        return arrays
    short = dict(TYPES.values())
    raise ValueError("the inputs are different: given are %s; and the model's are %s" % (
        ", ".join(input_text(name, short.get(str(array.dtype), array.dtype), array.shape)
                  for name, array in arrays.items()),
        ", ".join(input_text(i.name, TYPES.get(i.type, (0, i.type))[1], i.shape) for i in needed)))


def run_session(session, inputs):
    """The outputs, in the graph's order."""
    try:
        return session.run(None, inputs)
    except Exception as error:  # of a class of its own for each reason
        raise ValueError("ONNX Runtime can't run the model: %s" % error) from error


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
    results = run_session(session, inputs)
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
        print("ort_run: %s" % " ".join(str(error).split()), file=sys.stderr)
        sys.exit(2)
