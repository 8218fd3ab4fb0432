# SPDX-License-Identifier: MIT
"""The example of an application with camera buffers in its own OpenCL context."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import e2e
import numpy as np
import onnxruntime

FOLDER = os.path.join(e2e.ROOT, "tools", "examples")
EXAMPLE = os.path.join(e2e.BUILD, "tools", "examples", "opencl_camera")
MODEL = os.path.join(FOLDER, "camera.onnx")
DEVICES = json.loads(e2e.camshaft("devices", "--json").stdout)["devices"]
HAS_OPENCL = any(d["backend"] == "opencl" for d in DEVICES)


class OpenClCamera(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda name: os.path.join(folder.name, name)

    def run_example(self, *arguments):
        return subprocess.run([EXAMPLE, *arguments], capture_output=True, text=True, cwd=self.path(""))

    def compile(self):
        done = e2e.camshaft("compile", MODEL, "--target", "opencl", "--image-input", "picture", "-o",
                            self.path("camera.plan"))
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.path("camera.plan")

    def test_the_model_is_what_its_script_writes(self):
        written = self.path("written.onnx")
        subprocess.run([sys.executable, os.path.join(FOLDER, "camera_model.py"), written], check=True)
        with open(written, "rb") as a, open(MODEL, "rb") as b:
            self.assertEqual(a.read(), b.read())

    @unittest.skipUnless(HAS_OPENCL, "this machine has no OpenCL device")
    def test_a_frame_is_read_in_place_and_right(self):
        random = np.random.default_rng(2)
        frame = random.integers(0, 256, (1834, 2048), np.uint8)
        picture = random.integers(0, 256, (1, 604, 964, 4), np.uint8)
        frame.tofile(self.path("frame.bin"))
        picture.tofile(self.path("picture.bin"))
        done = self.run_example("--plan", self.compile(), "--frame", self.path("frame.bin"),
                                "--picture", self.path("picture.bin"), "--output",
                                self.path("grid.bin"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for words in ("the same frame again changes the answer by 0,", "trace: 0 copies;",
                      " 0 other calls", "8 buffers and images given back"):
            self.assertIn(words, done.stdout)
        wanted = onnxruntime.InferenceSession(MODEL).run(None, {"frame": frame, "picture": picture})[0]
        got = np.fromfile(self.path("grid.bin"), np.float32).reshape(wanted.shape)
        np.testing.assert_allclose(got, wanted, rtol=1e-3, atol=1e-5)

    @unittest.skipUnless(HAS_OPENCL, "this machine has no OpenCL device")
    def test_the_model_is_compiled_where_no_plan_is_given(self):
        done = self.run_example("--model", MODEL, "--camshaft", e2e.CAMSHAFT, "--trace")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count(" import_memory "), 9)  # the rings', and the weights
        self.assertNotIn("copies: ", done.stdout)

    @unittest.skipUnless(HAS_OPENCL, "this machine has no OpenCL device")
    def test_devices_say_what_they_import(self):
        for device in DEVICES:
            if device["backend"] == "opencl":
                self.assertIn("cl-buffer", device["imports"])
            self.assertNotIn("cuda-pointer", device["imports"])
        listed = e2e.camshaft("devices").stdout
        self.assertRegex(listed, r"\nopencl imports without a copy: .*cl-buffer")
        self.assertIn("\ncpu imports without a copy: host-pointer\n", listed)

    def test_what_is_missing_is_said(self):
        done = self.run_example("--plan", self.path("none.plan"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("none.plan" if HAS_OPENCL else "OpenCL", done.stderr)


if __name__ == "__main__":
    unittest.main()
