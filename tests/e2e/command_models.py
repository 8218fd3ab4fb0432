# SPDX-License-Identifier: MIT
"""What the tests of the command share: a folder, tiny models, and checks of the JSON documents."""

import json
import os
import tempfile
import unittest

import e2e
import numpy as np
from onnx import TensorProto, helper, numpy_helper

# The codes of `camshaft --help`.
OK, USAGE, UNSUPPORTED, WRONG_TARGET, OUTSIDE, LATE, DAMAGED = 0, 2, 3, 4, 5, 6, 7


def make_dense(path, seed=1):
    """y = relu(x w + b) on f32[3x8], and the weights."""
    rng = np.random.default_rng(seed)
    weights = {"w": rng.standard_normal((8, 5)).astype(np.float32),
               "b": rng.standard_normal(5).astype(np.float32)}
    e2e.make_model(path, [helper.make_node("Gemm", ["x", "w", "b"], ["g"], name="dense"),
                          helper.make_node("Relu", ["g"], ["y"], name="act")],
                   {"x": [3, 8]}, {"y": [3, 5]}, weights)
    return weights


def make_convolutions(path):
    """Two convolutions with batch norm, activation and a residual addition on f32[1x3x8x8]."""
    rng = np.random.default_rng(2)

    def normal(*shape):
        return rng.standard_normal(shape).astype(np.float32) * np.float32(0.3)

    weights = {"w1": normal(8, 3, 3, 3), "w2": normal(8, 8, 3, 3), "scale": normal(8) + 1,
               "bias": normal(8), "mean": normal(8), "var": np.abs(normal(8)) + 1}
    nodes = [helper.make_node("Conv", ["x", "w1"], ["c1"], name="conv1", pads=[1, 1, 1, 1]),
             helper.make_node("BatchNormalization", ["c1", "scale", "bias", "mean", "var"], ["n1"],
                              name="norm1"),
             helper.make_node("Relu", ["n1"], ["r1"], name="relu1"),
             helper.make_node("Conv", ["r1", "w2"], ["c2"], name="conv2", pads=[1, 1, 1, 1]),
             helper.make_node("Add", ["c2", "r1"], ["y"], name="sum")]
    e2e.make_model(path, nodes, {"x": [1, 3, 8, 8]}, {"y": [1, 8, 8, 8]}, weights)


def make_typed(path, inputs, nodes, outputs, opset=17, weights=None):
    """Any small model: inputs and outputs are {name: (TensorProto type, shape)}, weights arrays."""
    def infos(values):
        return [helper.make_tensor_value_info(n, t, s) for n, (t, s) in values.items()]

    initializers = [numpy_helper.from_array(a, n) for n, a in (weights or {}).items()]
    graph = helper.make_graph(nodes, "typed", infos(inputs), infos(outputs), initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    with open(path, "wb") as f:
        f.write(model.SerializeToString())


def make_pixels(path):
    """y = x as float, of u8[1x6x2x4]: shows which pixel went where."""
    make_typed(path, {"image": (TensorProto.UINT8, [1, 6, 2, 4])},
               [helper.make_node("Cast", ["image"], ["y"], to=TensorProto.FLOAT)],
               {"y": (TensorProto.FLOAT, [1, 6, 2, 4])})


class CommandTest(unittest.TestCase):
    """A test case with a folder of its own and ways to run the command."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def camshaft(self, *arguments, code=OK, program=e2e.CAMSHAFT):
        """Runs the command and checks its exit code; a failure must come with a sentence."""
        done = e2e.camshaft(*arguments, program=program)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        if code != OK:
            self.assertRegex(done.stderr, r"(?m)^camshaft( \w+)?: error: \S.+ .+$")
        return done

    def document(self, *arguments, code=OK, program=e2e.CAMSHAFT):
        """The JSON document of a run with --json, whose common members are checked."""
        done = self.camshaft(*arguments, "--json", code=code, program=program)
        document = json.loads(done.stdout)
        self.assertEqual(document["verb"], arguments[0])
        self.assertEqual(document["ok"], code == OK)
        self.assertEqual(document["exit_code"], code)
        self.assertIsInstance(document["notes"], list)
        self.assertEqual("error" in document, code != OK)
        if code != OK:
            self.assertTrue(document["error"]["sentences"])
            for sentence in document["error"]["sentences"]:
                self.assertIn(sentence, done.stderr)
        return document

    def assert_members(self, value, members):
        """That a JSON object has these members, of these types."""
        for name, kind in members.items():
            self.assertIn(name, value)
            self.assertIsInstance(value[name], kind, name)

    def compile_dense(self, *options, name="dense"):
        """A plan of make_dense() and its weights."""
        weights = make_dense(self.path(name + ".onnx"))
        self.camshaft("compile", self.path(name + ".onnx"), "-o", self.path(name + ".plan"),
                      *options)
        return self.path(name + ".plan"), weights
