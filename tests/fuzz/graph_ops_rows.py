# SPDX-License-Identifier: MIT
"""Operators for random graphs: recurrent, attention, norms of rows, transforms, scatters with
reductions. See graph_maker.py."""

import numpy as np

from graph_maker import BFLOAT16, BOOL, FLOATS, INTEGERS, SIGNED, Unfit
from graph_ops_nn import image, weights

FLOAT = FLOATS[0]


# --- Recurrent -----------------------------------------------------------------------------------

RECURRENT = {  # operator -> (gates, activations that its gates and states may have)
    "RNN": (1, 1), "GRU": (3, 2), "LSTM": (4, 3),
}
BOUNDED = ("Sigmoid", "Tanh", "Softsign", "HardSigmoid")


def recurrent(m):
    op = m.choose(tuple(RECURRENT))
    gates, functions = RECURRENT[op]
    direction = m.choose(("forward", "reverse", "bidirectional"))
    count = 2 if direction == "bidirectional" else 1
    steps, batch = m.between(1, 6), m.choose((1, 2, 3))
    size, hidden = m.choose((1, 3, 8)), m.choose((1, 2, 5, 8))
    x = m.operand(FLOAT, (steps, batch, size))
    inputs = [x, weights(m, FLOAT, (count, gates * hidden, size), size),
              weights(m, FLOAT, (count, gates * hidden, hidden), hidden)]
    optional = [lambda: m.operand(FLOAT, (count, 2 * gates * hidden)),
                lambda: m.constant(m.rng.integers(1, steps + 1, batch).astype(np.int32)),
                lambda: m.operand(FLOAT, (count, batch, hidden))]
    if op == "LSTM":
        optional += [lambda: m.operand(FLOAT, (count, batch, hidden)),
                     lambda: m.operand(FLOAT, (count, 3 * hidden))]
    inputs += [make() if m.chance(0.5) else None for make in optional]
    more = {}
    if m.chance(0.3):
        more["activations"] = [m.choose(BOUNDED) for _ in range(functions * count)]
    if m.chance(0.2):
        more["clip"] = 1.5
    if op == "GRU":
        more["linear_before_reset"] = m.between(0, 1)
    if op == "LSTM" and m.chance(0.2):
        more["input_forget"] = 1
    m.node(op, inputs, exact=False, magnitude=4, outputs=3 if op == "LSTM" else 2,
           hidden_size=hidden, direction=direction, **more)


def reverse_sequence(m):
    x = m.pick(lambda v: v.rank > 1 and 0 not in v.shape)
    time = m.between(0, 1)
    lengths = m.rng.integers(1, x.shape[time] + 1, x.shape[1 - time])
    m.node("ReverseSequence", [x, m.constant(lengths)], time_axis=time, batch_axis=1 - time)


# --- Attention -----------------------------------------------------------------------------------

def attention(m):
    """Heads as an axis or side by side, fewer of keys, masks of numbers or bools, the past. Of
    float16 onnxruntime rounds the scores between, so that its results are many units off."""
    dtype = m.choose((FLOAT, FLOAT, BFLOAT16))
    batch, groups, each = m.choose((1, 2)), m.choose((1, 2)), m.choose((1, 1, 3))
    queries, keys, size, values = (m.choose((1, 3, 7)), m.choose((1, 4, 9)), m.choose((2, 8)),
                                   m.choose((2, 8)))
    past = m.choose((0, 0, 2))
    heads = groups * each

    def operand(count, rows, width, flat):
        shape = (batch, rows, count * width) if flat else (batch, count, rows, width)
        return m.operand(dtype, shape, -1.0, 1.0)

    flat = m.chance(0.4)
    inputs = [operand(heads, queries, size, flat), operand(groups, keys, size, flat),
              operand(groups, keys, values, flat)]
    causal = m.between(0, 1)
    mask = None
    if m.chance(0.5):
        shape = m.choose(((queries, past + keys), (1, 1, queries, past + keys),
                          (batch, heads, queries, past + keys)))
        if m.chance(0.5):
            data = m.rng.random(shape) < 0.7
            data[..., 0] = True  # some key for every query
            mask = m.input(data)
        else:
            mask = m.operand(dtype, shape)
    inputs.append(mask)
    if past:
        inputs += [operand(groups, past, size, False), operand(groups, past, values, False)]
    more = {"q_num_heads": heads, "kv_num_heads": groups} if flat else {}
    if m.chance(0.3):
        more["softcap"] = 2.0
    if m.chance(0.3):
        more["scale"] = 0.5
    m.node("Attention", inputs, exact=False, magnitude=3, outputs=3 if past else 1,
           is_causal=causal, **more)


