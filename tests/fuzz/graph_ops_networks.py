# SPDX-License-Identifier: MIT
"""Operators for random graphs: small convolutional networks, whose channels are joined, cut,
shuffled, scaled and added to each other in ways that real ones have. See graph_maker.py."""

import numpy as np

from graph_maker import BFLOAT16, FLOATS, SIGNED, UNSIGNED, Unfit

FLOAT = FLOATS[0]
CHANNELS = (1, 3, 4, 6, 8, 8, 9, 12, 16, 16, 20, 24, 29, 32, 33, 40, 58)
MOST_CHANNELS = 140
WINDOWS = ((1, 1, 0), (1, 1, 0), (1, 1, 0), (3, 1, 1), (3, 2, 1), (1, 2, 0), (2, 2, 0))


class Network:
    """Values of one batch; those that are wider or smaller than others, too."""

    def __init__(self, m):
        self.m = m
        dtype = m.choose((FLOAT,) * 6 + (FLOATS[2], BFLOAT16))
        spatial = m.choose(((4, 8), (7, 9), (3, 3), (1, 17), (5, 1), (21,), (12, 10), (2, 3, 4)))
        shape = (m.choose((1, 1, 2, 3)), m.choose(CHANNELS), *spatial)
        self.values = [m.input(m.array(dtype, shape, -1.0, 1.0))]

    def some(self):
        return self.values[-1] if self.m.chance(0.6) else self.m.choose(self.values)

    def keep(self, value):
        value.magnitude = 3.0  # about
        self.values.append(value)

    def like(self, x):
        """Others of a value's shape."""
        return [v for v in self.values if v.shape == x.shape and v is not x]

    def weights(self, x, shape):
        data = self.m.rng.uniform(-1, 1, shape) * np.sqrt(3.0 / np.prod(shape[1:]))
        return self.m.constant(data.astype(x.dtype))

    def convolve(self):
        """A convolution: pointwise, of windows, in groups, depthwise; and what follows it."""
        m, x = self.m, self.some()
        kernel, stride, pad = m.choose(WINDOWS)
        rank = x.rank - 2
        if any(e + 2 * pad < kernel for e in x.shape[2:]):
            kernel, stride, pad = 1, 1, 0
        channels = x.shape[1]
        groups = m.choose((1, 1, 1, 1, channels, 2))
        groups = groups if channels % groups == 0 else 1
        out = channels if groups == channels else groups * (m.choose(CHANNELS) // groups or 1)
        if m.chance(0.3) and groups == 1:
            out = self.m.choose(self.values).shape[1]
        inputs = [x, self.weights(x, (out, channels // groups, *([kernel] * rank)))]
        if m.chance(0.4):
            inputs.append(m.constant(m.array(x.dtype, (out,), -1.0, 1.0)))
        y = m.node("Conv", inputs, exact=False, magnitude=3, group=groups, strides=[stride] * rank,
                   pads=[pad] * (2 * rank))
        if m.chance(0.2):
            factors = [m.constant(m.array(x.dtype, (out,), 0.5, 1.5)) for _ in range(4)]
            y = m.node("BatchNormalization", [y, *factors], exact=False, magnitude=3)
        self.finish(y)

    def finish(self, y):
        m = self.m
        first = m.chance(0.5)
        if first and m.chance(0.6):
            y = self.activate(y)
        others = self.like(y)
        if others and m.chance(0.6):
            y = m.node(m.choose(("Add", "Add", "Mul")), [y, m.choose(others)], exact=False,
                       magnitude=6)
        if not first and m.chance(0.6):
            y = self.activate(y)
        self.keep(y)

    def activate(self, y):
        op = self.m.choose(("Relu", "Relu", "HardSwish", "Sigmoid", "Tanh", "LeakyRelu"))
        return self.m.node(op, [y], exact=False, magnitude=3)

    def join(self):
        """Side by side, of whatever channels; one of them maybe twice."""
        m, x = self.m, self.some()
        fit = [v for v in self.values if v.shape[2:] == x.shape[2:]]
        parts = [x] + [m.choose(fit) for _ in range(m.between(1, 2))]
        if sum(v.shape[1] for v in parts) > MOST_CHANNELS:
            return
        self.keep(m.node("Concat", parts, exact=False, axis=1))

    def cut(self):
        """Into two parts, equal ones or not."""
        m, x = self.m, self.some()
        if x.shape[1] < 2:
            return
        left = m.choose((x.shape[1] // 2, m.between(1, x.shape[1] - 1)))
        for part in m.node("Split", [x, m.ints(left, x.shape[1] - left)], exact=False, outputs=2,
                           axis=1):
            self.keep(part)

    def shuffle(self):
        """Channels of groups among each other, or in any other order."""
        m, x = self.m, self.some()
        batch, channels, *spatial = x.shape
        if m.chance(0.3):
            order = m.constant(m.rng.permutation(channels))
            self.keep(m.node("Gather", [x, order], exact=False, axis=1))
            return
        fit = [d for d in (2, 3, 4) if channels % d == 0]
        if not fit:
            return
        groups = m.choose(fit)
        y = m.node("Reshape", [x, m.ints(batch, groups, channels // groups, *spatial)], exact=False)
        y = m.node("Transpose", [y], exact=False, perm=[0, 2, 1, *range(3, y.rank)])
        self.keep(m.node("Reshape", [y, m.ints(*x.shape)], exact=False))

    def scale(self):
        """By a number for each channel, out of their means."""
        m, x = self.m, self.some()
        mean = m.node("GlobalAveragePool", [x], exact=False)
        channels = x.shape[1]
        w = self.weights(x, (channels, channels, *([1] * (x.rank - 2))))
        gate = m.node("Sigmoid", [m.node("Conv", [mean, w], exact=False)], exact=False, magnitude=1)
        self.keep(m.node("Mul", [x, gate], exact=False))

    def pool(self):
        m, x = self.m, self.some()
        if min(x.shape[2:]) < 2:
            return
        rank = x.rank - 2
        stride = m.between(1, 2)
        pads = [1] * (2 * rank) if stride == 1 else [0] * (2 * rank)
        size = 3 if stride == 1 else 2
        self.keep(m.node(m.choose(("MaxPool", "AveragePool")), [x], exact=False,
                         kernel_shape=[size] * rank, strides=[stride] * rank, pads=pads))

    def stretch(self):
        """Twice as large."""
        m, x = self.m, self.some()
        if x.rank != 4 or np.prod(x.shape) > 4000:
            return
        scales = m.constant(np.array([1, 1, 2, 2], np.float32))
        self.keep(m.node("Resize", [x, None, scales], exact=False, mode="nearest",
                         coordinate_transformation_mode="asymmetric", nearest_mode="floor"))

    def spread(self):
        """Channels as pixels, or pixels as channels."""
        m, x = self.m, self.some()
        if x.rank != 4:
            return
        if x.shape[1] % 4 == 0 and m.chance(0.5):
            self.keep(m.node("DepthToSpace", [x], exact=False, blocksize=2,
                             mode=m.choose(("DCR", "CRD"))))
        elif all(e % 2 == 0 for e in x.shape[2:]) and x.shape[1] <= MOST_CHANNELS // 4:
            self.keep(m.node("SpaceToDepth", [x], exact=False, blocksize=2))


class QuantizedNetwork(Network):
    """The same of bytes, as exporters write them: numbers that are quantised behind each node and
    read back. Scales are powers of two, and sums below 2^24: so every implementation has the same
    bits, and where it rounds half of a step, the same way."""

    def __init__(self, m):
        self.m = m
        self.dtype = m.choose((UNSIGNED[0], SIGNED[0]))
        self.meaning = {}  # name of a quantised value -> (scale, zero point)
        shape = (m.choose((1, 1, 2)), m.choose(CHANNELS), *m.choose(((4, 8), (7, 9), (3, 3), (21,))))
        low, high = (0, 256) if self.dtype in UNSIGNED else (-128, 128)
        self.values = [m.input(m.rng.integers(low, high, shape).astype(self.dtype))]
        self.meaning[self.values[0].name] = self.new_meaning()

    def new_meaning(self):
        zero = np.asarray(self.m.choose((0, 0, 3, 7)), self.dtype)
        scale = np.float32(2.0 ** self.m.between(-6, -4))
        return self.m.constant(scale), self.m.constant(zero)

    def numbers(self, x):
        return self.m.node("DequantizeLinear", [x, *self.meaning[x.name]], magnitude=16)

    def keep(self, value, meaning=None):
        """`value` is of numbers."""
        meaning = meaning or self.new_meaning()
        q = self.m.node("QuantizeLinear", [value, *meaning], magnitude=1)
        self.meaning[q.name] = meaning
        self.values.append(q)

    def stored(self, integers, exponents, axis):
        """A constant of bytes, or of sums, with a scale for each channel."""
        scale = self.m.constant((2.0 ** exponents).astype(np.float32))
        zero = self.m.constant(np.zeros(np.shape(exponents), integers.dtype))
        more = {} if np.ndim(exponents) == 0 else {"axis": axis}
        return self.m.node("DequantizeLinear", [self.m.constant(integers), scale, zero],
                           magnitude=16, **more)

    def convolve(self):
        m, x = self.m, self.some()
        kernel, stride, pad = m.choose(WINDOWS)
        rank = x.rank - 2
        if any(e + 2 * pad < kernel for e in x.shape[2:]):
            kernel, stride, pad = 1, 1, 0
        channels = x.shape[1]
        groups = channels if m.chance(0.25) else 1
        if groups == 1 and kernel == 3:
            stride = 2  # no dense windows of stride 1: Winograd's sums are rounded
        out = channels if groups > 1 else m.choose(CHANNELS)
        if m.chance(0.3) and groups == 1:
            out = m.choose(self.values).shape[1]
        exponents = m.rng.integers(-11, -7, m.choose(((), (out,))))
        shape = (out, channels // groups, *([kernel] * rank))
        w = self.stored(m.rng.integers(-64, 64, shape).astype(np.int8), exponents, 0)
        inputs = [self.numbers(x), w]
        if m.chance(0.5):
            inputs.append(self.stored(m.rng.integers(-9000, 9000, out).astype(np.int32),
                                      np.broadcast_to(exponents, (out,)) - 5, 0))
        y = m.node("Conv", inputs, magnitude=16, group=groups, strides=[stride] * rank,
                   pads=[pad] * (2 * rank))
        self.finish(y)

    def finish(self, y):
        m = self.m
        if m.chance(0.4):
            y = m.node("Relu", [y])
        if m.chance(0.5):
            self.keep(y)
            y = self.numbers(self.values[-1])
        others = self.like(y)
        if others and m.chance(0.6):
            y = m.node("Add", [y, self.numbers(m.choose(others))], magnitude=16)
            if m.chance(0.5):
                y = m.node("Relu", [y])
        self.keep(y)

    def join(self):
        m, x = self.m, self.some()
        fit = [v for v in self.values if v.shape[0] == x.shape[0] and v.shape[2:] == x.shape[2:]]
        parts = [x] + [m.choose(fit) for _ in range(m.between(1, 2))]
        if sum(v.shape[1] for v in parts) > MOST_CHANNELS:
            return
        joined = m.node("Concat", [self.numbers(v) for v in parts], axis=1)
        self.keep(joined, self.meaning[parts[0].name] if m.chance(0.7) else None)

    def cut(self):
        m, x = self.m, self.some()
        if x.shape[1] < 2:
            return
        left = m.choose((x.shape[1] // 2, m.between(1, x.shape[1] - 1)))
        for part in m.node("Split", [self.numbers(x), m.ints(left, x.shape[1] - left)], outputs=2,
                           axis=1):
            self.keep(part, self.meaning[x.name])

    def shuffle(self):
        m, x = self.m, self.some()
        batch, channels, *spatial = x.shape
        fit = [d for d in (2, 3, 4) if channels % d == 0]
        if not fit:
            return
        groups = m.choose(fit)
        y = self.numbers(x)
        y = m.node("Reshape", [y, m.ints(batch, groups, channels // groups, *spatial)])
        y = m.node("Transpose", [y], perm=[0, 2, 1, *range(3, y.rank)])
        self.keep(m.node("Reshape", [y, m.ints(*x.shape)]), self.meaning[x.name])

    def pool(self):
        m, x = self.m, self.some()
        if min(x.shape[2:]) < 2:
            return
        rank = x.rank - 2
        y = m.node("MaxPool", [self.numbers(x)], kernel_shape=[2] * rank, strides=[2] * rank)
        self.keep(y, self.meaning[x.name])


def network(m):
    n = Network(m)
    steps = [n.convolve] * 8 + [n.join, n.join, n.cut, n.cut, n.shuffle, n.shuffle, n.scale, n.pool,
                                n.stretch, n.spread]
    n.convolve()
    for _ in range(m.between(1, 7)):
        m.choose(steps)()
    if len(m.graph.nodes) > 40:
        raise Unfit


def quantized_network(m):
    n = QuantizedNetwork(m)
    steps = [n.convolve] * 5 + [n.join, n.cut, n.shuffle, n.pool]
    n.convolve()
    for _ in range(m.between(1, 6)):
        m.choose(steps)()


OPERATORS = {f.__name__: f for f in (network, quantized_network)}
