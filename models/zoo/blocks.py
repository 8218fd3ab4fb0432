# SPDX-License-Identifier: MIT
"""The layers that the networks of the zoo are made of: float32, NCHW."""

import numpy as np

from builder import Value, rounded


def _sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def _hard_sigmoid(x):
    return np.clip(x / 6.0 + 0.5, 0.0, 1.0)


FUNCTIONS = {
    "relu": lambda x: np.maximum(x, 0.0),
    "relu6": lambda x: np.clip(x, 0.0, 6.0),
    "silu": lambda x: x * _sigmoid(x),
    "hardswish": lambda x: x * _hard_sigmoid(x),
    "sigmoid": _sigmoid,
    "hardsigmoid": _hard_sigmoid,
}


def activation(b, kind, x):
    """One of FUNCTIONS, in the nodes that exporters write at the builder's opset."""
    return x.mapped(_activation_nodes(b, kind, x.name), FUNCTIONS[kind])


def _activation_nodes(b, kind, x):
    if kind == "relu":
        return b.node("Relu", [x])
    if kind == "relu6":
        if b.opset < 11:
            return b.node("Clip", [x], min=0.0, max=6.0)
        return b.node("Clip", [x, b.shared("zero", 0.0), b.shared("six", 6.0)])
    if kind == "sigmoid":
        return b.node("Sigmoid", [x])
    if kind == "hardsigmoid":
        return b.node("HardSigmoid", [x], alpha=1.0 / 6.0, beta=0.5)
    if kind == "hardswish" and b.opset >= 14:
        return b.node("HardSwish", [x])
    gate = "sigmoid" if kind == "silu" else "hardsigmoid"
    return b.node("Mul", [x, _activation_nodes(b, gate, x)])


def _filters(b, x, shape, groups, gain):
    """Random filters with output variance gain**2, and the moments of the output."""
    outputs, per_group = shape[0], shape[1]
    # Channel i of filter o reads input channel first[o] + i.
    first = np.arange(outputs) // (outputs // groups) * per_group
    read = first[:, None] + np.arange(per_group)
    taps = int(np.prod(shape[2:]))
    scale = gain / np.sqrt(taps * x.var[read].sum(axis=1).mean())
    weights = np.float32(b.random("weight", shape) * float("%.4g" % scale))
    flat = np.float64(weights).reshape(outputs, per_group, taps)
    mean = (flat.sum(axis=2) * x.mean[read]).sum(axis=1)
    var = (np.square(flat).sum(axis=2) * x.var[read]).sum(axis=1)
    return weights, mean, var


