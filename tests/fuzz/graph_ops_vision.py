# SPDX-License-Identifier: MIT
"""Operators for random graphs: samples, regions, sizes. See graph_maker.py."""

import numpy as np

from graph_maker import FLOATS, SIGNED, Unfit
from graph_ops_nn import image, weights

FLOAT, DOUBLE = FLOATS[:2]
INDEX = SIGNED[3]


def plane(m, ranks=(4,), dtypes=FLOATS):
    """An image of some rank."""
    x = image(m)
    if x.rank not in ranks or x.dtype not in dtypes:
        raise Unfit
    return x


# --- Sizes ---------------------------------------------------------------------------------------

def resize_to(m):
    """Resize to sizes: any axis, policies, crops of cubes, exclusion, antialias."""
    x = plane(m, (3, 4, 5), FLOATS[:3])
    mode = m.choose(("nearest", "linear", "cubic")) if x.rank == 4 else m.choose(
        ("nearest", "linear"))
    place = m.choose(("half_pixel", "half_pixel_symmetric", "asymmetric", "align_corners",
                      "pytorch_half_pixel"))
    axes = list(range(2, x.rank))
    sizes = [m.between(1, 2 * x.shape[i] + 1) for i in axes]
    more = {}
    if mode == "nearest":
        more["nearest_mode"] = m.choose(
            ("round_prefer_floor", "floor", "ceil", "round_prefer_ceil"))
        # Where quotients of sizes are not exact, a place half way between is a matter of rounding.
        sizes = [x.shape[i] * m.choose((1, 2, 4)) for i in axes]
    elif mode == "cubic":
        more.update(cubic_coeff_a=m.choose((-0.75, -0.5)), exclude_outside=m.between(0, 1))
    if mode != "nearest" and x.rank == 4 and m.chance(0.3):
        more.update(antialias=1)
        place = "half_pixel"
    if m.chance(0.3):
        more["keep_aspect_ratio_policy"] = m.choose(("not_larger", "not_smaller"))
        if mode == "nearest":
            raise Unfit
    if m.chance(0.5):
        more["axes"] = axes
    else:
        sizes = [*x.shape[:2], *sizes]
        more.pop("keep_aspect_ratio_policy", None)  # the policy would hold the channels, too
    if place == "align_corners" and "keep_aspect_ratio_policy" in more:
        raise Unfit  # lengths that are no whole numbers, which onnxruntime rounds down first
    m.node("Resize", [x, None, None, m.ints(*sizes)], exact=x.exact and mode == "nearest",
           magnitude=2 * x.magnitude, mode=mode, coordinate_transformation_mode=place, **more)


def resize_crop(m):
    """Every axis changes its length: onnxruntime does not crop those that do not."""
    x = plane(m, (4,), FLOATS[:2])
    low, high = m.rng.uniform(-0.2, 0.4, 2), m.rng.uniform(0.6, 1.2, 2)
    roi = np.array([0, 0, *low, 1, 1, *high]).astype(np.float32)
    sizes = [e + m.choose((-1, 1, 2, 3)) if e > 1 else 2 for e in x.shape[2:]]
    m.node("Resize", [x, m.constant(roi), None, m.ints(*x.shape[:2], *sizes)], exact=False,
           magnitude=max(2 * x.magnitude, 3), mode="linear", extrapolation_value=2.5,
           coordinate_transformation_mode="tf_crop_and_resize")


def center_crop_pad(m):
    x = m.pick(lambda v: v.rank > 0 and 0 not in v.shape)
    axes = [i for i in range(x.rank) if m.chance(0.6)] or [0]
    shape = [m.between(1, min(2 * x.shape[i], 12)) for i in axes]
    m.node("CenterCropPad", [x, m.ints(*shape)], axes=axes)


# --- Samples -------------------------------------------------------------------------------------

