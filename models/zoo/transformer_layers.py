# SPDX-License-Identifier: MIT
"""The layers of pre-layernorm transformers, on values of unit variance.

Opset 9 has no LayerNormalization, which is then written out as exporters did; its Softmax is the
old one, over all axes from `axis` on.
"""

from dataclasses import dataclass

import numpy as np

from builder import rounded


@dataclass(frozen=True)
class Sizes:
    """Of every layer of a network: values are [batch, tokens, width]."""

    tokens: int
    width: int
    heads: int
    epsilon: float = 1e-5


def linear(b, x, inputs, outputs):
    """x @ W + bias, of unit variance where x is."""
    scale = float("%.4g" % inputs**-0.5)
    weight = b.constant("weight", scale * b.random("weight", (inputs, outputs)))
    bias = b.constant("bias", rounded(0.05 * b.random("bias", outputs)))
    return b.node("Add", [bias, b.node("MatMul", [x, weight])])


def layer_norm(b, x, sizes):
    """Over the last axis."""
    scale = b.constant("weight", rounded(1.0 + 0.1 * b.random("weight", sizes.width)))
    shift = b.constant("bias", rounded(0.1 * b.random("bias", sizes.width)))
    if b.opset >= 17:
        return b.node("LayerNormalization", [x, scale, shift], axis=-1, epsilon=sizes.epsilon)
    centred = b.node("Sub", [x, b.node("ReduceMean", [x], axes=[2], keepdims=1)])
    squared = b.node("Pow", [centred, b.shared("two", 2.0)])
    var = b.node("ReduceMean", [squared], axes=[2], keepdims=1)
    deviation = b.node("Sqrt", [b.node("Add", [var, b.shared("epsilon", sizes.epsilon)])])
    normal = b.node("Div", [centred, deviation])
    return b.node("Add", [b.node("Mul", [normal, scale]), shift])


def gelu(b, x):
    """By the error function."""
    erf = b.node("Erf", [b.node("Div", [x, b.shared("sqrt_two", np.sqrt(2.0))])])
    product = b.node("Mul", [x, b.node("Add", [erf, b.shared("one", 1.0)])])
    return b.node("Mul", [product, b.shared("half", 0.5)])


def attention(b, x, sizes):
    """Self-attention of all tokens."""
    head_width = sizes.width // sizes.heads

    def heads(name, order):
        with b.scope(name):
            y = linear(b, x, sizes.width, sizes.width)
            split = b.shared("split_heads", [0, sizes.tokens, sizes.heads, head_width], np.int64)
            return b.node("Transpose", [b.node("Reshape", [y, split])], perm=order)

    query, key = heads("q_proj", [0, 2, 1, 3]), heads("k_proj", [0, 2, 3, 1])
    value = heads("v_proj", [0, 2, 1, 3])
    scores = b.node("Div", [b.node("MatMul", [query, key]),
                            b.shared("sqrt_head", np.sqrt(head_width))])
    weights = b.node("Softmax", [scores], axis=3 if b.opset < 13 else -1)
    mixed = b.node("Transpose", [b.node("MatMul", [weights, value])], perm=[0, 2, 1, 3])
    shape = b.shared("merge_heads", [0, sizes.tokens, sizes.width], np.int64)
    merged = b.node("Reshape", [mixed, shape])
    with b.scope("out_proj"):
        return linear(b, merged, sizes.width, sizes.width)


def mlp(b, x, sizes):
    """Two linear layers, four times as wide between them."""
    with b.scope("fc1"):
        hidden = gelu(b, linear(b, x, sizes.width, 4 * sizes.width))
    with b.scope("fc2"):
        return linear(b, hidden, 4 * sizes.width, sizes.width)


def encoder(b, x, sizes, layers):
    """Layers of attention and mlp with residuals, and the normalisation after the last."""
    for layer in range(layers):
        with b.scope("layers.%d" % layer):
            for part, function in (("attention", attention), ("mlp", mlp)):
                with b.scope(part + "_norm"):
                    normal = layer_norm(b, x, sizes)
                with b.scope(part):
                    x = b.node("Add", [x, function(b, normal, sizes)])
    with b.scope("norm"):
        return layer_norm(b, x, sizes)
