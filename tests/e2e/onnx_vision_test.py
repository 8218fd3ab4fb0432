# SPDX-License-Identifier: MIT
"""Windows and samples: random models of odd sizes against onnxruntime, on the oracle and compiled.

Where onnxruntime lacks the operator, or is known to be wrong, numpy gives the outputs.
"""

import itertools
import unittest

import numpy as np
import onnx_cases
import peers
from onnx_cases import make_case

CASES_EACH = 10


class Maker:
    """Random values and choices, reproducible."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def rand(self, *shape):
        return self.rng.standard_normal(shape).astype(np.float32)

    def pick(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def some(self, count, low, high):
        """So many integers in [low, high]."""
        return [int(value) for value in self.rng.integers(low, high + 1, count)]


def ints(*values):
    return np.array(values, np.int64)


def spans(kernel, dilations):
    return [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]


# --- Samples ---------------------------------------------------------------------------------------

def grid_sample(make, name):
    rank = make.pick(2, 2, 3)
    opset = make.pick(16, 20, 22) if rank == 2 else make.pick(20, 22)
    mode = make.pick("linear", "nearest", "cubic") if rank == 2 else make.pick("linear", "nearest")
    if opset == 16:
        mode = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
    extents = make.some(rank, 2, 8)
    batch = make.pick(1, 1, 3)
    grid = make.rand(batch, *make.some(rank, 1, 6), rank) * np.float32(make.pick(0.7, 1.5))
    return make_case(name, "GridSample", [make.rand(batch, make.pick(1, 3, 8), *extents), grid],
                     opset, mode=mode, align_corners=make.pick(0, 1),
                     padding_mode=make.pick("zeros", "border", "reflection"))


def affine_grid(make, name):
    rank = make.pick(2, 3)
    batch = make.pick(1, 2)
    size = [batch, 3, *make.some(rank, 2, 6)]
    return make_case(name, "AffineGrid", [make.rand(batch, rank, rank + 1), ints(*size)], 20,
                     align_corners=make.pick(0, 1))


def deform_conv(make, name):
    groups, offsets, batch, outputs = (make.pick(1, 2), make.pick(1, 2, 4), make.pick(1, 2),
                                       make.pick(2, 4, 6))
    extents, kernel = make.some(2, 5, 8), make.some(2, 1, 3)
    strides, dilations, pads = make.some(2, 1, 2), make.some(2, 1, 2), make.some(4, 0, 2)
    out = [(e + pads[i] + pads[2 + i] - s) // strides[i] + 1
           for i, (e, s) in enumerate(zip(extents, spans(kernel, dilations)))]
    taps = kernel[0] * kernel[1]
    mask = make.pick(None, make.rand(batch, offsets * taps, *out))
    return make_case(name, "DeformConv",
                     [make.rand(batch, 4, *extents), make.rand(outputs, 4 // groups, *kernel),
                      make.rand(batch, 2 * offsets * taps, *out) * 2,
                      make.pick(None, make.rand(outputs)), mask], make.pick(19, 22),
                     strides=strides, dilations=dilations, pads=pads, group=groups,
                     offset_group=offsets)


def regions(make, extents, scale, smallest):
    """Corners of a few regions, some of them beyond the map."""
    first = make.rng.uniform(-3, max(extents) + 2, (4, 2))
    second = first + make.rng.uniform(smallest, max(extents) * 1.2, (4, 2))
    return (np.concatenate([first, second], 1) / scale).astype(np.float32)


def roi_align(make, name):
    batch, extents, scale = make.pick(1, 3), make.some(2, 1, 11), make.pick(1.0, 0.5)
    opset = make.pick(10, 16)
    more = {}
    if opset == 16:
        more["coordinate_transformation_mode"] = make.pick("half_pixel", "output_half_pixel")
    rows, columns = make.some(2, 1, 4)
    return make_case(name, "RoiAlign",
                     [make.rand(batch, make.pick(1, 3, 8), *extents),
                      regions(make, extents, scale, make.pick(-1, 0.1)),
                      make.rng.integers(0, batch, 4)], opset, mode=make.pick("avg", "max"),
                     output_height=rows, output_width=columns,
                     sampling_ratio=make.pick(0, 0, 1, 2, 3), spatial_scale=scale, **more)


def max_roi_pool(make, name):
    batch, extents, scale = make.pick(1, 3), make.some(2, 1, 11), make.pick(1.0, 0.5)
    planes = make.rng.integers(0, batch, (4, 1)).astype(np.float32)
    return make_case(name, "MaxRoiPool",
                     [make.rand(batch, make.pick(1, 3, 8), *extents),
                      np.concatenate([planes, regions(make, extents, scale, 0.1)], 1)], 7,
                     pooled_shape=make.some(2, 1, 4), spatial_scale=scale)


# --- Windows ---------------------------------------------------------------------------------------

def window_attributes(make, rank, dilated):
    """Kernel, strides, dilations, extents that fit, and pads or an auto_pad.

    onnxruntime ignores dilations where auto_pad is SAME, which the operators' text does not.
    """
    kernel, strides = make.some(rank, 1, 4), make.some(rank, 1, 3)
    dilations = make.some(rank, 1, 2) if dilated else [1] * rank
    more = {"strides": strides}
    if make.pick(True, True, False):
        more["pads"] = [int(make.rng.integers(0, k)) for k in kernel * 2]
    else:
        more["auto_pad"] = make.pick("SAME_UPPER", "SAME_LOWER", "VALID")
        dilations = [1] * rank
        more["strides"] = [min(s, k) for s, k in zip(strides, kernel)]
    if dilated:
        more["dilations"] = dilations
    extents = [int(make.rng.integers(s, s + 8)) for s in spans(kernel, dilations)]
    return kernel, extents, more


def conv(make, name):
    kernel, extents, more = window_attributes(make, make.pick(1, 2, 3), True)
    groups, each = make.pick(1, 2, 4), make.pick(1, 3)
    outputs = groups * make.pick(1, 2)
    return make_case(name, "Conv",
                     [make.rand(make.pick(1, 2), groups * each, *extents),
                      make.rand(outputs, each, *kernel), make.pick(None, make.rand(outputs))],
                     make.pick(7, 11, 22), group=groups, **more)


def conv_transpose(make, name):
    rank = make.pick(1, 2, 2, 3)
    groups, each, outputs = make.pick(1, 2, 4), make.pick(1, 2), make.pick(1, 3)
    kernel, strides = make.some(rank, 1, 4), make.some(rank, 1, 3)
    dilations, extents = [make.pick(1, 1, 2) for _ in range(rank)], make.some(rank, 2, 6)
    more = {}
    kind = make.pick("pads", "pads", "VALID", "output_shape")
    full = [(e - 1) * s + span
            for e, s, span in zip(extents, strides, spans(kernel, dilations))]
    if kind == "pads":
        pads = [min(int(make.rng.integers(0, k + 1)), (f - 1) // 2)
                for k, f in zip(kernel * 2, full * 2)]
        more = {"pads": pads, "output_padding": [int(make.rng.integers(0, s)) for s in strides]}
    elif kind == "VALID":
        more = {"auto_pad": "VALID"}
    else:
        more = {"output_shape": [max(1, f - int(make.rng.integers(0, 3))) for f in full],
                "auto_pad": make.pick("NOTSET", "SAME_UPPER", "SAME_LOWER")}
    return make_case(name, "ConvTranspose",
                     [make.rand(make.pick(1, 2), groups * each, *extents),
                      make.rand(groups * each, outputs, *kernel),
                      make.pick(None, make.rand(groups * outputs))], make.pick(7, 11, 22),
                     group=groups, strides=strides, dilations=dilations, **more)


def max_pool(make, name):
    """With indices: values that occur several times, and narrow integers."""
    kernel, extents, more = window_attributes(make, make.pick(1, 2, 3), True)
    x = np.round(make.rand(make.pick(1, 2), make.pick(1, 3, 8), *extents) * 2)
    dtype = make.pick(np.float32, np.float32, np.int8, np.uint8)
    return make_case(name, "MaxPool", [(np.abs(x) if dtype == np.uint8 else x).astype(dtype)], 12,
                     outputs=2, kernel_shape=kernel, storage_order=make.pick(0, 1),
                     ceil_mode=int("pads" in more and make.pick(False, True)), **more)


def max_pool_of_many(make, name):
    """Windows that are too large to compare tap by tap."""
    return make_case(name, "MaxPool", [np.round(make.rand(1, 2, *make.some(2, 10, 14)) * 3)], 12,
                     outputs=2, kernel_shape=[9, 8], strides=make.some(2, 1, 3),
                     pads=make.some(4, 0, 4), storage_order=make.pick(0, 1),
                     ceil_mode=make.pick(0, 1))


def average_pool(make, name):
    opset = make.pick(7, 10, 19, 22)
    kernel, extents, more = window_attributes(make, make.pick(1, 2, 3), opset >= 19)
    if opset >= 10 and "pads" in more:
        more["ceil_mode"] = make.pick(0, 1)
    return make_case(name, "AveragePool", [make.rand(2, make.pick(1, 3, 8), *extents)], opset,
                     kernel_shape=kernel, count_include_pad=make.pick(0, 1), **more)


def lp_pool(make, name):
    opset = make.pick(7, 11, 18, 22)
    kernel, extents, more = window_attributes(make, make.pick(1, 2, 3), opset >= 18)
    if opset >= 18 and "pads" in more:
        more["ceil_mode"] = make.pick(0, 1)
    return make_case(name, "LpPool", [make.rand(2, make.pick(1, 3, 8), *extents)], opset,
                     kernel_shape=kernel, p=make.pick(1, 2, 3), **more)


def global_pool(make, name):
    op = make.pick("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
    return make_case(name, op, [make.rand(2, 3, *make.some(make.pick(1, 2, 3), 1, 6))], 7)


def folded(x, image, block, strides, dilations, pads):
    """Col2Im as its text says it, of which onnxruntime gets some with other than two axes wrong."""
    rank = len(image)
    counts = [(image[i] + pads[i] + pads[rank + i] - span) // strides[i] + 1
              for i, span in enumerate(spans(block, dilations))]
    x = x.reshape(x.shape[0], -1, *block, *counts)
    y = np.zeros((*x.shape[:2], *image), np.float32)
    every = (slice(None), slice(None))
    for tap in itertools.product(*map(range, block)):
        for position in itertools.product(*map(range, counts)):
            at = tuple(p * strides[i] + t * dilations[i] - pads[i]
                       for i, (p, t) in enumerate(zip(position, tap)))
            if all(0 <= a < extent for a, extent in zip(at, image)):
                y[every + at] += x[every + tap + position]
    return y


def col2im(make, name):
    rank = make.pick(1, 2, 2, 3)
    block = make.some(rank, 1, 3)
    strides = make.pick(block, make.some(rank, 1, 3))
    dilations = [make.pick(1, 1, 2) for _ in range(rank)]
    pads = make.pick([0] * (2 * rank), make.some(2 * rank, 0, 2))
    image = [int(make.rng.integers(s, s + 6)) for s in spans(block, dilations)]
    counts = [(image[i] + pads[i] + pads[rank + i] - span) // strides[i] + 1
              for i, span in enumerate(spans(block, dilations))]
    x = make.rand(make.pick(1, 2), 3 * int(np.prod(block)), int(np.prod(counts)))
    case = make_case(name, "Col2Im", [x, ints(*image), ints(*block)], 18, strides=strides,
                     dilations=dilations, pads=pads)
    case.outputs = [folded(x, image, block, strides, dilations, pads)]
    return case


def max_unpool(make, name):
    rank = make.pick(1, 2, 3)
    kernel, strides, extents = make.some(rank, 2, 3), make.some(rank, 1, 3), make.some(rank, 1, 4)
    out = [(e - 1) * s + k for e, s, k in zip(extents, strides, kernel)]
    x = make.rand(2, 3, *extents)
    places = make.rng.permutation(6 * int(np.prod(out)))[:x.size].reshape(x.shape)
    return make_case(name, "MaxUnpool", [x, places], make.pick(9, 11), kernel_shape=kernel,
                     strides=strides)


# --- Sizes -----------------------------------------------------------------------------------------

def resize(make, name):
    """onnxruntime rounds the resized length of align_corners, which the operator's text does not."""
    rank = make.pick(3, 4, 4, 5)
    mode = make.pick("nearest", "linear", "cubic") if rank == 4 else make.pick("nearest", "linear")
    x = make.rand(1, make.pick(2, 8), *make.some(rank - 2, 2, 9))
    more = {"mode": mode}
    if mode == "nearest":
        more["nearest_mode"] = make.pick("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    if mode == "cubic":
        more.update(cubic_coeff_a=make.pick(-0.75, -0.5), exclude_outside=make.pick(0, 1))
    coordinates = ["half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"]
    if make.pick(True, False):
        scales = [1, 1] + [make.pick(0.4, 0.75, 1.0, 1.3, 2.0, 3.0) for _ in range(rank - 2)]
        scales = [s if np.floor(s * e) >= 1 else 1 for s, e in zip(scales, x.shape)]
        return make_case(name, "Resize", [x, None, np.float32(scales)], make.pick(13, 18),
                         coordinate_transformation_mode=make.pick(*coordinates[:3]), **more)
    sizes = [*x.shape[:2], *make.some(rank - 2, 1, 12)]
    return make_case(name, "Resize", [x, None, None, ints(*sizes)], make.pick(13, 18),
                     coordinate_transformation_mode=make.pick(*coordinates), **more)


def resize_crop(make, name):
    """onnxruntime does not crop an axis that keeps its extent."""
    x = make.rand(1, 3, 6, 7)
    begin, end = make.rng.uniform(-0.2, 0.4, 2), make.rng.uniform(0.6, 1.2, 2)
    roi = np.float32([0, 0, *begin, 1, 1, *end])
    sizes = [make.pick(3, 5, 9), make.pick(3, 5, 9)]
    return make_case(name, "Resize", [x, roi, None, ints(1, 3, *sizes)], 13,
                     mode=make.pick("linear", "nearest"), extrapolation_value=2.5,
                     coordinate_transformation_mode="tf_crop_and_resize")


def resize_antialias(make, name):
    x = make.rand(1, make.pick(1, 8), *make.some(2, 8, 20))
    return make_case(name, "Resize", [x, None, None, ints(*x.shape[:2], *make.some(2, 2, 9))], 18,
                     mode=make.pick("linear", "cubic"), antialias=1,
                     coordinate_transformation_mode=make.pick("half_pixel", "align_corners"))


def resize_symmetric(make, name):
    """half_pixel_symmetric moves the picture where scales do not give whole extents."""
    x = make.rand(1, make.pick(1, 8), *make.some(2, 3, 9))
    scales = np.float32([make.pick(0.4, 0.7, 1.3, 2.6), make.pick(0.6, 0.75, 1.7, 3.0)])
    return make_case(name, "Resize", [x, None, scales], 19, mode=make.pick("linear", "cubic"),
                     axes=make.pick([2, 3], [-2, -1], [3, 2]),
                     coordinate_transformation_mode="half_pixel_symmetric")


def resize_policy(make, name):
    """Sizes of two neighbouring axes, which keep their ratio."""
    x = make.rand(*make.some(4, 2, 7))
    axes = make.pick([2, 3], [3, 2], [1, 2])
    return make_case(name, "Resize", [x, None, None, ints(*make.some(2, 2, 11))], 19,
                     mode="linear", axes=axes,
                     keep_aspect_ratio_policy=make.pick("not_larger", "not_smaller", "stretch"),
                     coordinate_transformation_mode=make.pick("half_pixel", "asymmetric"))


def pad(make, name):
    mode = make.pick("constant", "reflect", "edge", "wrap")
    x = make.rand(*make.some(3, 3, 6))
    low = -2 if mode in ("constant", "edge") else 0
    pads = make.some(4, low, 2)
    return make_case(name, "Pad", [x, ints(*pads), np.float32(0.5), ints(-1, 0)], 19, mode=mode)


def reverse_sequence(make, name):
    steps, sequences = make.some(2, 1, 6)
    time_axis = make.pick(0, 1)
    shape = [steps, sequences] if time_axis == 0 else [sequences, steps]
    return make_case(name, "ReverseSequence",
                     [make.pick(make.rand(*shape, 3), make.rand(*shape)),
                      make.rng.integers(1, steps + 1, sequences)], 10, time_axis=time_axis,
                     batch_axis=1 - time_axis)


OPERATORS = (grid_sample, affine_grid, deform_conv, roi_align, max_roi_pool, conv, conv_transpose,
             max_pool, max_pool_of_many, average_pool, lp_pool, global_pool, col2im, max_unpool,
             resize, resize_crop, resize_antialias, pad, reverse_sequence, resize_symmetric,
             resize_policy)


class OnnxVision(unittest.TestCase):
    maxDiff = None

    def check(self, operator, number):
        make = Maker(number)
        cases = [operator(make, "%s_%d" % (operator.__name__, i)) for i in range(CASES_EACH)]
        cases, wrong = peers.refer(cases)
        wrong += peers.wrong_on_oracle(cases)
        for target in peers.TARGETS:
            wrong += peers.wrong_on_target(cases, target)
        self.assertEqual("\n".join(wrong), "")
        self.assertEqual(len(cases), CASES_EACH)

    def test_a_wrong_output_is_seen(self):
        case = grid_sample(Maker(1), "grid_sample")
        cases, _ = peers.refer([case])
        cases[0].outputs[0] = cases[0].outputs[0] + np.float32(0.01)
        self.assertEqual(len(peers.wrong_on_oracle(cases)), 1)
        self.assertEqual(len(peers.wrong_on_target(cases, "llvm")), 1)


def add_test(operator, number):
    setattr(OnnxVision, "test_" + operator.__name__, lambda self: self.check(operator, number))


for index, each in enumerate(OPERATORS):
    add_test(each, index)

if __name__ == "__main__":
    unittest.main()
