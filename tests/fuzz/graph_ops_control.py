# SPDX-License-Identifier: MIT
"""Operators for random graphs: subgraphs, and sizes that depend on data. See graph_maker.py.

Where a size depends on data, nodes that reduce over it follow, so that the outputs' shapes are
known.
"""

import numpy as np

from graph_maker import BOOL, FLOATS, INTEGERS, SIGNED, Unfit

FLOAT, INDEX = FLOATS[0], SIGNED[3]
STEPS = 4  # iterations at most


def known(value):
    """Whether a loop may carry a value: not large, and computed in enough bits that a few steps
    change little."""
    return value.dtype in FLOATS[:2] and np.prod(value.shape) < 2000 and value.magnitude < 100


def some_steps(m, x, *others):
    """A few elementwise nodes on values of one type."""
    for _ in range(m.between(1, 3)):
        op = m.choose(("Add", "Mul", "Max", "Tanh", "Neg", "Where"))
        if op in ("Tanh", "Neg"):
            x = m.node(op, [x], exact=False)
        elif op == "Where":
            x = m.node(op, [m.operand(BOOL, x.shape), x, m.operand(x.dtype, x.shape)])
        else:
            y = m.choose(others) if others and m.chance(0.5) else m.operand(
                x.dtype, x.shape[m.between(0, x.rank):], -1.0, 1.0)
            x = m.node(op, [x, y], exact=False,
                       magnitude=x.magnitude + 1 if op == "Add" else max(x.magnitude, y.magnitude))
    return x


def condition(m):
    """A scalar that is true or false: known when compiling, or an input, or compared."""
    kind = m.between(0, 2)
    if kind == 0:
        return m.constant(np.bool_(m.chance(0.5)))
    if kind == 1:
        return m.input(np.asarray(m.chance(0.5)))
    x = m.pick(lambda v: v.exact and v.dtype in FLOATS[:1] + INTEGERS[2:4] and 0 not in v.shape)
    largest = m.node("ReduceMax", [x], keepdims=0)
    return m.node("Less", [largest, m.constant(m.array(x.dtype, ()))], magnitude=1)


def if_(m):
    x = m.pick(known)
    select = condition(m)
    branches = [m.subgraph([], lambda: [some_steps(m, x)]) for _ in range(2)]
    m.node_of("If", [select], [(x.dtype, x.shape)], magnitude=x.magnitude + 3,
              then_branch=branches[0], else_branch=branches[1])


def loop(m):
    """A count that is known, or a condition that ends it early; a carried value and one that is
    kept of every step."""
    x = m.pick(known)
    count = m.between(0 if m.chance(0.1) else 1, STEPS)
    stops = m.chance(0.4)
    limit = m.input(np.asarray(m.between(0, STEPS), np.int64)) if stops else None

    def body(step, running, carried):
        result = some_steps(m, carried, x)
        go = m.node("Less", [step, limit]) if stops else m.node("Identity", [running])
        outputs = [go, m.node("Tanh", [result], exact=False, magnitude=1)]
        if not stops:
            outputs.append(m.node("Mul", [carried, result], exact=False))
        return outputs

    graph = m.subgraph([(INDEX, ()), (BOOL, ()), (x.dtype, x.shape)], body)
    types = [(x.dtype, x.shape)] + ([] if stops else [(x.dtype, (count, *x.shape))])
    m.node_of("Loop", [m.constant(np.int64(count)), m.constant(np.bool_(True)), x], types,
              magnitude=x.magnitude * (x.magnitude + 3) + 3, body=graph)


