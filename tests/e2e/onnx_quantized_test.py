# SPDX-License-Identifier: MIT
"""Operators on quantized tensors: the reader, the oracle and compiled code against onnxruntime."""

import unittest

import numpy as np
import onnx
import onnx.parser
import peers
from onnx import numpy_helper
from onnx_cases import Case, bake, make_case

RNG = np.random.default_rng(23)


def u8(*shape):
    return RNG.integers(0, 256, shape).astype(np.uint8)


# Of 7 bits: onnxruntime sums pairs of u8 * i8 in 16 bits, which saturate beyond that.
def i8(*shape):
    return RNG.integers(-64, 64, shape).astype(np.int8)


def f32(*values):
    return np.float32(values[0] if len(values) == 1 else values)


def microsoft(name, op_type, inputs, **more):
    return make_case(name, op_type, inputs, domain="com.microsoft", **more)


def conv_cases():
    x, w, zero = u8(1, 6, 9, 11), i8(8, 6, 3, 3), np.uint8(121)
    yield make_case("conv_integer", "ConvInteger", [x, w, zero], 10, pads=[1, 1, 1, 1])
    yield make_case("conv_integer_strided", "ConvInteger", [x, i8(4, 3, 3, 2), zero], 10, group=2,
                    strides=[2, 1], dilations=[1, 2])
    scales = RNG.uniform(0.01, 0.03, 8).astype(np.float32)
    bias = RNG.integers(-5000, 5000, 8).astype(np.int32)
    yield make_case("qlinear_conv", "QLinearConv",
                    [x, f32(0.02), zero, w, scales, np.zeros(8, np.int8), f32(0.4), np.uint8(7),
                     bias], 10, pads=[1, 1, 1, 1])
    yield make_case("qlinear_conv_scalar", "QLinearConv",
                    [x, f32(0.02), zero, u8(5, 6, 1, 1), f32(0.015), np.uint8(99), f32(0.3),
                     np.uint8(128)], 10, strides=[2, 2])
    yield make_case("qlinear_conv_signed", "QLinearConv",
                    [i8(2, 6, 9, 11), f32(0.02), np.int8(-3), i8(6, 1, 3, 3), f32(0.015),
                     np.int8(0), f32(0.1), np.int8(5)], 10, group=6)


def matrix_cases():
    yield make_case("matmul_integer", "MatMulInteger", [u8(5, 70), i8(70, 9), np.uint8(100),
                                                        np.int8(3)], 10)
    yield make_case("matmul_integer_columns", "MatMulInteger",
                    [u8(2, 5, 12), i8(12, 9), np.uint8(100), i8(9)], 10)
    yield make_case("matmul_integer_plain", "MatMulInteger", [u8(3, 4, 6), u8(3, 6, 5)], 10)
    for dtype, zero in ((np.uint8, 113), (np.int8, -7)):
        a, b = (u8(2, 6, 30), u8(2, 30, 7)) if dtype == np.uint8 else (i8(2, 6, 30), i8(2, 30, 7))
        yield make_case("qlinear_matmul_%s" % dtype.__name__, "QLinearMatMul",
                        [a, f32(0.02), dtype(zero), b, f32(0.03), dtype(5), f32(0.5),
                         dtype(100)], 10)
    a, b, scales = u8(6, 30), i8(30, 7), RNG.uniform(0.01, 0.03, 7).astype(np.float32)
    yield microsoft("qgemm", "QGemm", [a, f32(0.02), np.uint8(120), b, scales,
                                       np.zeros(7, np.int8),
                                       RNG.integers(-900, 900, 7).astype(np.int32), f32(0.3),
                                       np.uint8(90)])
    yield microsoft("qgemm_float", "QGemm", [u8(30, 6), f32(0.02), np.uint8(120), i8(7, 30),
                                             f32(0.03), np.int8(0)], transA=1, transB=1, alpha=0.5)
    yield microsoft("matmul_integer_to_float", "MatMulIntegerToFloat",
                    [a, b, f32(0.02), scales, np.uint8(120), np.zeros(7, np.int8),
                     RNG.standard_normal(7).astype(np.float32)])
    x = RNG.standard_normal((4, 33)).astype(np.float32) * 3
    for name, data in (("mixed", x), ("positive", abs(x) + 1), ("negative", -abs(x))):
        yield make_case("dynamic_quantize_" + name, "DynamicQuantizeLinear", [data], 11, outputs=3)
    # Here onnxruntime's scale is 1; this is the scale of ONNX's reference.
    zeros = make_case("dynamic_quantize_zeros", "DynamicQuantizeLinear", [0 * x], 11, outputs=3)
    zeros.outputs = [np.zeros(x.shape, np.uint8), np.float32(1) / np.float32(255), np.uint8(0)]
    yield zeros


