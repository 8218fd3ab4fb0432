# SPDX-License-Identifier: MIT
"""The device build runs a plan in a root that holds the C library and nothing else."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

import e2e
import numpy as np
from onnx import helper


def c_library_files(program):
    """The shared libraries that the loader maps for a program, and the loader itself."""
    listing = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return re.findall(r"(/\S+) \(0x", listing)


def enter(root):
    """The start of a command line that runs the rest inside `root`."""
    as_root = [] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user"]
    return [*as_root, "chroot", root]


@unittest.skipUnless(os.path.exists(e2e.DEVICE_CAMSHAFT), "no device build in this configuration")
class BareRoot(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        for library in c_library_files(e2e.DEVICE_CAMSHAFT):
            target = self.root + library
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy(library, target)
        shutil.copy(e2e.DEVICE_CAMSHAFT, self.root)

    def run_inside(self, *arguments):
        return subprocess.run([*enter(self.root), "/camshaft", *arguments], capture_output=True,
                              text=True, stdin=subprocess.DEVNULL,
                              env={"PATH": os.environ.get("PATH", "") + ":/usr/sbin"})

    def test_nothing_but_the_c_library_is_there(self):
        names = {n for _, _, files in os.walk(self.root) for n in files}
        self.assertTrue(all(n == "camshaft" or n.startswith(("libc.", "libm.", "ld-"))
                            for n in names), names)

    def test_lists_devices(self):
        done = self.run_inside("devices")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("cpu", done.stdout)

    def test_runs_a_plan(self):
        rng = np.random.default_rng(1)
        weights = {"w": rng.standard_normal((8, 5)).astype(np.float32),
                   "b": rng.standard_normal(5).astype(np.float32)}
        x = rng.standard_normal((3, 8)).astype(np.float32)
        model, plan = (os.path.join(self.root, n) for n in ("model.onnx", "model.plan"))
        e2e.make_model(model, [helper.make_node("Gemm", ["x", "w", "b"], ["g"]),
                               helper.make_node("Relu", ["g"], ["y"])],
                       {"x": [3, 8]}, {"y": [3, 5]}, weights)
        done = e2e.camshaft("compile", model, "--target", "cpu", "-o", plan)
        self.assertEqual(done.returncode, 0, done.stderr)
        np.save(os.path.join(self.root, "x.npy"), x)
        done = self.run_inside("run", "/model.plan", "--input", "x=/x.npy", "--output", "/y.npz")
        self.assertEqual(done.returncode, 0, done.stderr)
        with np.load(os.path.join(self.root, "y.npz")) as outputs:
            expected = np.maximum(x @ weights["w"] + weights["b"], 0)
            np.testing.assert_allclose(outputs["y"], expected, 1e-4, 1e-5)


if __name__ == "__main__":
    unittest.main()