def products_of_softmax(m):
    """Attention as models spell it, which may become one kernel: two products, and between them a
    scale, a mask or a bias, and a softmax. Sometimes what lies between is read by others too."""
    batch, heads = m.choose((1, 2)), m.choose((1, 2, 3))
    rows, keys = m.choose((1, 5, 7, 13, 25)), m.choose((1, 4, 9, 17, 33))
    size, columns = m.choose((1, 5, 8, 20)), m.choose((1, 3, 8, 17))

    def number(value):
        return m.constant(np.asarray(value, FLOAT))

    def heads_of(length, width, perm):
        if m.chance(0.5):
            shape = [(batch, heads, length, width)[axis] for axis in (0, 1, 2, 3)]
            x = m.operand(FLOAT, shape, -1.0, 1.0)
            return x if perm == [0, 2, 1, 3] else m.node("Transpose", [x], perm=[0, 1, 3, 2])
        x = m.operand(FLOAT, (batch, length, heads * width), -1.0, 1.0)
        split = m.node("Reshape", [x, m.constant(np.array([batch, length, heads, width]))])
        return m.node("Transpose", [split], perm=perm)

    x = m.node("MatMul", [heads_of(rows, size, [0, 2, 1, 3]), heads_of(keys, size, [0, 2, 3, 1])],
               exact=False, magnitude=8)
    x = m.node(m.choose(("Mul", "Div")), [x, number(m.choose((0.5, 2.0, 3.0)))], exact=False,
               magnitude=12)
    if m.chance(0.5):
        shape = m.choose(((rows, keys), (batch, 1, 1, keys), (1, heads, rows, keys)))
        x = m.node("Add", [x, m.operand(FLOAT, shape)], exact=False, magnitude=20)
    if m.chance(0.3):
        seen = m.rng.random((rows, keys)) < 0.7
        seen[:, 0] = True  # some key for every row
        low = m.choose((-1e9, -float("inf")))
        x = m.node("Where", [m.constant(seen), x, number(low)], exact=False, magnitude=20)
    p = m.node("Softmax", [x], exact=False, magnitude=1, axis=m.choose((-1, 3)))
    if m.chance(0.1):
        m.node("Sin", [p], exact=False, magnitude=1)
    y = m.node("MatMul", [p, heads_of(keys, columns, [0, 2, 1, 3])], exact=False, magnitude=1)
    if m.chance(0.3):
        y = m.node("Relu", [y], exact=False, magnitude=1)
    if m.chance(0.6):
        turned = m.node("Transpose", [y], perm=[0, 2, 1, 3])
        y = m.node("Reshape", [turned, m.constant(np.array([batch, rows, heads * columns]))])
    if m.chance(0.5):
        m.node("MatMul", [y, weights(m, FLOAT, (y.shape[-1], 5), y.shape[-1])], exact=False,
               magnitude=2)


