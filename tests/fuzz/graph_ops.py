# SPDX-License-Identifier: MIT
"""Operators for random graphs: elementwise, movement, indexing. See graph_maker.py."""

import numpy as np

from graph_maker import BOOL, FLOATS, INTEGERS, SIGNED, UNSIGNED, Unfit

EXACT_UNARY = ("Neg", "Abs", "Relu")
SMOOTH_UNARY = {  # operator -> the magnitude of its result, or None where it is that of its operand
    "Sigmoid": 1, "Tanh": 1, "Erf": 1, "Softsign": 1, "Softplus": None, "Sin": 1, "Cos": 1,
    "Elu": None, "Selu": None, "Celu": None, "LeakyRelu": None, "HardSwish": None, "Mish": None,
    "Gelu": None, "Atan": 2, "Sinh": None, "Cosh": None, "Exp": None, "HardSigmoid": 1,
}
GROWING = ("Exp", "Sinh", "Cosh")
STEPS = ("Floor", "Ceil", "Round", "Sign")


def broadcast_shape(m, shape):
    """A shape that broadcasts with one: extents 1, axes left out, or, rarely, axes added."""
    other = [1 if m.chance(0.3) else e for e in shape]
    if m.chance(0.3):
        other = other[m.between(0, len(other)):]
    elif m.chance(0.1) and len(shape) < 5 and np.prod(shape) < 1000:
        other = [m.choose((1, 2, 3))] + other
    return tuple(other)


def partner(m, x, low=-3.0, high=3.0):
    """An operand that broadcasts with x: another value of the graph at times."""
    same = [v for v in m.graph.values if v.dtype == x.dtype and v.shape == x.shape]
    if same and m.chance(0.3) and (low, high) == (-3.0, 3.0):
        return m.choose(same)
    return m.operand(x.dtype, broadcast_shape(m, x.shape), low, high)


def is_number(value):
    return value.dtype != BOOL


def unary_exact(m):
    x = m.pick(is_number)
    m.node(m.choose(EXACT_UNARY), [x])


def unary_smooth(m):
    op = m.choose(tuple(SMOOTH_UNARY))
    x = m.pick(lambda v: v.is_float and (op not in GROWING or v.magnitude < 8))
    magnitude = SMOOTH_UNARY[op] or (np.exp(x.magnitude) if op in GROWING else x.magnitude * 2 + 1)
    m.node(op, [x], exact=False, magnitude=magnitude)


def unary_steps(m):
    x = m.pick(lambda v: v.is_float and v.exact)
    m.node(m.choose(STEPS), [x], magnitude=x.magnitude + 1)


def unary_positive(m):
    """Functions of positive numbers, of the absolute value and something."""
    x = m.pick(lambda v: v.is_float)
    positive = m.node("Add", [m.node("Abs", [x]), m.constant(np.asarray(0.25, x.dtype))],
                      exact=False, magnitude=x.magnitude + 1)
    m.node(m.choose(("Sqrt", "Log", "Reciprocal")), [positive], exact=False,
           magnitude=x.magnitude + 4)


def add_sub(m):
    x = m.pick(is_number)
    y = partner(m, x)
    pair = [x, y] if m.chance(0.5) else [y, x]
    m.node(m.choose(("Add", "Sub")), pair, exact=not x.is_float, magnitude=x.magnitude + y.magnitude)


def multiply(m):
    x = m.pick(is_number)
    y = partner(m, x)
    m.node("Mul", [x, y], exact=not x.is_float, magnitude=max(1, x.magnitude) * max(1, y.magnitude))


def divide(m):
    x = m.pick(is_number)
    if x.is_float:
        y = partner(m, x, 0.5, 3.0)
        return m.node("Div", [x, y], exact=False, magnitude=2 * x.magnitude)
    data = m.rng.integers(1, 12, broadcast_shape(m, x.shape))
    return m.node(m.choose(("Div", "Mod")), [x, m.constant(data.astype(x.dtype))])


def signed_divide(m):
    """By numbers of both signs, but -1, by which the least integer has no quotient."""
    fit = [v for v in m.graph.values if v.dtype in SIGNED]
    x = m.choose(fit) if fit else m.input(m.array(m.choose(SIGNED), m.some_shape()))
    shape = broadcast_shape(m, x.shape)
    data = m.rng.integers(2, 12, shape) * m.rng.choice([-1, 1], shape)
    op = m.choose(("Div", "Mod", "Mod"))
    more = {"fmod": m.between(0, 1)} if op == "Mod" else {}
    m.node(op, [x, m.constant(data.astype(x.dtype))], **more)


