# SPDX-License-Identifier: MIT
"""What the end-to-end tests share: where the programs are, and small ONNX models."""

import os
import subprocess

from onnx import TensorProto, checker, helper, numpy_helper

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("CAMSHAFT_BUILD", os.path.join(ROOT, "build"))
CAMSHAFT = os.path.join(BUILD, "camshaft")
DEVICE_CAMSHAFT = os.path.join(BUILD, "runtime", "camshaft")
LONG = "CAMSHAFT_TEST_LONG" in os.environ


def camshaft(*arguments, program=CAMSHAFT):
    """Runs the command; returns the finished process with its output as text."""
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)


def make_model(path, nodes, inputs, outputs, weights=None, opset=17):
    """Writes a checked float32 ONNX model.

    `inputs` and `outputs` are {name: shape}, `weights` {name: array}, `nodes` made by
    onnx.helper.make_node.
    """
    def infos(shapes):
        return [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes.items()]

    initializers = [numpy_helper.from_array(a, n) for n, a in (weights or {}).items()]
    graph = helper.make_graph(nodes, "test", infos(inputs), infos(outputs), initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    checker.check_model(model, full_check=True)
    with open(path, "wb") as f:
        f.write(model.SerializeToString())