def rotary(m):
    heads, size, steps, batch = m.choose((1, 2, 3)), m.choose((4, 8)), m.choose((1, 5)), m.choose(
        (1, 2))
    flat = m.chance(0.4)
    x = m.operand(m.choose(FLOATS[:1] + FLOATS[2:3]), (batch, steps, heads * size) if flat else
                  (batch, heads, steps, size))
    rotated = m.choose((0, size // 2))
    half = (rotated or size) // 2
    inputs = [x]
    if m.chance(0.5):
        inputs += [m.operand(x.dtype, (batch, steps, half), -1.0, 1.0) for _ in range(2)]
    else:
        places = m.rng.integers(0, 9, (batch, steps))
        inputs += [m.operand(x.dtype, (9, half), -1.0, 1.0) for _ in range(2)]
        inputs.append(m.constant(places))
    m.node("RotaryEmbedding", inputs, exact=False, magnitude=6, interleaved=m.between(0, 1),
           rotary_embedding_dim=rotated, **({"num_heads": heads} if flat else {}))


# --- Norms of rows -------------------------------------------------------------------------------

def rms_norm(m):
    x = m.pick(lambda v: v.dtype in FLOATS[:3] and v.rank > 0 and 0 not in v.shape)
    axis = m.between(0, x.rank - 1)
    m.node("RMSNormalization", [x, m.operand(x.dtype, x.shape[axis:])], exact=False, magnitude=12,
           axis=axis, epsilon=1e-2)


def group_norm(m):
    x = image(m)
    groups = m.choose([d for d in range(1, x.shape[1] + 1) if x.shape[1] % d == 0])
    if x.shape[1] // groups * np.prod(x.shape[2:]) < 4:
        raise Unfit
    if x.magnitude > 100 or x.dtype == FLOATS[1]:
        raise Unfit  # onnxruntime computes doubles as floats, and takes the square of the mean away: little is left of large ones
    scales = [m.operand(x.dtype, (x.shape[1],)) for _ in range(2)]
    m.node_of("GroupNormalization", [x, *scales], [(x.dtype, x.shape)], magnitude=12,
              num_groups=groups, epsilon=1e-2)


def lp_norm(m):
    """Of rows that are not all 0."""
    x = m.pick(lambda v: v.dtype in FLOATS[:2] and v.rank > 0 and 0 not in v.shape)
    safe = m.node("Add", [m.node("Abs", [x]), m.constant(np.asarray(0.25, x.dtype))], exact=False,
                  magnitude=x.magnitude + 1)
    m.node("LpNormalization", [safe], exact=False, magnitude=1, axis=m.between(-x.rank, x.rank - 1),
           p=m.choose((1, 2)))


def hardmax(m):
    x = m.pick(lambda v: v.is_float and v.exact and v.rank > 0 and 0 not in v.shape)
    m.node("Hardmax", [x], magnitude=1, axis=m.between(-x.rank, x.rank - 1))


def shrink(m):
    x = m.pick(lambda v: v.is_float and v.exact)
    op = m.choose(("Shrink", "ThresholdedRelu"))
    more = {"bias": 0.25, "lambd": 0.5} if op == "Shrink" else {"alpha": 0.5}
    m.node(op, [x], exact=False, **more)


def inverse_function(m):
    """Functions of numbers in a range, of the tangent of something."""
    x = m.pick(lambda v: v.dtype in FLOATS[:2])
    op = m.choose(("Asin", "Acos", "Atanh", "Asinh", "Acosh", "Tan"))
    narrow = m.node("Mul", [m.node("Tanh", [x], exact=False, magnitude=1),
                            m.constant(np.asarray(0.75, x.dtype))], exact=False, magnitude=1)
    if op == "Acosh":
        narrow = m.node("Add", [narrow, m.constant(np.asarray(2.5, x.dtype))], exact=False,
                        magnitude=3.5)
    m.node(op, [narrow], exact=False, magnitude=3)


def is_special(m):
    """Infinities and no numbers among others. Nothing else reads them: an infinity times a denormal
    weight is no number where denormals are flushed."""
    x = m.pick(lambda v: v.is_float and v.exact)
    zeros = m.constant((m.rng.integers(0, 2, x.shape)).astype(x.dtype))
    quotients = m.node_of("Div", [x, zeros], [(x.dtype, None)])
    m.node_of(m.choose(("IsNaN", "IsInf")), [quotients], [(BOOL, x.shape)], exact=True)


# --- Transforms ----------------------------------------------------------------------------------

def dft(m):
    """onnxruntime's twiddles are floats and their errors grow with the row, so that a sum of its
    results may have lost all digits."""
    x = m.pick(lambda v: v.dtype in FLOATS[:2] and v.rank > 1 and 0 not in v.shape and
               np.prod(v.shape) < 600)
    signal = m.node("Unsqueeze", [x, m.ints(x.rank)])
    axis = m.between(1, x.rank - 1)
    spectrum = m.node("DFT", [signal, None, m.constant(np.int64(axis))], exact=False,
                      magnitude=x.magnitude * x.shape[axis], onesided=m.between(0, 1))
    spectrum.is_last = x.dtype == FLOAT


def det(m):
    size = m.choose((1, 2, 3, 5))
    batch = (m.choose((1, 3)),) if m.chance(0.5) else ()
    x = m.operand(m.choose(FLOATS[:2]), (*batch, size, size))
    m.node("Det", [x], exact=False, magnitude=200)


# --- Scatters ------------------------------------------------------------------------------------

def reducing(m, accept=lambda v: True):
    """(a value, a reduction that its type has): no place of narrow floats is added to twice."""
    x = m.pick(lambda v: v.dtype != BOOL and v.rank > 0 and 0 not in v.shape and accept(v))
    return x, m.choose(("add", "mul", "max", "min")) if x.dtype in FLOATS[:2] + INTEGERS else (
        m.choose(("max", "min")))


def scatter_reduce(m):
    """Places occur several times."""
    x, reduction = reducing(m)
    axis = m.between(0, x.rank - 1)
    shape = [m.between(1, 3 * e if i == axis else e) for i, e in enumerate(x.shape)]
    places = m.rng.integers(-x.shape[axis], x.shape[axis], shape)
    exact = not x.is_float or (x.exact and reduction in ("max", "min"))
    m.node("ScatterElements", [x, m.input(places) if m.chance(0.4) else m.constant(places),
                               m.operand(x.dtype, shape)], exact=exact,
           magnitude=x.magnitude * 3**6 if reduction == "mul" else 4 * x.magnitude + 30, axis=axis,
           reduction=reduction)


def scatter_nd_reduce(m):
    x, reduction = reducing(m)
    depth, count = m.between(1, x.rank), m.choose((1, 3, 6))
    places = np.stack([m.rng.integers(-e, e, count) for e in x.shape[:depth]], -1)
    exact = not x.is_float or (x.exact and reduction in ("max", "min"))
    m.node("ScatterND", [x, m.input(places) if m.chance(0.4) else m.constant(places),
                         m.operand(x.dtype, (count, *x.shape[depth:]))], exact=exact,
           magnitude=x.magnitude * 3**6 if reduction == "mul" else 4 * x.magnitude + 20,
           reduction=reduction)


def einsum_any(m):
    """Two to three operands, repeated letters, an ellipsis, sums over what only one has."""
    equation = m.choose(("ab,bc->ac", "ab,bc,cd->ad", "aab->ab", "aa->a", "a,b->ab", "ab,ab->",
                         "...ab,...bc->...ac", "abc,cb->a", "ab->ba", "abcd,ebcd->ae",
                         "ab,ac,ad->bcd", "ij,jk"))
    extents = {c: m.choose((1, 2, 3, 5)) for c in "abcdeijk"}
    dtype = m.choose((FLOAT, FLOAT, FLOATS[1], SIGNED[2]))
    operands = []
    for term in equation.split("->")[0].split(","):
        shape = (2,) if term.startswith("...") else ()
        operands.append(m.operand(dtype, shape + tuple(extents[c] for c in term if c != ".")))
    m.node("Einsum", operands, exact=not operands[0].is_float, magnitude=1000, equation=equation)


OPERATORS = {f.__name__: f for f in (
    recurrent, reverse_sequence, attention, products_of_softmax, rotary, rms_norm, group_norm,
    lp_norm, hardmax, shrink,
    inverse_function, is_special, dft, det, scatter_reduce, scatter_nd_reduce, einsum_any)}
