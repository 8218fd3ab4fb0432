# SPDX-License-Identifier: MIT
"""Operators for random graphs: windows, products, reductions, normalisation. See graph_maker.py."""

import numpy as np

from graph_maker import FLOATS, Unfit

DENORMAL = {"float64": 1e-310, "float32": 1e-40, "float16": 3e-7, "bfloat16": 1e-40}


def is_image(value):
    """A batch of channels over one to three axes."""
    return value.is_float and 3 <= value.rank <= 5 and 0 not in value.shape


def image(m):
    """A value that windows slide over; made where there is none."""
    fit = [v for v in m.graph.values if is_image(v)]
    if fit and m.chance(0.7):
        return m.choose(fit)
    spatial = m.choose(((17,), (9, 11), (16, 16), (5, 8), (7, 1), (3, 4, 5)))
    dtype = m.choose((FLOATS[0],) * 6 + FLOATS[1:])
    channels = m.choose((1, 2, 3, 4, 6, 8, 9, 12, 16, 24, 33))
    return m.input(m.array(dtype, (m.choose((1, 1, 2, 3)), channels, *spatial)))


def window(m, x, most_dilation=3):
    """Attributes of a window that fits: asymmetric pads, strides, dilations."""
    kernel, strides, dilations, before, after = [], [], [], [], []
    for extent in x.shape[2:]:
        k, d = m.choose((1, 1, 2, 3, 3, 4, 5)), m.between(1, most_dilation)
        reach = d * (k - 1) + 1
        pads = [m.between(0, min(k - 1, 3)) if m.chance(0.6) else 0 for _ in range(2)]
        if extent + sum(pads) < reach:
            k, d, pads = 1, 1, [0, 0]
        kernel.append(k)
        dilations.append(d)
        strides.append(m.choose((1, 1, 1, 2, 3)))
        before.append(pads[0])
        after.append(pads[1])
    return {"kernel_shape": kernel, "strides": strides, "dilations": dilations,
            "pads": before + after}


def weights(m, dtype, shape, fan_in):
    """Weights that keep the magnitude, some of them denormal in their type. Then nothing else reads
    them: denormals are flushed, so that a comparison with 0 comes out another way."""
    data = m.rng.uniform(-1, 1, shape) * np.sqrt(3.0 / max(fan_in, 1))
    if m.chance(0.2):
        data = np.where(m.rng.random(shape) < 0.1, DENORMAL[dtype.name], data)
        return m.constant(data.astype(dtype))
    return m.constant(data.astype(dtype)) if m.chance(0.8) else m.input(data.astype(dtype))