def elementwise_cases():
    a, b = u8(2, 6, 5), u8(6, 1)
    binary = [a, f32(0.02), np.uint8(120), b, f32(0.05), np.uint8(8), f32(0.06), np.uint8(99)]
    yield microsoft("qlinear_add", "QLinearAdd", binary)
    yield microsoft("qlinear_mul", "QLinearMul", binary)
    signed = [i8(40), f32(0.02), np.int8(-3), i8(40), f32(0.05), np.int8(8), f32(0.06), np.int8(9)]
    yield microsoft("qlinear_add_signed", "QLinearAdd", signed)
    every = np.arange(256).astype(np.uint8)
    unary = [every, f32(0.04), np.uint8(120), f32(0.01), np.uint8(10)]
    yield microsoft("qlinear_sigmoid", "QLinearSigmoid", unary)
    yield microsoft("qlinear_leaky_relu", "QLinearLeakyRelu", unary, alpha=0.3)
    for opset in (11, 13):
        case = microsoft("qlinear_softmax_%d" % opset, "QLinearSoftmax",
                         [u8(4, 3, 10), f32(0.04), np.uint8(120), f32(1 / 256), np.uint8(0)],
                         axis=1)
        case.model.graph.node[0].attribute.append(onnx.helper.make_attribute("opset", opset))
        yield case
    yield microsoft("qlinear_pool", "QLinearGlobalAveragePool",
                    [u8(2, 6, 5, 7), f32(0.04), np.uint8(120), f32(0.02), np.uint8(10)])
    yield microsoft("qlinear_concat", "QLinearConcat",
                    [f32(0.05), np.uint8(100), u8(2, 3), f32(0.04), np.uint8(120), u8(2, 5),
                     f32(0.03), np.uint8(10)], axis=1)


def dequantized_case(name, text, inputs, weights):
    """A case of a model in text; `weights` are its initializers."""
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 13]>\n' + text)
    model.graph.initializer.extend(numpy_helper.from_array(v, n) for n, v in weights.items())
    return Case(name, model, inputs, [])


def dequantized_conv():
    """A convolution between quantised tensors, as quantising tools write it; also its result before
    that is quantised."""
    x = RNG.standard_normal((1, 16, 40, 40)).astype(np.float32)
    weights = {"w": RNG.integers(-127, 128, (24, 16, 3, 3)).astype(np.int8),
               "w_scale": RNG.uniform(0.001, 0.004, 24).astype(np.float32),
               "w_zero": np.zeros(24, np.int8), "bias": RNG.standard_normal(24).astype(np.float32),
               "x_scale": f32(0.031), "x_zero": np.uint8(121),
               "y_scale": f32(0.047), "y_zero": np.uint8(117)}
    return dequantized_case("dequantized_conv", """g (float[1,16,40,40] x) =>
            (uint8[1,24,40,40] y, float[1,24,40,40] exact) {
        q = QuantizeLinear(x, x_scale, x_zero)
        d = DequantizeLinear(q, x_scale, x_zero)
        dw = DequantizeLinear<axis=0>(w, w_scale, w_zero)
        exact = Conv<pads=[1,1,1,1]>(d, dw, bias)
        y = QuantizeLinear(exact, y_scale, y_zero)
    }""", [x], weights)


def dequantized_mat_mul():
    """Weights of eight bits and activations that the model does not quantise."""
    weights = {"w": RNG.integers(-127, 128, (256, 64)).astype(np.int8),
               "scale": RNG.uniform(0.001, 0.004, 64).astype(np.float32),
               "zero": np.zeros(64, np.int8)}
    return dequantized_case("dequantized_mat_mul", """g (float[32,256] x) => (float[32,64] y) {
        dw = DequantizeLinear<axis=1>(w, scale, zero)
        y = MatMul(x, dw)
    }""", [RNG.standard_normal((32, 256)).astype(np.float32)], weights)