def integer_power(m):
    """Of small integers, and floats to the power of integers."""
    x = m.pick(lambda v: v.dtype in SIGNED[2:] or v.dtype in FLOATS[:2])
    if x.is_int:
        x = m.node("Clip", [x, *(m.constant(np.asarray(b, x.dtype)) for b in (-9, 9))])
    elif x.magnitude > 10:
        raise Unfit
    dtype = m.choose((x.dtype, *SIGNED[2:]))
    exponent = m.rng.integers(0, 4, broadcast_shape(m, x.shape)).astype(dtype)
    m.node_of("Pow", [x, m.constant(exponent)],
              [(x.dtype, np.broadcast_shapes(x.shape, exponent.shape))], exact=not x.is_float,
              magnitude=max(1, x.magnitude) ** 3)


def float_mod(m):
    x = m.pick(lambda v: v.is_float and v.exact)
    m.node("Mod", [x, partner(m, x, 0.5, 3.0)], exact=False, fmod=1)


def min_max(m):
    x = m.pick(is_number)
    operands = [x] + [partner(m, x) for _ in range(m.between(0, 2))]
    m.node(m.choose(("Min", "Max")), operands)


def sum_mean(m):
    x = m.pick(lambda v: v.is_float)
    operands = [x] + [partner(m, x) for _ in range(m.between(0, 2))]
    m.node(m.choose(("Sum", "Mean")), operands, exact=False,
           magnitude=sum(v.magnitude for v in operands))


def clip(m):
    x = m.pick(is_number)
    low, high = sorted(m.array(x.dtype, (2,)).tolist())
    bounds = [m.constant(np.asarray(b, x.dtype)) if m.chance(0.8) else None for b in (low, high)]
    m.node("Clip", [x, *bounds])


def power(m):
    x = m.pick(lambda v: v.is_float)
    base = m.node("Add", [m.node("Abs", [x]), m.constant(np.asarray(0.25, x.dtype))], exact=False,
                  magnitude=x.magnitude + 1)
    exponent = m.choose((2.0, 3.0, 0.5, -1.0, 1.5))
    m.node("Pow", [base, m.constant(np.asarray(exponent, x.dtype))], exact=False,
           magnitude=max(4.0, (x.magnitude + 1) ** max(exponent, 1)))


def prelu(m):
    x = m.pick(lambda v: v.is_float)
    slope = tuple(1 if m.chance(0.4) else e for e in x.shape)
    m.node("PRelu", [x, m.operand(x.dtype, slope)], exact=False, magnitude=3 * x.magnitude)


def compare(m):
    x = m.pick(lambda v: is_number(v) and v.exact)
    op = m.choose(("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"))
    y = partner(m, x)
    if not y.exact:
        raise Unfit
    m.node(op, [x, y], magnitude=1)


def logic(m):
    x = m.pick(lambda v: v.dtype == BOOL)
    if m.chance(0.3):
        return m.node("Not", [x])
    return m.node(m.choose(("And", "Or", "Xor")), [x, partner(m, x)])


def where(m):
    x = m.pick(lambda v: True)
    condition = m.operand(BOOL, broadcast_shape(m, x.shape))
    m.node("Where", [condition, x, partner(m, x)])


def bits(m):
    x = m.pick(lambda v: v.is_int)
    if m.chance(0.25):
        return m.node("BitwiseNot", [x])
    return m.node("Bitwise" + m.choose(("And", "Or", "Xor")), [x, partner(m, x)])


def shift(m):
    x = m.pick(lambda v: v.dtype in UNSIGNED)
    by = m.rng.integers(0, x.dtype.itemsize * 8, broadcast_shape(m, x.shape)).astype(x.dtype)
    m.node("BitShift", [x, m.constant(by)], direction=m.choose(("LEFT", "RIGHT")))


def cast(m):
    x = m.pick(lambda v: True)
    to = m.choose(FLOATS + INTEGERS + (BOOL,))
    if x.is_float and to not in FLOATS:
        if not x.exact or x.magnitude > 100:
            raise Unfit
        x = m.node("Abs", [x]) if to in UNSIGNED else x
    if x.is_int and to in FLOATS and (x.dtype.itemsize > 1 or to.itemsize < 4):
        x = m.node("Clip", [x, *(m.constant(np.asarray(b, x.dtype)) for b in (0, 100))])
    magnitude = x.magnitude if x.is_float else 300
    exact = x.exact if to not in FLOATS or not x.is_float or to.itemsize >= x.dtype.itemsize else False
    m.node("Cast", [x], exact=exact, magnitude=magnitude,
           to=int(np_to_onnx(to)))


def np_to_onnx(dtype):
    """A dtype as the number that a Cast has."""
    from onnx import helper
    return helper.np_dtype_to_tensor_dtype(dtype)


