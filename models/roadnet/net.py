# SPDX-License-Identifier: MIT
"""The network: inverted residual blocks over the packed 4:2:0 model view, one flat output vector.

Everything in it exports to plain ONNX operators: Cast, Conv, HardSwish, HardSigmoid, Relu,
GlobalAveragePool, Mul, Add, Flatten, Gemm, Exp, Sigmoid, Concat. Channel counts are multiples of 16.
"""

from typing import NamedTuple

import torch
from torch import nn

from dataset import INPUT_SHAPE


class Block(NamedTuple):
    """One inverted residual block."""

    kernel: int
    expanded: int  # channels between the two 1x1 convolutions
    out: int
    stride: int
    squeeze: int  # channels of the squeeze-and-excite bottleneck, 0 for none


STEM = 16
BLOCKS = (
    Block(3, 32, 16, 1, 0),
    Block(3, 64, 32, 2, 0),
    Block(3, 96, 32, 1, 0),
    Block(5, 96, 48, 2, 16),
    Block(5, 192, 48, 1, 32),
    Block(5, 192, 48, 1, 32),
    Block(5, 240, 96, 2, 32),
    Block(5, 384, 96, 1, 48),
    Block(5, 384, 96, 1, 48),
)
NECK = 32      # channels of the last feature map, 8x16
HIDDEN = 96
OFFSETS = 48   # left line, right line, path
PROBABILITIES = 3


def convolution(channels_in, channels_out, kernel, stride=1, groups=1, activation=True):
    """Convolution, batch normalisation and, unless told otherwise, hard swish."""
    layers = [nn.Conv2d(channels_in, channels_out, kernel, stride, kernel // 2, groups=groups,
                        bias=False), nn.BatchNorm2d(channels_out)]
    return nn.Sequential(*layers, *([nn.Hardswish(inplace=True)] if activation else []))


class SqueezeExcite(nn.Module):
    """Scales each channel by a function of all channels' means."""

    def __init__(self, channels, squeezed):
        super().__init__()
        self.scale = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(channels, squeezed, 1),
                                   nn.ReLU(inplace=True), nn.Conv2d(squeezed, channels, 1),
                                   nn.Hardsigmoid(inplace=True))

    def forward(self, x):
        return x * self.scale(x)


class InvertedResidual(nn.Module):
    """Expand, depthwise convolution, squeeze and excite, project; added to the input if it fits."""

    def __init__(self, channels_in, block):
        super().__init__()
        layers = [convolution(channels_in, block.expanded, 1),
                  convolution(block.expanded, block.expanded, block.kernel, block.stride,
                              groups=block.expanded)]
        if block.squeeze:
            layers.append(SqueezeExcite(block.expanded, block.squeeze))
        layers.append(convolution(block.expanded, block.out, 1, activation=False))
        self.layers = nn.Sequential(*layers)
        self.residual = block.stride == 1 and channels_in == block.out

    def forward(self, x):
        y = self.layers(x)
        return x + y if self.residual else y


class RoadNet(nn.Module):
    """uint8 [N, 6, 128, 256] -> float32 [N, 52], laid out as struct Truth in truth.h.

    `offset_mean` and `offset_std` (48 values each, metres) undo the normalisation of the offsets;
    they are folded into the last layer by `fold_scales`.
    """

    def __init__(self, offset_mean, offset_std):
        super().__init__()
        blocks, channels = [], STEM
        for block in BLOCKS:
            blocks.append(InvertedResidual(channels, block))
            channels = block.out
        self.trunk = nn.Sequential(convolution(INPUT_SHAPE[0], STEM, 3, 2), *blocks,
                                   convolution(channels, NECK, 1))
        cells = (INPUT_SHAPE[1] // 16) * (INPUT_SHAPE[2] // 16)
        self.hidden = nn.Sequential(nn.Flatten(), nn.Linear(NECK * cells, HIDDEN), nn.Hardswish())
        self.offsets = nn.Linear(HIDDEN, OFFSETS)
        self.lead_distance = nn.Linear(HIDDEN, 1)
        self.probabilities = nn.Linear(HIDDEN, PROBABILITIES)
        nn.init.constant_(self.lead_distance.bias, 3.3)  # the logarithm of some 27 m
        self.register_buffer("offset_mean", torch.as_tensor(offset_mean, dtype=torch.float32))
        self.register_buffer("offset_std", torch.as_tensor(offset_std, dtype=torch.float32))

    def features(self, image):
        """The hidden layer of a batch of raw images."""
        return self.hidden(self.trunk(image.float() * (1.0 / 64.0) - 2.0))

    def raw(self, image):
        """Offsets (m), logarithm of the lead distance, logits of the probabilities: for training."""
        hidden = self.features(image).float()
        with torch.autocast(image.device.type, enabled=False):
            offsets = self.offsets(hidden) * self.offset_std + self.offset_mean
            return offsets, self.lead_distance(hidden), self.probabilities(hidden)

    def fold_scales(self):
        """Moves the offsets' scale into the last layer; `forward` is right only after this."""
        with torch.no_grad():
            self.offsets.weight.mul_(self.offset_std[:, None])
            self.offsets.bias.mul_(self.offset_std).add_(self.offset_mean)
            self.offset_std.fill_(1.0)
            self.offset_mean.fill_(0.0)

    def forward(self, image):
        hidden = self.features(image)
        return torch.cat([self.offsets(hidden), torch.exp(self.lead_distance(hidden)),
                          torch.sigmoid(self.probabilities(hidden))], dim=1)