def scan(m):
    """One state, one sequence along any axis, forward or backward."""
    x = m.pick(lambda v: known(v) and v.rank > 0 and 0 not in v.shape and min(v.shape) <= 9)
    axis = m.choose([i for i, e in enumerate(x.shape) if e <= 9])
    rest = x.shape[:axis] + x.shape[axis + 1:]

    def body(state, part):
        result = some_steps(m, m.node("Add", [state, part], exact=False,
                                      magnitude=x.magnitude + 1))
        return [m.node("Tanh", [result], exact=False, magnitude=1),
                m.node("Identity", [result])]

    graph = m.subgraph([(x.dtype, rest)] * 2, body)
    m.node_of("Scan", [m.operand(x.dtype, rest), x], [(x.dtype, rest), (x.dtype, x.shape)],
              magnitude=x.magnitude + 5, body=graph, num_scan_inputs=1, scan_input_axes=[axis],
              scan_output_axes=[axis], scan_input_directions=[m.between(0, 1)],
              scan_output_directions=[m.between(0, 1)])


# --- Sizes that depend on data -------------------------------------------------------------------

def reduced(m, x, dtype, shape, axis, magnitude=3.0):
    """A value of unknown extent along an axis, made known: its sum, mean or largest element."""
    op = m.choose(("ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2"))
    m.node_of(op, [x, m.ints(axis)], [(dtype, shape)], magnitude=magnitude, keepdims=0)


def compress(m):
    x = m.pick(lambda v: v.dtype in FLOATS[:2] and v.rank > 0 and 0 not in v.shape)
    axis = m.between(0, x.rank - 1)
    keep = m.rng.random(x.shape[axis]) < 0.6
    keep[m.between(0, len(keep) - 1)] = True  # of none there is no mean and no largest
    chosen = m.node_of("Compress", [x, m.input(keep)], [(x.dtype, None)], axis=axis)
    if m.chance(0.5):
        chosen = m.node_of(m.choose(("Tanh", "Sigmoid", "Relu")), [chosen], [(x.dtype, None)])
    reduced(m, chosen, x.dtype, x.shape[:axis] + x.shape[axis + 1:], axis,
            x.shape[axis] * x.magnitude)


def non_zero(m):
    x = m.pick(lambda v: v.exact and v.rank > 0 and v.dtype in FLOATS[:2] + INTEGERS[2:4] and
               0 < np.prod(v.shape) < 400)
    flags = m.node("Greater", [x, m.constant(np.asarray(0, x.dtype))], magnitude=1)
    places = m.node_of("NonZero", [flags], [(INDEX, None)])
    m.node_of("ReduceSum", [places, m.ints(1)], [(INDEX, (x.rank,))], exact=True, keepdims=0)
    if x.is_float:
        order = m.node_of("Transpose", [places], [(INDEX, None)], perm=[1, 0])
        taken = m.node_of("GatherND", [x, order], [(x.dtype, None)])
        m.node_of("ReduceSum", [taken, m.ints(0)], [(x.dtype, ())],
                  magnitude=x.magnitude * 400, keepdims=0)


def unique(m):
    x = m.pick(lambda v: v.exact and v.dtype in FLOATS[:2] + INTEGERS[:4] and
               0 < np.prod(v.shape) < 200)
    y, first, inverse, counts = m.node_of(
        "Unique", [x], [(x.dtype, None), (INDEX, None), (INDEX, (int(np.prod(x.shape)),)),
                        (INDEX, None)], exact=True, sorted=m.between(0, 1))
    del inverse
    for value, op in ((y, "ReduceMax"), (first, "ReduceSum"), (counts, "ReduceMax")):
        m.node_of(op, [value, m.ints(0)], [(value.dtype, ())], exact=True, keepdims=0)


def range_(m):
    """Between numbers that are known."""
    dtype = m.choose((FLOAT, SIGNED[2], INDEX))
    start, step = m.between(-5, 5), m.choose((1, 2, -1, -3))
    limit = start + step * m.between(1, 9)
    values = [m.constant(np.asarray(v, dtype)) for v in (start, limit, step)]
    m.node_of("Range", values, [(dtype, ((limit - start) // step,))], exact=True)


OPERATORS = {f.__name__.rstrip("_"): f for f in (
    if_, loop, scan, compress, non_zero, unique, range_)}
