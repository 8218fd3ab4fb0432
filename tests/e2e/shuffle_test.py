# SPDX-License-Identifier: MIT
"""Channel shuffles between convolutions, as exporters write them: their results are onnxruntime's on
every target, and on CPUs no kernel moves channels, unless the shuffled ones are asked for."""

import json
import os
import tempfile
import unittest
from unittest import mock

import numpy as np
from onnx import helper

import opencl_networks
from e2e import camshaft, make_model

CHANNELS = 28  # the half is no whole blocks
HEIGHT, WIDTH = 9, 10
UNITS = 3


class Network:
    """Convolutions and shuffles, of an image of 5 channels; nodes and weights as they come."""

    def __init__(self):
        self.random = np.random.default_rng(0)
        self.nodes = []
        self.weights = {}

    def node(self, op, *inputs, outputs=1, **attributes):
        names = ["v%d_%d" % (len(self.nodes), i) for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, value):
        name = "c%d" % len(self.weights)
        self.weights[name] = value
        return name

    def normal(self, *shape):
        return self.constant(self.random.normal(size=shape, scale=0.4).astype(np.float32))

    def pointwise(self, x, channels, out):
        y = self.node("Conv", x, self.normal(out, channels, 1, 1), self.normal(out))
        return self.node("Relu", y)

    def depthwise(self, x, channels):
        return self.node("Conv", x, self.normal(channels, 1, 3, 3), self.normal(channels),
                         pads=[1, 1, 1, 1], group=channels)

    def reshape(self, x, *shape):
        return self.node("Reshape", x, self.constant(np.array(shape, np.int64)))

    def shuffled(self, x):
        y = self.reshape(x, 1, 2, CHANNELS // 2, HEIGHT, WIDTH)
        y = self.node("Transpose", y, perm=[0, 2, 1, 3, 4])
        return self.reshape(y, 1, CHANNELS, HEIGHT, WIDTH)

    def halves(self, x):
        sizes = self.constant(np.array([CHANNELS // 2] * 2, np.int64))
        return self.node("Split", x, sizes, outputs=2, axis=1)

    def halves_in_turn(self, x):
        """Channels 0, 2, ... and 1, 3, ...: a shuffle and a split, without an axis for the batch."""
        y = self.reshape(x, CHANNELS // 2, 2, HEIGHT * WIDTH)
        y = self.reshape(self.node("Transpose", y, perm=[1, 0, 2]), 2, -1, CHANNELS // 2, HEIGHT,
                         WIDTH)
        return [self.node("Gather", y, self.constant(np.array(i, np.int64)), axis=0)
                for i in (0, 1)]

    def convolved(self, x):
        half = CHANNELS // 2
        y = self.depthwise(self.pointwise(x, half, half), half)
        return self.pointwise(y, half, half)


def first_channels(network):
    half = CHANNELS // 2
    return network.node("Concat", network.pointwise("x", 5, half),
                        network.pointwise("x", 5, half), axis=1)


def shuffled_units(network):
    x = network.shuffled(first_channels(network))
    shuffles = []
    for _ in range(UNITS):
        kept, other = network.halves(x)
        x = network.shuffled(network.node("Concat", kept, network.convolved(other), axis=1))
        shuffles.append(x)
    return x, shuffles


def units_in_turn(network):
    x = first_channels(network)
    for _ in range(UNITS):
        kept, other = network.halves_in_turn(x)
        x = network.node("Concat", kept, network.convolved(other), axis=1)
    return x, []


class Shuffles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def compiled(self, make_units, *options, has_middle=False):
        """Writes and compiles a model of such units; returns it and the plan."""
        network = Network()
        x, shuffles = make_units(network)
        outputs = {network.pointwise(x, CHANNELS, 6): [1, 6, HEIGHT, WIDTH]}
        if has_middle:
            outputs[shuffles[1]] = [1, CHANNELS, HEIGHT, WIDTH]
        model = os.path.join(self.folder, "shuffles.onnx")
        plan = os.path.join(self.folder, "shuffles.plan")
        make_model(model, network.nodes, {"x": [1, 5, HEIGHT, WIDTH]}, outputs, network.weights)
        done = camshaft("compile", model, "-o", plan, *options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return model, plan

    def copies(self, make_units, *options, has_middle=False):
        """The number of kernels that have no convolution, if the results are right."""
        model, plan = self.compiled(make_units, *options, has_middle=has_middle)
        done = camshaft("compare", plan, "--ref", model, "--rtol", "1e-3")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        kernels = json.loads(camshaft("inspect", plan, "--kernels", "--json").stdout)
        return sum(k["strategy"] == "elementwise" for k in kernels["kernels"])

    def test_cpus_copy_nothing(self):
        for make_units in (shuffled_units, units_in_turn):
            for target in ("llvm", "cpu"):
                for threads in ("1", "2"):
                    with self.subTest(make_units.__name__, target=target, threads=threads):
                        copies = self.copies(make_units, "--target", target, "--threads", threads)
                        self.assertEqual(copies, 0)

    def test_what_is_an_output_is_copied(self):
        self.assertGreater(self.copies(shuffled_units, "--target", "llvm", has_middle=True), 0)

    def test_narrow_floats(self):
        for dtype in ("bf16", "f16"):
            with self.subTest(dtype=dtype):
                self.compiled(shuffled_units, "--target", "llvm", "--dtype", dtype,
                              "--max-error", "2e-2")

    @unittest.skipUnless(opencl_networks.HAS_OPENCL, "this machine has no OpenCL device")
    def test_opencl(self):
        with mock.patch.dict(os.environ, opencl_networks.QUICK):
            for options in ((), opencl_networks.IMAGES):
                with self.subTest(options=options):
                    # A copy for each unit but the first, whose channels are as they were made.
                    copies = self.copies(shuffled_units, "--target", "opencl", *options)
                    self.assertLessEqual(copies, UNITS + 1)


if __name__ == "__main__":
    unittest.main()
