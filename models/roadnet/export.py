# SPDX-License-Identifier: MIT
"""Writes the trained network as ONNX, with its output slices in the metadata."""

import copy
import json
import os

import numpy as np
import onnx
import torch

from dataset import INPUT_SHAPE

OPSET = 17
INPUT_NAME = "image"
OUTPUT_NAME = "outputs"
SLICES_KEY = "camshaft.output_slices"
DISTANCES_KEY = "camshaft.distances_m"


def export(model, layout, path):
    """Writes `model` (not changed) to `path`; batch 1, float32, names independent of the machine."""
    frozen = copy.deepcopy(model).to("cpu", torch.float32, memory_format=torch.contiguous_format)
    frozen.eval()
    frozen.fold_scales()
    image = torch.zeros(1, *INPUT_SHAPE, dtype=torch.uint8)
    torch.onnx.export(frozen, (image,), path, opset_version=OPSET, dynamo=False,
                      input_names=[INPUT_NAME], output_names=[OUTPUT_NAME])
    graph = onnx.load(path)
    graph.producer_name, graph.producer_version = "camshaft roadnet", ""
    graph.doc_string = "Lane lines, path and lead car from one road camera frame."
    for node in graph.graph.node:
        node.doc_string = ""
    onnx.helper.set_model_props(graph, {
        SLICES_KEY: json.dumps(layout.description["slices"], separators=(",", ":")),
        DISTANCES_KEY: json.dumps(layout.description["distances_m"], separators=(",", ":"))})
    onnx.checker.check_model(graph, full_check=True)
    partial = path + ".partial"
    onnx.save(graph, partial)
    os.replace(partial, path)


def count_macs(path):
    """Multiply-accumulates of a run: those of convolutions and matrix products."""
    graph = onnx.shape_inference.infer_shapes(onnx.load(path)).graph
    shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim]
              for v in list(graph.value_info) + list(graph.output)}
    weights = {w.name: list(w.dims) for w in graph.initializer}
    total = 0
    for node in graph.node:
        if node.op_type in ("Conv", "Gemm"):
            per_output = np.prod(weights[node.input[1]]) / weights[node.input[1]][0]
            total += int(np.prod(shapes[node.output[0]]) * per_output)
    return total


def count_parameters(path):
    """Weights and biases."""
    return sum(int(np.prod(w.dims)) for w in onnx.load(path).graph.initializer)
