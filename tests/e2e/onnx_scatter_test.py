# SPDX-License-Identifier: MIT
"""Scatter, ScatterElements, ScatterND and TopK on random shapes, against onnxruntime: on the oracle
and compiled."""

import unittest

import ml_dtypes
import numpy as np
import peers
from onnx_cases import make_case

RNG = np.random.default_rng(11)
REDUCTIONS = ("none", "add", "mul", "max", "min")
COMBINE = {"none": lambda a, b: b, "add": np.add, "mul": np.multiply, "max": np.maximum,
           "min": np.minimum}


def values(shape, dtype):
    """Small numbers, so that sums and products of any dtype are exact or near."""
    if dtype == bool:
        return RNG.random(shape) < 0.5
    low = 0 if np.dtype(dtype).kind == "u" else -4
    return RNG.integers(low, 5, shape).astype(dtype)


def random_shape(least_rank=1):
    return tuple(RNG.integers(1, 6, RNG.integers(least_rank, 5)))


def either_sign(indices, extents):
    """The same places, some of them counted from the end."""
    return np.where(RNG.random(indices.shape) < 0.5, indices, indices - extents)


def element_indices(shape, extent, axis, distinct):
    """Places on an axis of that extent for a tensor of updates of that shape."""
    if not distinct:
        return RNG.integers(0, extent, shape)
    order = np.argsort(RNG.random(shape[:axis] + (extent,) + shape[axis + 1:]), axis=axis)
    return np.take(order, np.arange(shape[axis]), axis=axis)


def scatter_elements(data, indices, updates, axis, combine):
    """What ScatterElements is defined as."""
    result = data.copy()
    for place in np.ndindex(indices.shape):
        to = list(place)
        to[axis] = indices[place]
        result[tuple(to)] = combine(result[tuple(to)], updates[place])
    return result


def scatter_nd(data, indices, updates, combine):
    """What ScatterND is defined as."""
    result = data.copy()
    for place in np.ndindex(indices.shape[:-1]):
        to = tuple(indices[place])
        result[to] = combine(result[to], updates[place])
    return result


def elements_case(name, op, dtype, reduction, opset, index_dtype=np.int64):
    shape = random_shape()
    axis = int(RNG.integers(0, len(shape)))
    counts = tuple(int(RNG.integers(1, extent + 1)) for extent in shape)
    indices = element_indices(counts, shape[axis], axis, reduction == "none")
    indices = either_sign(indices, shape[axis]).astype(index_dtype)
    attributes = {"axis": axis - len(shape) if RNG.random() < 0.5 else axis}
    if opset >= 16:
        attributes["reduction"] = reduction
    inputs = [values(shape, dtype), indices, values(counts, dtype)]
    case = make_case(name, op, inputs, opset, **attributes)
    case.expected = scatter_elements(*inputs, axis, COMBINE[reduction])
    return case


