# SPDX-License-Identifier: MIT
"""ViT-Tiny (Dosovitskiy et al. 2020; Touvron et al. 2020): patches of 16x16 pixels as tokens."""

import numpy as np

from builder import Builder
from transformer_layers import Sizes, encoder, linear

IMAGE, PATCH = 224, 16
PATCHES = (IMAGE // PATCH)**2
SIZES = Sizes(tokens=PATCHES + 1, width=192, heads=3, epsilon=1e-6)
LAYERS = 12


def _patches(b, image):
    """A token of unit variance for each patch: [batch, patches, width]."""
    shape = (SIZES.width, image.channels, PATCH, PATCH)
    scale = float("%.4g" % np.prod(shape[1:])**-0.5)
    weights = b.constant("weight", scale * b.random("weight", shape))
    bias = b.constant("bias", 0.05 * b.random("bias", SIZES.width))
    grid = b.node("Conv", [image.name, weights, bias], dilations=[1, 1], group=1,
                  kernel_shape=[PATCH] * 2, pads=[0] * 4, strides=[PATCH] * 2)
    flat = b.node("Reshape", [grid, b.constant("shape", [0, SIZES.width, PATCHES], np.int64)])
    return b.node("Transpose", [flat], perm=[0, 2, 1])


def vit_tiny(name, opset, seed, batch=1):
    """Image 1x3x224x224 to logits 1x1000, which are read off the class token."""
    if not isinstance(batch, int):
        raise ValueError("%s has a class token for each image: its batch size can't be free" % name)
    b = Builder(name, opset, seed)
    image = b.input("input", [batch, 3, IMAGE, IMAGE])
    with b.scope("patch_embed"):
        patches = _patches(b, image)
    token = np.repeat(b.random("class_token", (1, 1, SIZES.width)), batch, axis=0)
    x = b.node("Concat", [b.constant("class_token", token), patches], axis=1)
    position = 0.3 * b.random("position", (1, SIZES.tokens, SIZES.width))
    x = b.node("Add", [x, b.constant("position", position)])
    x = encoder(b, x, SIZES, LAYERS)
    first = b.node("Gather", [x, b.shared("first_token", 0, np.int64)], axis=1)
    with b.scope("head"):
        b.output(linear(b, first, SIZES.width, 1000), "logits", [batch, 1000])
    return b.model()
