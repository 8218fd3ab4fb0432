# SPDX-License-Identifier: MIT
"""Every kind of operator on a tensor whose first extent depends on data, against onnxruntime.

`v` are rows of x[8,...] that a mask selects: five, one or none of them. What an operator makes in
the shape of `v` must have its length, and what it computes must not see the rows beyond it.
"""

import tempfile
import unittest

import numpy as np
import onnx
import onnx.parser
import onnx_cases
import onnxruntime

HEADER = '<ir_version: 10, opset_import: ["" : 21]>\n'
MODEL = HEADER + """g (float[8,%s] x, bool[8] m) => (%s) {
    v = Compress<axis=0>(x, m)
    zero = Constant<value=int64[1] {0}>()
    one = Constant<value=int64[1] {1}>()
    three = Constant<value=int64[1] {3}>()
    %s
}"""

# Name -> (outputs, nodes); v is float[n,6], and float[n,2,4,6] in IMAGES.
ROWS = {
    # made in the shape of v
    "dropout": ("bool[a,b] y", "u, y = Dropout(v)"),
    "eye": ("float[a,b] y", "y = EyeLike<k=1>(v)"),
    "hardmax_rows": ("float[a,b] y", "y = Hardmax<axis=0>(v)"),
    "hardmax_columns": ("float[a,b] y", "y = Hardmax<axis=1>(v)"),
    "is_inf_of_no_sign": ("bool[a,b] y",
                          "y = IsInf<detect_positive=0, detect_negative=0>(v)"),
    "random_like": ("int64[2] y", "u = RandomNormalLike<seed=1.0>(v)  y = Shape(u)"),
    "uniform_like": ("int64[2] y", "u = RandomUniformLike<seed=1.0>(v)  y = Shape(u)"),
    # that must not see what is beyond
    "last_of_equals": ("int64[b] y", """
        same = Sub(v, v)
        bytes = Cast<to=2>(same)
        y = ArgMax<axis=0, keepdims=0, select_last_index=1>(bytes)"""),
    "last_of_lowest": ("int64[b] y", """
        same = Sub(v, v)
        low = Log(same)
        y = ArgMax<axis=0, keepdims=0, select_last_index=1>(low)"""),
    "mean_loss": ("float y", """
        best = ArgMax<axis=1, keepdims=0>(v)
        logs = LogSoftmax(v)
        y = NegativeLogLikelihoodLoss(logs, best)"""),
    "cross_entropy": ("float y", """
        best = ArgMin<axis=1, keepdims=0>(v)
        y = SoftmaxCrossEntropyLoss(v, best)"""),
    "cross_entropy_ignoring": ("float y", """
        best = ArgMin<axis=1, keepdims=0>(v)
        w = Constant<value=float[6] {1,2,3,4,5,6}>()
        y = SoftmaxCrossEntropyLoss<ignore_index=1>(v, best, w)"""),
    # whose length differs
    "pad": ("float[a,b] y", """
        amounts = Constant<value=int64[4] {1,2,3,0}>()
        value = Constant<value=float {7.0}>()
        y = Pad(v, amounts, value)"""),
    "pad_with_unknown": ("float[a,b] y", """
        amounts = Constant<value=int64[4] {2,0,0,1}>()
        value = ReduceSum<keepdims=0>(x)
        y = Pad(v, amounts, value)"""),
    "pad_others_by_edge": ("float[a,b] y", """
        amounts = Constant<value=int64[4] {0,2,0,1}>()
        y = Pad<mode="edge">(v, amounts)"""),
    "tile": ("float[a,b] y", "r = Constant<value=int64[2] {3,2}>()  y = Tile(v, r)"),
    "tile_to_nothing": ("float[a,b] y", "r = Constant<value=int64[2] {0,1}>()  y = Tile(v, r)"),
    "halves": ("float[a,b] y, float[c,d] z", "y, z = Split<axis=0, num_outputs=2>(v)"),
    "first_third": ("float[a,b] y", "y, p, q = Split<axis=0, num_outputs=3>(v)"),
    "last_third": ("float[a,b] y", "p, q, y = Split<axis=0, num_outputs=3>(v)"),
    # that broadcast, as a run decides: one row stands for all
    "row_from_fixed": ("float[a,b] y", "y = Sub(x, v)"),
    "row_before_fixed": ("float[a,b] y", "y = Div(v, x)"),
    "row_and_unselected": ("float[a,b] y", """
        n = Not(m)
        w = Compress<axis=0>(x, n)
        y = Mul(w, v)"""),
    "row_and_shorter": ("float[a,b] y", """
        four = Slice(x, zero, three)
        mask = Slice(m, zero, three)
        w = Compress<axis=0>(four, mask)
        y = Max(v, w)"""),
    "row_and_longer": ("float[a,b] y", """
        twice = Concat<axis=0>(x, x)
        y = Add(v, twice)"""),
    "row_where": ("float[a,b] y", """
        none = Constant<value=float {0.0}>()
        up = Greater(x, none)
        y = Where(up, v, x)"""),
    "row_in_sum": ("float[a,b] y", "y = Sum(v, x, v)"),
    "row_to_known": ("float[a,b] y", "s = Constant<value=int64[2] {9,6}>()  y = Expand(v, s)"),
    "row_to_unknown": ("float[a,b] y", """
        n = Not(m)
        w = Compress<axis=0>(x, n)
        s = Shape(w)
        y = Expand(v, s)"""),
    "rows_to_their_own": ("float[a,b] y", "s = Shape(v)  y = Expand(v, s)"),
    "rows_to_ones": ("float[a,b,c] y", "s = Constant<value=int64[3] {2,1,1}>()  y = Expand(v, s)"),
    "rows_and_their_own": ("float[a,b] y", """
        w = Compress<axis=0>(x, m)
        u = Neg(w)
        y = Add(v, u)"""),
    "columns_and_column": ("float[a,b] y", """
        t = Transpose(v)
        first = Slice(x, zero, one)
        c = Transpose(first)
        y = Sub(t, c)"""),
}

