# SPDX-License-Identifier: MIT
"""Operators of domain ai.onnx.ml on random attributes, against the onnx package's own evaluator."""

import tempfile
import unittest

import numpy as np
import onnx
import onnx_cases
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator


def make_model(op_type, x, **attributes):
    """A model of one node."""
    node = helper.make_node(op_type, ["x"], ["y"], domain="ai.onnx.ml", **attributes)
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    graph = helper.make_graph([node], op_type, [helper.make_tensor_value_info("x", kind, x.shape)],
                              [onnx.ValueInfoProto(name="y")])
    return helper.make_model(graph, ir_version=10,
                             opset_imports=[helper.make_opsetid("", 21),
                                            helper.make_opsetid("ai.onnx.ml", 5)])


def random_tree(rng, depth, nodes, leaves):
    """Appends a random tree; its root as (place, is a leaf)."""
    if depth == 0 or rng.random() < 0.2:
        leaves.append((int(rng.integers(3)), float(rng.normal())))
        return len(leaves) - 1, 1
    place = len(nodes)
    nodes.append(None)
    yes = random_tree(rng, depth - 1, nodes, leaves)
    no = random_tree(rng, depth - 1, nodes, leaves)
    nodes[place] = (int(rng.integers(4)), int(rng.integers(6)), float(rng.integers(-2, 3)), yes, no,
                    int(rng.integers(2)))
    return place, 0


def random_forest(rng, aggregate):
    """Attributes of a TreeEnsemble over 4 features."""
    nodes, leaves, roots = [], [], []
    while len(roots) < 3:
        place, is_leaf = random_tree(rng, 4, nodes, leaves)
        if not is_leaf:
            roots.append(place)
    feature, mode, split, yes, no, missing = zip(*nodes)
    return {
        "tree_roots": roots, "n_targets": 3, "aggregate_function": aggregate,
        "nodes_featureids": feature, "nodes_missing_value_tracks_true": missing,
        "nodes_modes": numpy_helper.from_array(np.uint8(mode), "modes"),
        "nodes_splits": numpy_helper.from_array(np.float32(split), "splits"),
        "nodes_truenodeids": [y[0] for y in yes], "nodes_trueleafs": [y[1] for y in yes],
        "nodes_falsenodeids": [n[0] for n in no], "nodes_falseleafs": [n[1] for n in no],
        "leaf_targetids": [l[0] for l in leaves],
        "leaf_weights": numpy_helper.from_array(np.float32([l[1] for l in leaves]), "weights"),
    }


def random_cases():
    """Models with inputs."""
    rng = np.random.default_rng(11)
    x = rng.integers(-3, 4, (7, 4)).astype(np.float32)
    x[2, 1] = np.nan
    for aggregate in (0, 1, 2, 3):
        yield make_model("TreeEnsemble", x, **random_forest(rng, aggregate)), x
    yield make_model("LabelEncoder", x, keys_floats=[1.0, 3.0, -2.0],
                     values_int64s=[7, 8, 9], default_int64=5), x
    i = rng.integers(0, 5, (3, 5)).astype(np.int64)
    yield make_model("LabelEncoder", i, keys_int64s=[0, 3, 4], values_floats=[0.5, 1.5, 2.5],
                     default_float=-7.0), i
    yield make_model("Binarizer", x[:2], threshold=1.0), x[:2]


class OnnxMl(unittest.TestCase):
    def check(self, cases):
        with tempfile.TemporaryDirectory() as folder:
            results = onnx_cases.run_cases(cases, folder)
        self.assertEqual([(r.case.name, r.problems) for r in results if r.status != "passed"], [])

    def test_a_nan_key_matches_a_nan(self):
        # As the specification says; the package's evaluator does not.
        x = np.float32([1, np.nan, 2])
        model = make_model("LabelEncoder", x, keys_floats=[float("nan"), 2.0, 2.0],
                           values_int64s=[7, 8, 9], default_int64=5)
        self.check([onnx_cases.Case("nan", model, [x], [np.int64([5, 7, 9])], 0, 0)])

    def test_random_attributes(self):
        cases = []
        for number, (model, x) in enumerate(random_cases()):
            expected = ReferenceEvaluator(model).run(None, {"x": x})
            cases.append(onnx_cases.Case("ml_%d" % number, model, [x],
                                         [np.asarray(e, x.dtype if e.dtype == np.float64 else None)
                                          for e in expected], 1e-5, 1e-6))
        self.assertEqual(len(cases), 7)
        self.check(cases)


if __name__ == "__main__":
    unittest.main()
