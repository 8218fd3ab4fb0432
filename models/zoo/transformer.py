# SPDX-License-Identifier: MIT
"""A driving policy: a pre-layernorm transformer over the features of the last 25 frames.

Opset 9 has no LayerNormalization, which is then written out as exporters did; its Softmax is the
old one, over all axes from `axis` on.
"""

import numpy as np

from builder import Builder, rounded

FRAMES, WIDTH, HEADS, LAYERS = 25, 512, 8, 4
PLAN = (33, 15)  # future times, values at each
LEAD = 24
EPSILON = 1e-5


def _matmul(b, x, inputs, outputs):
    """x @ W + bias, of unit variance where x is."""
    scale = float("%.4g" % inputs**-0.5)
    weight = b.constant("weight", scale * b.random("weight", (inputs, outputs)))
    bias = b.constant("bias", rounded(0.05 * b.random("bias", outputs)))
    return b.node("Add", [bias, b.node("MatMul", [x, weight])])


def _layer_norm(b, x):
    scale = b.constant("weight", rounded(1.0 + 0.1 * b.random("weight", WIDTH)))
    shift = b.constant("bias", rounded(0.1 * b.random("bias", WIDTH)))
    if b.opset >= 17:
        return b.node("LayerNormalization", [x, scale, shift], axis=-1, epsilon=EPSILON)
    centred = b.node("Sub", [x, b.node("ReduceMean", [x], axes=[2], keepdims=1)])
    squared = b.node("Pow", [centred, b.shared("two", 2.0)])
    var = b.node("ReduceMean", [squared], axes=[2], keepdims=1)
    deviation = b.node("Sqrt", [b.node("Add", [var, b.shared("epsilon", EPSILON)])])
    normal = b.node("Div", [centred, deviation])
    return b.node("Add", [b.node("Mul", [normal, scale]), shift])


def _gelu(b, x):
    erf = b.node("Erf", [b.node("Div", [x, b.shared("sqrt_two", np.sqrt(2.0))])])
    product = b.node("Mul", [x, b.node("Add", [erf, b.shared("one", 1.0)])])
    return b.node("Mul", [product, b.shared("half", 0.5)])


def _attention(b, x):
    def heads(name, order):
        with b.scope(name):
            y = _matmul(b, x, WIDTH, WIDTH)
            split = b.shared("split_heads", [0, FRAMES, HEADS, WIDTH // HEADS], np.int64)
            return b.node("Transpose", [b.node("Reshape", [y, split])], perm=order)

    query, key = heads("q_proj", [0, 2, 1, 3]), heads("k_proj", [0, 2, 3, 1])
    value = heads("v_proj", [0, 2, 1, 3])
    scores = b.node("Div", [b.node("MatMul", [query, key]),
                            b.shared("sqrt_head", np.sqrt(WIDTH // HEADS))])
    weights = b.node("Softmax", [scores], axis=3 if b.opset < 13 else -1)
    mixed = b.node("Transpose", [b.node("MatMul", [weights, value])], perm=[0, 2, 1, 3])
    merged = b.node("Reshape", [mixed, b.shared("merge_heads", [0, FRAMES, WIDTH], np.int64)])
    with b.scope("out_proj"):
        return _matmul(b, merged, WIDTH, WIDTH)


def _mlp(b, x):
    with b.scope("fc1"):
        hidden = _gelu(b, _matmul(b, x, WIDTH, 4 * WIDTH))
    with b.scope("fc2"):
        return _matmul(b, hidden, 4 * WIDTH, WIDTH)


def transformer(name, opset, seed, batch=1):
    """Features 1x25x512 to a plan 1x33x15 and a lead 1x24."""
    b = Builder(name, opset, seed)
    x = b.input("features", [batch, FRAMES, WIDTH]).name
    x = b.node("Add", [x, b.constant("position", 0.3 * b.random("position", (1, FRAMES, WIDTH)))])
    for layer in range(LAYERS):
        with b.scope("layers.%d" % layer):
            for part, function in (("attention", _attention), ("mlp", _mlp)):
                with b.scope(part + "_norm"):
                    normal = _layer_norm(b, x)
                with b.scope(part):
                    x = b.node("Add", [x, function(b, normal)])
    with b.scope("norm"):
        x = _layer_norm(b, x)
    last = b.node("Gather", [x, b.shared("last_frame", FRAMES - 1, np.int64)], axis=1)
    with b.scope("plan"):
        plan = _matmul(b, last, WIDTH, PLAN[0] * PLAN[1])
        shaped = b.node("Reshape", [plan, b.constant("shape", [0, *PLAN], np.int64)])
        b.output(shaped, "plan", [batch, *PLAN])
    with b.scope("lead"):
        b.output(_matmul(b, last, WIDTH, LEAD), "lead", [batch, LEAD])
    return b.model()
