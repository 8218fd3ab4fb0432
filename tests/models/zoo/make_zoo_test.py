# SPDX-License-Identifier: MIT
"""The zoo: the same bytes for the same seed, the right graphs, outputs that tell inputs apart."""

import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "models", "zoo"))

import make_zoo  # noqa: E402

PARAMETERS = {"resnet18": 11.69e6, "resnet50": 25.56e6, "mobilenet_v2": 3.50e6,
              "mobilenet_v3": 5.48e6, "efficientnet_b0": 5.29e6}


def parameters(model):
    """Learned parameters: batch-norm statistics and constants do not count."""
    return sum(int(np.prod(i.dims)) for i in model.graph.initializer
               if i.name.endswith(("weight", "bias")))


def operators(model):
    return {node.op_type for node in model.graph.node}


class Zoo(unittest.TestCase):
    def test_published_parameter_counts(self):
        for name, published in PARAMETERS.items():
            model = onnx.load_from_string(make_zoo.build(name, 17, False, seed=0))
            self.assertAlmostEqual(parameters(model) / published, 1.0, delta=0.002, msg=name)

    def test_bytes_depend_on_the_seed_alone(self):
        first = make_zoo.build("mobilenet_v2", 17, False, seed=0)
        self.assertEqual(first, make_zoo.build("mobilenet_v2", 17, False, seed=0))
        self.assertNotEqual(first, make_zoo.build("mobilenet_v2", 17, False, seed=1))

    def test_opsets_write_what_their_exporters_wrote(self):
        old, new = (onnx.load_from_string(make_zoo.build("transformer", opset, False, seed=0))
                    for opset in (9, 17))
        self.assertIn("LayerNormalization", operators(new))
        self.assertNotIn("LayerNormalization", operators(old))
        self.assertTrue({"ReduceMean", "Pow", "Sqrt", "Erf"} <= operators(old))

    def test_opsets_agree(self):
        with tempfile.TemporaryDirectory() as folder:
            results = []
            for opset in (9, 17):
                path = os.path.join(folder, "%d.onnx" % opset)
                with open(path, "wb") as f:
                    f.write(make_zoo.build("transformer", opset, False, seed=0))
                self.assertIsNone(make_zoo.check(path))
                results.append(self.run_reference(path, folder))
            for name in results[0]:
                np.testing.assert_allclose(results[0][name], results[1][name], 1e-4, 1e-5)

    def run_reference(self, path, folder):
        inputs, outputs = (os.path.join(folder, n) for n in ("in.npz", "out.npz"))
        np.savez(inputs, **make_zoo.sample_inputs(onnx.load(path), 1))
        done = subprocess.run([sys.executable, os.path.join(ROOT, "tools/reference/ort_run.py"),
                               path, "--inputs", inputs, "--outputs", outputs, "--time", "2"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("session_ms", done.stdout)
        with np.load(outputs) as arrays:
            return dict(arrays)

    def test_check_refuses_a_network_that_ignores_its_input(self):
        model = onnx.load_from_string(make_zoo.build("transformer", 17, False, seed=0))
        for initializer in model.graph.initializer:
            if initializer.name == "norm.weight":
                initializer.raw_data = bytes(len(initializer.raw_data))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "constant.onnx")
            onnx.save(model, path)
            self.assertIsNotNone(make_zoo.check(path))


if __name__ == "__main__":
    unittest.main()