def conv(m):
    x = image(m)
    channels = x.shape[1]
    groups = m.choose([1, 1, channels] + [d for d in range(1, channels + 1) if channels % d == 0])
    out = groups * m.choose((1, 1, 2, 3)) if groups > 1 else m.choose((1, 2, 3, 7, 8, 9, 16, 17, 32))
    attributes = window(m, x)
    if m.chance(0.15) and all(d == 1 for d in attributes["dilations"]):
        del attributes["pads"]
        attributes["auto_pad"] = m.choose(("SAME_UPPER", "SAME_LOWER", "VALID"))
        fits = all(k <= e for k, e in zip(attributes["kernel_shape"], x.shape[2:]))
        if attributes["auto_pad"] == "VALID" and not fits:
            raise Unfit
    fan_in = channels // groups * int(np.prod(attributes["kernel_shape"]))
    shape = (out, channels // groups, *attributes["kernel_shape"])
    inputs = [x, weights(m, x.dtype, shape, fan_in)]
    if m.chance(0.5):
        inputs.append(m.operand(x.dtype, (out,)))
    m.node("Conv", inputs, exact=False, magnitude=2 * x.magnitude + 3, group=groups, **attributes)


def separable(m):
    """What may become one kernel: a depthwise convolution, or a number for each channel, and the
    pointwise convolution that alone reads the product; of channels in whole blocks."""
    x = image(m)
    channels = m.choose((8, 12, 16, 24, 40))

    def convolve(value, out, fan_in, **attributes):
        kernel = attributes.get("kernel_shape", [1] * (x.rank - 2))
        shape = (out, value.shape[1] // attributes.get("group", 1), *kernel)
        inputs = [value, weights(m, x.dtype, shape, fan_in)]
        if m.chance(0.5):
            inputs.append(m.operand(x.dtype, (out,)))
        return m.node("Conv", inputs, exact=False, magnitude=2 * value.magnitude + 3, **attributes)

    wide = convolve(x, channels, x.shape[1])
    if m.chance(0.7):
        attributes = window(m, wide)
        inner = convolve(wide, channels, int(np.prod(attributes["kernel_shape"])), group=channels,
                         **attributes)
    else:
        mean = m.node("GlobalAveragePool", [wide], exact=False)
        scale = m.node("Sigmoid", [convolve(mean, channels, channels)], exact=False, magnitude=1)
        inner = m.node("Mul", [wide, scale], exact=False)
    activation = m.choose((None, "Relu", "Sigmoid", "Tanh"))
    if activation:
        inner = m.node(activation, [inner], exact=False)
    result = convolve(inner, m.choose((3, 8, 10, 16, 17, 24)), channels)
    if m.chance(0.5):
        result = m.node("Add", [result, m.operand(x.dtype, result.shape)], exact=False)
    if m.chance(0.5):
        m.node("Relu", [result], exact=False)


def conv_transpose(m):
    x = image(m)
    channels = x.shape[1]
    groups = m.choose([1, 1, 1] + [d for d in range(1, channels + 1) if channels % d == 0])
    out = m.choose((1, 2, 3, 5))
    attributes = window(m, x, 2)
    attributes["pads"] = [0] * len(attributes["pads"]) if m.chance(0.6) else attributes["pads"]
    attributes["output_padding"] = [m.between(0, s - 1) for s in attributes["strides"]]
    reach = [d * (k - 1) + 1 for d, k in zip(attributes["dilations"], attributes["kernel_shape"])]
    count = len(reach)
    for i, extent in enumerate(x.shape[2:]):
        size = (attributes["strides"][i] * (extent - 1) + attributes["output_padding"][i] + reach[i]
                - attributes["pads"][i] - attributes["pads"][i + count])
        if size < 1:
            raise Unfit
    fan_in = channels // groups * int(np.prod(attributes["kernel_shape"]))
    inputs = [x, weights(m, x.dtype, (channels, out, *attributes["kernel_shape"]), fan_in)]
    if m.chance(0.5):
        inputs.append(m.operand(x.dtype, (out * groups,)))
    m.node("ConvTranspose", inputs, exact=False, magnitude=3 * x.magnitude + 3, group=groups,
           **attributes)


def reaches_an_element(attributes, shape):
    """Whether each position of a window has a tap that is no padding."""
    rank = len(shape)
    for i, extent in enumerate(shape):
        before, after = attributes["pads"][i], attributes["pads"][rank + i]
        taps = attributes["dilations"][i] * np.arange(attributes["kernel_shape"][i])
        starts = np.arange(-before, extent + after - taps[-1] + attributes["strides"][i] - 1,
                           attributes["strides"][i])
        places = starts[:, None] + taps[None, :]
        if not ((places >= 0) & (places < extent)).any(axis=1).all():
            return False
    return True


def max_pool(m):
    x = image(m)
    ceil_mode, attributes = m.between(0, 1), window(m, x, 2)
    if not reaches_an_element(attributes, x.shape[2:]):
        raise Unfit  # of nothing the largest is -inf, and for onnxruntime the lowest number
    m.node("MaxPool", [x], ceil_mode=ceil_mode, **attributes)


def average_pool(m):
    x = image(m)
    attributes = window(m, x, 1)
    del attributes["dilations"]
    m.node("AveragePool", [x], exact=False, ceil_mode=m.between(0, 1),
           count_include_pad=m.between(0, 1), **attributes)


def global_pool(m):
    x = image(m)
    op = m.choose(("GlobalAveragePool", "GlobalMaxPool"))
    m.node(op, [x], exact=x.exact and op == "GlobalMaxPool")


def lp_pool(m):
    x = image(m)
    attributes = window(m, x, 2)
    count = int(np.prod(attributes["kernel_shape"]))
    m.node("LpPool", [x], exact=False, magnitude=x.magnitude * count, p=m.choose((1, 2, 3)),
           **attributes)


def integer_conv(m):
    channels, out = m.choose((1, 2, 3, 8)), m.choose((1, 3, 8))
    x = m.input(m.array(np.dtype("uint8"), (1, channels, m.choose((5, 8)), m.choose((4, 7)))))
    attributes = window(m, x, 2)
    shape = (out, channels, *attributes["kernel_shape"])
    # Half the range, without which onnxruntime's sums saturate on many machines.
    w = m.constant(m.rng.integers(-64, 64, shape).astype(np.int8))
    zero = m.constant(m.array(np.dtype("uint8"), ())) if m.chance(0.5) else None
    inputs = [x, w, zero] if zero else [x, w]
    m.node("ConvInteger", inputs, magnitude=1, **attributes)


# --- Products ------------------------------------------------------------------------------------

def mat_mul(m):
    x = m.pick(lambda v: v.rank > 0 and v.dtype.name in (
        "float32", "float64", "float16", "bfloat16", "int32", "int64", "uint32", "uint64"))
    inner, columns = x.shape[-1], m.choose((1, 2, 3, 7, 8, 9, 16, 17, 33))
    batch = [1 if m.chance(0.5) else e for e in x.shape[:-2]] if m.chance(0.5) else []
    shape = (inner,) if m.chance(0.1) else (*batch, inner, columns)
    if x.is_float:
        y = weights(m, x.dtype, shape, inner)
    else:
        y = m.operand(x.dtype, shape)
    m.node("MatMul", [x, y], exact=not x.is_float, magnitude=2 * x.magnitude + 1)


def gemm(m):
    x = m.pick(lambda v: v.is_float and v.rank == 2 and 0 not in v.shape)
    transposed = [m.between(0, 1), m.between(0, 1)]
    rows, inner = x.shape[::-1] if transposed[0] else x.shape
    columns = m.choose((1, 2, 5, 8, 16, 17))
    w = weights(m, x.dtype, (columns, inner) if transposed[1] else (inner, columns), inner)
    bias = m.choose(((), (1,), (columns,), (rows, 1), (1, columns), (rows, columns)))
    inputs = [x, w] + ([m.operand(x.dtype, bias)] if m.chance(0.7) else [])
    m.node("Gemm", inputs, exact=False, magnitude=2 * x.magnitude + 6, transA=transposed[0],
           transB=transposed[1], alpha=m.choose((1.0, 0.5)), beta=m.choose((1.0, 2.0)))


def einsum(m):
    x = m.pick(lambda v: v.is_float and v.rank == 3 and 0 not in v.shape)
    equation, axes = m.choose((("abc,cd->abd", (2,)), ("abc,abd->acd", (0, 1)), ("abc,dc->dab", (2,)),
                               ("abc->cb", None), ("abc,bc->a", (1, 2))))
    if axes is None:
        return m.node("Einsum", [x], exact=False, magnitude=x.magnitude * x.shape[0],
                      equation=equation)
    extents = dict(zip("abc", x.shape), d=m.choose((1, 3, 4)))
    shape = tuple(extents[c] for c in equation.split(",")[1].split("->")[0])
    fan_in = int(np.prod([x.shape[i] for i in axes]))
    return m.node("Einsum", [x, weights(m, x.dtype, shape, fan_in)], exact=False,
                  magnitude=2 * x.magnitude, equation=equation)


# --- Reductions and normalisation ----------------------------------------------------------------

def reduce(m):
    x = m.pick(lambda v: v.rank > 0 and 0 not in v.shape)
    axes = [i for i in range(x.rank) if m.chance(0.5)] or [m.between(0, x.rank - 1)]
    count = int(np.prod([x.shape[i] for i in axes]))
    if x.is_float:
        op = m.choose(("Sum", "Mean", "Max", "Min", "L1", "L2", "SumSquare", "LogSumExp"))
    else:
        op = m.choose(("Sum", "Max", "Min", "Prod", "L1", "SumSquare"))
        if op in ("Prod", "L1", "SumSquare"):  # onnxruntime computes these in double
            largest = 1 if op == "Prod" and count > 33 else 3  # below 2^53
            x = m.node("Clip", [x, *(m.constant(np.asarray(b, x.dtype)) for b in (0, largest))])
    growth = {"Mean": x.magnitude, "Max": x.magnitude, "Min": x.magnitude,
              "SumSquare": count * x.magnitude**2}.get(op, count * x.magnitude)
    exact = x.exact and (op in ("Max", "Min") or not x.is_float)
    m.node("Reduce" + op, [x, m.ints(*axes)] if m.chance(0.9) else [x], exact=exact,
           magnitude=growth, keepdims=m.between(0, 1))


def reduce_products(m):
    """Of numbers near 1."""
    x = m.pick(lambda v: v.is_float and v.rank > 0 and 0 not in v.shape)
    near = m.node("Add", [m.node("Sigmoid", [x], exact=False, magnitude=1),
                          m.constant(np.asarray(0.5, x.dtype))], exact=False, magnitude=1.5)
    axis = m.between(-x.rank, x.rank - 1)
    op = m.choose(("Prod", "LogSum", "LogSumExp"))
    m.node("Reduce" + op, [near, m.ints(axis)], exact=False, keepdims=m.between(0, 1),
           magnitude=1.5 ** x.shape[axis] if op == "Prod" else 10)


def global_lp_pool(m):
    x = image(m)
    m.node("GlobalLpPool", [x], exact=False, magnitude=x.magnitude * np.prod(x.shape[2:]),
           p=m.choose((1, 2)))


def arg_reduce(m):
    x = m.pick(lambda v: v.exact and v.rank > 0 and 0 not in v.shape)
    m.node(m.choose(("ArgMax", "ArgMin")), [x], magnitude=1, axis=m.between(-x.rank, x.rank - 1),
           keepdims=m.between(0, 1), select_last_index=m.between(0, 1))


def softmax(m):
    x = m.pick(lambda v: v.is_float and v.rank > 0 and v.magnitude < 60)
    op = m.choose(("Softmax", "Softmax", "LogSoftmax"))
    m.node(op, [x], exact=False, magnitude=1 if op == "Softmax" else 2 * x.magnitude + 10,
           axis=m.between(-x.rank, x.rank - 1))


def layer_norm(m):
    x = m.pick(lambda v: v.is_float and v.rank > 1 and 0 not in v.shape)
    axis = m.between(1, x.rank - 1)
    if np.prod(x.shape[axis:]) < 4:
        raise Unfit
    inputs = [x] + [m.operand(x.dtype, x.shape[axis:]) for _ in range(m.between(1, 2))]
    m.node("LayerNormalization", inputs, exact=False, magnitude=12, axis=axis, epsilon=1e-2)


def channel_norm(m):
    x = image(m)
    parameters = [m.operand(x.dtype, (x.shape[1],)) for _ in range(2)]
    if m.chance(0.5):
        parameters += [m.operand(x.dtype, (x.shape[1],)), m.constant(
            m.array(x.dtype, (x.shape[1],), 0.5, 2.0))]
        return m.node("BatchNormalization", [x, *parameters], exact=False,
                      magnitude=5 * x.magnitude + 15)
    if np.prod(x.shape[2:]) < 4:
        raise Unfit
    return m.node("InstanceNormalization", [x, *parameters], exact=False, magnitude=12, epsilon=1e-2)


def local_norm(m):
    x = image(m)
    if x.rank != 4:
        raise Unfit
    m.node("LRN", [x], exact=False, size=m.choose((1, 3, 5)), alpha=0.01, bias=1.0)


def resize(m):
    x = image(m)
    if x.rank != 4:
        raise Unfit
    mode = m.choose(("nearest", "linear", "cubic"))
    scales = np.array([1, 1, m.choose((0.5, 1, 2, 3)), m.choose((0.5, 1, 2, 3))], np.float32)
    place = m.choose(("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"))
    lengths = np.array(x.shape) * scales
    if any(lengths < 1):
        raise Unfit
    # "length_resized" of the formulas is the fractional product in the onnx package's evaluator, as
    # in ours, and that product rounded down in onnxruntime.
    if place in ("align_corners", "pytorch_half_pixel") and any(lengths != np.floor(lengths)):
        raise Unfit
    m.node("Resize", [x, None, m.constant(scales)], exact=False, magnitude=2 * x.magnitude,
           mode=mode, coordinate_transformation_mode=place,
           nearest_mode=m.choose(("round_prefer_floor", "floor", "ceil", "round_prefer_ceil")))


def quantize(m):
    """Scales that are powers of two: quotients are exact, so that rounding is the same everywhere."""
    x = m.pick(lambda v: v.exact and v.dtype == FLOATS[0] and v.rank > 0)
    dtype = np.dtype(m.choose(("uint8", "int8")))
    axis = m.between(0, x.rank - 1)
    shape = (x.shape[axis],) if m.chance(0.5) else ()
    scale = m.constant((2.0 ** m.rng.integers(-6, 0, shape)).astype(np.float32))
    zero = m.constant(m.rng.integers(0, 10, shape).astype(dtype))
    q = m.node("QuantizeLinear", [x, scale, zero], magnitude=1, axis=axis)
    if m.chance(0.7):
        m.node("DequantizeLinear", [q, scale, zero], exact=False, magnitude=260, axis=axis)


OPERATORS = {f.__name__: f for f in (
    conv, separable, conv_transpose, max_pool, average_pool, global_pool, lp_pool, integer_conv, mat_mul, gemm,
    einsum, reduce, reduce_products, global_lp_pool, arg_reduce, softmax, layer_norm, channel_norm,
    local_norm, resize, quantize)}