IMAGES = {
    "unpool": ("float[a,b,c,d] y", """
        small, i = MaxPool<kernel_shape=[2,2], strides=[2,2]>(v)
        y = MaxUnpool<kernel_shape=[2,2], strides=[2,2]>(small, i)"""),
    "pixel_losses": ("float[a,b,c] y, float z", """
        best = ArgMax<axis=1, keepdims=0>(v)
        y = NegativeLogLikelihoodLoss<reduction="none">(v, best)
        z = NegativeLogLikelihoodLoss(v, best)"""),
    "hardmax": ("float[a,b,c,d] y", "y = Hardmax(v)"),
    "tile": ("float[a,b,c,d] y", "r = Constant<value=int64[4] {2,1,1,3}>()  y = Tile(v, r)"),
    "pad": ("float[a,b,c,d] y", """
        amounts = Constant<value=int64[8] {1,0,2,0,0,0,1,1}>()
        y = Pad(v, amounts)"""),
    "norms": ("float[a,b,c,d] y, float[e,f,i,j] z", """
        s = Constant<value=float[2] {1,2}>()
        y = InstanceNormalization(v, s, s)
        z = GroupNormalization<num_groups=1>(v, s, s)"""),
    "resize": ("float[a,b,c,d] y", """
        none = Constant<value=float[0] {}>()
        s = Constant<value=float[4] {1,1,2,1.5}>()
        y = Resize<mode="linear">(v, none, s)"""),
}

# What can't be done with an extent that depends on data: a sentence that says so, and what to do.
REFUSED = {
    "spectrum": ("float[a,b,c] y", """
        t = Transpose(v)
        two = Constant<value=int64[1] {2}>()
        s = Unsqueeze(t, two)
        axis = Constant<value=int64 {1}>()
        y = DFT(s, , axis)""", "fixed number of samples"),
    "window": ("float[a,b,c] y", """
        t = Transpose(v)
        u = Unsqueeze(t, zero)
        y = MaxPool<kernel_shape=[2]>(u)""", "fixed number of elements"),
    "parts_of_given_sizes": ("float[a,b] y, float[c,d] z", """
        sizes = Constant<value=int64[2] {1,4}>()
        y, z = Split<axis=0>(v, sizes)""", "use Slice"),
    "crop_by_pads": ("float[a,b] y", """
        amounts = Constant<value=int64[4] {0,0,-2,0}>()
        y = Pad(v, amounts)""", "use Slice"),
    "center_crop": ("float[a,b] y", "y = CenterCropPad<axes=[0]>(v, three)", "use Slice and Pad"),
    "reflected": ("float[a,b] y", """
        amounts = Constant<value=int64[4] {1,0,1,0}>()
        y = Pad<mode="reflect">(v, amounts)""", "fixed number of elements"),
}

