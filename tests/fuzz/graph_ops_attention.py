# SPDX-License-Identifier: MIT
"""Operators for random graphs: attention in the many ways that models spell it, and products of few
rows. See graph_maker.py."""

import numpy as np

from graph_maker import BFLOAT16, FLOATS, SIGNED

FLOAT, DOUBLE, HALF = FLOATS[:3]
INFINITY = float("inf")
LOWEST = float(np.finfo(np.float32).min)


class Heads:
    """The operands of one attention, [batch, heads, length, width] or, without a batch, of fewer
    axes: given so, turned, cut out of a wider value, stretched over heads, stored in a type of two
    bytes. Values with no numbers or infinities among them are read by nothing else."""

    def __init__(self, m):
        self.m = m
        self.batch, self.groups = m.choose((1, 1, 2, 3)), m.choose((1, 1, 2, 3))
        self.each = m.choose((1, 1, 1, 2, 4))
        self.heads = self.groups * self.each
        self.rows = m.choose((1, 1, 2, 3, 5, 7, 8, 9, 13, 25))
        self.keys = m.choose((1, 2, 4, 7, 8, 9, 16, 17, 31, 48, 100))
        self.size = m.choose((1, 2, 5, 8, 16, 20))
        self.columns = m.choose((1, 3, 8, 9, 17, 32))
        if m.chance(0.25):  # several strips of rows, and blocks of keys
            self.batch, self.groups, self.each = 1, 1, m.choose((1, 1, 2))
            self.heads = self.each
            self.rows = m.choose((33, 40, 65, 96, 130)) // self.heads
            self.keys = m.choose((self.rows, self.rows, 64, 129, 200))
        self.storage = m.choose((FLOAT,) * 6 + (HALF, BFLOAT16))
        self.strange = m.choose((None,) * 9 + (float("nan"), INFINITY, -INFINITY))

    def wide(self, x):
        """In float32."""
        return x if x.dtype == FLOAT else self.m.node("Cast", [x], exact=False, to=1)

    def given(self, *shape):
        """An operand as it is stored."""
        data = self.m.array(self.storage, shape, -1.0, 1.0)
        if self.strange is not None:
            data.flat[self.m.between(0, data.size - 1)] = self.strange
            x = self.m.input(data)
            x.magnitude, x.is_last = 1.0, True
            return x
        return self.m.input(data) if self.m.chance(0.8) else self.m.constant(data)

    def operand(self, heads, length, width, is_turned=False):
        """float32 [batch, heads, length, width], with the last two axes turned where wanted."""
        m, batch = self.m, self.batch
        perm = [0, 2, 3, 1] if is_turned else [0, 2, 1, 3]
        form = m.choose(("plain", "turned", "flat", "flat", "first", "cut", "joined", "scaled"))
        if form == "flat":
            x = m.node("Reshape", [self.given(batch, length, heads * width),
                                   m.ints(0, 0, heads, width)])
            return self.wide(m.node("Transpose", [x], perm=perm))
        if form == "first":
            x = self.given(length, batch, heads, width)
            turned = [1, 2, 3, 0] if is_turned else [1, 2, 0, 3]
            return self.wide(m.node("Transpose", [x], perm=turned))
        if form == "cut":
            x = self.given(batch, length, 3, heads, width)
            x = m.node("Gather", [x, m.constant(np.int64(m.between(0, 2)))], axis=2)
            return self.wide(m.node("Transpose", [x], perm=perm))
        if form == "turned":
            x = self.given(batch, heads, width, length)
            return self.wide(x if is_turned else m.node("Transpose", [x], perm=[0, 1, 3, 2]))
        if form == "joined" and length > 1:
            past = m.between(1, length - 1)
            x = m.node("Concat", [self.given(batch, heads, past, width),
                                  self.given(batch, heads, length - past, width)], axis=2)
        else:
            x = self.given(batch, heads, length, width)
        x = self.wide(x)
        if form == "scaled":
            x = m.node("Mul", [x, m.constant(np.float32(0.5))], exact=False)
        return m.node("Transpose", [x], perm=[0, 1, 3, 2]) if is_turned else x

    def stretched(self, x):
        """A value of groups as one of heads, if that is what the product wants."""
        if self.each == 1:
            return x
        m, (batch, groups, a, b) = self.m, x.shape
        x = m.node("Unsqueeze", [x, m.ints(2)])
        x = m.node("Expand", [x, m.ints(batch, groups, self.each, a, b)])
        return m.node("Reshape", [x, m.ints(batch, groups * self.each, a, b)])

    def operands(self):
        """Q, K turned, V. No infinity is in V: times a denormal probability it is one, and no
        number where denormals are flushed."""
        m = self.m
        is_infinite = self.strange is not None and np.isinf(self.strange)
        if m.chance(0.12) and not is_infinite:  # all of one value
            self.keys, self.columns, self.groups = self.rows, self.size, self.heads
            self.each = 1
            q = self.operand(self.heads, self.rows, self.size)
            k = m.node("Transpose", [q], perm=[0, 1, 3, 2])
            return q, k, q
        q = self.operand(self.heads, self.rows, self.size)
        is_one = self.each > 1 and m.chance(0.3)  # of which all heads read the same
        groups = 1 if is_one else self.groups
        k = self.operand(groups, self.keys, self.size, True)
        k = k if is_one else self.stretched(k)
        if m.chance(0.1) and self.size == self.columns and not is_infinite:
            return q, k, m.node("Transpose", [k], perm=[0, 1, 3, 2])
        self.strange = None if is_infinite else self.strange
        if is_one:
            return q, k, self.operand(1, self.keys, self.columns)
        return q, k, self.stretched(self.operand(self.groups, self.keys, self.columns))


