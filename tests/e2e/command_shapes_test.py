# SPDX-License-Identifier: MIT
"""Models with unusual inputs and outputs, through the command on both targets: tensors without
elements, scalars, one value under several names, constants, inputs that nothing reads."""

import unittest

import command_models as models
import numpy as np
from command_models import USAGE
from onnx import TensorProto, helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


class Shapes(models.CommandTest):
    def check(self, inputs, nodes, outputs, arrays, expected, weights=None):
        """Compiles, runs on given arrays, compares with both references, benches and verifies."""
        models.make_typed(self.path("m.onnx"), inputs, nodes, outputs, weights=weights)
        plan = self.path("m.plan")
        np.savez(self.path("in.npz"), **arrays)
        golden = ["--golden", self.path("in.npz")] if arrays else []
        self.camshaft("compile", self.path("m.onnx"), "-o", plan, "--target", "llvm,cpu", *golden)
        given = ["--input", self.path("in.npz")] if arrays else []
        for target in ("llvm", "cpu"):
            self.camshaft("run", plan, *given, "--target", target, "-o", self.path("out.npz"))
            with np.load(self.path("out.npz")) as results:
                self.assertEqual(results.files, list(outputs))
                for name, value in expected.items():
                    value = np.asarray(value)
                    self.assertEqual(results[name].shape, value.shape, name)
                    np.testing.assert_array_equal(results[name], value, name)
            for engine in ("onnxruntime", "oracle"):
                self.camshaft("compare", plan, "--ref", self.path("m.onnx"), "--engine", engine,
                              "--target", target)
        self.camshaft("bench", plan, "--iterations", "2", "--warmup", "0")
        self.camshaft("inspect", plan, "--kernels", "--memory")
        if arrays:
            goldens = self.document("verify", plan)["goldens"]
            self.assertTrue(goldens[0]["hash_equal"])
        return self.document("run", plan, *given)

    def test_input_and_output_without_elements(self):
        document = self.check(
            {"x": (FLOAT, [0, 3])},
            [helper.make_node("Exp", ["x"], ["y"]),
             helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0)],
            {"y": (FLOAT, [0, 3]), "s": (FLOAT, [])},
            {"x": np.zeros((0, 3), np.float32)},
            {"y": np.zeros((0, 3), np.float32), "s": np.float32(0)})
        self.assertEqual(document["outputs"][0]["shape"], [0, 3])
        self.assertIsNone(document["outputs"][0]["summary"]["min"])
        self.assertRegex(self.camshaft("run", self.path("m.plan"), "--random").stdout,
                         r"(?m)^y +f32\[0x3\] +empty$")

    def test_empty_pieces_among_others(self):
        self.check({"x": (FLOAT, [0, 3]), "z": (FLOAT, [2, 3])},
                   [helper.make_node("Exp", ["x"], ["e"]),
                    helper.make_node("Concat", ["e", "z", "x"], ["y"], axis=0),
                    helper.make_node("Transpose", ["e"], ["t"], perm=[1, 0]),
                    helper.make_node("MatMul", ["t", "x"], ["m"])],
                   {"y": (FLOAT, [2, 3]), "m": (FLOAT, [3, 3])},
                   {"x": np.zeros((0, 3), np.float32), "z": np.ones((2, 3), np.float32)},
                   {"y": np.ones((2, 3)), "m": np.zeros((3, 3))})

    def test_only_outputs_without_elements(self):
        self.check({"x": (FLOAT, [2, 0])}, [helper.make_node("Tanh", ["x"], ["y"])],
                   {"y": (FLOAT, [2, 0])}, {"x": np.zeros((2, 0), np.float32)},
                   {"y": np.zeros((2, 0), np.float32)})

    def test_scalars(self):
        self.check({"x": (FLOAT, []), "n": (INT64, []), "b": (BOOL, [])},
                   [helper.make_node("Cast", ["n"], ["f"], to=FLOAT),
                    helper.make_node("Add", ["x", "f"], ["y"]),
                    helper.make_node("Not", ["b"], ["c"])],
                   {"y": (FLOAT, []), "c": (BOOL, [])},
                   {"x": np.float32(1.5), "n": np.int64(2), "b": np.bool_(True)},
                   {"y": 3.5, "c": False})

    def test_an_input_that_is_also_an_output(self):
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        self.check({"x": (FLOAT, [2, 3])}, [helper.make_node("Neg", ["x"], ["y"])],
                   {"x": (FLOAT, [2, 3]), "y": (FLOAT, [2, 3])}, {"x": x}, {"x": x, "y": -x})

    def test_inputs_alone(self):
        x = np.arange(6, dtype=np.float32)
        self.check({"x": (FLOAT, [6])}, [], {"x": (FLOAT, [6])}, {"x": x}, {"x": x})

    def test_one_value_under_several_names(self):
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        self.check({"x": (FLOAT, [2, 3])},
                   [helper.make_node("Neg", ["x"], ["y"]),
                    helper.make_node("Identity", ["y"], ["z"]),
                    helper.make_node("Identity", ["x"], ["w"]),
                    helper.make_node("Reshape", ["y", "six"], ["flat"])],
                   {"y": (FLOAT, [2, 3]), "z": (FLOAT, [2, 3]), "w": (FLOAT, [2, 3]),
                    "flat": (FLOAT, [6])},
                   {"x": x}, {"y": -x, "z": -x, "w": x, "flat": -x.reshape(6)},
                   weights={"six": np.int64([6])})

    def test_an_intermediate_value_as_an_output(self):
        x = np.float32([-1, 2])
        self.check({"x": (FLOAT, [2])},
                   [helper.make_node("Neg", ["x"], ["n"]), helper.make_node("Relu", ["n"], ["y"]),
                    helper.make_node("Add", ["n", "y"], ["z"])],
                   {"n": (FLOAT, [2]), "z": (FLOAT, [2])}, {"x": x}, {"n": -x, "z": [2, -2]})

    def test_outputs_that_are_constants(self):
        w = np.arange(3, dtype=np.float32)
        self.check({"x": (FLOAT, [3])},
                   [helper.make_node("Add", ["x", "w"], ["y"]),
                    helper.make_node("Shape", ["x"], ["s"]),
                    helper.make_node("Identity", ["none"], ["e"])],
                   {"y": (FLOAT, [3]), "w": (FLOAT, [3]), "s": (INT64, [1]), "e": (FLOAT, [0])},
                   {"x": w}, {"y": 2 * w, "w": w, "s": [3], "e": np.zeros(0)},
                   weights={"w": w, "none": np.zeros(0, np.float32)})

    def test_no_inputs(self):
        self.check({}, [helper.make_node("Exp", ["w"], ["y"])], {"y": (FLOAT, [2])}, {},
                   {"y": [1, 1]}, weights={"w": np.zeros(2, np.float32)})

    def test_inputs_that_nothing_reads(self):
        x = np.ones((2, 2), np.float32)
        self.check({"x": (FLOAT, [2, 2]), "unused": (INT64, [5]), "nothing": (FLOAT, [0])},
                   [helper.make_node("Relu", ["x"], ["y"])], {"y": (FLOAT, [2, 2])},
                   {"x": x, "unused": np.zeros(5, np.int64), "nothing": np.zeros(0, np.float32)},
                   {"y": x})

