# SPDX-License-Identifier: MIT
"""Whole networks: within tolerance of onnxruntime on both CPU targets, the same plan every time, the
same bits from both targets and from every loading, other outputs for other inputs."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

from e2e import BUILD, ROOT, camshaft

ZOO = ("resnet18", "resnet18_opset9", "resnet50", "mobilenet_v2", "mobilenet_v3",
       "efficientnet_b0", "efficientnet_b2", "efficientnet_b2_road", "shufflenet_v2", "vit_tiny",
       "transformer", "transformer_opset9")
# Where `compare` is not held to its defaults. With random weights EfficientNet-B2 magnifies rounding
# errors: onnxruntime and Camshaft are both 1e-6 to 5e-6 (RMS) away from the double-precision oracle,
# and then a logit near 0 falls outside an absolute tolerance of 1e-5.
TOLERANCES = dict.fromkeys(("efficientnet_b2", "efficientnet_b2_road"),
                           ("--rtol", "1e-3", "--atol", "1e-4"))
OTHERS = {
    "roadnet": os.path.join(ROOT, "models", "roadnet", "roadnet.onnx"),
    # A real network of another project, which stands beside the checkout and is not part of it.
    "driver_monitoring": os.path.join(os.path.dirname(ROOT), "shared", "models",
                                      "driver_monitoring.onnx"),
}


def zoo_folder():
    """The zoo's ONNX files, written if they aren't there."""
    folder = os.path.join(BUILD, "zoo")
    missing = [n for n in ZOO if not os.path.exists(os.path.join(folder, n + ".onnx"))]
    if missing:
        maker = os.path.join(ROOT, "models", "zoo", "make_zoo.py")
        subprocess.run([sys.executable, maker, "--out", folder, "--no-check"], check=True,
                       stdout=subprocess.DEVNULL)
    return folder


class Zoo(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.zoo = zoo_folder()
        cls.folder = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def done(self, *arguments):
        process = camshaft(*arguments)
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        return process.stdout

    def outputs(self, plan, name, *arguments):
        """All outputs of one run on random inputs."""
        file = self.path(name + ".npz")
        self.done("run", plan, "--random", "--output", file, *arguments)
        with np.load(file) as arrays:
            return {key: arrays[key].copy() for key in arrays.files}

    def check(self, name, model):
        plan = self.path(name + ".plan")
        self.done("compile", model, "--target", "llvm,cpu", "-o", plan)
        for target in ("llvm", "cpu"):
            report = self.done("compare", plan, "--ref", model, "--target", target, "--trials", "2",
                               "--json", *TOLERANCES.get(name, ()))
            self.assertTrue(json.loads(report)["within"], report)
        one = self.outputs(plan, "llvm", "--target", "llvm")
        same = self.outputs(plan, "again", "--target", "llvm")
        cpu = self.outputs(plan, "cpu", "--target", "cpu")
        other = self.outputs(plan, "other", "--target", "llvm", "--seed", "1")
        for key, value in one.items():
            self.assertEqual(value.tobytes(), same[key].tobytes(), "two runs differ in " + key)
            self.assertEqual(value.tobytes(), cpu[key].tobytes(), "the targets differ in " + key)
        self.assertTrue(any(one[key].tobytes() != other[key].tobytes() for key in one),
                        "other inputs give the same outputs")

    def test_compiling_twice_gives_the_same_bytes(self):
        plans = [self.path("first.plan"), self.path("second.plan")]
        for plan in plans:
            self.done("compile", OTHERS["roadnet"], "--target", "llvm,cpu", "-o", plan)
        with open(plans[0], "rb") as first, open(plans[1], "rb") as second:
            self.assertEqual(first.read(), second.read())

    def test_a_tolerance_that_is_too_small_is_noticed(self):
        plan = self.path("strict.plan")
        self.done("compile", OTHERS["roadnet"], "-o", plan)
        process = camshaft("compare", plan, "--ref", OTHERS["roadnet"], "--atol", "0", "--rtol",
                           "1e-9")
        self.assertEqual(process.returncode, 5, process.stdout + process.stderr)


def add_network(name, model):
    def test(self):
        path = model or os.path.join(self.zoo, name + ".onnx")
        if not os.path.exists(path):
            self.skipTest(path + " is not on this machine")
        self.check(name, path)

    setattr(Zoo, "test_" + name, test)


for _name in ZOO:
    add_network(_name, None)
for _name, _model in OTHERS.items():
    add_network(_name, _model)

if __name__ == "__main__":
    unittest.main()
