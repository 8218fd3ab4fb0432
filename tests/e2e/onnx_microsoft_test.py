# SPDX-License-Identifier: MIT
"""Operators of onnxruntime's own domain, and models that its optimizer wrote: the reader and the
oracle against onnxruntime."""

import os
import tempfile
import unittest

import numpy as np
import onnx
import onnx_cases
import onnxruntime
import peers

RNG = np.random.default_rng(11)


def rand(*shape):
    """Reproducible values around 0."""
    return RNG.standard_normal(shape).astype(np.float32)


def make_case(name, op_type, inputs, **more):
    """A case of com.microsoft."""
    return onnx_cases.make_case(name, op_type, inputs, domain="com.microsoft", **more)


def activation_cases():
    x = rand(2, 3, 8) * 3
    yield make_case("gelu", "Gelu", [x])
    yield make_case("bias_gelu", "BiasGelu", [x, rand(8)])
    yield make_case("fast_gelu", "FastGelu", [x])
    yield make_case("fast_gelu_bias", "FastGelu", [x, rand(8)])
    yield make_case("quick_gelu", "QuickGelu", [x])
    yield make_case("quick_gelu_alpha", "QuickGelu", [x], alpha=0.5)


def conv_cases():
    x, w, b = rand(1, 4, 6, 7), rand(8, 4, 3, 3), rand(8)
    for name, parameters in (("Relu", []), ("Tanh", []), ("Sigmoid", []), ("LeakyRelu", [0.2]),
                             ("Clip", [-0.5, 0.75]), ("HardSigmoid", [0.3, 0.4])):
        more = {"activation_params": parameters} if parameters else {}
        yield make_case("fused_conv_" + name, "FusedConv", [x, w, b], activation=name,
                        pads=[1, 1, 1, 1], **more)
    yield make_case("fused_conv_no_bias", "FusedConv", [x, w], activation="Relu")
    yield make_case("fused_conv_added", "FusedConv", [x, w, b, rand(1, 8, 3, 4)],
                    activation="Relu", strides=[2, 2], pads=[1, 1, 1, 1])
    yield make_case("fused_conv_added_no_bias", "FusedConv", [x, w, None, rand(1, 8, 4, 5)],
                    activation="Relu")


def matrix_cases():
    for name, more in (("Relu", {}), ("LeakyRelu", {"activation_alpha": 0.3}),
                       ("Elu", {"activation_alpha": 0.7}), ("Softplus", {}), ("Softsign", {}),
                       ("Selu", {"activation_alpha": 1.5, "activation_gamma": 0.9}),
                       ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.4}),
                       ("ThresholdedRelu", {"activation_alpha": 0.6})):
        yield make_case("fused_gemm_" + name, "FusedGemm", [rand(4, 3), rand(5, 4), rand(5)],
                        activation=name, transA=1, transB=1, alpha=0.5, **more)
    yield make_case("fused_matmul", "FusedMatMul", [rand(3, 4), rand(4, 5)], alpha=0.25)
    yield make_case("fused_matmul_trans", "FusedMatMul", [rand(2, 4, 3), rand(2, 5, 4)], transA=1,
                    transB=1, alpha=2.0)
    yield make_case("fused_matmul_batch_a", "FusedMatMul", [rand(4, 2, 3, 6), rand(2, 3, 6, 5)],
                    transBatchA=1)
    yield make_case("fused_matmul_batch_b", "FusedMatMul", [rand(2, 3, 4, 6), rand(6, 2, 3, 5)],
                    transBatchB=1)
    yield make_case("fused_matmul_batch_and_last", "FusedMatMul",
                    [rand(6, 2, 4), rand(5, 2, 6)], transBatchA=1, transA=1, transBatchB=1,
                    transB=1)
    yield make_case("fused_matmul_vector", "FusedMatMul", [rand(4), rand(2, 4, 5)], alpha=0.5)


