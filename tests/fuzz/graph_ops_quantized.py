# SPDX-License-Identifier: MIT
"""Operators for random graphs: quantised arithmetic and narrow types. See graph_maker.py.

Scales are powers of two: quotients are exact, so that rounding is the same everywhere.
"""

import ml_dtypes
import numpy as np

from graph_maker import FLOATS, SIGNED, UNSIGNED, Unfit
from graph_ops import np_to_onnx
from graph_ops_nn import window

FLOAT = FLOATS[0]
BYTES = UNSIGNED[0], SIGNED[0]
NARROW_FLOATS = tuple(np.dtype(getattr(ml_dtypes, n)) for n in (
    "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float4_e2m1fn"))
NARROW_INTEGERS = tuple(np.dtype(getattr(ml_dtypes, n)) for n in ("int4", "uint4"))


def power(m, low=-6, high=0, shape=()):
    """Powers of two as a scale."""
    return m.constant((2.0 ** m.rng.integers(low, high, shape)).astype(np.float32))


def zero_point(m, dtype, shape=()):
    return m.constant(m.rng.integers(0, 10, shape).astype(dtype))


def some_bytes(m, dtype, shape, most=255):
    """An input of 8-bit integers, their limits included."""
    low, high = (0, most) if dtype in UNSIGNED else (-(most + 1) // 2, most // 2)
    return m.input(m.rng.integers(low, high + 1, shape).astype(dtype))


def narrow_cast(m):
    """To a type of a byte or less and back: numbers out of range saturate in floats; integers are
    kept in range, beyond which nothing is defined, and whole: onnxruntime rounds, the standard and
    the onnx package's evaluator cut what is behind the point."""
    x = m.pick(lambda v: v.exact and v.dtype == FLOAT and v.magnitude < 1e3)
    to = m.choose(NARROW_FLOATS[:4] + NARROW_INTEGERS)
    if to in NARROW_INTEGERS:
        low, high = (0, 15) if to.name == "uint4" else (-8, 7)
        x = m.node("Clip", [x, *(m.constant(np.float32(b)) for b in (low, high))])
        x = m.node("Floor", [x])
    narrow = m.node_of("Cast", [x], [(to, None)], to=int(np_to_onnx(to)))
    back = m.choose((FLOAT, FLOATS[2]) if to in NARROW_FLOATS else (FLOAT, SIGNED[0], SIGNED[2]))
    m.node_of("Cast", [narrow], [(back, x.shape)], exact=True, magnitude=x.magnitude,
              to=int(np_to_onnx(back)))


def half_cast(m):
    """Between the two halves, both ways, over float32 or directly."""
    x = m.pick(lambda v: v.is_float and v.exact and v.magnitude < 1e3)
    for dtype in (m.choose(FLOATS[2:]), m.choose(FLOATS), m.choose(FLOATS[:2])):
        x = m.node("Cast", [x], to=int(np_to_onnx(dtype)))


def stored_narrow(m):
    """Weights stored in four or eight bits."""
    dtype = m.choose(NARROW_INTEGERS + NARROW_FLOATS[:4])
    shape = m.some_shape(2)
    data = m.rng.integers(0 if dtype.name == "uint4" else -7, 8, shape).astype(np.float32)
    w = m.constant(data.astype(dtype))
    blocks = m.chance(0.4) and shape[0] % 2 == 0
    scale_shape = (shape[0] // 2, shape[1]) if blocks else m.choose(((), (shape[1],)))
    more = {"block_size": 2, "axis": 0} if blocks else {"axis": 1}
    m.node_of("DequantizeLinear", [w, power(m, shape=scale_shape)], [(FLOAT, shape)],
              magnitude=8, **more)


def requantize(m):
    """To 4, 8 or 16 bits and back, each axis or block with a scale."""
    x = m.pick(lambda v: v.exact and v.dtype == FLOAT and v.rank > 0 and 0 not in v.shape)
    dtype = m.choose((UNSIGNED[1], SIGNED[1]) + NARROW_INTEGERS)
    axis = m.between(0, x.rank - 1)
    shape = m.choose(((), (x.shape[axis],)))
    more = {"axis": axis}
    if x.shape[axis] % 2 == 0 and m.chance(0.4):
        shape = (*x.shape[:axis], x.shape[axis] // 2, *x.shape[axis + 1:])
        more["block_size"] = 2
    low = 0 if dtype.name in ("uint4", "int4") else -4
    scale = m.constant((2.0 ** m.rng.integers(low - 4, 0, shape)).astype(np.float32))
    zero = m.constant(m.rng.integers(0, 6, shape).astype(dtype))
    q = m.node_of("QuantizeLinear", [x, scale, zero], [(dtype, None)], **more)
    m.node_of("DequantizeLinear", [q, scale, zero], [(FLOAT, x.shape)], magnitude=500, **more)


def dynamic_quantize(m):
    """Data whose range makes the scale a power of two."""
    offset = m.between(0, 255)
    data = m.rng.integers(-offset, 256 - offset, m.some_shape()).reshape(-1)
    data[:2] = np.array([-offset, 255 - offset])[:data.size]
    if data.size < 2:
        raise Unfit
    x = m.input((data / 64).astype(np.float32))
    q, scale, zero = m.node("DynamicQuantizeLinear", [x], outputs=3, magnitude=4)
    if m.chance(0.5):
        m.node("DequantizeLinear", [q, scale, zero], exact=False, magnitude=4)


def qlinear_mat_mul(m):
    a, b, c = (m.choose(BYTES) for _ in range(3))
    rows, inner, columns = m.choose((1, 3, 8)), m.choose((1, 5, 16)), m.choose((1, 7, 8, 17))
    batch = m.choose(((), (2,)))
    x = some_bytes(m, a, (*batch, rows, inner))
    # Half the range, without which onnxruntime's sums saturate on many machines.
    w = m.constant(m.rng.integers(0, 64, (inner, columns)).astype(b))
    m.node("QLinearMatMul", [x, power(m), zero_point(m, a), w, power(m), zero_point(m, b),
                             power(m, -3, 3), zero_point(m, c)], magnitude=1)


def mat_mul_integer(m):
    a, b = m.choose(BYTES), m.choose(BYTES)
    rows, inner, columns = m.choose((1, 3, 8)), m.choose((1, 5, 16)), m.choose((1, 7, 8, 17))
    x = some_bytes(m, a, (rows, inner))
    w = m.constant(m.rng.integers(0, 64, (inner, columns)).astype(b))
    zeros = [zero_point(m, a), zero_point(m, b, m.choose(((), (columns,))))]
    m.node("MatMulInteger", [x, w, *zeros[:m.between(0, 2)]], magnitude=1)


def qlinear_conv(m):
    channels, outputs = m.choose((1, 2, 3, 8)), m.choose((1, 3, 8))
    groups = channels if m.chance(0.3) else 1
    outputs = groups * m.choose((1, 2)) if groups > 1 else outputs
    x = some_bytes(m, UNSIGNED[0], (1, channels, m.choose((5, 8)), m.choose((4, 7))))
    attributes = window(m, x, 2)
    shape = (outputs, channels // groups, *attributes["kernel_shape"])
    w = m.constant(m.rng.integers(-64, 64, shape).astype(np.int8))
    scale = power(m, shape=m.choose(((), (outputs,))))
    zero = m.constant(np.zeros(scale.shape, np.int8))
    inputs = [x, power(m), zero_point(m, UNSIGNED[0]), w, scale, zero, power(m, -3, 3),
              zero_point(m, UNSIGNED[0])]
    if m.chance(0.5):
        inputs.append(m.constant(m.rng.integers(-500, 500, outputs).astype(np.int32)))
    m.node("QLinearConv", inputs, magnitude=1, group=groups, **attributes)


OPERATORS = {f.__name__: f for f in (
    narrow_cast, half_cast, stored_narrow, requantize, dynamic_quantize, qlinear_mat_mul,
    mat_mul_integer, qlinear_conv)}
