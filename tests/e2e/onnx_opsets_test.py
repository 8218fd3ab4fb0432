# SPDX-License-Identifier: MIT
"""Forms of operators that the newest opsets no longer have, and corners that the onnx package does
not test: the reader and the oracle against onnxruntime."""

import os
import unittest

import numpy as np
import onnx
import onnx_cases
import peers
from onnx_cases import make_case

RNG = np.random.default_rng(7)


def rand(*shape):
    """Reproducible values around 0."""
    return RNG.standard_normal(shape).astype(np.float32)


def ints(*values):
    """A shape or a list of axes."""
    return np.array(values, np.int64)


def elementwise_cases():
    special = np.float32([np.nan, np.inf, -np.inf, -0.0, 0, 1e-30, -3.5, -2.5, 0.5, 1.5, 2.5, 90])
    for op in ("Relu", "Abs", "Neg", "Exp", "Sigmoid", "Tanh", "Softplus", "Softsign", "Elu",
               "Selu", "Floor", "Ceil", "Sqrt", "Reciprocal", "HardSigmoid", "LeakyRelu"):
        yield make_case(op + "_special", op, [special[1:] if op in ("Elu", "Selu") else special], 7)
    for op in ("Round", "Sign", "Erf", "IsNaN", "ThresholdedRelu"):
        yield make_case(op + "_special", op, [special[1:] if op == "Sign" else special], 11)
    for op in ("Sinh", "Cosh"):
        yield make_case(op, op, [np.float32([-88, -2, -1e-4, 0, 1e-6, 0.3, 1, 5, 80])], 9)
    yield make_case("isinf_one_sided", "IsInf", [special], 10, detect_negative=0)
    yield make_case("hardswish", "HardSwish", [rand(3, 4) * 4], 14)
    yield make_case("clip6", "Clip", [special[:1]], 6 + 1, min=-1.0, max=1.0)
    yield make_case("clip6_values", "Clip", [rand(3, 4) * 3], 7, min=-1.0, max=1.0)
    yield make_case("clip6_min", "Clip", [rand(3, 4)], 7, min=0.0)
    yield make_case("clip11", "Clip", [rand(3, 4), np.float32(-0.5), np.float32(0.25)], 11)
    yield make_case("clip12_int", "Clip", [np.int32([-9, 3, 9]), None, np.int32(4)], 12)
    yield make_case("clip_crossed", "Clip", [rand(5), np.float32(1), np.float32(-1)], 13)
    yield make_case("prelu7", "PRelu", [rand(2, 3, 4), rand(3, 1)], 7)
    yield make_case("pow7", "Pow", [np.abs(rand(3, 4)), rand(4)], 7)
    yield make_case("pow_mixed", "Pow", [np.float32([2, -3, 4]), np.int64([3, 3, -1])], 12)
    yield make_case("pow_int_float", "Pow", [np.int32([2, 3, 4]), np.float32([3, 0.5, 2])], 12)
    yield make_case("div_int", "Div", [np.int32([7, -7, 7, -7]), np.int32([2, 2, -2, -2])], 7)
    yield make_case("mod_int8", "Mod", [np.int8([-128, 7, -7, 5]), np.int8([3, -3, 3, 5])], 10)
    yield make_case("mod_fmod", "Mod", [np.float32([5.3, -5.3, 4]), np.float32([2, 2, -3])], 10,
                    fmod=1)
    yield make_case("max_many", "Max", [rand(3, 4), rand(4), rand(3, 1)], 8)
    yield make_case("min_nan", "Min", [np.float32([np.nan, 1]), np.float32([1, np.nan])], 13)
    yield make_case("mean_many", "Mean", [rand(3, 4), rand(4), rand(3, 1)], 8)
    yield make_case("sum_one", "Sum", [rand(3, 4)], 8)
    yield make_case("equal_bool", "Equal", [np.array([True, False]), np.array([True, True])], 7)
    yield make_case("where", "Where", [np.array([[True], [False]]), rand(2, 3), rand(3)], 9)
    yield make_case("bitwise", "BitwiseXor", [np.uint8([1, 200]), np.uint8([3, 15])], 18)
    for to in (1, 3, 6, 7, 9, 10, 11):
        yield make_case("cast_%d" % to, "Cast", [np.float32([-3.7, 0, 0.5, 100.4])], 9, to=to)
    yield make_case("gelu_tanh", "Gelu", [rand(3, 4)], 20, approximate="tanh")
    yield make_case("celu", "Celu", [rand(3, 4) * 3], 12, alpha=2.0)


