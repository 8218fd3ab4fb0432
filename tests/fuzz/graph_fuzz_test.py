# SPDX-License-Identifier: MIT
"""The graphs of graph_recipes.txt, which once went wrong, and some fresh ones."""

import os
import unittest

import graph_compare
import graph_fuzz
import graph_maker
import numpy as np

RECIPES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "graph_recipes.txt")
FRESH = 120  # few: `scons fuzz` runs many


class GraphFuzz(unittest.TestCase):
    def check(self, recipes):
        graphs = [(r, graph_fuzz.make(r, i)) for i, r in enumerate(recipes)]
        graphs = [(r, g) for r, g in graphs if g.nodes]
        verdicts = graph_compare.Runner(os.cpu_count()).compare([g for _, g in graphs])
        self.assertEqual(["%s: %s: %s" % (graph_fuzz.recipe_text(r), v.kind, v.text)
                          for (r, _), v in zip(graphs, verdicts) if v.kind], [])
        return verdicts

    def test_kept_recipes(self):
        with open(RECIPES, encoding="utf-8") as f:
            recipes = [r for r in map(graph_fuzz.parse_recipe, f) if r]
        self.assertEqual(len(self.check(recipes)), len(recipes), "a recipe makes no graph any more")

    def test_fresh_recipes(self):
        verdicts = self.check([graph_fuzz.random_recipe(seed) for seed in range(FRESH)])
        self.assertGreater(sum(v.peers > 0 for v in verdicts), FRESH // 2)

    def test_a_recipe_means_the_same_without_other_steps(self):
        steps = ("conv", "softmax", "clip")
        whole = graph_fuzz.make((3, steps))
        part = graph_fuzz.make((3, ("conv", "clip")))
        self.assertEqual([n.op_type for n in whole.nodes], ["Conv", "LogSoftmax", "Clip"])
        self.assertEqual([n.op_type for n in part.nodes], ["Conv", "Clip"])
        self.assertEqual(str(whole.nodes[0].attribute), str(part.nodes[0].attribute))

    def test_every_operator_makes_graphs(self):
        """And nothing else but what a step does not fit: an error in a generator is no lack."""
        for name in graph_fuzz.OPERATORS:
            fit = sum(bool(graph_fuzz.make((seed, (name,))).nodes) for seed in range(60))
            self.assertGreater(fit, 0, name)

    def test_differences_are_seen(self):
        right = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
        wrong = right.copy()
        wrong[1, 2] += 0.01
        self.assertEqual(graph_compare.differs(right, right, right), "")
        self.assertIn("1 of 12 elements off, at [1, 2]", graph_compare.differs(wrong, right, right))
        self.assertIn("float64", graph_compare.differs(right.astype(np.float64), right, right))
        self.assertTrue(graph_compare.differs(np.where(right > 0, np.nan, right), right, right))
        self.assertTrue(graph_compare.differs(np.int32([3]), np.int32([4]), np.int32([4])))
        # Where rounding alone moves an element, more is allowed.
        self.assertEqual(graph_compare.differs(wrong, right, right + np.float32(0.01)), "")

    def test_a_verdict_names_who_differs(self):
        graph = graph_maker.make_graph((5, ("mat_mul",)), graph_fuzz.OPERATORS)
        [value] = graph.outputs()
        good = np.ones(value.shape, value.dtype)
        outputs = {on: {value.name: good} for on in graph_compare.IMPLEMENTATIONS}
        self.assertEqual(graph_compare.judge(graph, outputs, None).kind, "")
        for on in ("llvm", "cpu"):
            bad = {**outputs, on: {value.name: good * 2}}
            self.assertEqual(graph_compare.judge(graph, bad, None).kind, on)
        peer = {value.name: good * 2}
        self.assertEqual(graph_compare.judge(graph, outputs, peer).kind, "onnxruntime")


if __name__ == "__main__":
    unittest.main()
