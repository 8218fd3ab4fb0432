# SPDX-License-Identifier: MIT
"""The device build for AArch64, under qemu's user emulation: plans compiled here give there what this
machine's own give."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

import command_models as models
import e2e
import numpy as np
import onnx
from onnx_quantized_test import exact_conv_cases
from zoo_test import OTHERS, zoo_folder

CAMSHAFT = os.path.join(e2e.BUILD, "runtime-aarch64", "camshaft")
QEMU = shutil.which("qemu-aarch64")
SYSROOT = "/usr/aarch64-linux-gnu"
TARGETS = ("llvm:cortex-a76", "cpu:cortex-a76")
# An emulated run is some hundred times slower than a real one.
NETWORKS = ("roadnet",) + (("mobilenet_v3", "transformer", "resnet18", "efficientnet_b0", "vit_tiny")
                           if e2e.LONG else ())


def on_arm(*arguments, cpu="cortex-a76"):
    """Runs the AArch64 command; returns the finished process."""
    return subprocess.run([QEMU, "-cpu", cpu, "-L", SYSROOT, CAMSHAFT, *map(str, arguments)],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL)


def random_inputs(model, path):
    """Writes an input of each kind that the model takes."""
    rng = np.random.default_rng(4)
    graph = onnx.load(model, load_external_data=False).graph
    weights = {w.name for w in graph.initializer}
    arrays = {}
    for value in (v for v in graph.input if v.name not in weights):
        kind = value.type.tensor_type
        shape = [d.dim_value for d in kind.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
        arrays[value.name] = (rng.integers(0, 255, shape).astype(dtype) if dtype.kind in "iu"
                              else rng.standard_normal(shape).astype(dtype))
    np.savez(path, **arrays)


@unittest.skipUnless(QEMU and os.path.exists(CAMSHAFT), "no AArch64 device build, or no qemu-aarch64")
class AArch64(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def document(self, done, code=0):
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def compile(self, model, targets, *options):
        plan = self.path("model.plan")
        done = e2e.camshaft("compile", model, "-o", plan, "--target", ",".join(targets), *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return plan

    def small_model(self):
        """Two convolutions of 'x', f32[1x3x8x8]."""
        models.make_convolutions(self.path("small.onnx"))
        return self.path("small.onnx")

    def check_network(self, name):
        model = OTHERS.get(name) or os.path.join(zoo_folder(), name + ".onnx")
        plan = self.compile(model, ["llvm", *TARGETS])
        random_inputs(model, self.path("in.npz"))
        inputs = ["--input", self.path("in.npz")]
        here = e2e.camshaft("run", plan, *inputs, "--target", "llvm", "--output", self.path("here.npz"))
        self.assertEqual(here.returncode, 0, here.stderr)
        expected = dict(np.load(self.path("here.npz")))
        for target in TARGETS:
            with self.subTest(target=target):
                done = on_arm("run", plan, *inputs, "--target", target, "--output",
                              self.path("there.npz"))
                self.assertEqual(done.returncode, 0, done.stderr)
                actual = dict(np.load(self.path("there.npz")))
                self.assertEqual(set(actual), set(expected))
                for output, values in expected.items():
                    np.testing.assert_allclose(actual[output], values, rtol=1e-5, atol=1e-5,
                                               err_msg=output)

    def test_lists_the_device(self):
        done = self.document(on_arm("devices", "--json"))
        cpu = next(d for d in done["devices"] if d["device"] == "cpu")
        self.assertEqual(cpu["arch"], "aarch64")
        self.assertLessEqual({"neon", "dotprod", "fullfp16"}, set(cpu["features"]))

    def test_both_targets_give_equal_bits_and_an_input_counts(self):
        plan = self.compile(self.small_model(), TARGETS)
        results = {}
        for fill in (0, 2):
            np.savez(self.path("in.npz"), x=np.full((1, 3, 8, 8), fill, np.float32))
            for target in TARGETS:
                done = on_arm("run", plan, "--input", self.path("in.npz"), "--target", target,
                              "--output", self.path("out.npz"))
                self.assertEqual(done.returncode, 0, done.stderr)
                with np.load(self.path("out.npz")) as arrays:
                    results[fill, target] = arrays["y"].tobytes()
        self.assertEqual(results[0, TARGETS[0]], results[0, TARGETS[1]])
        self.assertEqual(results[2, TARGETS[0]], results[2, TARGETS[1]])
        self.assertNotEqual(results[0, TARGETS[0]], results[2, TARGETS[0]])

    def test_a_golden_made_here_is_verified_there(self):
        model = self.small_model()
        random_inputs(model, self.path("in.npz"))
        plan = self.compile(model, ["llvm", "llvm:cortex-a76"], "--golden", self.path("in.npz"))
        done = self.document(on_arm("verify", plan, "--json"))
        self.assertTrue(all(g["good"] for g in done["goldens"]) and done["goldens"])

    def test_sums_of_bytes_are_exact_by_either_instruction(self):
        for case in list(exact_conv_cases())[::3]:
            onnx.save(case.model, self.path("bytes.onnx"))
            np.savez(self.path("in.npz"), in0=case.inputs[0])
            # sdot, and usdot of i8mm.
            for march, cpu in (("cortex-a76", "cortex-a76"), ("neoverse-n2", "max")):
                targets = ["llvm:" + march, "cpu:" + march]
                plan = self.compile(self.path("bytes.onnx"), targets)
                for target in targets:
                    with self.subTest(case=case.name, target=target):
                        done = on_arm("run", plan, "--input", self.path("in.npz"), "--target", target,
                                      "--output", self.path("out.npz"), cpu=cpu)
                        self.assertEqual(done.returncode, 0, done.stderr)
                        with np.load(self.path("out.npz")) as arrays:
                            np.testing.assert_array_equal(arrays["out0"], case.outputs[0])

    def test_plans_for_other_cpus_are_refused(self):
        done = on_arm("run", self.compile(self.small_model(), ["llvm"]), "--random")
        self.assertEqual(done.returncode, models.WRONG_TARGET, done.stdout)
        self.assertIn("aarch64", done.stderr)
        # A Cortex-A53 lacks dot products and half floats.
        plan = self.compile(self.small_model(), ["llvm:cortex-a76"])
        done = on_arm("run", plan, "--random", cpu="cortex-a53")
        self.assertEqual(done.returncode, models.WRONG_TARGET, done.stdout)
        self.assertIn("dotprod", done.stderr)

    def test_runs_make_no_system_calls(self):
        plan = self.compile(self.small_model(), ["llvm:cortex-a76"])
        calls = {}
        for runs in (1, 50):
            done = subprocess.run([QEMU, "-strace", "-cpu", "cortex-a76", "-L", SYSROOT, CAMSHAFT,
                                   "bench", plan, "--iterations", str(runs), "--warmup", "0"],
                                  capture_output=True, text=True, stdin=subprocess.DEVNULL)
            self.assertEqual(done.returncode, 0, done.stderr[-1000:])
            # The clock is a system call only under emulation.
            calls[runs] = [line for line in done.stderr.splitlines()
                           if "(" in line and "clock_gettime" not in line]
        self.assertGreater(len(calls[1]), 10)
        self.assertEqual(len(calls[1]), len(calls[50]))


def add_network(name):
    setattr(AArch64, "test_" + name, lambda self: self.check_network(name))


for network in NETWORKS:
    add_network(network)

if __name__ == "__main__":
    unittest.main()