def normalization_cases():
    x, skip, gamma, beta, bias = rand(2, 3, 8), rand(2, 3, 8), rand(8), rand(8), rand(8)
    skip_norm = "SkipLayerNormalization"
    yield make_case("skip_norm", skip_norm, [x, skip, gamma, beta, bias])
    yield make_case("skip_norm_no_bias", skip_norm, [x, skip, gamma, beta], epsilon=0.01)
    yield make_case("skip_norm_no_beta", skip_norm, [x, skip, gamma, None, bias])
    yield make_case("skip_norm_gamma", skip_norm, [x, skip, gamma])
    yield make_case("skip_norm_one_sample", skip_norm, [x, skip[:1], gamma, beta])
    yield make_case("skip_norm_no_batch", skip_norm, [x, skip[0], gamma, beta])
    yield make_case("skip_norm_tokens", skip_norm, [x[0], skip[0], gamma, beta])
    rms = "SkipSimplifiedLayerNormalization"
    yield make_case("skip_rms", rms, [x, skip, gamma])
    yield make_case("skip_rms_bias", rms, [x, skip, gamma, bias])
    yield onnx_cases.make_case("layer_norm_13", "LayerNormalization", [x, gamma, beta], 13,
                               outputs=3, axis=-1)
    yield onnx_cases.make_case("simplified_norm", "SimplifiedLayerNormalization", [x, gamma], 13,
                               axis=-1, stash_type=1)


def with_outputs(case, wanted):
    """The case with only some of its outputs, by position."""
    node = case.model.graph.node[0]
    for i in range(len(node.output)):
        if i not in wanted:
            node.output[i] = ""
    kept = [info for info in case.model.graph.output if info.name in node.output]
    del case.model.graph.output[:]
    case.model.graph.output.extend(kept)
    return case


def skip_sum_cases():
    x, skip, gamma, bias = rand(2, 3, 8), rand(2, 3, 8), rand(8), rand(8)
    yield with_outputs(make_case("skip_norm_sum", "SkipLayerNormalization",
                                 [x, skip, gamma, None, bias], outputs=4), (0, 3))
    yield with_outputs(make_case("skip_rms_sum", "SkipSimplifiedLayerNormalization",
                                 [x, skip, gamma, bias], outputs=4), (0, 3))


def typed(case):
    """The case with its outputs declared as f32, where onnxruntime can't infer that."""
    for info in case.model.graph.output:
        info.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    return case


def attention_cases():
    x, w, b = rand(2, 4, 6), rand(6, 24) * 0.5, rand(24)
    past = rand(2, 2, 2, 3, 4)  # key and value, batch, heads, length, size
    def case(name, *inputs, **more):
        return make_case("attention_" + name, "Attention", list(inputs), num_heads=2, **more)
    yield case("plain", x, w, b)
    yield case("scale", x, w, b, scale=0.3)
    yield case("sizes", x, rand(6, 20), rand(20), qkv_hidden_sizes=[8, 8, 4])
    yield case("causal", x, w, b, unidirectional=1)
    yield case("lengths", x, w, b, np.int32([3, 4]))
    yield case("ends_and_begins", x, w, b, np.int32([3, 4, 1, 2]))
    yield case("sums", x, w, b, np.int32([3, 4, 0, 4, 8, 0, 3, 7]))
    yield case("keys", x, w, b, np.int32([[1, 1, 0, 0], [0, 1, 1, 1]]))
    yield case("keys_filter", x, w, b, np.int32([[1, 1, 0, 0], [0, 1, 1, 1]]),
               mask_filter_value=-2.0)
    yield case("nothing_seen", x, w, b, np.int32([[0, 0, 0, 0], [0, 1, 1, 1]]))
    yield case("dummy_mask", x, w, b, np.int32([[1], [1]]))
    yield case("scores", x, w, b, np.int32(RNG.integers(0, 2, (2, 4, 4))))
    yield case("causal_keys", x, w, b, np.int32([[0, 1, 1, 0], [0, 0, 1, 1]]), unidirectional=1)
    yield case("causal_scores", x, w, b, np.int32(RNG.integers(0, 2, (2, 4, 4))), unidirectional=1)
    yield case("bias", x, w, b, None, None, rand(2, 2, 4, 4))
    yield case("bias_one_batch", x, w, b, None, None, rand(1, 2, 4, 4))
    yield case("bias_one_head", x, w, b, np.int32([3, 4]), None, rand(2, 1, 4, 4))
    yield case("past", x, w, b, None, past, outputs=2)
    yield case("past_causal", x, w, b, None, past, outputs=2, unidirectional=1)
    yield case("past_keys", x, w, b, np.int32(RNG.integers(0, 2, (2, 7))), past, outputs=2)
    yield case("present", x, w, b, outputs=2)
    yield case("decode", rand(2, 1, 6), w, b, None, past, outputs=2, unidirectional=1)


