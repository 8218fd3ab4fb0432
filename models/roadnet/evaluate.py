# SPDX-License-Identifier: MIT
"""Measures roadnet.onnx with onnxruntime on views that roadgen makes or has made.

    python models/roadnet/evaluate.py --roadgen build/models/roadnet/roadgen [--views 1000]

Exit code 1 where an error is above its limit (metrics.py).
"""

import argparse
import json
import os
import sys
import tempfile

import numpy as np
import onnxruntime

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import dataset  # noqa: E402
import metrics  # noqa: E402


def run_model(path, inputs, threads=1):
    """Outputs [views, size] of an ONNX file, one view at a time as the vehicle would run it."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return np.concatenate([session.run(None, {name: view[None]})[0] for view in inputs])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--roadgen", required=True, help="the program")
    parser.add_argument("--model", default=os.path.join(HERE, "roadnet.onnx"))
    parser.add_argument("--views", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=dataset.HELD_OUT_SEED)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        inputs, truth, layout = dataset.make_views(options.roadgen, os.path.join(folder, "views"),
                                                   options.seed, options.views)
    estimate = run_model(options.model, inputs)
    result = metrics.measure(estimate, truth, layout)
    print(json.dumps(result, indent=2))
    print("line error by distance (m):", " ".join(
        "%g:%.3f" % pair for pair in zip(layout.distances_m,
                                         metrics.errors_by_distance(estimate, truth, layout))))
    faults = metrics.above_limits(result)
    for fault in faults:
        print("above the limit:", fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