def nd_case(name, dtype, reduction, opset):
    shape = random_shape()
    depth = int(RNG.integers(1, len(shape) + 1))
    prefix = np.int64(shape[:depth])
    count = int(RNG.integers(1, np.prod(prefix) + 1))
    distinct = reduction == "none"
    flat = (RNG.permutation(np.prod(prefix))[:count] if distinct else
            RNG.integers(0, np.prod(prefix), count))
    indices = np.stack(np.unravel_index(flat, prefix), axis=-1)
    batch = (count,) if count % 2 else (count // 2, 2)
    indices = either_sign(indices, prefix).reshape(batch + (depth,)).astype(np.int64)
    attributes = {"reduction": reduction} if opset >= 16 else {}
    inputs = [values(shape, dtype), indices, values(batch + shape[depth:], dtype)]
    case = make_case(name, "ScatterND", inputs, opset, **attributes)
    case.expected = scatter_nd(*inputs, COMBINE[reduction])
    return case


def scatter_cases():
    for opset in (9, 10):
        yield elements_case("scatter_%d" % opset, "Scatter", np.float32, "none", opset)
    for opset in (11, 13):
        for dtype in (np.float32, np.float64, np.int8, np.uint16, bool, np.float16):
            name = "%s_%d" % (np.dtype(dtype).name, opset)
            yield elements_case("elements_" + name, "ScatterElements", dtype, "none", opset,
                                np.int32)
            yield nd_case("nd_" + name, dtype, "none", opset)
    for reduction in REDUCTIONS:
        for dtype in (np.float32, np.float64, np.int32, np.int64, np.uint8):
            for i in range(3):
                name = "%s_%s_%d" % (reduction, np.dtype(dtype).name, i)
                yield elements_case("elements_" + name, "ScatterElements", dtype, reduction, 18)
    for reduction in REDUCTIONS:
        for dtype in (np.float32, np.int64):
            for i in range(3):
                name = "%s_%s_%d" % (reduction, np.dtype(dtype).name, i)
                yield nd_case("nd_" + name, dtype, reduction, 18)


def own_cases():
    """Dtypes that onnxruntime lacks, against the definition."""
    for reduction in REDUCTIONS:
        for dtype in (ml_dtypes.bfloat16, np.float16, bool):
            name = "%s_%s" % (reduction, np.dtype(dtype).name)
            for case in (elements_case("elements_" + name, "ScatterElements", dtype, reduction, 18),
                         nd_case("nd_" + name, dtype, reduction, 18)):
                case.outputs = [case.expected]
                yield case


def top_k_case(name, dtype, opset, least=1, **attributes):
    shape = random_shape()
    axis = int(RNG.integers(0, len(shape)))
    k = int(RNG.integers(least, shape[axis] + 1))
    x = values(shape, dtype)
    attributes["axis"] = axis - len(shape) if RNG.random() < 0.5 else axis
    if opset < 10:
        return make_case(name, "TopK", [x], opset, outputs=2, k=k, **attributes)
    return make_case(name, "TopK", [x, np.int64([k])], opset, outputs=2, **attributes)


def top_k_cases():
    for opset in (7, 10, 11, 24):
        for dtype in (np.float32, np.float64) if opset < 11 else (
                np.float32, np.float64, np.int32, np.int64):
            for i in range(4):
                more = {} if opset < 11 else {"largest": i % 2, "sorted": 1, "least": i % 2}
                yield top_k_case("top_k_%d_%s_%d" % (opset, np.dtype(dtype).name, i), dtype, opset,
                                 **more)


class Scatter(unittest.TestCase):
    def check(self, cases, on_targets):
        """Every case on the oracle, and those that `on_targets` takes compiled as well."""
        cases, wrong = peers.refer(cases)
        self.assertEqual(wrong, [])
        self.assertEqual(peers.wrong_on_oracle(cases), [])
        chosen = [case for case in cases if on_targets(case.name)]
        self.assertGreater(len(chosen), 4)
        for target in peers.TARGETS:
            self.assertEqual(peers.wrong_on_target(chosen, target), [])

    def test_scatter(self):
        self.check(scatter_cases(), lambda name: not name.endswith("_2"))

    def test_the_definition_is_what_onnxruntime_does(self):
        for case in scatter_cases():
            np.testing.assert_array_equal(peers.reference(case)[0], case.expected)

    def test_dtypes_beyond_onnxruntime(self):
        self.check(own_cases(), lambda name: "bfloat16" not in name)

    def test_top_k(self):
        self.check(top_k_cases(), lambda name: name.endswith(("_1", "_3")))

    def test_a_wrong_output_is_seen(self):
        case = elements_case("wrong", "ScatterElements", np.float32, "none", 13)
        case.outputs = [case.expected + 1]
        self.assertEqual(len(peers.wrong_on_oracle([case])), 1)
        self.assertEqual(len(peers.wrong_on_target([case], "llvm")), 1)


if __name__ == "__main__":
    unittest.main()
