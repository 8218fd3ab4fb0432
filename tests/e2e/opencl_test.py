# SPDX-License-Identifier: MIT
"""Models on the target `opencl`, on the machine's first OpenCL device (PoCL, after tools/setup.sh):
small ones, and the command's answers where something is missing. Networks and operators are run as
opencl_networks.py says."""

import json
import os
import re
import subprocess
import unittest

import command_models as models
import e2e
import numpy as np
from onnx import helper

DEVICES = json.loads(e2e.camshaft("devices", "--json").stdout)["devices"]
DEVICES_TEXT = json.dumps(DEVICES)
OPENCL_DEVICES = [d for d in DEVICES if d["backend"] == "opencl"]
HAS_OPENCL = bool(OPENCL_DEVICES)


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
        for strategy in ("group_product", "item_window", "group_rows"):
            self.assertIn(strategy, kernels)
        self.camshaft("bench", plan, "--target", "opencl", "--iterations", "3", "--warmup", "0")

    def test_a_drivers_binary_is_used_where_it_fits(self):
        e2e.make_model(self.path("m.onnx"), [helper.make_node("Exp", ["x"], ["y"])],
                       {"x": [7]}, {"y": [7]})
        plan, given = self.path("m.plan"), self.path("x.npy")
        np.save(given, np.arange(7, dtype=np.float32))

        def outputs(path, **environment):
            made = self.path("out.npz")
            done = subprocess.run([e2e.CAMSHAFT, "run", path, "--json", "--input", "x=" + given,
                                   "--output", made], env={**os.environ, **environment},
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            with np.load(made) as arrays:
                return json.loads(done.stdout)["notes"], arrays["y"].copy()

        self.camshaft("compile", self.path("m.onnx"), "-o", plan, "--target", "opencl")
        notes, expected = outputs(plan)
        self.assertEqual(notes, [])
        builders = [e2e.CAMSHAFT]
        if os.path.exists(e2e.DEVICE_CAMSHAFT):
            builders.append(e2e.DEVICE_CAMSHAFT)
        for program in builders:
            fast = self.path("fast.plan")
            done = e2e.camshaft("compile", plan, "-o", fast, "--driver-binary", "opencl:0",
                                program=program)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertGreater(os.path.getsize(fast), os.path.getsize(plan))
            shown = json.loads(self.camshaft("inspect", fast, "--json").stdout)["targets"][0]
            [binary] = shown["driver_binaries"]
            self.assertIn("driver", binary["driver"])
            self.assertGreater(binary["bytes"], 0)
            notes, actual = outputs(fast)
            self.assertEqual(notes, [])
            np.testing.assert_array_equal(actual, expected)
            done = e2e.camshaft("compile", plan, "-o", fast, program=program)
            self.assertEqual(done.returncode, 2)
            self.assertIn("--driver-binary", done.stderr)
            for option in (["--golden", self.path("x.npz")], ["--dtype", "f16"], ["--no-fuse"],
                           ["--target", "cpu"], ["--tune", "1"]):
                done = e2e.camshaft("compile", plan, "-o", fast, "--driver-binary", "opencl:0",
                                    *option, program=program)
                self.assertEqual(done.returncode, 2)
                self.assertIn("is compiled already, and %s is for models" % option[0], done.stderr)
        # Another device of the same driver.
        if "Portable Computing Language" in DEVICES_TEXT:
            notes, actual = outputs(fast, POCL_DEVICES="basic")
            self.assertEqual(len(notes), 1)
            self.assertIn("compiled from their text", notes[0])
            np.testing.assert_array_equal(actual, expected)
        done = e2e.camshaft("compile", self.path("m.onnx"), "-o", fast, "--driver-binary", "cpu")
        self.assertEqual(done.returncode, 3)
        self.assertIn("binaries already", done.stderr)

    def test_a_device_is_chosen_by_part_of_its_name(self):
        e2e.make_model(self.path("m.onnx"), [helper.make_node("Exp", ["x"], ["y"])],
                       {"x": [7]}, {"y": [7]})
        self.camshaft("compile", self.path("m.onnx"), "-o", self.path("m.plan"), "--target",
                      "opencl")
        name = next(d["name"] for d in DEVICES if d["backend"] == "opencl")
        self.camshaft("run", self.path("m.plan"), "--device", "opencl:" + name.upper(), "--random")
        done = e2e.camshaft("run", self.path("m.plan"), "--device", "opencl:nowhere", "--random")
        self.assertEqual(done.returncode, 4)
        self.assertIn(name, done.stderr)

    def test_tuning_is_of_a_device(self):
        """What was measured on one device is taken without it, and not mixed with another's."""
        weights = {"w": np.random.default_rng(3).normal(size=(64, 8)).astype(np.float32)}
        e2e.make_model(self.path("m.onnx"), [helper.make_node("MatMul", ["x", "w"], ["y"])],
                       {"x": [4, 64]}, {"y": [4, 8]}, weights)
        db, plan = self.path("m.tuning"), self.path("m.plan")
        arguments = ("compile", self.path("m.onnx"), "-o", plan, "--target", "opencl",
                     "--tuning-db", db)
        self.camshaft(*arguments, "--tune", "0.05")
        with open(db) as file:
            head, line = file.read().splitlines()
        measured = json.loads(line)
        device = next(d["name"] for d in DEVICES if d["backend"] == "opencl")
        self.assertEqual(measured["target"], "opencl on " + device)

        def write(*entries):
            with open(db, "w") as file:
                file.write("\n".join([head, *map(json.dumps, entries)]) + "\n")

        def kernel_name():
            return self.camshaft("inspect", plan, "--source", "0").stdout

        done = e2e.camshaft(*arguments, "--tune", "0.05", "--tuning-device", "opencl:nowhere")
        self.assertEqual(done.returncode, 4)
        self.assertIn(device, done.stderr)
        other = {**measured, "target": "opencl on Some GPU", "strategy": "group_product",
                 "knobs": "1x4v8u8"}
        write(other)
        self.camshaft(*arguments, "--frozen")
        self.assertIn("1x4v8u8", kernel_name())
        write(measured, other)
        done = e2e.camshaft(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("name one with --tuning-device", done.stderr)
        self.camshaft(*arguments, "--frozen", "--tuning-device", "opencl:some gpu")
        self.assertIn("1x4v8u8", kernel_name())
        self.camshaft(*arguments, "--frozen", "--tuning-device", "opencl:" + device)
        self.assertIn(measured["knobs"], kernel_name())
        self.camshaft(*arguments, "--frozen", "--tuning-device", "opencl:0")
        self.assertIn(measured["knobs"], kernel_name())
        done = e2e.camshaft(*arguments, "--frozen", "--tuning-device", "opencl:a third")
        self.assertEqual(done.returncode, 2)
        self.assertIn("entries of other devices than", done.stderr)
        for asked, code, sentence in (
                ("opencl:99", 4, "name one of another machine by a part of its name"),
                ("cpu", 2, "--tuning-device cpu: that is for targets of GPUs"),
                ("nothing", 2, "none of opencl runs there")):
            done = e2e.camshaft(*arguments, "--tuning-device", asked)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(sentence, done.stderr)
        done = e2e.camshaft(*arguments[:-2], "--tuning-device", "opencl:0")
        self.assertEqual(done.returncode, 2)
        self.assertIn("is for --tune and --tuning-db", done.stderr)

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
        folder = self.path("none.icd")
        cases = [({"OCL_ICD_VENDORS": folder}, "OCL_ICD_VENDORS says '%s', and no driver" % folder)]
        if "Portable Computing Language" in DEVICES_TEXT and len(OPENCL_DEVICES) == 1:
            cases.append(({"POCL_DEVICES": ""}, "a driver is installed (Portable Computing "
                                                "Language) but gives none"))
        for variables, sentence in cases:
            done = subprocess.run([e2e.CAMSHAFT, "run", self.path("m.plan"), "--random"],
                                  env={**os.environ, **variables}, capture_output=True, text=True)
            self.assertEqual(done.returncode, 4)
            self.assertIn(sentence, done.stderr)


if __name__ == "__main__":
    unittest.main()
