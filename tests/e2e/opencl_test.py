# SPDX-License-Identifier: MIT
"""Models on the target `opencl`, on the machine's first OpenCL device (PoCL, after tools/setup.sh):
small ones, roadnet, and the command's answers where something is missing."""

import json
import os
import subprocess
import unittest

import command_models as models
import e2e
import numpy as np
from onnx import helper

DEVICES = json.loads(e2e.camshaft("devices", "--json").stdout)["devices"]
HAS_OPENCL = any(d["backend"] == "opencl" for d in DEVICES)


@unittest.skipUnless(HAS_OPENCL, "this machine has no OpenCL device")
class OpenCl(models.CommandTest):
    def check(self, model, *more):
        """Compiles for both kinds of device and compares each with the model."""
        plan = self.path("m.plan")
        self.camshaft("compile", model, "-o", plan, "--target", "opencl,llvm", *more)
        for target in ("opencl", "llvm"):
            self.camshaft("compare", plan, "--ref", model, "--target", target)
        return plan

    def test_small_network(self):
        weights = {"w": np.random.default_rng(1).normal(size=(12, 5, 3, 3)).astype(np.float32),
                   "b": np.linspace(-1, 1, 12).astype(np.float32)}
        e2e.make_model(self.path("m.onnx"),
                       [helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
                        helper.make_node("Relu", ["c"], ["r"]),
                        helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
                        helper.make_node("Softmax", ["p"], ["y"], axis=1)],
                       {"x": [2, 5, 13, 9]}, {"y": [2, 12, 6, 4]}, weights)
        plan = self.check(self.path("m.onnx"))
        kernels = self.camshaft("inspect", plan, "--kernels", "--target", "opencl").stdout
        self.assertIn("conv_direct", kernels)
        self.camshaft("bench", plan, "--target", "opencl", "--iterations", "3", "--warmup", "0")

    def test_roadnet(self):
        self.check(os.path.join(e2e.ROOT, "models", "roadnet", "roadnet.onnx"))

    def test_a_plan_for_opencl_is_not_for_the_cpu(self):
        e2e.make_model(self.path("m.onnx"), [helper.make_node("Exp", ["x"], ["y"])],
                       {"x": [7]}, {"y": [7]})
        self.camshaft("compile", self.path("m.onnx"), "-o", self.path("m.plan"), "--target",
                      "opencl")
        done = e2e.camshaft("run", self.path("m.plan"), "--device", "cpu", "--random")
        self.assertEqual(done.returncode, 4)
        self.assertIn("opencl", done.stderr)

    def test_no_platform_is_exit_4(self):
        e2e.make_model(self.path("m.onnx"), [helper.make_node("Exp", ["x"], ["y"])],
                       {"x": [7]}, {"y": [7]})
        self.camshaft("compile", self.path("m.onnx"), "-o", self.path("m.plan"), "--target",
                      "opencl")
        done = subprocess.run([e2e.CAMSHAFT, "run", self.path("m.plan"), "--random"],
                              env={**os.environ, "OCL_ICD_VENDORS": self.path("none.icd")},
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 4)
        self.assertIn("/etc/OpenCL/vendors", done.stderr)


if __name__ == "__main__":
    unittest.main()