def conv(b, x, outputs, kernel, stride=1, groups=1, bias=False, gain=1.0):
    """A convolution with the padding that keeps the size at stride 1."""
    weights, mean, var = _filters(b, x, (outputs, x.channels // groups, kernel, kernel), groups,
                                  gain)
    inputs = [x.name, b.constant("weight", weights)]
    if bias:  # takes the mean away, as a trained layer would
        offset = rounded(0.1 * b.random("bias", outputs) - mean)
        inputs.append(b.constant("bias", offset))
        mean = mean + offset
    name = b.node("Conv", inputs, dilations=[1, 1], group=groups, kernel_shape=[kernel] * 2,
                  pads=[kernel // 2] * 4, strides=[stride] * 2)
    return Value(name, mean, var)


def batch_norm(b, x, scale, shift, epsilon):
    """A batch norm whose statistics are nearly those of its input."""
    def around(name, centre, spread):
        return rounded(centre + spread * np.tanh(b.random(name, x.channels)))

    gamma, beta = around("weight", scale, 0.2 * scale), around("bias", shift, 0.2)
    deviation = np.sqrt(x.var)
    mean = rounded(x.mean + 0.1 * deviation * np.tanh(b.random("running_mean", x.channels)))
    var = rounded(np.maximum(x.var * around("running_var", 1.0, 0.2), 1e-3))
    statistics = [("weight", gamma), ("bias", beta), ("running_mean", mean), ("running_var", var)]
    name = b.node("BatchNormalization", [x.name] + [b.constant(n, v) for n, v in statistics],
                  epsilon=epsilon, momentum=0.9)
    factor = gamma / np.sqrt(var + epsilon)
    return Value(name, (x.mean - mean) * factor + beta, x.var * factor**2)


def conv_norm(b, x, outputs, kernel, stride=1, groups=1, act=None, branch_end=False, epsilon=1e-5,
              names=("conv", "bn")):
    """Convolution, batch norm, activation.

    The last one of a residual branch (`branch_end`) is weak, as trained ones are: the sum then
    neither grows with depth nor magnifies rounding errors.
    """
    with b.scope(names[0]):
        y = conv(b, x, outputs, kernel, stride, groups)
    with b.scope(names[1]):
        y = batch_norm(b, y, 0.3 if branch_end else 1.0, 0.5 if act else 0.0, epsilon)
    return activation(b, act, y) if act else y


def add(b, x, y):
    """The sum at the end of a residual block."""
    return Value(b.node("Add", [x.name, y.name]), x.mean + y.mean, x.var + y.var)


def split_channels(b, x):
    """The first and the second half of the channels."""
    half = x.channels // 2
    if b.opset < 13:
        names = b.nodes("Split", [x.name], 2, axis=1, split=[half, half])
    else:
        sizes = b.shared("halves_of_%d" % x.channels, [half, half], np.int64)
        names = b.nodes("Split", [x.name, sizes], 2, axis=1)
    return [Value(name, x.mean[part], x.var[part])
            for name, part in zip(names, (slice(half), slice(half, None)))]


def concat(b, x, y):
    """The channels of both, one after the other."""
    return Value(b.node("Concat", [x.name, y.name], axis=1), np.concatenate([x.mean, y.mean]),
                 np.concatenate([x.var, y.var]))


def shuffle_channels(b, x, size):
    """Interleaves the halves of the channels of a batch of squares of `size` pixels."""
    def shape(*channels):
        return b.shared("x".join(map(str, channels + (size, size))), [0, *channels, size, size],
                        np.int64)

    half = x.channels // 2
    halves = b.node("Reshape", [x.name, shape(2, half)])
    turned = b.node("Transpose", [halves], perm=[0, 2, 1, 3, 4])
    name = b.node("Reshape", [turned, shape(x.channels)])
    order = np.arange(x.channels).reshape(2, half).T.ravel()
    return Value(name, x.mean[order], x.var[order])


def squeeze_excite(b, x, squeezed, act, gate, reduce_op):
    """Scales each channel by a gate computed from the means of all."""
    if reduce_op == "ReduceMean":
        pooled = b.node("ReduceMean", [x.name], axes=[2, 3], keepdims=1)
    else:
        pooled = b.node(reduce_op, [x.name])
    mean = Value(pooled, x.mean, x.var / 16.0)
    with b.scope("fc1"):
        hidden = conv(b, mean, squeezed, 1, bias=True)
    hidden = activation(b, act, hidden)
    with b.scope("fc2"):
        logits = conv(b, hidden, x.channels, 1, bias=True)
    gates = activation(b, gate, logits)
    name = b.node("Mul", [x.name, gates.name])
    power = gates.var + gates.mean**2
    return Value(name, x.mean * gates.mean, x.var * power + x.mean**2 * gates.var)


def max_pool_relu_input(b, x, before_relu):
    """MaxPool 3x3 of stride 2 over relu(before_relu): the largest of nine normal variables."""
    name = b.node("MaxPool", [x.name], kernel_shape=[3, 3], pads=[1] * 4, strides=[2, 2])
    largest = Value(name, before_relu.mean + 1.485 * np.sqrt(before_relu.var),
                    0.357 * before_relu.var)
    return largest.mapped(name, FUNCTIONS["relu"])


def pooled_features(b, x):
    """GlobalAveragePool and Flatten at the end of a trunk."""
    flat = b.node("Flatten", [b.node("GlobalAveragePool", [x.name])], axis=1)
    return Value(flat, x.mean, x.var / 16.0)


def mean_features(b, x):
    """pooled_features as ReduceMean."""
    return Value(b.node("ReduceMean", [x.name], axes=[2, 3], keepdims=0), x.mean, x.var / 16.0)


def linear(b, x, outputs, deviation=None):
    """A fully connected layer as Gemm; without a weights' deviation, its output has unit power."""
    if deviation is None:
        deviation = (x.var + x.mean**2).sum()**-0.5
    weights = np.float32(b.random("weight", (outputs, x.channels)) * float("%.4g" % deviation))
    bias = rounded(0.1 * b.random("bias", outputs))
    name = b.node("Gemm", [x.name, b.constant("weight", weights), b.constant("bias", bias)],
                  alpha=1.0, beta=1.0, transB=1)
    return Value(name, weights @ x.mean + bias, np.square(weights) @ x.var)