def scaled(m, x):
    """Scores times a number, which may be anything."""
    value = m.choose((0.25, 0.5, 2.0, 0.0, -1.0, 30.0, INFINITY))
    op = m.choose(("Mul", "Div"))
    if op == "Div" and not (value and np.isfinite(value)):
        op = "Mul"
    data = np.full(m.choose(((), (1,), (1, 1, 1, 1))), value, np.float32)
    number = m.constant(data) if m.chance(0.6) else m.input(data)
    number.is_last, number.magnitude = True, 1
    return m.node(op, [x, number], exact=False, magnitude=20)


def capped(m, x):
    """Scores between two numbers."""
    cap = m.constant(np.float32(m.choose((0.5, 2.0, 10.0))))
    y = m.node("Tanh", [m.node("Div", [x, cap], exact=False)], exact=False, magnitude=1)
    return m.node("Mul", [y, cap], exact=False, magnitude=10)


def masked(m, x, is_strange):
    """Scores of which some do not count: by a table, by place, by a length, or all of a row. What is
    not finite at a key that does not count need not be read, so there all keys count a little."""
    batch, heads, rows, keys = x.shape
    low = m.choose((-1e4, -1e9) if is_strange else (-1e4, -1e9, LOWEST, -INFINITY, -INFINITY))
    form = m.choose(("where", "add", "causal", "length", "padding", "slope"))
    if form == "slope":
        slopes = m.constant((2.0 ** -np.arange(heads)).astype(np.float32).reshape(heads, 1, 1))
        places = m.constant((np.arange(keys)[None] - np.arange(rows)[:, None]).astype(np.float32))
        bias = m.node("Mul", [slopes, places], exact=False, magnitude=10)
        return m.node("Add", [x, bias], exact=False, magnitude=20)
    if form == "length":
        lengths = m.input(m.rng.integers(0, keys + 1, (batch, 1, 1, 1)))
        seen = m.node("Less", [m.constant(np.arange(keys)), lengths])
    elif form == "causal":
        offset = m.choose((0, keys - rows, -1))
        seen = m.constant(np.tri(rows, keys, offset, dtype=bool))
    elif form == "padding":
        seen = m.node("Cast", [m.input(m.rng.integers(0, 2, (batch, 1, 1, keys)))], to=9)
    else:
        shape = m.choose(((rows, keys), (1, 1, 1, keys), (batch, 1, rows, keys), (heads, 1, keys),
                          (batch, heads, rows, keys), (rows, 1)))
        data = m.rng.random(shape) < m.choose((0.7, 0.3))
        if form == "where":
            seen = m.constant(data) if m.chance(0.5) else m.input(data)
        else:
            table = np.where(data, m.rng.uniform(-1, 1, shape), low).astype(np.float32)
            bias = m.constant(table) if m.chance(0.5) else m.input(table)
            bias.is_last, bias.magnitude = True, 1
            return m.node("Add", [x, bias], exact=False, magnitude=20)
    number = m.constant(np.float32(low))
    number.magnitude, number.is_last = 1, True
    if m.chance(0.3):
        return m.node("Where", [m.node("Not", [seen]), number, x], exact=False, magnitude=20)
    return m.node("Where", [seen, x, number], exact=False, magnitude=20)


