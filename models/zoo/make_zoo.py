#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the networks of the zoo as ONNX files with seeded weights; see README.md."""

import argparse
import functools
import os
import sys

import cnn
import numpy as np
import onnx
import onnxruntime
from transformer import transformer
from vit import vit_tiny

DEFAULT_OPSET = 17

NETWORKS = {
    "resnet18": functools.partial(cnn.resnet, 18),
    "resnet50": functools.partial(cnn.resnet, 50),
    "mobilenet_v2": cnn.mobilenet_v2,
    "mobilenet_v3": cnn.mobilenet_v3,
    "efficientnet_b0": functools.partial(cnn.efficientnet, 1.0, 1.0),
    "efficientnet_b2": functools.partial(cnn.efficientnet, 1.1, 1.2),
    "efficientnet_b2_road": functools.partial(cnn.efficientnet, 1.1, 1.2, image=(12, 128, 256)),
    "shufflenet_v2": cnn.shufflenet_v2,
    "vit_tiny": vit_tiny,
    "transformer": transformer,
}

# What a run without --only and --opset writes: (network, opset, free batch).
WHOLE = [(name, DEFAULT_OPSET, False) for name in NETWORKS] + [
    ("resnet18", 9, False), ("transformer", 9, False), ("resnet18", DEFAULT_OPSET, True)]


def file_name(name, opset, free_batch):
    """resnet18.onnx, resnet18_opset9.onnx, resnet18_dynamic.onnx."""
    return name + ("" if opset == DEFAULT_OPSET else "_opset%d" % opset) + (
        "_dynamic" if free_batch else "") + ".onnx"


def build(name, opset, free_batch, seed):
    """The bytes of one network. Its weights depend on name and seed only."""
    model = NETWORKS[name](name=name, opset=opset, seed=seed,
                           batch="batch" if free_batch else 1)
    return model.SerializeToString(deterministic=True)


def sample_inputs(model, seed):
    """Normal inputs for all graph inputs, a free size as 1."""
    rng = np.random.default_rng(seed)
    shapes = {i.name: [d.dim_value or 1 for d in i.type.tensor_type.shape.dim]
              for i in model.graph.input}
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def check(path):
    """Loads a written file and runs two inputs; returns what is wrong, or None."""
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    first, second = (session.run(None, sample_inputs(model, seed)) for seed in (1, 2))
    for output, a, b in zip(session.get_outputs(), first, second):
        size, change = a.std(), np.abs(a - b).mean()
        if not np.isfinite(a).all() or not 0.1 < size < 10.0:
            return "%s has deviation %g: not of order one" % (output.name, size)
        if change < 0.02:
            return "%s changes by %g between two inputs: too little" % (output.name, change)
    return None


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="build/zoo", help="folder (default build/zoo)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--opset", type=int, choices=(9, 17), help="instead of each one's own")
    parser.add_argument("--only", metavar="NAME", choices=sorted(NETWORKS), action="append",
                        help="just this network; may be repeated")
    parser.add_argument("--list", action="store_true", help="print what would be written")
    parser.add_argument("--no-check", action="store_true", help="do not run what was written")
    return parser.parse_args(arguments)


def chosen(options):
    """The (network, opset, free batch) to write."""
    if options.opset:
        return [(name, options.opset, False) for name in options.only or NETWORKS]
    return [row for row in WHOLE if not options.only or row[0] in options.only]


def main(arguments):
    options = parse(arguments)
    for row in chosen(options):
        path = os.path.join(options.out, file_name(*row))
        if options.list:
            print(path)
            continue
        os.makedirs(options.out, exist_ok=True)
        data = build(*row, options.seed)
        with open(path + ".part", "wb") as f:
            f.write(data)
        os.replace(path + ".part", path)
        problem = None if options.no_check else check(path)
        print("%-42s %6.1f MB  %s" % (path, len(data) / 1e6, problem or "ok"), flush=True)
        if problem:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