class Sizes(models.CommandTest):
    MOST = 1 << 38  # f32 elements that a tensor may have

    def refused(self, model, *options):
        document = self.document("compile", model, "-o", self.path("m.plan"), *options,
                                 code=USAGE)
        (sentence,) = document["error"]["sentences"]
        self.assertIn("a tensor may take %d" % (4 * self.MOST), sentence)
        return sentence

    def test_no_larger_inputs_and_outputs_than_a_plan_holds(self):
        model = self.path("m.onnx")
        models.make_typed(model, {"x": (FLOAT, ["n"])}, [helper.make_node("Relu", ["x"], ["y"])],
                          {"y": (FLOAT, ["n"])})
        self.camshaft("compile", model, "-o", self.path("m.plan"), "-s", "n=%d" % self.MOST)
        for extent in (self.MOST + 1, 10**12, 10**17):
            sentence = self.refused(model, "-s", "n=%d" % extent)
            self.assertIn("'x': f32[%d] is too large: it takes %d bytes" % (extent, 4 * extent),
                          sentence)
        sentence = self.refused(model, "-s", "n=%d" % (2**63 - 1))
        self.assertIn("takes more than", sentence)
        models.make_typed(model, {"x": (FLOAT, [10**6, 10**6])},
                          [helper.make_node("Relu", ["x"], ["y"])], {"y": (FLOAT, [10**6, 10**6])})
        self.assertIn("'x': f32[1000000x1000000]", self.refused(model))
        models.make_typed(model, {"x": (FLOAT, [10**6])},
                          [helper.make_node("Tile", ["x", "r"], ["y"])],
                          {"y": (FLOAT, [10**12])}, weights={"r": np.array([10**6])})
        self.assertIn("'y' (Tile)", self.refused(model))


if __name__ == "__main__":
    unittest.main()