def soft_maximum(m, x):
    """Probabilities: by the operator, by its parts, or with rows of nothing being zeros."""
    form = m.choose(("operator",) * 4 + ("parts", "parts of", "zeros", "gated"))
    if form.startswith("parts"):
        top = m.node("ReduceMax", [x, m.ints(-1)], exact=False, keepdims=1)
        power = m.node("Exp", [m.node("Sub", [x, top], exact=False)], exact=False, magnitude=1)
        total = m.node("ReduceSum", [power, m.ints(-1)], exact=False, keepdims=1, magnitude=100)
        if form == "parts of":
            total = m.node("Add", [total, m.constant(np.float32(m.choose((1.0, 1e-6))))],
                           exact=False, magnitude=100)
        return m.node("Div", [power, total], exact=False, magnitude=1)
    p = m.node("Softmax", [x], exact=False, magnitude=1, axis=m.choose((-1, 3)))
    if form == "zeros":
        nothing = m.node("IsNaN", [p], exact=False)
        nothing.is_last = True
        p = m.node("Where", [nothing, m.constant(np.float32(0)), p], exact=False, magnitude=1)
    elif form == "gated":
        p = m.node("Mul", [p, m.operand(FLOAT, (x.shape[2], 1))], exact=False, magnitude=3)
    return p


def finished(m, y):
    """What follows: an activation, something added, heads side by side, a projection."""
    batch, heads, rows, columns = y.shape
    if m.chance(0.2):
        y = m.node("Relu", [y], exact=False)
    if m.chance(0.2):
        shape = m.choose(((columns,), (rows, 1), (batch, heads, rows, columns)))
        y = m.node("Add", [y, m.operand(FLOAT, shape)], exact=False)
    if m.chance(0.6):
        y = m.node("Transpose", [y], perm=m.choose(([0, 2, 1, 3],) * 3 + (
            [2, 0, 1, 3], [1, 0, 2, 3], [0, 1, 3, 2])))
        if m.chance(0.8):
            shape = (y.shape[0], y.shape[1], y.shape[2] * y.shape[3])
            y = m.node("Reshape", [y, m.ints(*shape)])
    if m.chance(0.2):
        y = m.node("Add", [y, m.operand(FLOAT, y.shape)], exact=False)
    if m.chance(0.3):
        w = m.constant(m.rng.uniform(-1, 1, (y.shape[-1], 5)).astype(np.float32))
        y = m.node("MatMul", [y, w], exact=False, magnitude=2)
    return y