# What a run may give extents that don't fit together: right where onnxruntime runs, a sentence where
# it refuses.
MISFITS = {
    "add": ("float[a,b] y", "n = Not(m)  w = Compress<axis=0>(x, n)  y = Add(w, v)"),
    "fixed": ("float[a,b] y", "y = Sub(v, x)"),
    "where": ("float[a,b] y", """
        n = Not(m)
        w = Compress<axis=0>(x, n)
        up = Greater(w, w)
        y = Where(up, v, x)"""),
    "matmul": ("float[a,b] y", """
        n = Not(m)
        w = Compress<axis=0>(x, n)
        t = Transpose(w)
        y = MatMul(t, v)"""),
    "matmul_of_fixed": ("float[a,b] y", "t = Transpose(v)  y = MatMul(t, x)"),
    "gemm": ("float[a,b] y", "y = Gemm<transA=1>(x, v)"),
    "beside": ("float[a,b] y", """
        n = Not(m)
        w = Compress<axis=0>(x, n)
        y = Concat<axis=1>(w, v)"""),
    "gather": ("float[a,b] y", "y = Gather<axis=0>(v, three)"),
    "gather_from_the_end": ("float[a,b] y", """
        back = Constant<value=int64[2] {-1,-4}>()
        y = Gather<axis=0>(v, back)"""),
    "gather_elements": ("float[a,b] y", """
        i = Constant<value=int64[1,6] {0,1,2,3,4,0}>()
        y = GatherElements<axis=0>(v, i)"""),
}

# Of nothing, onnxruntime gives 0 and NumPy NaN.
MEANS = ("mean_loss", "cross_entropy", "cross_entropy_ignoring", "pixel_losses")

errors = onnxruntime.capi.onnxruntime_pybind11_state
# What onnxruntime says of rows too many or too few for an operator.
NOT_DEFINED = (errors.RuntimeException, errors.Fail, errors.InvalidArgument)


def masks():
    for rows in ([0, 2, 3, 5, 7], [2], [], range(8)):
        mask = np.zeros(8, bool)
        mask[list(rows)] = True
        yield mask


def reference(model, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def model_of(extents, outputs, nodes):
    return onnx.parser.parse_model(MODEL % (extents, outputs, nodes))


class OnnxExtents(unittest.TestCase):
    def check(self, table, extents):
        rng = np.random.default_rng(3)
        x = rng.standard_normal([8] + [int(e) for e in extents.split(",")]).astype(np.float32)
        cases = []
        for name, (outputs, nodes) in table.items():
            model = model_of(extents, outputs, nodes)
            defined = 0
            for i, mask in enumerate(masks()):
                if name in MEANS and not mask.any():
                    continue
                try:
                    expected = reference(model, {"x": x, "m": mask})
                except NOT_DEFINED:
                    continue
                defined += 1
                cases.append(onnx_cases.Case("%s_%d" % (name, i), model, [x, mask], expected,
                                             1e-5, 1e-5))
            self.assertGreater(defined, 0, name)
        with tempfile.TemporaryDirectory() as folder:
            results = onnx_cases.run_cases(cases, folder)
        self.assertEqual([(r.case.name, r.problems) for r in results if r.status != "passed"], [])

    def test_rows(self):
        self.check(ROWS, "6")

    def test_images(self):
        self.check(IMAGES, "2,4,6")

    def test_misfits(self):
        x = np.random.default_rng(4).standard_normal((8, 6)).astype(np.float32)
        cases = []
        for name, (outputs, nodes) in MISFITS.items():
            model = model_of("6", outputs, nodes)
            for i, mask in enumerate(masks()):
                try:
                    expected = reference(model, {"x": x, "m": mask})
                    if name == "beside" and mask.sum() in (0, 8):
                        expected = []  # onnxruntime takes an empty piece for none; ONNX doesn't
                except NOT_DEFINED:
                    expected = []
                cases.append(onnx_cases.Case("%s_%d" % (name, i), model, [x, mask], expected,
                                             1e-5, 1e-5))
        with tempfile.TemporaryDirectory() as folder:
            results = onnx_cases.run_cases(cases, folder, on=("llvm", "cpu"))
        for result in results:
            with self.subTest(result.case.name):
                if result.case.outputs:
                    self.assertEqual(result.status, "passed", result.problems)
                else:
                    self.assertEqual(result.status, "failed", "a wrong result was handed out")
                    self.assertIn("extents", result.problems[0])
        refused = {r.case.name[:-2] for r in results if not r.case.outputs}
        self.assertEqual(refused, set(MISFITS), "some are always defined")

    def test_refused(self):
        x = np.zeros((8, 6), np.float32)
        mask = np.ones(8, bool)
        for name, (outputs, nodes, advice) in REFUSED.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                case = onnx_cases.Case(name, model_of("6", outputs, nodes), [x, mask], [])
                [result] = onnx_cases.run_cases([case], folder)
                self.assertEqual(result.status, "unsupported", result.problems)
                self.assertIn("depends on data", result.problems[0])
                self.assertIn(advice, result.problems[0])


if __name__ == "__main__":
    unittest.main()
