# SPDX-License-Identifier: MIT
"""Everything on the target `opencl`, on the machine's first OpenCL device: all operator cases, and
every network that the other targets are tested with, with buffers, with images, and stored in
halves. In the long tests; run alone (CAMSHAFT_TEST_LONG=1), it prints what it counted.
"""

import json
import math
import os
import tempfile
import unittest

import numpy as np
import onnx_cases
import onnx_sources
import real_networks_test
import zoo_test
from e2e import LONG, camshaft
from onnx_verdicts import EXPECTED_FAILURES, REFUSED, counts_of, judge

HAS_OPENCL = any(d["backend"] == "opencl"
                 for d in json.loads(camshaft("devices", "--json").stdout)["devices"])
# What outputs may differ by, root mean square, relative to the reference's, where weights and what
# lies between kernels are halves.
HALVES_ERROR = 2e-2
IMAGES = ("--images", "on")
HALVES = ("--dtype", "f16")
# Networks with values beyond 65504, which no half holds: the weights of these are made up.
TOO_LARGE_FOR_HALVES = {"light_" + name for name in (
    "bvlc_alexnet", "inception_v1", "resnet50", "squeezenet", "vgg19", "zfnet512")}


def setUpModule():
    if not LONG or not HAS_OPENCL:
        raise unittest.SkipTest("a long test, for a machine with an OpenCL device")


class Operators(unittest.TestCase):
    def test_all_cases(self):
        cases = [*onnx_sources.generated_cases(), *onnx_sources.packaged_cases()]
        with tempfile.TemporaryDirectory() as folder:
            results = onnx_cases.run_cases(list(onnx_sources.unique(cases)), folder, on=("opencl",),
                                           jobs=os.cpu_count())
        print("opencl: {:,} operator cases, {:,} pass, {:,} refused, {:,} expected failures".format(
            *counts_of(results, "opencl")))
        self.assertEqual(judge(results, REFUSED, EXPECTED_FAILURES), [])


def relative_error(actual, expected):
    """Root mean square, relative to the expected values'."""
    actual, expected = (np.asarray(a, np.float64) for a in (actual, expected))
    size = math.sqrt(np.mean(np.square(expected)))
    return math.sqrt(np.mean(np.square(actual - expected))) / (size or 1)


class RealNetworks(real_networks_test.RealNetworks):
    """The networks out of packages, with the limits of real_networks_test.py."""

    targets = ("opencl",)


class RealNetworksOfImages(RealNetworks):
    """The same; values between kernels and weights are images."""

    options = IMAGES


class RealNetworksOfHalves(RealNetworks):
    """The same, stored in halves: a row of the accuracy table for each output."""

    options = HALVES
    limits_cost = False  # the accuracy is measured, too

    def check(self, network):
        if network.name not in TOO_LARGE_FOR_HALVES:
            super().check(network)
            return
        done = camshaft("compile", network.path, "--target", "opencl", *self.options,
                        "--max-error", str(HALVES_ERROR), "-o", os.path.join(self.folder, "m.plan"))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("above --max-error", done.stderr)

    def compare(self, network, expected, actual):
        for (name, wanted), got in zip(expected.items(), actual):
            self.assertEqual(got.shape, wanted.shape, name)
            error = relative_error(got, wanted)
            print("%-26s %-28s relative rms %.2g" % (network.name, name, error))
            self.assertLessEqual(error, HALVES_ERROR, name)


class RealNetworksOfHalvesInImages(RealNetworksOfHalves):
    """Images of halves."""

    options = (*HALVES, *IMAGES)


class Zoo(unittest.TestCase):
    """The zoo, roadnet and driver monitoring against onnxruntime."""

    options = ()

    def compare(self, name, path, folder):
        """Compiles and compares: (the exit code, the outputs' differences)."""
        plan = os.path.join(folder, name + ".plan")
        done = camshaft("compile", path, "--target", "opencl", "-o", plan, *self.options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = camshaft("compare", plan, "--ref", path, "--trials", "2", "--json",
                        *zoo_test.TOLERANCES.get(name, ("--rtol", "1e-3")))
        self.assertIn(done.returncode, (0, 5), done.stdout + done.stderr)
        return done.returncode, json.loads(done.stdout)["outputs"]

    def check(self, name, path):
        with tempfile.TemporaryDirectory() as folder:
            code, outputs = self.compare(name, path, folder)
        self.assertEqual(code, 0, outputs)
        print("opencl: %s is within tolerance %s" % (name, " ".join(self.options)))


class ZooOfImages(Zoo):
    """The same; values between kernels and weights are images."""

    options = IMAGES


class ZooOfHalves(Zoo):
    """The same, stored in halves: a row of the accuracy table for each output."""

    options = HALVES

    def check(self, name, path):
        with tempfile.TemporaryDirectory() as folder:
            _, outputs = self.compare(name, path, folder)
        for output in outputs:
            decibels = output["snr_db"]  # none where they are equal
            error = 0 if decibels is None and output["max_abs"] == 0 else 10 ** (-decibels / 20)
            print("%-26s %-28s relative rms %.2g" % (name, output["name"], error))
            self.assertLessEqual(error, HALVES_ERROR, output["name"])


class ZooOfHalvesInImages(ZooOfHalves):
    """Images of halves."""

    options = (*HALVES, *IMAGES)


def add_network(name, path):
    def test(self):
        model = path or os.path.join(zoo_test.zoo_folder(), name + ".onnx")
        if not os.path.exists(model):
            self.skipTest(model + " is not on this machine")
        self.check(name, model)

    setattr(Zoo, "test_" + name, test)


for _name in zoo_test.ZOO:
    add_network(_name, None)
for _name, _model in zoo_test.OTHERS.items():
    add_network(_name, _model)

if __name__ == "__main__":
    unittest.main()
