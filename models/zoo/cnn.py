# SPDX-License-Identifier: MIT
"""Image classifiers, 1x3x224x224 to 1x1000, layer by layer as their authors published them."""

import math

import blocks
from builder import Builder


def _image(b, batch, channels=3, height=224, width=224):
    return b.input("input", [batch, channels, height, width])


def _finish(b, logits, batch):
    b.output(logits.name, "logits", [batch, 1000])
    return b.model()


def _divisible_by_8(channels):
    """The nearest multiple of 8, never more than a tenth below `channels`."""
    result = max(8, int(channels + 4) // 8 * 8)
    return result + 8 if result < 0.9 * channels else result


# --- ResNet (He et al. 2015; stride in the 3x3 convolution, "v1.5") ------------------------------

RESNET_LAYERS = {18: (2, 2, 2, 2), 50: (3, 4, 6, 3)}


def _basic_block(b, x, width, stride):
    y = blocks.conv_norm(b, x, width, 3, stride, act="relu", names=("conv1", "bn1"))
    return blocks.conv_norm(b, y, width, 3, branch_end=True, names=("conv2", "bn2"))


def _bottleneck_block(b, x, width, stride):
    y = blocks.conv_norm(b, x, width, 1, act="relu", names=("conv1", "bn1"))
    y = blocks.conv_norm(b, y, width, 3, stride, act="relu", names=("conv2", "bn2"))
    return blocks.conv_norm(b, y, 4 * width, 1, branch_end=True, names=("conv3", "bn3"))


def resnet(depth, name, opset, seed, batch=1):
    """ResNet-18 (basic blocks) or ResNet-50 (bottlenecks)."""
    b = Builder(name, opset, seed)
    block = _basic_block if depth < 50 else _bottleneck_block
    stem = blocks.conv_norm(b, _image(b, batch), 64, 7, 2, names=("conv1", "bn1"))
    x = blocks.max_pool_relu_input(b, blocks.activation(b, "relu", stem), stem)
    for stage, count in enumerate(RESNET_LAYERS[depth]):
        for index in range(count):
            stride = 2 if stage > 0 and index == 0 else 1
            with b.scope("layer%d" % (stage + 1)), b.scope(str(index)):
                y = block(b, x, 64 << stage, stride)
                if stride != 1 or y.channels != x.channels:
                    with b.scope("downsample"):
                        x = blocks.conv_norm(b, x, y.channels, 1, stride, names=("0", "1"))
                x = blocks.activation(b, "relu", blocks.add(b, x, y))
    features = blocks.pooled_features(b, x)
    with b.scope("fc"):
        return _finish(b, blocks.linear(b, features, 1000), batch)


# --- MobileNetV2 (Sandler et al. 2018) -----------------------------------------------------------

MOBILENET_V2 = (  # expansion, channels, blocks, stride of the first
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
    (6, 320, 1, 1))


def _inverted_residual(b, x, expanded, outputs, kernel, stride, act, epsilon=1e-5, excite=None):
    """1x1 expansion, depthwise convolution, optional squeeze-and-excite, 1x1 projection."""
    y, residual = x, stride == 1 and x.channels == outputs
    if expanded != x.channels:
        y = blocks.conv_norm(b, y, expanded, 1, act=act, epsilon=epsilon,
                             names=("expand", "expand_bn"))
    y = blocks.conv_norm(b, y, expanded, kernel, stride, groups=expanded, act=act, epsilon=epsilon,
                         names=("depthwise", "depthwise_bn"))
    if excite:
        with b.scope("se"):
            y = blocks.squeeze_excite(b, y, **excite)
    y = blocks.conv_norm(b, y, outputs, 1, branch_end=residual, epsilon=epsilon,
                         names=("project", "project_bn"))
    return blocks.add(b, x, y) if residual else y


def mobilenet_v2(name, opset, seed, batch=1):
    """MobileNetV2 of width 1.0."""
    b = Builder(name, opset, seed)
    with b.scope("features"):
        x = blocks.conv_norm(b, _image(b, batch), 32, 3, 2, act="relu6", names=("0.0", "0.1"))
        index = 1
        for expansion, channels, count, first_stride in MOBILENET_V2:
            for i in range(count):
                with b.scope(str(index)):
                    x = _inverted_residual(b, x, expansion * x.channels, channels, 3,
                                           first_stride if i == 0 else 1, "relu6")
                index += 1
        x = blocks.conv_norm(b, x, 1280, 1, act="relu6", names=("18.0", "18.1"))
    features = blocks.pooled_features(b, x)
    with b.scope("classifier.1"):
        return _finish(b, blocks.linear(b, features, 1000), batch)


# --- MobileNetV3-Large (Howard et al. 2019) ------------------------------------------------------

MOBILENET_V3 = (  # kernel, expanded channels, channels, squeeze-and-excite, activation, stride
    (3, 16, 16, False, "relu", 1), (3, 64, 24, False, "relu", 2), (3, 72, 24, False, "relu", 1),
    (5, 72, 40, True, "relu", 2), (5, 120, 40, True, "relu", 1), (5, 120, 40, True, "relu", 1),
    (3, 240, 80, False, "hardswish", 2), (3, 200, 80, False, "hardswish", 1),
    (3, 184, 80, False, "hardswish", 1), (3, 184, 80, False, "hardswish", 1),
    (3, 480, 112, True, "hardswish", 1), (3, 672, 112, True, "hardswish", 1),
    (5, 672, 160, True, "hardswish", 2), (5, 960, 160, True, "hardswish", 1),
    (5, 960, 160, True, "hardswish", 1))


def mobilenet_v3(name, opset, seed, batch=1):
    """MobileNetV3-Large of width 1.0."""
    b = Builder(name, opset, seed)
    with b.scope("features"):
        x = blocks.conv_norm(b, _image(b, batch), 16, 3, 2, act="hardswish", epsilon=1e-3,
                             names=("0.0", "0.1"))
        for index, (kernel, expanded, channels, excite, act, stride) in enumerate(MOBILENET_V3, 1):
            settings = {"squeezed": _divisible_by_8(expanded / 4), "act": "relu",
                        "gate": "hardsigmoid", "reduce_op": "GlobalAveragePool"}
            with b.scope(str(index)):
                x = _inverted_residual(b, x, expanded, channels, kernel, stride, act, 1e-3,
                                       settings if excite else None)
        x = blocks.conv_norm(b, x, 960, 1, act="hardswish", epsilon=1e-3, names=("16.0", "16.1"))
    x = blocks.pooled_features(b, x)
    with b.scope("classifier.0"):
        x = blocks.activation(b, "hardswish", blocks.linear(b, x, 1280))
    with b.scope("classifier.3"):
        return _finish(b, blocks.linear(b, x, 1000), batch)


# --- EfficientNet (Tan and Le 2019) --------------------------------------------------------------

EFFICIENTNET = (  # expansion, kernel, stride of the first, channels, blocks
    (1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3), (6, 5, 1, 112, 3),
    (6, 5, 2, 192, 4), (6, 3, 1, 320, 1))


def efficientnet(width, depth, name, opset, seed, batch=1, image=(3, 224, 224)):
    """EfficientNet with B0's channels times `width` and blocks times `depth`; its SiLU is written
    as Sigmoid and Mul. `image`: channels, height and width of the input."""
    b = Builder(name, opset, seed)
    with b.scope("features"):
        x = blocks.conv_norm(b, _image(b, batch, *image), _divisible_by_8(32 * width), 3, 2,
                             act="silu", names=("0.0", "0.1"))
        for stage, (expansion, kernel, first_stride, channels, count) in enumerate(
                EFFICIENTNET, 1):
            for i in range(math.ceil(count * depth)):
                settings = {"squeezed": x.channels // 4, "act": "silu", "gate": "sigmoid",
                            "reduce_op": "ReduceMean"}
                with b.scope(str(stage)), b.scope(str(i)):
                    x = _inverted_residual(b, x, expansion * x.channels,
                                           _divisible_by_8(channels * width), kernel,
                                           first_stride if i == 0 else 1, "silu", excite=settings)
        x = blocks.conv_norm(b, x, 4 * x.channels, 1, act="silu", names=("8.0", "8.1"))
    features = blocks.pooled_features(b, x)
    # The published initialisation, whose logits are about 0.3: at this depth two correct float32
    # engines differ by 3e-6 of unit logits, which a tolerance of 1e-5 on logits near 0 would notice.
    with b.scope("classifier.1"):
        return _finish(b, blocks.linear(b, features, 1000, deviation=(3 * 1000)**-0.5), batch)


# --- ShuffleNetV2 (Ma et al. 2018) ---------------------------------------------------------------

SHUFFLENET_V2 = ((116, 4), (232, 8), (464, 4))  # channels, blocks of a stage
SHUFFLENET_IMAGE = 224


def _shuffle_branch(b, x, outputs, stride):
    """1x1, depthwise 3x3, 1x1: the branch that every block has."""
    y = blocks.conv_norm(b, x, outputs, 1, act="relu", names=("0", "1"))
    y = blocks.conv_norm(b, y, outputs, 3, stride, groups=outputs, names=("3", "4"))
    return blocks.conv_norm(b, y, outputs, 1, act="relu", names=("5", "6"))


def _shuffle_block(b, x, channels, stride, size):
    """One half of the channels goes through the branch (all, where the block halves the size), then
    the halves are interleaved. `size`: of the result."""
    if stride == 1:
        left, right = blocks.split_channels(b, x)
    else:
        with b.scope("branch1"):
            left = blocks.conv_norm(b, x, x.channels, 3, stride, groups=x.channels,
                                    names=("0", "1"))
            left = blocks.conv_norm(b, left, channels // 2, 1, act="relu", names=("2", "3"))
        right = x
    with b.scope("branch2"):
        right = _shuffle_branch(b, right, channels // 2, stride)
    return blocks.shuffle_channels(b, blocks.concat(b, left, right), size)


def shufflenet_v2(name, opset, seed, batch=1):
    """ShuffleNetV2 of width 1.0."""
    b = Builder(name, opset, seed)
    stem = blocks.conv_norm(b, _image(b, batch), 24, 3, 2, names=("conv1.0", "conv1.1"))
    x = blocks.max_pool_relu_input(b, blocks.activation(b, "relu", stem), stem)
    size = SHUFFLENET_IMAGE // 4
    for stage, (channels, count) in enumerate(SHUFFLENET_V2, 2):
        size //= 2
        for i in range(count):
            with b.scope("stage%d.%d" % (stage, i)):
                x = _shuffle_block(b, x, channels, 2 if i == 0 else 1, size)
    features = blocks.mean_features(
        b, blocks.conv_norm(b, x, 1024, 1, act="relu", names=("conv5.0", "conv5.1")))
    with b.scope("fc"):
        return _finish(b, blocks.linear(b, features, 1000), batch)