def multi_head_cases():
    q, k, v = rand(2, 4, 8), rand(2, 5, 8), rand(2, 5, 12)
    bias = rand(28)
    past = [rand(2, 2, 3, 4), rand(2, 2, 3, 6)]
    def case(name, *inputs, **more):
        return make_case("mha_" + name, "MultiHeadAttention", list(inputs), num_heads=2, **more)
    yield case("plain", q, k, v)
    yield case("scale", q, k, v, scale=0.7)
    yield case("bias", q, k, v, bias)
    yield case("lengths", q, k, v, bias, np.int32([3, 5]))
    yield case("keys", q, k, v, bias, np.int32([[1, 0, 1, 1, 0], [0, 0, 1, 1, 1]]))
    yield case("scores", q, k, v, None, np.int32(RNG.integers(0, 2, (2, 4, 5))))
    yield case("added", q, k, v, None, None, rand(1, 2, 4, 5))
    yield case("added_one_head", q, k, v, None, np.int32([3, 5]), rand(2, 1, 4, 5))
    yield case("causal", q, k[:, :4], v[:, :4], unidirectional=1)
    yield case("present", q, k, v, bias, outputs=3)
    yield case("past", q, k, v[:, :, :8], None, None, None, past[0], past[0] * 2, outputs=3)
    yield case("past_causal", q, k[:, :4], v[:, :4, :8], None, None, None, past[0], past[0] * 2,
               outputs=3, unidirectional=1)
    yield case("past_keys", q, k, v[:, :, :8], None, np.int32(RNG.integers(0, 2, (2, 8))), None,
               past[0], past[0] * 2, outputs=3)
    yield case("cross", q, rand(2, 2, 5, 4), rand(2, 2, 5, 4))
    yield typed(case("qk", q, k, v, bias, None, rand(1, 2, 4, 5), outputs=4))
    yield typed(case("qk_causal", q, k[:, :4], v[:, :4], outputs=4, unidirectional=1))


# --- Models that the optimizer wrote -------------------------------------------------------------


class Net:
    """A model in the making: nodes one after the other, weights where they are used."""

    def __init__(self):
        self.nodes, self.weights = [], []

    def constant(self, array):
        name = "w%d" % len(self.weights)
        self.weights.append(onnx.numpy_helper.from_array(np.asarray(array), name))
        return name

    def __call__(self, op_type, *inputs, **attributes):
        names = [i if isinstance(i, str) else self.constant(i) for i in inputs]
        name = "n%d" % len(self.nodes)
        self.nodes.append(onnx.helper.make_node(op_type, names, [name], name=name, **attributes))
        return name

    def model(self, x, y):
        graph = onnx.helper.make_graph(
            self.nodes, "net", [onnx.helper.make_tensor_value_info("x", 1, x.shape)],
            [onnx.ValueInfoProto(name=y)], self.weights)
        return onnx.helper.make_model(graph, ir_version=8,
                                      opset_imports=[onnx.helper.make_opsetid("", 17)])


def linear(net, x, inputs, outputs):
    weights = rand(inputs, outputs) * np.float32(inputs**-0.5)
    return net("Add", net("MatMul", x, weights), rand(outputs))


