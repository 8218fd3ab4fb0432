# SPDX-License-Identifier: MIT
"""Subgraphs, functions and extents that depend on data, against onnxruntime.

Models are written in onnx.parser's text. Each runs on the oracle for a few inputs: results of
different lengths, none included.
"""

import tempfile
import unittest
import warnings

import numpy as np
import onnx
import onnx.parser
import onnx_cases
import onnxruntime

HEADER = '<ir_version: 8, opset_import: ["" : %d]>\n'

# Name -> (text of the graph, opset). Inputs are x (f32[6,4]) and, where listed, more.
CHAINS = {
    "nonzero": """g (float[6,4] x) => (int64[2,n] y) {
        zero = Constant<value_float=0.5>()
        m = Greater(x, zero)
        y = NonZero(m)
    }""",
    "masked_rows": """g (float[6,4] x) => (float[n] y, float[1] mean, int64[1] shape) {
        half = Constant<value_float=0.5>()
        m = Greater(x, half)
        i = NonZero(m)
        it = Transpose<perm=[1,0]>(i)
        y = GatherND(x, it)
        zero = Constant<value_float=0.0>()
        one = Constant<value_ints=[1]>()
        padded = Concat<axis=0>(y, y)
        sum = ReduceSum(padded)
        shape = Shape(padded)
        count = Cast<to=1>(shape)
        eps = Constant<value_float=1.0>()
        divisor = Max(count, eps)
        mean = Div(sum, divisor)
    }""",
    "compress_rows": """g (float[6,4] x) => (float[n,4] y, float[n,n] gram, float[n,4] soft,
                                             float[4] best, float[4] norm) {
        c = Constant<value_ints=[0]>()
        col = Gather<axis=1>(x, c)
        flat = Squeeze(col, axes)
        axes = Constant<value_ints=[1]>()
        half = Constant<value_float=0.4>()
        m = Greater(flat, half)
        y = Compress<axis=0>(x, m)
        yt = Transpose<perm=[1,0]>(y)
        gram = MatMul(y, yt)
        soft = Softmax<axis=0>(y)
        low = Constant<value_floats=[-9.0,-9.0,-9.0,-9.0]>()
        low2 = Unsqueeze(low, zero)
        zero = Constant<value_ints=[0]>()
        with_low = Concat<axis=0>(y, low2)
        best = ReduceMax<keepdims=0>(with_low, zero)
        norm = ReduceL2<keepdims=0>(with_low, zero)
    }""",
    "reshape": """g (float[6,4] x) => (float[n] flat, float[a,2,2] split, float[2,b] folded) {
        c = Constant<value_ints=[0]>()
        col = Gather<axis=1>(x, c)
        axes = Constant<value_ints=[1]>()
        colf = Squeeze(col, axes)
        half = Constant<value_float=0.4>()
        m = Greater(colf, half)
        y = Compress<axis=0>(x, m)
        minus = Constant<value_ints=[-1]>()
        flat = Reshape(y, minus)
        s = Shape(y)
        zero = Constant<value_ints=[0]>()
        n = Gather(s, zero)
        two = Constant<value_ints=[2]>()
        target = Concat<axis=0>(n, two, two)
        split = Reshape(y, target)
        fold = Constant<value_ints=[2,-1]>()
        folded = Reshape(y, fold)
    }""",
    "slices": """g (float[6,4] x) => (float[a,4] head, float[b,4] tail, float[c,4] back,
                                      float[d,4] upto) {
        z = Constant<value_ints=[0]>()
        col = Gather<axis=1>(x, z)
        axes = Constant<value_ints=[1]>()
        colf = Squeeze(col, axes)
        half = Constant<value_float=0.4>()
        m = Greater(colf, half)
        y = Compress<axis=0>(x, m)
        two = Constant<value_ints=[2]>()
        head = Slice(y, z, two)
        minus2 = Constant<value_ints=[-2]>()
        big = Constant<value_ints=[9223372036854775807]>()
        tail = Slice(y, minus2, big)
        minus1 = Constant<value_ints=[-1]>()
        low = Constant<value_ints=[-9223372036854775807]>()
        back = Slice(y, minus1, low, z, minus1)
        s = Shape<start=0, end=1>(y)
        upto = Slice(x, z, s)
    }""",
    "top_k": """g (float[6,4] x) => (float[n] v, int64[n] i, float[m,4] e, int64[r] range,
                                     float[q] fill) {
        half = Constant<value_float=0.5>()
        m0 = Greater(x, half)
        idx = NonZero(m0)
        it = Transpose<perm=[1,0]>(idx)
        y = GatherND(x, it)
        s = Shape(y)
        three = Constant<value_ints=[3]>()
        k = Min(s, three)
        v, i = TopK(y, k)
        rows = Gather(x, rowsi)
        z = Constant<value_ints=[0]>()
        first = Gather(idx, z)
        minus = Constant<value_ints=[-1]>()
        rowsi = Reshape(first, minus)
        e = Neg(rows)
        limit = Squeeze(s)
        start = Constant<value_int=0>()
        delta = Constant<value_int=1>()
        range = Range(start, limit, delta)
        fill = ConstantOfShape<value=float[1] {2.5}>(s)
    }""",
    "expand": """g (float[6,4] x) => (float[n,4] y) {
        half = Constant<value_float=0.5>()
        m = Greater(x, half)
        idx = NonZero(m)
        s = Shape<start=1>(idx)
        four = Constant<value_ints=[4]>()
        t = Concat<axis=0>(s, four)
        z = Constant<value_ints=[0]>()
        row = Gather(x, z)
        y = Expand(row, t)
    }""",
    "unique": """g (float[6,4] x) => (int64[n] y, int64[n] i, int64[v] inv, int64[n] counts) {
        five = Constant<value_float=4.0>()
        big = Mul(x, five)
        r = Floor(big)
        q = Cast<to=7>(r)
        y, i, inv, counts = Unique(q)
    }""",
    "if_shapes": """g (float[6,4] x) => (float[n,4] y) {
        total = ReduceSum<keepdims=0>(x)
        limit = Constant<value_float=12.0>()
        c = Greater(total, limit)
        y = If(c) <
            then_branch = t () => (float[6,4] a) { a = Neg(x) },
            else_branch = e () => (float[2,4] b) {
                z = Constant<value_ints=[0]>()
                two = Constant<value_ints=[2]>()
                b = Slice(x, z, two)
            }>
    }""",
    "for_loop": """g (float[6,4] x) => (float[6,4] y, float[5,6] rows) {
        trip = Constant<value_int=5>()
        y, rows = Loop(trip, , x) <body = b (int64 i, bool c, float[6,4] s)
                => (bool co, float[6,4] so, float[6] row) {
            co = Identity(c)
            f = Cast<to=1>(i)
            t = Add(s, f)
            so = Tanh(t)
            zero = Constant<value_ints=[1]>()
            row = ReduceSum<keepdims=0>(so, zero)
        }>
    }""",
    "while_loop": """g (float[6,4] x) => (float y, float[n] seen) {
        trip = Constant<value_int=7>()
        total = ReduceSum<keepdims=0>(x)
        yes = Constant<value=bool {1}>()
        y, seen = Loop(trip, yes, total) <body = b (int64 i, bool c, float s)
                => (bool co, float so, float row) {
            half = Constant<value_float=0.7>()
            so = Mul(s, half)
            limit = Constant<value_float=4.0>()
            co = Greater(so, limit)
            row = Identity(s)
        }>
    }""",
    "scan": """g (float[6,4] x) => (float[4] last, float[6,4] sums, float[4,6] back) {
        z = Constant<value_floats=[0.0,0.0,0.0,0.0]>()
        last, sums, back = Scan<num_scan_inputs=1, scan_input_directions=[1],
                scan_output_directions=[0,1], scan_output_axes=[0,1],
                body = b (float[4] s, float[4] r) => (float[4] so, float[4] a, float[4] c) {
            so = Add(s, r)
            a = Identity(so)
            c = Mul(so, r)
        }>(z, x)
    }""",
    "recurrent": """g (float[6,4] x) => (float[n,2,1,2] y, float[2,1,2] last) {
        z = Constant<value_ints=[0]>()
        col = Gather<axis=1>(x, z)
        one = Constant<value_ints=[1]>()
        flat = Squeeze(col, one)
        half = Constant<value_float=0.4>()
        m = Greater(flat, half)
        rows = Compress<axis=0>(x, m)
        sequence = Unsqueeze(rows, one)
        w = Constant<value=float[2,2,4] {1,-1,2,0, 0.5,1,-2,1, 1,1,-1,0, 2,-1,0.5,-0.5}>()
        r = Constant<value=float[2,2,2] {0.5,-0.5, 1,0.25, -1,0.5, 0.25,1}>()
        y, last = RNN<hidden_size=2, direction="bidirectional">(sequence, w, r)
    }""",
    "nms": """g (float[6,4] x) => (int64[n,3] y, float[n,4] boxes) {
        b = Unsqueeze(x, z)
        z = Constant<value_ints=[0]>()
        one = Constant<value_ints=[1]>()
        col = Gather<axis=1>(x, one)
        st = Transpose<perm=[1,0]>(col)
        score = Unsqueeze(st, z)
        most = Constant<value_ints=[4]>()
        iou = Constant<value_floats=[0.3]>()
        th = Constant<value_floats=[0.2]>()
        y = NonMaxSuppression(b, score, most, iou, th)
        two = Constant<value_ints=[2]>()
        col2 = Gather<axis=1>(y, two)
        minus = Constant<value_ints=[-1]>()
        i = Reshape(col2, minus)
        boxes = Gather(x, i)
    }""",
    "regions": """g (float[6,4] x) => (float[n,2,2,3] y, float[2] sums) {
        z = Constant<value_ints=[0]>()
        one = Constant<value_ints=[1]>()
        six = Constant<value_float=6.0>()
        scaled = Mul(x, six)
        b = Unsqueeze(scaled, z)
        col = Gather<axis=1>(x, one)
        st = Transpose<perm=[1,0]>(col)
        score = Unsqueeze(st, z)
        most = Constant<value_ints=[4]>()
        iou = Constant<value_floats=[0.3]>()
        th = Constant<value_floats=[0.2]>()
        chosen = NonMaxSuppression(b, score, most, iou, th)
        zero = Constant<value_int=0>()
        two = Constant<value_int=2>()
        batch = Gather<axis=1>(chosen, zero)
        i = Gather<axis=1>(chosen, two)
        corners = Gather(scaled, i)
        shape = Constant<value_ints=[1,2,4,3]>()
        map = Reshape(x, shape)
        y = RoiAlign<output_height=2, output_width=3, sampling_ratio=2>(map, corners, batch)
        sums = ReduceSum<keepdims=0>(y, axes)
        axes = Constant<value_ints=[0,2,3]>()
    }""",
}
# Compiled too: the others are, operator by operator, by the conformance cases.
COMPILED = ("regions",)

