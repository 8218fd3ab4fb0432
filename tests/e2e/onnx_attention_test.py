# SPDX-License-Identifier: MIT
"""Attention and what stands beside it, in combinations that the onnx package does not test: the
reader, the oracle and the CPU targets against onnxruntime."""

import unittest

import numpy as np
import peers
from onnx_cases import make_case

RNG = np.random.default_rng(23)


def rand(*shape):
    """Reproducible values around 0."""
    return RNG.standard_normal(shape).astype(np.float32)


def bools(*shape):
    """A mask that lets every query see some key."""
    mask = RNG.random(shape) < 0.6
    mask[..., 0] = True
    return mask


def attention(name, *inputs, opset=23, **more):
    return make_case("attention_" + name, "Attention", list(inputs), opset=opset, **more)


def shape_cases():
    q, k, v = rand(2, 4, 3, 8), rand(2, 4, 5, 8), rand(2, 4, 5, 6)
    yield attention("4d", q, k, v)
    yield attention("4d_gqa", q, k[:, :2], v[:, :2])
    yield attention("4d_mqa", q, k[:, :1], v[:, :1])
    q3, k3, v3 = rand(2, 3, 32), rand(2, 5, 32), rand(2, 5, 24)
    yield attention("3d", q3, k3, v3, q_num_heads=4, kv_num_heads=4)
    yield attention("3d_gqa", q3, k3[:, :, :16], v3[:, :, :12], q_num_heads=4, kv_num_heads=2)
    yield attention("one_query", q[:, :, :1], k, v)
    yield attention("one_key", q, k[:, :, :1], v[:, :, :1])
    yield attention("one_head", q[:1, :1], k[:1, :1], v[:1, :1])
    yield attention("scale", q, k, v, scale=0.05)
    yield attention("softcap", q * 9, k * 9, v, softcap=2.0)


def mask_cases():
    q, k, v = rand(2, 4, 5, 8), rand(2, 4, 5, 8), rand(2, 4, 5, 6)
    for name, shape in (("2d", (5, 5)), ("3d", (4, 5, 5)), ("4d", (2, 4, 5, 5)),
                        ("one_head", (2, 1, 5, 5)), ("one_batch", (1, 4, 5, 5))):
        yield attention("float_" + name, q, k, v, rand(*shape))
        yield attention("bool_" + name, q, k, v, bools(*shape))
        yield attention("causal_float_" + name, q, k, v, rand(*shape), is_causal=1)
    yield attention("causal", q, k, v, is_causal=1)
    yield attention("causal_cross", q[:, :, :3], k, v, is_causal=1)
    yield attention("causal_gqa", q, k[:, :2], v[:, :2], is_causal=1, softcap=1.5)
    yield attention("large_causal", rand(1, 2, 300, 8), rand(1, 2, 300, 8), rand(1, 2, 300, 8),
                    is_causal=1)


def past_cases():
    q, k, v = rand(2, 4, 3, 8), rand(2, 2, 3, 8), rand(2, 2, 3, 6)
    past = [rand(2, 2, 4, 8), rand(2, 2, 4, 6)]
    yield attention("past", q, k, v, None, *past, outputs=3)
    yield attention("past_causal", q, k, v, None, *past, outputs=3, is_causal=1)
    yield attention("past_mask", q, k, v, bools(3, 7), *past, outputs=3)
    for mode in range(4):
        yield attention("past_scores_%d" % mode, q, k, v, rand(3, 7), *past, outputs=4,
                        qk_matmul_output_mode=mode)
    yield attention("present", q, k, v, outputs=3)


def half(x):
    return x.astype(np.float16)


def half_cases():
    q, k, v = half(rand(2, 4, 5, 8)), half(rand(2, 2, 5, 8)), half(rand(2, 2, 5, 6))
    yield attention("half", q, k, v)
    yield attention("half_causal", q, k, v, is_causal=1)
    yield attention("half_mask", q, k, v, half(rand(5, 5)))
    yield make_case("rms_half", "RMSNormalization", [half(rand(2, 3, 8)), half(rand(8))], opset=23)


def position_cases():
    x, cos, sin = rand(2, 4, 3, 8), rand(2, 3, 4), rand(2, 3, 4)
    cache, ids = [rand(9, 4), rand(9, 4)], RNG.integers(0, 9, (2, 3))
    def rotary(name, *inputs, **more):
        return make_case("rotary_" + name, "RotaryEmbedding", list(inputs), opset=23, **more)
    yield rotary("plain", x, cos, sin)
    yield rotary("interleaved", x, cos, sin, interleaved=1)
    yield rotary("ids", x, *cache, ids)
    yield rotary("3d", rand(2, 3, 32), *cache, ids, num_heads=4, interleaved=1)
    yield rotary("partial", x, cos[:, :, :3], sin[:, :, :3], rotary_embedding_dim=6)
    yield make_case("rms", "RMSNormalization", [rand(2, 3, 4), rand(3, 4)], opset=23, axis=1)


# Family -> tolerance relative to 1 (halves: two units of what they can hold).
FAMILIES = {shape_cases: 1e-5, mask_cases: 1e-5, past_cases: 1e-5, half_cases: 2e-3,
            position_cases: 1e-5}


class OnnxAttention(unittest.TestCase):
    def check_family(self, family):
        cases, wrong = peers.refer(family(), rtol=10 * FAMILIES[family], atol=FAMILIES[family])
        wrong += peers.wrong_on_oracle(cases)
        for target in peers.TARGETS:
            wrong += peers.wrong_on_target(cases, target)
        self.assertEqual("\n".join(wrong), "")


def add_test(family):
    setattr(OnnxAttention, "test_" + family.__name__, lambda self: self.check_family(family))


for each in FAMILIES:
    add_test(each)

if __name__ == "__main__":
    unittest.main()