def movement_cases():
    x = rand(2, 3, 4)
    yield make_case("reshape", "Reshape", [x, ints(0, -1)], 7)
    yield make_case("reshape_zero", "Reshape", [rand(0, 3), ints(3, 0)], 14, allowzero=1)
    yield make_case("flatten0", "Flatten", [x], 7, axis=0)
    yield make_case("flatten_last", "Flatten", [x], 9, axis=3)
    yield make_case("flatten_negative", "Flatten", [x], 11, axis=-1)
    yield make_case("squeeze1", "Squeeze", [rand(1, 3, 1)], 7, axes=[0])
    yield make_case("squeeze_all", "Squeeze", [rand(1, 3, 1)], 11)
    yield make_case("squeeze13", "Squeeze", [rand(1, 3, 1), ints(-1)], 13)
    yield make_case("unsqueeze1", "Unsqueeze", [x], 7, axes=[0, 4])
    yield make_case("unsqueeze_negative", "Unsqueeze", [x], 11, axes=[-1, 1])
    yield make_case("unsqueeze13", "Unsqueeze", [x, ints(2, -1)], 13)
    yield make_case("transpose", "Transpose", [x], 7)
    yield make_case("expand_down", "Expand", [x, ints(3, 1)], 8)
    yield make_case("tile", "Tile", [x, ints(2, 1, 3)], 7)
    yield make_case("tile_nothing", "Tile", [x, ints(2, 0, 1)], 13)
    yield make_case("slice1", "Slice", [x], 7, starts=[0, -2], ends=[1, 1000], axes=[0, 2])
    yield make_case("slice1_no_axes", "Slice", [x], 9, starts=[1], ends=[2])
    yield make_case("slice10", "Slice", [x, ints(-1), ints(-2**63 + 1), ints(2), ints(-2)], 10)
    yield make_case("slice_empty", "Slice", [x, ints(3), ints(1)], 13)
    yield make_case("slice_steps", "Slice",
                    [x, ints(3, 0), ints(0, 5), ints(-1, 1), ints(-1, 2)], 13)
    yield make_case("split2", "Split", [rand(6, 2)], 7, outputs=3)
    yield make_case("split2_sizes", "Split", [rand(6, 2)], 7, outputs=2, split=[4, 2])
    yield make_case("split13", "Split", [rand(2, 6), ints(1, 5)], 13, outputs=2, axis=-1)
    yield make_case("split18_uneven", "Split", [rand(7)], 18, outputs=3, num_outputs=3)
    yield make_case("concat_negative", "Concat", [x, rand(2, 3, 1)], 11, axis=-1)
    yield make_case("pad2", "Pad", [x], 7, pads=[0, 1, 0, 1, 0, 2], value=2.5)
    yield make_case("pad2_crop", "Pad", [x], 10, pads=[0, -1, 1, 0, 0, -2])
    yield make_case("pad2_edge", "Pad", [x], 7, pads=[0, 1, 0, 1, 0, 2], mode="edge")
    yield make_case("pad2_reflect", "Pad", [x], 7, pads=[0, 1, 0, 0, 2, 2], mode="reflect")
    yield make_case("pad11", "Pad", [x, ints(0, 1, 0, 1, 0, 2), np.float32(-1)], 11)
    yield make_case("pad18_axes", "Pad", [x, ints(1, 2), None, ints(-1)], 18)
    yield make_case("pad19_wrap", "Pad", [x, ints(0, 2, 3, 1, 1, 0)], 19, mode="wrap")
    yield make_case("depth_to_space", "DepthToSpace", [rand(1, 8, 2, 3)], 11, blocksize=2,
                    mode="CRD")
    yield make_case("space_to_depth", "SpaceToDepth", [rand(1, 2, 4, 6)], 7, blocksize=2)
    yield make_case("gather_negative", "Gather", [x, np.array([[0, -1]])], 11, axis=-2)
    yield make_case("gather_elements", "GatherElements", [x, np.array([[[0, -1, 1]]])], 11, axis=1)
    yield make_case("gather_nd", "GatherND", [x, np.array([[[0, 1]], [[2, -1]]])], 12, batch_dims=1)
    yield make_case("one_hot", "OneHot", [np.array([0, 2, -1, 7]), np.array(3), rand(2)], 11,
                    axis=0)
    yield make_case("eye_like", "EyeLike", [x[0]], 9, k=-1, dtype=7)
    yield make_case("shape15", "Shape", [x], 15, start=-2)
    yield make_case("size", "Size", [x], 7)
    yield make_case("range_float", "Range", [np.float32(1), np.float32(2), np.float32(0.3)], 11)
    yield make_case("range_down", "Range", [ints(10)[0], ints(-3)[0], ints(-4)[0]], 11)
    yield make_case("trilu", "Trilu", [rand(2, 4, 5), np.array(-1)], 14, upper=0)
    yield make_case("dropout7", "Dropout", [x], 7, ratio=0.3)
    yield make_case("dropout10", "Dropout", [x], 10, outputs=2, ratio=0.3)
    yield make_case("dropout12", "Dropout", [x, np.float32(0.5), np.array(False)], 12, outputs=2)


