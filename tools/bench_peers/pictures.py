# SPDX-License-Identifier: MIT
"""Pictures that mean something to networks that look at pictures."""

import os

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from bench_peers.places import ROOT


def photo(height, width):
    """A picture of the demo as [1, 3, height, width] in [0, 1]."""
    with Image.open(os.path.join(ROOT, "tools", "bench_peers", "photo.png")) as image:
        pixels = np.asarray(image.convert("RGB").resize((width, height)), np.float32) / 255
    return np.ascontiguousarray(pixels.transpose(2, 0, 1)[None])


def text_picture(height, width, text="Camshaft 2026"):
    """A line of text, black on white, as the OCR networks want it: [1, 3, height, width] in
    [-1, 1]."""
    image = Image.new("RGB", (width, height), "white")
    size = min(height * 0.7, 1.7 * width / len(text))
    ImageDraw.Draw(image).text((width * 0.02, height / 2), text, "black", anchor="lm",
                               font=ImageFont.load_default(size=size))
    pixels = np.asarray(image, np.float32) / 127.5 - 1
    return np.ascontiguousarray(pixels.transpose(2, 0, 1)[None])
