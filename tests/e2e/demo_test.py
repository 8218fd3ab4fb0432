# SPDX-License-Identifier: MIT
"""The demo on a few frames: its tables, its picture, its video, its errors."""

import json
import os
import subprocess
import tempfile
import unittest

from PIL import Image

from e2e import BUILD, ROOT

DEMO = os.path.join(BUILD, "tools", "demo", "demo")


class Demo(unittest.TestCase):
    def test_a_few_frames(self):
        with tempfile.TemporaryDirectory() as folder:
            process = subprocess.run([DEMO, "--frames", "6", "--out", folder], cwd=ROOT,
                                     capture_output=True, text=True)
            self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
            for words in ("compiled", "latency, ms      p50      p90      p99    p99.9      max",
                          "lines, mean error up to 30 m", "later than the deadline"):
                self.assertIn(words, process.stdout)
            with open(os.path.join(folder, "demo.json")) as f:
                summary = json.load(f)
            self.assertEqual(summary["frames"], 6)
            self.assertLess(summary["line_error_30_m"], 0.10)
            self.assertGreater(summary["line_error_30_m"], 0.0)
            with Image.open(os.path.join(folder, "frame.png")) as picture:
                picture.load()
                self.assertEqual(picture.size, (1928, 1208))
            with open(os.path.join(folder, "drive.mp4"), "rb") as f:
                self.assertEqual(f.read(8)[4:], b"ftyp")

    def test_a_model_that_is_not_there(self):
        with tempfile.TemporaryDirectory() as folder:
            process = subprocess.run([DEMO, "--model", "no.onnx", "--out", folder], cwd=ROOT,
                                     capture_output=True, text=True)
            self.assertNotEqual(process.returncode, 0)
            self.assertIn("no.onnx", process.stderr)


if __name__ == "__main__":
    unittest.main()
