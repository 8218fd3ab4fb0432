# SPDX-License-Identifier: MIT
"""A driving policy: a pre-layernorm transformer over the features of the last 25 frames."""

import numpy as np

from builder import Builder
from transformer_layers import Sizes, encoder, linear

SIZES = Sizes(tokens=25, width=512, heads=8)
LAYERS = 4
PLAN = (33, 15)  # future times, values at each
LEAD = 24


def transformer(name, opset, seed, batch=1):
    """Features 1x25x512 to a plan 1x33x15 and a lead 1x24."""
    b = Builder(name, opset, seed)
    shape = (SIZES.tokens, SIZES.width)
    x = b.input("features", [batch, *shape]).name
    x = b.node("Add", [x, b.constant("position", 0.3 * b.random("position", (1, *shape)))])
    x = encoder(b, x, SIZES, LAYERS)
    last = b.node("Gather", [x, b.shared("last_frame", SIZES.tokens - 1, np.int64)], axis=1)
    with b.scope("plan"):
        plan = linear(b, last, SIZES.width, PLAN[0] * PLAN[1])
        shaped = b.node("Reshape", [plan, b.constant("shape", [0, *PLAN], np.int64)])
        b.output(shaped, "plan", [batch, *PLAN])
    with b.scope("lead"):
        b.output(linear(b, last, SIZES.width, LEAD), "lead", [batch, LEAD])
    return b.model()
