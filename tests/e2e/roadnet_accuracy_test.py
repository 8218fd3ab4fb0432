# SPDX-License-Identifier: MIT
"""roadnet.onnx against the renderer's truth, on seeds that it was never trained on."""

import json
import os
import sys
import tempfile
import unittest

import numpy as np
import onnx

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests", "support"), os.path.join(ROOT, "models", "roadnet")]

from e2e import BUILD  # noqa: E402

import dataset  # noqa: E402
import evaluate  # noqa: E402
import metrics  # noqa: E402

MODEL = os.path.join(ROOT, "models", "roadnet", "roadnet.onnx")
ROADGEN = os.path.join(BUILD, "models", "roadnet", "roadgen")
VIEWS = 300
SEED = dataset.HELD_OUT_SEED + 700_000_000  # other ones than train.py looks at


class RoadnetAccuracy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.inputs, cls.truth, cls.layout = dataset.make_views(
                ROADGEN, os.path.join(folder, "views"), SEED, VIEWS)
        cls.estimate = evaluate.run_model(MODEL, cls.inputs)

    def test_errors_are_within_the_limits(self):
        result = metrics.measure(self.estimate, self.truth, self.layout)
        self.assertEqual(metrics.above_limits(result), [], result)
        self.assertEqual(result["views"], VIEWS)
        for name in ("left_line_accuracy", "right_line_accuracy", "lead_accuracy"):
            self.assertGreater(result[name], 0.93, name)

    def test_the_limits_catch_estimates_for_other_views(self):
        result = metrics.measure(np.roll(self.estimate, 1, axis=0), self.truth, self.layout)
        self.assertEqual(len(metrics.above_limits(result)), len(metrics.LIMITS), result)

    def test_the_limits_catch_a_network_that_never_answers(self):
        result = metrics.measure(np.full_like(self.estimate, np.nan), self.truth, self.layout)
        self.assertEqual(len(metrics.above_limits(result)), len(metrics.LIMITS), result)

    def test_the_file_says_what_its_outputs_are(self):
        model = onnx.load(MODEL)
        properties = {p.key: json.loads(p.value) for p in model.metadata_props}
        self.assertEqual(properties["camshaft.output_slices"], self.layout.description["slices"])
        self.assertEqual(properties["camshaft.distances_m"], self.layout.description["distances_m"])
        self.assertEqual(self.estimate.shape, (VIEWS, self.layout.size))

    def test_the_file_is_as_small_as_it_claims(self):
        weights = onnx.load(MODEL).graph.initializer
        parameters = sum(int(np.prod(w.dims)) for w in weights)
        with open(MODEL[:-len("onnx")] + "json", encoding="utf-8") as f:
            self.assertEqual(parameters, json.load(f)["parameters"])
        self.assertLessEqual(parameters, 1_000_000)


if __name__ == "__main__":
    unittest.main()