def window_cases():
    x = rand(2, 4, 7, 8)
    yield make_case("conv1d", "Conv", [rand(1, 3, 9), rand(5, 3, 3), rand(5)], 7, pads=[1, 2])
    yield make_case("conv2d", "Conv", [x, rand(6, 2, 3, 2)], 7, group=2, strides=[2, 1],
                    dilations=[1, 2], pads=[1, 0, 2, 3])
    yield make_case("conv3d", "Conv", [rand(1, 2, 5, 5, 5), rand(3, 2, 2, 3, 1)], 11)
    yield make_case("conv_depthwise", "Conv", [x, rand(8, 1, 3, 3), rand(8)], 11, group=4)
    for mode in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        yield make_case("conv_" + mode, "Conv", [x, rand(3, 4, 2, 4)], 11, auto_pad=mode,
                        strides=[2, 3])
        yield make_case("max_pool_" + mode, "MaxPool", [x], 12, auto_pad=mode, kernel_shape=[2, 3],
                        strides=[2, 2])
        yield make_case("average_pool_" + mode, "AveragePool", [x], 11, auto_pad=mode,
                        kernel_shape=[2, 3], strides=[2, 2])
    for opset in (7, 11):
        yield make_case("conv_transpose%d" % opset, "ConvTranspose", [x, rand(4, 3, 3, 2), rand(6)],
                        opset, group=2, strides=[2, 3], pads=[1, 0, 2, 1], output_padding=[1, 2])
    yield make_case("conv_transpose_crop", "ConvTranspose", [x, rand(4, 3, 2, 2)], 11,
                    pads=[2, 1, 2, 3])
    yield make_case("conv_transpose_dilated", "ConvTranspose", [rand(1, 2, 5), rand(2, 3, 3)], 11,
                    dilations=[2], strides=[2])
    for mode in ("NOTSET", "SAME_UPPER", "SAME_LOWER"):
        yield make_case("conv_transpose_shape_" + mode, "ConvTranspose", [x, rand(4, 3, 3, 3)], 11,
                        output_shape=[15, 18], strides=[2, 2], auto_pad=mode)
        yield make_case("conv_transpose_even_" + mode, "ConvTranspose", [x, rand(4, 3, 3, 3)], 11,
                        output_shape=[14, 16], strides=[2, 2], auto_pad=mode)
    for opset in (7, 8):
        yield make_case("max_pool%d" % opset, "MaxPool", [x], opset, kernel_shape=[3, 2],
                        pads=[1, 0, 1, 1], strides=[2, 2])
    yield make_case("max_pool_ceil", "MaxPool", [x], 10, kernel_shape=[3, 3], strides=[2, 3],
                    ceil_mode=1, dilations=[1, 2])
    yield make_case("max_pool_uint8", "MaxPool", [np.uint8(rand(1, 1, 5, 5) * 50 + 99)], 12,
                    kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    yield make_case("average_pool7", "AveragePool", [x], 7, kernel_shape=[3, 2], pads=[1, 0, 1, 1])
    yield make_case("average_pool_include", "AveragePool", [x], 7, kernel_shape=[3, 2],
                    pads=[1, 0, 1, 1], count_include_pad=1)
    yield make_case("average_pool_ceil", "AveragePool", [x], 10, kernel_shape=[3, 3],
                    strides=[2, 3], ceil_mode=1, pads=[1, 1, 1, 1])
    yield make_case("average_pool_ceil_include", "AveragePool", [x], 19, kernel_shape=[3, 3],
                    strides=[2, 3], ceil_mode=1, pads=[1, 1, 1, 1], count_include_pad=1)
    yield make_case("lp_pool", "LpPool", [x], 11, kernel_shape=[3, 2], pads=[1, 0, 1, 1], p=3)
    for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
        yield make_case(op, op, [x], 7)
    for mode in ("nearest", "linear"):
        yield make_case("upsample7_" + mode, "Upsample", [x], 7, mode=mode,
                        scales=[1.0, 1.0, 2.0, 1.5])
        for op, opset in (("Upsample", 9), ("Resize", 10)):
            yield make_case("%s%d_%s" % (op, opset, mode), op, [x, np.float32([1, 1, 1.7, 2])],
                            opset, mode=mode)
    yield make_case("resize10_down", "Resize", [x, np.float32([1, 1, 0.5, 0.33333334])], 10)
    for mode in ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"):
        for how in ("nearest", "linear", "cubic"):
            yield make_case("resize_%s_%s" % (mode, how), "Resize",
                            [x, None, None, ints(2, 4, 10, 5)], 13, mode=how,
                            coordinate_transformation_mode=mode)
    for nearest in ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil"):
        yield make_case("resize_nearest_" + nearest, "Resize",
                        [x, None, np.float32([1, 1, 0.6, 3])], 13, nearest_mode=nearest,
                        coordinate_transformation_mode="asymmetric")
    yield make_case("resize11_empty_roi", "Resize", [x, np.float32([]), np.float32([1, 1, 2, 2])],
                    11, mode="linear")
    yield make_case("resize_antialias", "Resize", [x, None, np.float32([1, 1, 0.4, 0.5])], 18,
                    mode="linear", antialias=1, exclude_outside=1)


def matrix_cases():
    for a, b in (((3,), (3,)), ((3,), (3, 4)), ((2, 3), (3,)), ((5, 2, 3), (3,)), ((3,), (5, 3, 2)),
                 ((5, 1, 2, 3), (4, 3, 2)), ((4, 2, 3), (3, 5)), ((1, 2, 3), (4, 3, 2))):
        yield make_case("matmul_%s_%s" % (len(a), "x".join(map(str, b))), "MatMul",
                        [rand(*a), rand(*b)], 9)
    yield make_case("matmul_int", "MatMul", [np.int32(rand(2, 3) * 9), np.int32(rand(3, 2) * 9)], 9)
    for alpha, beta in ((1.0, 1.0), (0.5, 2.0), (0.0, 1.0), (1.0, 0.0)):
        yield make_case("gemm_%g_%g" % (alpha, beta), "Gemm", [rand(4, 3), rand(5, 4), rand(5)], 9,
                        alpha=alpha, beta=beta, transA=1, transB=1)
    yield make_case("gemm_zero_nan", "Gemm", [rand(2, 3), rand(3, 2), np.float32([[np.nan]])], 9,
                    beta=0.0)
    yield make_case("gemm7", "Gemm", [rand(2, 3), rand(3, 4), rand(2, 1)], 7)
    yield make_case("gemm11_no_c", "Gemm", [rand(2, 3), rand(3, 4)], 11)
    for equation, shapes in (
            ("ij,jk->ik", ((2, 3), (3, 4))), ("bhid,bhjd->bhij", ((2, 3, 4, 5), (2, 3, 6, 5))),
            ("...ij,...jk", ((2, 1, 3, 4), (1, 5, 4, 2))), ("ii->i", ((3, 3),)), ("ii", ((3, 3),)),
            ("ijk->kj", ((2, 3, 4),)), ("i,j->ij", ((3,), (4,))), ("ij,ij->", ((3, 4), (3, 4))),
            ("bij,bj->bi", ((2, 3, 4), (2, 4))), ("ab,bc,cd->ad", ((2, 3), (3, 4), (4, 5))),
            ("bn...,n->b...", ((2, 3, 4, 5), (3,))), ("aab,b->a", ((3, 3, 2), (2,)))):
        yield make_case("einsum_" + equation.replace(">", "").replace(",", "_"), "Einsum",
                        [rand(*s) for s in shapes], 12, equation=equation)


def determinant_cases():
    for n in (1, 2, 3, 4, 5, 8):
        yield make_case("det_%d" % n, "Det", [rand(2, 3, n, n)], 11)
    singular = rand(5, 5)
    singular[:, 3] = singular[:, 1] * 2
    yield make_case("det_singular", "Det", [np.float32([[0, 0, 0, 1], [0, 2, 0, 0], [0, 0, 3, 0],
                                                        [4, 0, 0, 0]])], 11)
    yield make_case("det_column_of_zeros", "Det", [singular * np.float32([1, 0, 1, 1, 1])], 11)
    yield make_case("det_pivots", "Det", [np.float32(np.eye(6)[[3, 1, 0, 2, 5, 4]] * 2)], 11)


def bit_cases():
    x = np.uint8([1, 128, 255, 7])
    for direction in ("LEFT", "RIGHT"):
        for dtype in (np.uint8, np.uint32, np.uint64):
            yield make_case("shift_%s_%s" % (direction, np.dtype(dtype).name), "BitShift",
                            [x.astype(dtype), np.array([1, 7, 4, 0], dtype)], 11,
                            direction=direction)


def inverse_cases():
    x = np.float32([-1, -0.999, -0.5, -1e-4, -0.0, 0, 1e-7, 0.3, 0.99999, 1, 1.5, np.nan])
    wide = np.float32([-1e30, -3e5, -2, -0.5, -1e-5, -0.0, 0, 1e-20, 0.3, 2, 1e4, 3e38, np.inf])
    for op in ("Asin", "Acos", "Atanh"):
        yield make_case(op, op, [x], 9)
    for op in ("Atan", "Asinh"):
        yield make_case(op, op, [wide], 9)
    yield make_case("Acosh", "Acosh", [np.float32([0.5, 1, 1 + 2**-20, 1.5, 7, 1e10, 3e38])], 9)


def reduce_cases():
    x = rand(2, 3, 4)
    for kind in ("Sum", "Mean", "Prod", "Max", "Min", "L1", "L2", "SumSquare", "LogSumExp"):
        yield make_case("reduce7_" + kind, "Reduce" + kind, [x], 7, axes=[0, 2])
        yield make_case("reduce11_" + kind, "Reduce" + kind, [x], 11, axes=[-1], keepdims=0)
        yield make_case("reduce13_all_" + kind, "Reduce" + kind, [x], 13)
        yield make_case("reduce18_" + kind, "Reduce" + kind, [x, ints(-2)], 18, keepdims=0)
    yield make_case("reduce_noop", "ReduceSum", [x], 13, noop_with_empty_axes=1)
    yield make_case("reduce_log_sum", "ReduceLogSum", [np.abs(x)], 11, axes=[1])
    yield make_case("reduce_infinite", "ReduceLogSumExp", [np.float32([[-np.inf, -np.inf],
                                                                      [np.inf, 1]])], 13, axes=[1])
    yield make_case("reduce_mean_int", "ReduceMean", [np.int32([[7, -8], [1, 2]])], 11, axes=[1])
    yield make_case("reduce_empty", "ReduceSum", [rand(2, 0), ints(1)], 13)
    for op in ("ArgMax", "ArgMin"):
        for last in (0, 1):
            yield make_case("%s_%d" % (op, last), op,
                            [np.float32([[1, 3, 3, 1], [2, 2, 2, 2]])], 12, axis=-1,
                            select_last_index=last)
        yield make_case(op + "7", op, [x], 7, axis=1, keepdims=0)
    for exclusive in (0, 1):
        for reverse in (0, 1):
            yield make_case("cumsum_%d%d" % (exclusive, reverse), "CumSum", [x, ints(-1)[0]], 11,
                            exclusive=exclusive, reverse=reverse)


def normalization_cases():
    x = rand(2, 4, 3, 5)
    c = [rand(4), rand(4), rand(4), np.abs(rand(4)) + 0.1]
    for op in ("Softmax", "LogSoftmax", "Hardmax"):
        for opset, axis in ((7, 1), (11, -2), (11, 0), (13, 1), (13, -1)):
            yield make_case("%s%d_%d" % (op, opset, axis), op, [x], opset, axis=axis)
    yield make_case("softmax_large", "Softmax", [np.float32([[1e4, 1e4 + 1, -1e4]])], 13)
    for opset in (7, 9, 14, 15):
        yield make_case("batch_norm%d" % opset, "BatchNormalization", [x, *c], opset, epsilon=1e-3)
    yield make_case("batch_norm_2d", "BatchNormalization", [rand(3, 4), *c], 9)
    yield make_case("instance_norm", "InstanceNormalization", [x, *c[:2]], 7)
    yield make_case("layer_norm", "LayerNormalization", [x, rand(3, 5), rand(3, 5)], 17, axis=2)
    yield make_case("layer_norm_all", "LayerNormalization", [x, rand(5)], 17, outputs=3)
    yield make_case("group_norm", "GroupNormalization", [x, *c[:2]], 21, num_groups=2)
    yield make_case("group_norm18", "GroupNormalization", [x, *(v[:2] for v in c[:2])], 18,
                    num_groups=2)
    yield make_case("lrn", "LRN", [x], 7, size=3, alpha=0.5, bias=2.0)
    for p in (1, 2):
        yield make_case("lp_norm%d" % p, "LpNormalization", [x], 7, axis=1, p=p)
    yield make_case("mvn", "MeanVarianceNormalization", [x], 9)


def quantization_cases():
    x = rand(2, 3, 4) * 40
    u8, i8 = np.uint8(x + 120), np.int8(x)
    scales = np.float32([0.5, 0.25, 2])
    yield make_case("quantize10", "QuantizeLinear", [x, np.float32(0.5), np.uint8(100)], 10)
    yield make_case("quantize13", "QuantizeLinear", [x, scales, np.int8([1, -2, 3])], 13, axis=1)
    yield make_case("quantize_ties", "QuantizeLinear", [np.float32([0.5, 1.5, 2.5, -0.5, 1e9]),
                                                        np.float32(1)], 10)
    yield make_case("dequantize10", "DequantizeLinear", [u8, np.float32(0.5), np.uint8(100)], 10)
    yield make_case("dequantize13", "DequantizeLinear", [i8, scales, np.int8([1, -2, 3])], 13)
    yield make_case("dequantize_i32", "DequantizeLinear", [np.int32(x * 1000), np.float32(0.1)], 10)
    yield make_case("dequantize_blocks", "DequantizeLinear",
                    [i8[0], np.abs(rand(3, 2)) + 0.1, np.int8(rand(3, 2) * 9)], 21, axis=1,
                    block_size=2)


def network_cases():
    """Whole networks: those inside the onnx package that a machine without much time can run."""
    folder = os.path.join(os.path.dirname(onnx.__file__), "backend/test/data/light")
    for name in ("light_squeezenet", "light_shufflenet"):
        model = onnx.load(os.path.join(folder, name + ".onnx"))
        initialized = {tensor.name for tensor in model.graph.initializer}
        inputs = [i for i in model.graph.input if i.name not in initialized]
        del model.graph.input[:]
        model.graph.input.extend(inputs)
        shapes = [[d.dim_value for d in i.type.tensor_type.shape.dim] for i in inputs]
        yield onnx_cases.Case(name, model, [rand(*shape) for shape in shapes], [])


FAMILIES = (elementwise_cases, movement_cases, window_cases, matrix_cases, determinant_cases,
            bit_cases, inverse_cases, reduce_cases, normalization_cases, quantization_cases,
            network_cases)


class OnnxOpsets(unittest.TestCase):
    def check_family(self, family):
        cases, wrong = peers.refer(family())
        self.assertEqual("\n".join(wrong + peers.wrong_on_oracle(cases)), "")


def add_test(family):
    setattr(OnnxOpsets, "test_" + family.__name__, lambda self: self.check_family(family))


for each in FAMILIES:
    add_test(each)

if __name__ == "__main__":
    unittest.main()
