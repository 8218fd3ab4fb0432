# SPDX-License-Identifier: MIT
"""Camshaft beside onnxruntime on the same networks, with as many threads each, in turn.

Two tables: the run (median, p99 and their ratio), and from nothing to the first result: opening the
plan, making the session and one run, against making onnxruntime's session and one run. Every round
uses a fresh process for each engine, in turn, so that both see the same machine.

    scons bench                     all networks
    python tests/perf/peers_bench.py --only resnet18 --rounds 9
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("CAMSHAFT_BUILD", os.path.join(ROOT, "build"))
NETWORKS = ("roadnet", "driver_monitoring", "resnet18", "resnet50", "mobilenet_v2", "mobilenet_v3",
            "efficientnet_b0", "transformer")


def model_path(name):
    places = (os.path.join(ROOT, "models", "roadnet", name + ".onnx"),
              os.path.join(os.path.dirname(ROOT), "shared", "models", name + ".onnx"),
              os.path.join(BUILD, "zoo", name + ".onnx"))
    return next((p for p in places if os.path.exists(p)), None)


def run_json(command):
    process = subprocess.run(command, capture_output=True, text=True)
    if process.returncode != 0:
        sys.exit("%s failed:\n%s%s" % (" ".join(command), process.stdout, process.stderr))
    return json.loads(process.stdout)


class Round:
    """One measurement of each engine."""

    def __init__(self, plan, model, inputs, threads, iterations):
        bench = run_json([os.path.join(BUILD, "camshaft"), "bench", plan, "--iterations",
                          str(iterations), "--warmup", "0.2", "--json"])
        self.ours = bench["latency_ms"]["p50"]
        self.ours_p99 = bench["latency_ms"]["p99"]
        self.ours_first = bench["load_ms"] + bench["first_run_ms"]
        peer = run_json([sys.executable, os.path.join(ROOT, "tools", "reference", "ort_run.py"), model,
                         "--inputs", inputs, "--outputs", inputs + ".out.npz",
                         "--threads", str(threads), "--time", str(iterations)])
        self.peer = peer["p50_ms"]
        self.peer_p99 = peer["p99_ms"]
        self.peer_first = peer["session_ms"] + peer["first_ms"]


def measure(name, options):
    model = model_path(name)
    if model is None:
        return None
    plan = os.path.join(BUILD, "bench_%s.plan" % name)
    inputs = os.path.join(BUILD, "bench_%s.npz" % name)
    subprocess.run([os.path.join(BUILD, "camshaft"), "compile", model, "--target",
                    options.target, "--threads", str(options.threads), "-o", plan],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    write_inputs(model, inputs)
    return [Round(plan, model, inputs, options.threads, options.iterations)
            for _ in range(options.rounds)]


def write_inputs(model, path):
    import numpy as np
    import onnx
    random = np.random.default_rng(0)
    arrays = {}
    graph = onnx.load(model, load_external_data=False).graph
    weights = {w.name for w in graph.initializer}
    for value in graph.input:
        if value.name in weights:
            continue
        kind = value.type.tensor_type
        shape = [d.dim_value or 1 for d in kind.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
        arrays[value.name] = (random.integers(0, 255, shape).astype(dtype) if dtype.kind in "iu"
                              else random.standard_normal(shape).astype(dtype))
    np.savez(path, **arrays)


def median(rounds, field):
    return statistics.median(getattr(r, field) for r in rounds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", action="append")
    parser.add_argument("--target", default="llvm")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=60)
    options = parser.parse_args()
    maker = os.path.join(ROOT, "models", "zoo", "make_zoo.py")
    if not os.path.exists(os.path.join(BUILD, "zoo", "transformer.onnx")):
        subprocess.run([sys.executable, maker, "--out", os.path.join(BUILD, "zoo"), "--no-check"],
                       check=True, stdout=subprocess.DEVNULL)
    print("Times in ms, %d thread(s), medians of %d rounds of %d runs; ratio: ours / onnxruntime's"
          % (options.threads, options.rounds, options.iterations))
    print("%-18s %8s %8s %6s  %8s %8s  | to the first result %8s %8s %6s" %
          ("network", "ours", "peer", "ratio", "p99 ours", "p99 peer", "ours", "peer", "ratio"))
    for name in options.only or NETWORKS:
        rounds = measure(name, options)
        if rounds is None:
            print("%-18s not on this machine" % name)
            continue
        ours, peer = median(rounds, "ours"), median(rounds, "peer")
        first, peer_first = median(rounds, "ours_first"), median(rounds, "peer_first")
        print("%-18s %8.3f %8.3f %6.2f  %8.3f %8.3f  |                     %8.2f %8.2f %6.3f" %
              (name, ours, peer, ours / peer, median(rounds, "ours_p99"), median(rounds, "peer_p99"),
               first, peer_first, first / peer_first), flush=True)


if __name__ == "__main__":
    main()
