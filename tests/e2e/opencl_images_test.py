# SPDX-License-Identifier: MIT
"""Plans of images on the machine's first OpenCL device (PoCL, after tools/setup.sh): networks whose
values and weights are images, inputs that are, and what a device without such images says."""

import json
import os
import re
import unittest
from unittest import mock

import command_models as models
import e2e
import numpy as np
import onnx_cases
import onnx_sources
from onnx import TensorProto, helper, numpy_helper
from onnx_verdicts import EXPECTED_FAILURES, REFUSED, judge
from opencl_networks import QUICK, TOGETHER

DEVICES = json.loads(e2e.camshaft("devices", "--json").stdout)["devices"]
HAS_OPENCL = any(d["backend"] == "opencl" for d in DEVICES)
IMAGE_OPERATORS = {"AveragePool", "Conv", "ConvInteger", "ConvTranspose", "DFT", "Gemm",
                   "GlobalAveragePool", "GlobalMaxPool", "LinearAttention", "LpPool", "MatMul",
                   "MatMulInteger", "MaxPool", "QLinearConv", "QLinearMatMul", "STFT"}


def operators_of(model):
    """The operators of a model, those in subgraphs and functions too."""
    def of(nodes):
        for node in nodes:
            yield node.op_type
            for attribute in node.attribute:
                yield from of(attribute.g.node)

    return {name for nodes in (model.graph.node, *(f.node for f in model.functions))
            for name in of(nodes)}