def with_known_weights(case):
    """The case with all inputs but the first in the model."""
    return bake(case, {info.name for info in case.model.graph.input[1:]})


def exact_conv_cases():
    """Sums of bytes of the whole range, whose exact results numpy computes: beyond what 16 bits
    hold, where onnxruntime saturates on some machines. All bytes, all channels in fours or not."""
    for channels, dtype, zero in ((8, np.uint8, 255), (8, np.int8, -128), (7, np.uint8, 1),
                                  (64, np.int8, 127), (64, np.uint8, 0)):
        low = np.iinfo(dtype).min
        x = RNG.integers(low, low + 256, (1, channels, 6, 7)).astype(dtype)
        x[:, :, 1:4] = zero - np.sign(zero)  # sums near one another, and
        x[:, :, 4:] = low if zero > 0 else low + 255  # the largest ones
        w = RNG.integers(-128, 128, (9, channels, 3, 3)).astype(np.int8)
        w[0], w[1] = 127, -128
        case = make_case("exact_conv_%d_%s" % (channels, dtype.__name__), "ConvInteger",
                         [x, w, dtype(zero)], 10, pads=[1, 1, 1, 1])
        padded = np.pad(x.astype(np.int64) - zero, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
        case.outputs = [np.einsum("nchwij,ocij->nohw", windows, w.astype(np.int64),
                                  dtype=np.int64).astype(np.int32)]
        case.rtol = case.atol = 0
        yield with_known_weights(case)


def near_tie(case):
    """Where the convolution's result divided by the scale is half way between two integers, as far
    as float32 can tell."""
    quotients = case.outputs[1].astype(np.float64) / 0.047
    return abs(quotients - np.floor(quotients) - 0.5) < 1e-3


class OnnxQuantized(unittest.TestCase):
    def check(self, cases, atol):
        cases, wrong = peers.refer(cases, rtol=1e-6, atol=atol)
        self.assertEqual(wrong, [])
        self.assertEqual(peers.wrong_on_oracle(cases), [])
        for target in peers.TARGETS:
            self.assertEqual(peers.wrong_on_target(cases, target), [])

    def test_products_are_exact(self):
        self.check(list(conv_cases()) + list(matrix_cases()), 0)

    def test_products_by_known_weights_are_exact(self):
        cases = [*conv_cases(), *matrix_cases()]
        self.check([with_known_weights(case) for case in cases if len(case.inputs) > 1], 0)

    def test_products_by_known_weights_never_saturate(self):
        cases = list(exact_conv_cases())
        self.assertEqual(peers.wrong_on_oracle(cases), [])
        for target in peers.TARGETS:
            self.assertEqual(peers.wrong_on_target(cases, target), [])
        # The comparison tells one step from none.
        cases[0].outputs[0][0, 0, 0, 0] += 1
        self.assertEqual(len(peers.wrong_on_target(cases, peers.TARGETS[0])), 1)

    # onnxruntime rounds the quotient of some of these in another order.
    def test_other_operators_are_within_one_step(self):
        self.check(list(elementwise_cases()), 1)

    def test_a_dequantized_product_is_one_of_floats(self):
        case = dequantized_mat_mul()
        case.outputs = peers.reference(case, is_optimized=False)
        case.rtol, case.atol = 1e-4, 1e-5
        self.assertEqual(peers.wrong_on_oracle([case]), [])
        for target in peers.TARGETS:
            self.assertEqual(peers.wrong_on_target([case], target), [])

    # Two sums in other orders, on either side of a tie, are a step apart.
    def test_a_dequantized_convolution_differs_at_ties_only(self):
        case = dequantized_conv()
        case.outputs = peers.reference(case, is_optimized=False)
        ties = near_tie(case)
        self.assertLess(ties.mean(), 0.01)
        for target in peers.TARGETS:
            actual = peers.run_on_target(case, target)
            np.testing.assert_allclose(actual["exact"], case.outputs[1], 1e-4, 1e-5)
            steps = abs(actual["y"].astype(int) - case.outputs[0])
            self.assertEqual(steps[~ties].max(), 0)
            self.assertLessEqual(steps.max(), 1)


if __name__ == "__main__":
    unittest.main()