def attention_spelt_out(m):
    """Two products with a softmax between them, which may become one kernel. Nothing else reads
    what comes out: there may be no numbers in it, and infinities."""
    first = len(m.graph.values)
    h = Heads(m)
    is_strange = h.strange is not None
    q, k, v = h.operands()
    x = m.node("MatMul", [q, k], exact=False, magnitude=8)
    for step in m.rng.permutation(3):
        if step == 0 and m.chance(0.6):
            x = scaled(m, x)
        elif step == 1 and m.chance(0.15):
            x = capped(m, x)
        elif step == 2 and m.chance(0.7):
            x = masked(m, x, is_strange)
    p = soft_maximum(m, x)
    if m.chance(0.15):
        p = m.node("Cast", [m.node("Cast", [p], exact=False, to=10)], exact=False, to=1)
    if m.chance(0.12):
        m.node("Neg", [m.choose((p, x))], exact=False)
    y = m.node("MatMul", [p, v], exact=False, magnitude=1)
    if m.chance(0.1):  # a second product of the same
        m.node("MatMul", [p, m.operand(FLOAT, (h.keys, 4))], exact=False, magnitude=1)
    finished(m, y)
    for value in m.graph.values[first:]:
        value.is_last = True


def few_rows(m):
    """A product of few rows with a right side that is no weight: given, turned, cut, stretched,
    gathered, of another type or computed."""
    dtype = m.choose((FLOAT,) * 5 + (DOUBLE, HALF, BFLOAT16))
    batch = m.choose(((), (), (1,), (2,), (2, 3)))
    rows, inner = m.choose((1, 1, 2, 3, 5, 8, 9)), m.choose((1, 2, 7, 8, 9, 16, 33, 100))
    columns = m.choose((1, 2, 7, 8, 9, 16, 17, 40, 100, 130))
    shape = (*batch, inner, columns)
    rank = len(shape)
    swapped = [*range(rank - 2), rank - 1, rank - 2]
    form = m.choose(("given", "turned", "cut", "stretched", "computed", "cast", "joined", "part"))
    if form == "turned":
        b = m.node("Transpose", [m.input(m.array(dtype, (*batch, columns, inner), -1, 1))],
                   perm=swapped)
    elif form == "cut":
        axis = m.between(0, rank - 1)
        step = m.choose((1, 2, -1))
        long = [e * 2 + 1 if i == axis else e for i, e in enumerate(shape)]
        count = shape[axis] * abs(step)
        begin, end = (1, 1 + count) if step > 0 else (count, 0)
        x = m.input(m.array(dtype, long, -1, 1))
        b = m.node("Slice", [x, m.ints(begin), m.ints(end), m.ints(axis), m.ints(step)])
    elif form == "stretched":
        x = m.input(m.array(dtype, [1 if m.chance(0.5) else e for e in shape], -1, 1))
        b = m.node("Expand", [x, m.ints(*shape)])
    elif form == "cast" and dtype == FLOAT:
        x = m.input(m.array(m.choose((HALF, BFLOAT16, SIGNED[0])), shape, -1, 1))
        b = m.node("Cast", [x], exact=False, to=1, magnitude=130)
    elif form == "joined" and columns > 1:
        left = m.between(1, columns - 1)
        b = m.node("Concat", [m.input(m.array(dtype, (*batch, inner, left), -1, 1)),
                              m.input(m.array(dtype, (*batch, inner, columns - left), -1, 1))],
                   axis=-1)
    elif form == "part":
        x = m.input(m.array(dtype, (*batch, inner + 3, columns), -1, 1))
        b = m.node("Gather", [x, m.constant(m.rng.integers(0, inner + 3, inner))], axis=rank - 2)
    else:
        b = m.input(m.array(dtype, shape, -1, 1))
        if form == "computed":
            scale = m.operand(dtype, m.choose(((columns,), (inner, 1))), -1, 1)
            b = m.node("Mul", [b, scale], exact=False)
    a = m.operand(dtype, (*batch, rows, inner), -1, 1)
    y = m.node("MatMul", [a, b], exact=False, magnitude=a.magnitude * b.magnitude * 10)
    if m.chance(0.5):
        y = m.node("Add", [y, m.operand(dtype, m.choose(((columns,), (rows, 1), y.shape)))],
                   exact=False)
    if m.chance(0.3):
        y = m.node(m.choose(("Relu", "Tanh", "Sigmoid")), [y], exact=False)
    if m.chance(0.3):
        m.node("Transpose", [y], perm=swapped)


OPERATORS = {f.__name__: f for f in (attention_spelt_out, few_rows)}