@unittest.skipUnless(HAS_OPENCL, "this machine has no OpenCL device")
class OpenClImages(models.CommandTest):
    def check(self, model, *more, images="on", tolerance="1e-3"):
        """Compiles, compares with the model; what inspect says of the plan."""
        plan = self.path("m.plan")
        self.camshaft("compile", model, "-o", plan, "--target", "opencl", "--images", images, *more)
        self.camshaft("compare", plan, "--ref", model, "--rtol", tolerance, "--atol", tolerance)
        return self.camshaft("inspect", plan).stdout

    def make_network(self):
        """Convolutions of each kind, a pool, a residual, and products of matrices."""
        random = np.random.default_rng(1)
        shapes = {"w0": (16, 3, 3, 3), "w1": (16, 1, 3, 3), "w2": (24, 16, 3, 3), "w3": (24, 24, 1, 1),
                  "w4": (24, 64), "w5": (64, 10)}
        weights = {name: (random.normal(size=shape) / 6).astype(np.float32)
                   for name, shape in shapes.items()}
        e2e.make_model(self.path("m.onnx"), [
            helper.make_node("Conv", ["x", "w0"], ["a"], pads=[1, 1, 1, 1]),
            helper.make_node("Relu", ["a"], ["ar"]),
            helper.make_node("Conv", ["ar", "w1"], ["b"], pads=[1, 1, 1, 1], group=16),
            helper.make_node("Sigmoid", ["b"], ["bs"]),
            helper.make_node("Conv", ["bs", "w2"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
            helper.make_node("MaxPool", ["c"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
            helper.make_node("Conv", ["p", "w3"], ["d"]),
            helper.make_node("Add", ["p", "d"], ["s"]),
            helper.make_node("GlobalAveragePool", ["s"], ["g"]),
            helper.make_node("Flatten", ["g"], ["f"]),
            helper.make_node("Gemm", ["f", "w4"], ["h"]),
            helper.make_node("Relu", ["h"], ["hr"]),
            helper.make_node("Gemm", ["hr", "w5"], ["y"])],
            {"x": [1, 3, 32, 32]}, {"y": [1, 10]}, weights)
        return self.path("m.onnx")

    def test_small_network(self):
        model = self.make_network()
        text = self.check(model)
        self.assertRegex(text, r"images +1[0-9] of \d+ bytes")
        self.assertRegex(text, r"device +opencl, opencl-c .*images")
        halves = self.check(model, "--dtype", "f16", tolerance="2e-2")
        self.assertRegex(halves, r"images +\d+ of \d+ bytes")
        small = self.check(model, "--image-limit", "100x32")
        self.assertRegex(small, r"images +[1-9] of \d+ bytes, up to \d\d columns")
        self.assertNotIn("columns", self.check(model, images="off"))

    def test_halves_in_images_are_the_nearest(self):
        """Also on a device that cuts what it writes to an image of halves off."""
        one = np.eye(4, dtype=np.float32).reshape(4, 4, 1, 1)
        e2e.make_model(self.path("m.onnx"), [
            helper.make_node("Conv", ["x", "w"], ["a"]), helper.make_node("Relu", ["a"], ["b"]),
            helper.make_node("Conv", ["b", "w"], ["y"])],
            {"x": [1, 4, 8, 16]}, {"y": [1, 4, 8, 16]}, {"w": one})
        x = np.random.default_rng(5).integers(0, 1 << 14, (1, 4, 8, 16)).astype(np.float32)
        np.save(self.path("x.npy"), x)
        plan = self.path("m.plan")
        self.camshaft("compile", self.path("m.onnx"), "-o", plan, "--target", "opencl", "--images",
                      "on", "--dtype", "f16")
        self.assertRegex(self.camshaft("inspect", plan).stdout, r"images +[1-9] of \d+ bytes")
        self.camshaft("run", plan, "--input", "x=" + self.path("x.npy"), "--output",
                      self.path("y.npz"))
        np.testing.assert_array_equal(np.load(self.path("y.npz"))["y"], x.astype(np.float16))

    def test_channels_are_padded_to_texels(self):
        random = np.random.default_rng(4)
        weights = {name: (random.normal(size=shape) / 4).astype(np.float32) for name, shape in (
            ("w0", (6, 3, 3, 3)), ("w1", (6, 1, 3, 3)), ("w2", (10, 6, 3, 3)), ("b2", (10,)),
            ("w3", (5, 10, 1, 1)))}
        e2e.make_model(self.path("m.onnx"), [
            helper.make_node("Conv", ["x", "w0"], ["a"], pads=[1, 1, 1, 1]),
            helper.make_node("Conv", ["a", "w1"], ["b"], pads=[1, 1, 1, 1], group=6),
            helper.make_node("MaxPool", ["b"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
            helper.make_node("Conv", ["p", "w2", "b2"], ["c"], pads=[1, 1, 1, 1]),
            helper.make_node("Sigmoid", ["c"], ["s"]),
            helper.make_node("Conv", ["s", "w3"], ["y"])],
            {"x": [1, 3, 16, 16]}, {"y": [1, 5, 8, 8]}, weights)
        # The four values and the four kernels' weights.
        self.assertRegex(self.check(self.path("m.onnx")), r"images +8 of \d+ bytes")
        self.check(self.path("m.onnx"), "--dtype", "f16", tolerance="2e-2")

    def test_roadnet_has_images(self):
        """It is run in opencl_textures_test.py."""
        self.camshaft("compile", os.path.join(e2e.ROOT, "models", "roadnet", "roadnet.onnx"), "-o",
                      self.path("m.plan"), "--target", "opencl", "--images", "on")
        self.assertRegex(self.camshaft("inspect", self.path("m.plan")).stdout,
                         r"images +\d\d of \d+ bytes")

    def test_qualcomm_has_images_without_asking(self):
        model = self.make_network()
        plan = self.path("m.plan")
        self.camshaft("compile", model, "-o", plan, "--target", "opencl:qcom,opencl")
        text = self.camshaft("inspect", plan).stdout
        self.assertEqual(len(re.findall(r"images +\d+ of", text)), 1)
        self.camshaft("compare", plan, "--ref", model, "--target", "opencl:qcom", "--rtol", "1e-3")

    def test_operators_that_can_have_images(self):
        """Convolutions, pools and products, and what is made of them, for opencl:qcom."""
        # Functions that are written out have cases for their parts.
        every = [*onnx_sources.generated_cases(), *onnx_sources.packaged_cases()]
        cases = [case for case in onnx_sources.unique(every)
                 if IMAGE_OPERATORS & operators_of(case.model) and
                 not case.name.endswith("_expanded")]
        self.assertGreater(len(cases), 200)
        with mock.patch.dict(os.environ, QUICK):
            results = onnx_cases.run_cases(cases, self.path("cases"), on=("opencl:qcom",),
                                           jobs=os.cpu_count(), together=TOGETHER)
        self.assertEqual(judge(results, REFUSED, EXPECTED_FAILURES, is_whole=False), [])

    def make_camera(self):
        """An RGBA frame of bytes, scaled, its colours convolved."""
        weights = {"k": np.array([1 / 255], np.float32), "b": np.array([0], np.int64),
                   "e": np.array([3], np.int64), "axis": np.array([1], np.int64),
                   "w": np.random.default_rng(2).normal(size=(8, 3, 3, 3)).astype(np.float32)}
        nodes = [helper.make_node("Cast", ["x"], ["f"], to=TensorProto.FLOAT),
                 helper.make_node("Mul", ["f", "k"], ["s"]),
                 helper.make_node("Transpose", ["s"], ["t"], perm=[0, 3, 1, 2]),
                 helper.make_node("Slice", ["t", "b", "e", "axis"], ["rgb"]),
                 helper.make_node("Conv", ["rgb", "w"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
                 helper.make_node("Relu", ["c"], ["y"])]
        graph = helper.make_graph(
            nodes, "camera", [helper.make_tensor_value_info("x", TensorProto.UINT8, [1, 24, 40, 4])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8, 12, 20])],
            [numpy_helper.from_array(v, k) for k, v in weights.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        with open(self.path("m.onnx"), "wb") as file:
            file.write(model.SerializeToString())
        return self.path("m.onnx")

    def test_an_input_is_an_image(self):
        for images in ("on", "off"):
            text = self.check(self.make_camera(), "--image-input", "x", images=images)
            self.assertRegex(text, r"images +\d+ of \d+ bytes, up to (4[0-9]|[5-9]\d|\d{3}) columns")

    def test_other_targets_take_the_same_input_as_bytes(self):
        model = self.make_camera()
        self.camshaft("compile", model, "-o", self.path("with.plan"), "--target", "llvm,opencl",
                      "--image-input", "x", "--images", "on")
        self.camshaft("compile", model, "-o", self.path("without.plan"), "--target", "llvm")
        self.camshaft("compare", self.path("with.plan"), "--target", "llvm", "--device", "cpu",
                      "--ref", self.path("without.plan"), "--rtol", "0", "--atol", "0")

    def test_what_can_be_no_image_is_refused(self):
        for name, sentence in (("y", "there is no input 'y'"), ("x", "is no image of RGBA texels")):
            e2e.make_model(self.path("m.onnx"), [helper.make_node("Exp", ["x"], ["y"])],
                           {"x": [1, 3, 8, 7]}, {"y": [1, 3, 8, 7]})
            done = e2e.camshaft("compile", self.path("m.onnx"), "-o", self.path("m.plan"), "--target",
                                "opencl", "--image-input", name)
            self.assertEqual(done.returncode, 2)
            self.assertIn(sentence, done.stderr)
        done = e2e.camshaft("compile", self.path("m.onnx"), "-o", self.path("m.plan"), "--target",
                            "opencl", "--images", "on", "--image-limit", "16384")
        self.assertEqual(done.returncode, 2)
        self.assertIn("as in 16384x16384", done.stderr)

    def test_a_device_with_smaller_images_is_exit_4(self):
        weights = {"w": np.ones((4, 4, 1, 1), np.float32)}
        nodes = [helper.make_node("Conv", ["x", "w"], ["a"]),
                 helper.make_node("Conv", ["a", "w"], ["y"])]
        e2e.make_model(self.path("m.onnx"), nodes, {"x": [1, 4, 1, 65000]}, {"y": [1, 4, 1, 65000]},
                       weights)
        plan = self.path("m.plan")
        self.camshaft("compile", self.path("m.onnx"), "-o", plan, "--target", "opencl", "--images",
                      "on", "--image-limit", "65535x65535")
        done = e2e.camshaft("run", plan, "--random")
        self.assertEqual(done.returncode, 4)
        self.assertRegex(done.stderr, r"has images of at most \d+ x \d+ texels, and the plan's take "
                                      r"65000 x ")
        self.check(self.path("m.onnx"))


if __name__ == "__main__":
    unittest.main()