def grid_sample(m):
    x = plane(m, (4, 5), FLOATS[:2])
    count = x.rank - 2
    mode = m.choose(("linear", "nearest", "cubic")) if count == 2 else m.choose(
        ("linear", "nearest"))
    shape = (x.shape[0], *(m.between(1, 6) for _ in range(count)), count)
    # Odd 128ths are never half way between two elements, and exact.
    grid = m.rng.integers(-90, 90, shape) / 64 + 1 / 128
    grid = grid.astype(x.dtype)
    m.node("GridSample", [x, m.input(grid) if m.chance(0.5) else m.constant(grid)],
           exact=x.exact and mode == "nearest", magnitude=2 * x.magnitude, mode=mode,
           align_corners=m.between(0, 1),
           padding_mode=m.choose(("zeros", "border", "reflection")))


def affine_grid(m):
    """Corners of a single element are a division by 0, of which onnxruntime makes 0."""
    count, corners = m.choose((2, 3)), m.between(0, 1)
    batch, dtype = m.choose((1, 2)), m.choose(FLOATS[:2])
    size = [m.between(1 + corners, 6) for _ in range(count)]
    m.node("AffineGrid", [m.operand(dtype, (batch, count, count + 1)), m.ints(batch, 3, *size)],
           exact=False, magnitude=12, align_corners=corners)