FUNCTION = """<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
g (float[6,4] x) => (float[6,4] y, float[6,4] w) {
    y = own.scaled<factor=3.0>(x)
    w = own.outer<power=2.0>(x)
}
<domain: "own", opset_import: ["" : 17]>
scaled<factor>(a) => (b) {
    f = Constant<value_float: float = @factor>()
    b = Mul(a, f)
}
<domain: "own", opset_import: ["" : 17, "own" : 1]>
outer<power>(a) => (b) {
    t = own.scaled<factor: float = @power>(a)
    b = Add(t, a)
}
"""


def inputs():
    """Inputs whose results have different lengths."""
    rng = np.random.default_rng(5)
    yield rng.random((6, 4), np.float32)
    yield rng.random((6, 4), np.float32)
    yield np.ones((6, 4), np.float32)
    yield np.zeros((6, 4), np.float32) + np.float32(0.01)


def reference(model, x):
    """What onnxruntime gives."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})


def sorted_model(text):
    """The model, with its nodes in an order that onnxruntime takes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = onnx.parser.parse_model(text)
    known = {i.name for i in model.graph.input}
    left = list(model.graph.node)
    done = []
    while left:
        node = next(n for n in left if all(i in known or not i for i in n.input))
        left.remove(node)
        done.append(node)
        known.update(node.output)
    del model.graph.node[:]
    model.graph.node.extend(done)
    return model


class OnnxDynamic(unittest.TestCase):
    def check(self, name, text):
        on = ("oracle", "llvm", "cpu") if name in COMPILED else ("oracle",)
        model = sorted_model(text)
        cases = []
        for i, x in enumerate(inputs()):
            try:
                expected = reference(model, x)
            except onnxruntime.capi.onnxruntime_pybind11_state.Fail:
                continue  # not defined for this input
            cases.append(onnx_cases.Case("%s_%d" % (name, i), model, [x], expected, 1e-5, 1e-6))
        self.assertGreater(len(cases), 1, name)
        with tempfile.TemporaryDirectory() as folder:
            results = onnx_cases.run_cases(cases, folder, on)
        wrong = [(r.case.name, r.problems) for r in results if r.status != "passed"]
        self.assertEqual(wrong, [])

    def test_function(self):
        self.check("function", FUNCTION)


def add_chain(name, text):
    setattr(OnnxDynamic, "test_" + name, lambda self: self.check(name, HEADER % 18 + text))


for chain_name, chain_text in CHAINS.items():
    add_chain(chain_name, chain_text)

if __name__ == "__main__":
    unittest.main()
