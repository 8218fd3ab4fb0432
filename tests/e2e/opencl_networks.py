# SPDX-License-Identifier: MIT
"""What the tests of whole networks on the machine's first OpenCL device share: each network that
the other targets are tested with, against onnxruntime, in one form of the target's plans.

Most of the time is the driver's compiler's: PoCL takes 0.1 s for a kernel, 0.2 s with images, and a
network has up to 190 of them; for operators most of it is what it does for each program. So, but
for the long tests:
- where that takes less time altogether, the driver is asked to compile kernels as they are written;
- a network that comes in several sizes is run in its first, steps of state are STEPS;
- operators' cases are run several together, as one model.
"""

import dataclasses
import json
import math
import os
import tempfile
import unittest
from unittest import mock

import networks
import numpy as np
import real_networks_test
import zoo_test
from e2e import LONG, camshaft

HAS_OPENCL = any(d["backend"] == "opencl"
                 for d in json.loads(camshaft("devices", "--json").stdout)["devices"])
IMAGES = ("--images", "on")
HALVES = ("--dtype", "f16")
# What outputs may differ by, root mean square, relative to the reference's, where weights and what
# lies between kernels are halves.
HALVES_ERROR = 2e-2
# Networks with values beyond 65504, which no half holds: the weights of these are made up.
TOO_LARGE_FOR_HALVES = {"light_" + name for name in (
    "bvlc_alexnet", "inception_v1", "resnet50", "squeezenet", "vgg19", "zfnet512")}
STEPS = 10
TOGETHER = 1 if LONG else 25
QUICK = {} if LONG else {"POCL_EXTRA_BUILD_FLAGS": "-cl-opt-disable"}  # for PoCL only
# PoCL: what optimising takes it for a kernel, and what it saves in a run.
OPTIMISING_S = 0.05
SAVED_S_PER_GFLOP = 0.5


def first_sizes():
    """The names of the networks that are the first of those of a file and of frozen inputs."""
    first = {}
    for network in networks.all_networks():
        frozen = tuple((name, value.tobytes()) for name, value in network.frozen.items())
        first.setdefault((network.path, frozen), network.name)
    return set(first.values())


def target_of(plan):
    """What inspect says of a plan's only target."""
    [target] = json.loads(camshaft("inspect", plan, "--json").stdout)["targets"]
    return target


def driver_settings(target):
    """The environment in which a plan is compiled by the driver and run in the least time."""
    saved_s = target["flops"] * 1e-9 * SAVED_S_PER_GFLOP
    return QUICK if target["kernels"] * OPTIMISING_S > saved_s else {}


def relative_error(actual, expected):
    """Root mean square, relative to the expected values'."""
    actual, expected = (np.asarray(a, np.float64) for a in (actual, expected))
    size = math.sqrt(np.mean(np.square(expected)))
    return math.sqrt(np.mean(np.square(actual - expected))) / (size or 1)


class RealNetworks(real_networks_test.RealNetworks):
    """The networks out of packages, with the limits of real_networks_test.py."""

    targets = ("opencl",)
    sizes = first_sizes()

    def check(self, network):
        if not LONG:
            if network.name not in self.sizes:
                self.skipTest("another size is run; this one by test-long")
            network = dataclasses.replace(network, steps=min(network.steps, STEPS))
        super().check(network)

    def compile(self, network, target):
        plan = super().compile(network, target)
        compiled = target_of(plan)
        settings = mock.patch.dict(os.environ, driver_settings(compiled))
        settings.start()
        self.addCleanup(settings.stop)
        return plan


class Zoo(unittest.TestCase):
    """The zoo, roadnet and driver monitoring."""

    options = ()

    def compare(self, name, path, folder):
        """Compiles and compares: (the exit code, the outputs' differences)."""
        plan = os.path.join(folder, name + ".plan")
        done = camshaft("compile", path, "--target", "opencl", "-o", plan, *self.options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        compiled = target_of(plan)
        with mock.patch.dict(os.environ, driver_settings(compiled)):
            done = camshaft("compare", plan, "--ref", path, "--trials", "2" if LONG else "1",
                            "--json", *zoo_test.TOLERANCES.get(name, ("--rtol", "1e-3")))
        self.assertIn(done.returncode, (0, 5), done.stdout + done.stderr)
        return done.returncode, json.loads(done.stdout)["outputs"]

    def check(self, name, path):
        with tempfile.TemporaryDirectory() as folder:
            code, outputs = self.compare(name, path, folder)
        self.assertEqual(code, 0, outputs)
        print("opencl: %s is within tolerance %s" % (name, " ".join(self.options)))


class RealNetworksOfHalves(RealNetworks):
    """Stored in halves: a row of the accuracy table for each output."""

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


class ZooOfHalves(Zoo):
    """Stored in halves: a row of the accuracy table for each output."""

    options = HALVES

    def check(self, name, path):
        with tempfile.TemporaryDirectory() as folder:
            _, outputs = self.compare(name, path, folder)
        for output in outputs:
            error = output["relative_rms"]  # none where it is infinite
            self.assertIsNotNone(error, output)
            print("%-26s %-28s relative rms %.2g" % (name, output["name"], error))
            self.assertLessEqual(error, HALVES_ERROR, output["name"])


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