def deform_conv(m):
    x = plane(m, (4,), FLOATS[:3])
    channels = x.shape[1]
    groups = m.choose([d for d in (1, 2, channels) if channels % d == 0])
    offsets = m.choose([d for d in (1, 2, channels) if channels % d == 0])
    kernel, strides, dilations = ([m.choose((1, 2, 3)) for _ in range(2)],
                                  [m.choose((1, 1, 2)) for _ in range(2)],
                                  [m.choose((1, 1, 2)) for _ in range(2)])
    pads = [m.between(0, 2) for _ in range(4)]
    out = [(e + pads[i] + pads[i + 2] - d * (k - 1) - 1) // s + 1
           for i, (e, k, d, s) in enumerate(zip(x.shape[2:], kernel, dilations, strides))]
    taps = int(np.prod(kernel))
    if min(out) < 1 or offsets * taps * np.prod(out) > 4000:
        raise Unfit
    outputs = groups * m.choose((1, 2, 3))
    batch = x.shape[0]
    inputs = [x, weights(m, x.dtype, (outputs, channels // groups, *kernel),
                         channels // groups * taps),
              m.constant(m.rng.uniform(-2, 2, (batch, 2 * offsets * taps, *out)).astype(x.dtype)),
              m.operand(x.dtype, (outputs,)) if m.chance(0.5) else None,
              m.operand(x.dtype, (batch, offsets * taps, *out)) if m.chance(0.5) else None]
    m.node("DeformConv", inputs, exact=False, magnitude=6 * x.magnitude + 3, group=groups,
           offset_group=offsets, kernel_shape=kernel, strides=strides, dilations=dilations,
           pads=pads)


def regions(m, extents):
    """Corners of a few regions, some of them beyond the map."""
    first = m.rng.uniform(-3, max(extents) + 2, (4, 2))
    second = first + m.rng.uniform(0.1, max(extents) * 1.2, (4, 2))
    return np.concatenate([first, second], 1)


def roi_align(m):
    x = plane(m, (4,), FLOATS[:2])
    rois = regions(m, x.shape[2:]).astype(x.dtype)
    planes = m.rng.integers(0, x.shape[0], 4)
    m.node("RoiAlign", [x, m.input(rois) if m.chance(0.5) else m.constant(rois),
                        m.constant(planes.astype(np.int64))], exact=False,
           mode=m.choose(("avg", "max")), output_height=m.between(1, 4),
           output_width=m.between(1, 4), sampling_ratio=m.choose((0, 1, 2, 3)),
           spatial_scale=m.choose((1.0, 0.5)),
           coordinate_transformation_mode=m.choose(("half_pixel", "output_half_pixel")))


def suppressed(m):
    """Boxes, suppression, and sums over what it selects, whose number depends on data."""
    count, classes = m.between(3, 20), m.choose((1, 2, 3))
    # Multiples of 1/8, and a threshold between the quotients of few of them.
    low = m.rng.integers(0, 40, (1, count, 2)) / 8
    boxes = np.concatenate([low, low + m.rng.integers(1, 24, (1, count, 2)) / 8], 2)
    scores = m.rng.permutation(count * classes).reshape(1, classes, count) / 64
    values = tuple(m.input(v) for v in (boxes.astype(np.float32), scores.astype(np.float32)))
    chosen = m.node_of(
        "NonMaxSuppression",
        [*values, m.constant(np.int64(m.between(1, count))),
         m.constant(np.float32(m.choose((0.3017, 0.5003, 0.8011)))),
         m.constant(np.float32(m.choose((-1.0, 0.1, 5.3))))],
        [(INDEX, None)], center_point_box=m.between(0, 1))
    places = m.node_of("Gather", [chosen, m.constant(np.int64(2))], [(INDEX, None)], axis=1)
    taken = m.node_of("Gather", [values[0], places], [(FLOAT, None)], axis=1)
    m.node_of("ReduceSum", [taken, m.ints(1)], [(FLOAT, (1, 4))], magnitude=200, keepdims=0)
    m.node_of("ReduceSum", [chosen, m.ints(0)], [(INDEX, (3,))], exact=True, keepdims=0)


# --- Windows -------------------------------------------------------------------------------------

def max_unpool(m):
    """Of windows that do not overlap: no place twice. Without an output_shape, in which onnxruntime
    counts the places instead of in the shape that the windows give."""
    x = plane(m, (3, 4, 5), FLOATS[:1])
    if not x.exact:
        raise Unfit
    kernel = [m.choose([k for k in (1, 2, 3) if e % k == 0]) for e in x.shape[2:]]
    y, places = m.node("MaxPool", [x], outputs=2, kernel_shape=kernel, strides=kernel)
    m.node_of("MaxUnpool", [y, places], [(x.dtype, x.shape)], exact=True, magnitude=x.magnitude,
              kernel_shape=kernel, strides=kernel)


def col2im(m):
    """On two axes: onnxruntime is wrong on others."""
    block, strides, dilations = ([m.choose((1, 2, 3)) for _ in range(2)],
                                 [m.choose((1, 1, 2)) for _ in range(2)],
                                 [m.choose((1, 1, 2)) for _ in range(2)])
    pads = [m.between(0, 2) for _ in range(4)]
    spans = [d * (k - 1) + 1 for k, d in zip(block, dilations)]
    shape = [s + m.between(0, 5) for s in spans]
    counts = [(e + pads[i] + pads[i + 2] - span) // s + 1
              for i, (e, span, s) in enumerate(zip(shape, spans, strides))]
    x = m.input(m.array(m.choose(FLOATS[:2]), (
        m.choose((1, 2)), 3 * int(np.prod(block)), int(np.prod(counts)))))
    m.node("Col2Im", [x, m.ints(*shape), m.ints(*block)], exact=False, magnitude=9 * x.magnitude,
           strides=strides, dilations=dilations, pads=pads)


def roi_pool(m):
    """Corners that are whole: rounding others is a matter of luck."""
    x = plane(m, (4,), FLOATS[:1])
    corners = np.round(regions(m, x.shape[2:]))
    planes = m.rng.integers(0, x.shape[0], (4, 1))
    rois = np.concatenate([planes, corners], 1).astype(np.float32)
    m.node("MaxRoiPool", [x, m.constant(rois)], pooled_shape=[m.choose((1, 2, 4))] * 2)


OPERATORS = {f.__name__: f for f in (
    resize_to, resize_crop, center_crop_pad, grid_sample, affine_grid, deform_conv, roi_align,
    suppressed, max_unpool, col2im, roi_pool)}