# --- Movement ------------------------------------------------------------------------------------

def transpose(m):
    x = m.pick(lambda v: v.rank > 1)
    m.node("Transpose", [x], perm=[int(i) for i in m.rng.permutation(x.rank)])


def reshape(m):
    x = m.pick(lambda v: v.rank > 0)
    extents = [e for e in x.shape]
    while len(extents) > 1 and m.chance(0.6):  # merge neighbours
        i = m.between(0, len(extents) - 2)
        extents[i:i + 2] = [extents[i] * extents[i + 1]]
    if m.chance(0.6):  # split one
        i = m.between(0, len(extents) - 1)
        divisors = [d for d in range(1, extents[i] + 1) if extents[i] % d == 0] or [1]
        d = m.choose(divisors)
        extents[i:i + 1] = [d, extents[i] // d]
    if m.chance(0.3) and 0 not in extents:
        extents[m.between(0, len(extents) - 1)] = -1
    m.node("Reshape", [x, m.ints(*extents)])


def squeeze(m):
    x = m.pick(lambda v: 1 in v.shape)
    axes = [i for i, e in enumerate(x.shape) if e == 1 and m.chance(0.7)]
    if not axes:
        raise Unfit
    m.node("Squeeze", [x, m.ints(*axes)])


def unsqueeze(m):
    x = m.pick(lambda v: v.rank < 5)
    m.node("Unsqueeze", [x, m.ints(m.between(-x.rank - 1, x.rank))])


def flatten(m):
    x = m.pick(lambda v: v.rank > 0)
    m.node("Flatten", [x], axis=m.between(0, x.rank))


def expand(m):
    x = m.pick(lambda v: np.prod(v.shape) < 500 and v.rank < 5)
    shape = [m.choose((2, 3, 4)) if e == 1 else m.choose((1, e)) for e in x.shape]
    m.node("Expand", [x, m.ints(*([m.choose((1, 2))] if m.chance(0.3) else []), *shape)])


def tile(m):
    x = m.pick(lambda v: 0 < np.prod(v.shape) < 1000)
    m.node("Tile", [x, m.ints(*(m.choose((1, 1, 2, 3)) for _ in x.shape))])


def slice_(m):
    x = m.pick(lambda v: v.rank > 0)
    starts, ends, axes, steps = [], [], [], []
    for axis, extent in enumerate(x.shape):
        if not m.chance(0.6):
            continue
        step = m.choose((1, 1, 2, 3, -1, -2))
        a, b = sorted((m.between(0, extent), m.between(0, extent)))
        b = min(b + 1, extent)  # seldom empty
        start, end = (a, b) if step > 0 else (b - 1, a - 1 if a else -extent - 1)
        starts.append(start)
        ends.append(2**62 if step > 0 and m.chance(0.1) else end)
        axes.append(axis if m.chance(0.7) else axis - x.rank)
        steps.append(step)
    if not axes:
        raise Unfit
    m.node("Slice", [x, *(m.ints(*v) for v in (starts, ends, axes, steps))])


def pad(m):
    x = m.pick(lambda v: v.rank > 0 and 0 not in v.shape)
    mode = m.choose(("constant", "constant", "reflect", "edge", "wrap"))
    most = [min(e - 1, 3) if mode == "reflect" else min(e, 3) for e in x.shape]
    amounts = [m.between(0, most[i % x.rank]) if m.chance(0.5) else 0 for i in range(2 * x.rank)]
    inputs = [x, m.ints(*amounts)]
    if mode == "constant" and m.chance(0.6):
        inputs.append(m.constant(m.array(x.dtype, ())))
    m.node("Pad", inputs, mode=mode)


def concat(m):
    x = m.pick(lambda v: v.rank > 0)
    axis = m.between(0, x.rank - 1)
    parts = [x]
    for _ in range(m.between(1, 3)):
        shape = list(x.shape)
        shape[axis] = m.choose((1, 2, 3, 5))
        same = [v for v in m.graph.values if v.dtype == x.dtype and v.rank == x.rank and
                all(v.shape[i] == x.shape[i] for i in range(x.rank) if i != axis)]
        parts.append(m.choose(same) if m.chance(0.4) else m.operand(x.dtype, tuple(shape)))
    m.rng.shuffle(parts)
    m.node("Concat", parts, axis=axis if m.chance(0.7) else axis - x.rank)


def split(m):
    x = m.pick(lambda v: any(e > 1 for e in v.shape))
    axis = m.choose([i for i, e in enumerate(x.shape) if e > 1])
    cut = m.between(1, x.shape[axis] - 1)
    m.node("Split", [x, m.ints(cut, x.shape[axis] - cut)], outputs=2, axis=axis)


def depth_space(m):
    x = m.pick(lambda v: v.rank == 4)
    block = m.choose((2, 2, 3))
    if x.shape[1] % (block * block) == 0:
        return m.node("DepthToSpace", [x], blocksize=block, mode=m.choose(("DCR", "CRD")))
    if x.shape[2] % block or x.shape[3] % block:
        raise Unfit
    return m.node("SpaceToDepth", [x], blocksize=block)


def trilu(m):
    x = m.pick(lambda v: v.rank > 1)
    k = m.constant(np.asarray(m.between(-3, 3), np.int64))
    m.node("Trilu", [x, k] if m.chance(0.7) else [x], upper=m.between(0, 1))


# --- Indexing ------------------------------------------------------------------------------------

def indices(m, extent, shape):
    """Indices along an axis, also from its end: a constant or an input."""
    data = m.rng.integers(-extent, extent, shape).astype(m.choose((np.int64, np.int32)))
    return m.input(data) if m.chance(0.4) else m.constant(data)


def gather(m):
    x = m.pick(lambda v: v.rank > 0 and 0 not in v.shape)
    axis = m.between(0, x.rank - 1)
    shape = tuple(m.choose((1, 2, 3, 5)) for _ in range(m.choose((0, 1, 1, 2))))
    m.node("Gather", [x, indices(m, x.shape[axis], shape)], axis=axis)


def gather_elements(m):
    x = m.pick(lambda v: v.rank > 0 and 0 not in v.shape)
    axis = m.between(0, x.rank - 1)
    shape = [m.between(1, e) for e in x.shape]
    m.node("GatherElements", [x, indices(m, x.shape[axis], shape)], axis=axis)


def gather_nd(m):
    x = m.pick(lambda v: v.rank > 0 and 0 not in v.shape)
    depth = m.between(1, x.rank)
    count = m.choose((1, 3, 4))
    data = np.stack([m.rng.integers(-e, e, count) for e in x.shape[:depth]], -1)
    m.node("GatherND", [x, m.constant(data.astype(np.int64))])


def scatter_elements(m):
    x = m.pick(lambda v: v.rank > 0 and 0 not in v.shape)
    axis = m.between(0, x.rank - 1)
    shape = [m.between(1, e) for e in x.shape]
    order = np.argsort(m.rng.random(x.shape), axis)  # no index twice: the order means nothing
    places = order[tuple(slice(e) for e in shape)]
    m.node("ScatterElements", [x, m.constant(places.astype(np.int64)), m.operand(x.dtype, shape)],
           axis=axis)


def scatter_nd(m):
    x = m.pick(lambda v: v.rank > 0 and 0 not in v.shape)
    count = m.between(1, x.shape[0])
    rows = m.rng.permutation(x.shape[0])[:count, None].astype(np.int64)
    m.node("ScatterND", [x, m.constant(rows), m.operand(x.dtype, (count, *x.shape[1:]))])


def one_hot(m):
    x = m.pick(lambda v: v.is_int and v.dtype.itemsize >= 4 and v.rank < 4 and
               np.prod(v.shape) < 500)
    values = m.array(m.choose(FLOATS[:1] + INTEGERS[2:4]), (2,))
    m.node("OneHot", [x, m.constant(np.asarray(m.between(1, 9), np.int64)), m.constant(values)],
           magnitude=3, axis=m.between(-x.rank - 1, x.rank))


def top_k(m):
    x = m.pick(lambda v: is_number(v) and v.exact and v.rank > 0 and 0 not in v.shape)
    axis = m.between(0, x.rank - 1)
    m.node("TopK", [x, m.ints(m.between(1, x.shape[axis]))], outputs=2, axis=axis,
           largest=m.between(0, 1))


def cum_sum(m):
    x = m.pick(lambda v: v.rank > 0 and is_number(v))
    axis = m.between(0, x.rank - 1)
    m.node("CumSum", [x, m.constant(np.asarray(axis, np.int64))], exact=not x.is_float,
           magnitude=x.magnitude * (x.shape[axis] + 1), exclusive=m.between(0, 1),
           reverse=m.between(0, 1))


OPERATORS = {f.__name__.rstrip("_"): f for f in (
    unary_exact, unary_smooth, unary_steps, unary_positive, add_sub, multiply, divide,
    signed_divide, integer_power, float_mod, min_max, sum_mean, clip, power, prelu, compare, logic,
    where, bits, shift, cast, transpose,
    reshape, squeeze, unsqueeze, flatten, expand, tile, slice_, pad, concat, split, depth_space,
    trilu, gather, gather_elements, gather_nd, scatter_elements, scatter_nd, one_hot, top_k,
    cum_sum)}