def transformer_block(net, x, length=5, width=16, heads=4):
    """Attention and a perceptron with a gelu, written out as exporters do."""
    def split(y, order):
        shape = np.int64([0, length, heads, width // heads])
        return net("Transpose", net("Reshape", y, shape), perm=order)
    normal = net("LayerNormalization", x, rand(width), rand(width), axis=-1)
    query = split(linear(net, normal, width, width), [0, 2, 1, 3])
    key = split(linear(net, normal, width, width), [0, 2, 3, 1])
    value = split(linear(net, normal, width, width), [0, 2, 1, 3])
    scores = net("Div", net("MatMul", query, key), np.float32((width // heads)**0.5))
    mixed = net("MatMul", net("Softmax", scores, axis=-1), value)
    merged = net("Reshape", net("Transpose", mixed, perm=[0, 2, 1, 3]), np.int64([0, 0, width]))
    x = net("Add", x, linear(net, merged, width, width))
    hidden = linear(net, net("LayerNormalization", x, rand(width), rand(width), axis=-1), width, 32)
    erf = net("Erf", net("Div", hidden, np.float32(2**0.5)))
    gelu = net("Mul", net("Mul", hidden, net("Add", erf, np.float32(1))), np.float32(0.5))
    return net("Add", x, linear(net, gelu, 32, width))


def residual_block(net, x, channels=8):
    """Convolutions with activations and a residual."""
    def conv(y):
        return net("Conv", y, rand(channels, channels, 3, 3) / 8, rand(channels), pads=[1] * 4)
    y = net("LeakyRelu", conv(x), alpha=0.1)
    y = net("Clip", conv(y), np.float32(0), np.float32(6))
    y = net("Relu", net("Add", conv(y), x))
    return net("Sigmoid", conv(y))


def optimized(model):
    """What onnxruntime's optimizer makes of a model, short of what depends on the machine."""
    with tempfile.TemporaryDirectory() as folder:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.optimized_model_filepath = os.path.join(folder, "optimized.onnx")
        options.graph_optimization_level = (
            onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED)
        onnxruntime.InferenceSession(model.SerializeToString(), options,
                                     providers=["CPUExecutionProvider"])
        return onnx.load(options.optimized_model_filepath)


def optimized_case(name, x, *blocks):
    """The optimized model of blocks, with the outputs of the model as it was."""
    net, y = Net(), "x"
    for block in blocks:
        y = block(net, y)
    model = net.model(x, y)
    outputs = peers.reference(onnx_cases.Case(name, model, [x], []))
    return onnx_cases.Case(name, optimized(model), [x], outputs)


FAMILIES = (activation_cases, conv_cases, matrix_cases, normalization_cases, skip_sum_cases,
            attention_cases, multi_head_cases)


class OnnxMicrosoft(unittest.TestCase):
    def check_family(self, family):
        cases, wrong = peers.refer(family())
        wrong += peers.wrong_on_oracle(cases)
        for target in peers.TARGETS:
            wrong += peers.wrong_on_target(cases, target)
        self.assertEqual("\n".join(wrong), "")


    def test_models_that_the_optimizer_wrote(self):
        cases = [optimized_case("transformer", rand(2, 5, 16), transformer_block,
                                transformer_block),
                 optimized_case("residual", rand(1, 8, 6, 7), residual_block)]
        for case, expected in zip(cases, ({"Gelu", "FusedMatMul"}, {"FusedConv"})):
            own = {n.op_type for n in case.model.graph.node if n.domain == "com.microsoft"}
            self.assertLessEqual(expected, own)
        cases, wrong = peers.refer(cases)
        wrong += peers.wrong_on_oracle(cases)
        for target in peers.TARGETS:
            for case in cases:
                wrong += peers.wrong_on_target([case], target)
        self.assertEqual(wrong, [])


def add_test(family):
    setattr(OnnxMicrosoft, "test_" + family.__name__, lambda self: self.check_family(family))


for each in FAMILIES:
    add_test(each)

if __name__ == "__main__":
    unittest.main()
