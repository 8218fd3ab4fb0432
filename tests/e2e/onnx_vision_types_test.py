# SPDX-License-Identifier: MIT
"""Windows and samples: what is refused and in which words, and other floats than float32."""

import itertools
import tempfile
import unittest

import ml_dtypes
import numpy as np
import onnx
import onnx_cases
import onnx_vision_test as vision
import peers
from onnx import helper
from onnx_cases import make_case

F32 = np.float32


def zeros(*shape):
    return np.zeros(shape, F32)


def ints(*values):
    return np.array(values, np.int64)


IMAGE = zeros(1, 2, 5, 6)
BOXES = zeros(1, 4, 4)
# (operator, inputs, attributes, what the sentence says)
REFUSED = (
    ("GridSample", [IMAGE, zeros(1, 3, 3, 3)], {}, "grid"),
    ("GridSample", [IMAGE, zeros(2, 3, 3, 2)], {}, "grid"),
    ("GridSample", [IMAGE, zeros(1, 3, 3, 2)], {"mode": "area"}, "mode must be linear, nearest"),
    ("GridSample", [IMAGE, zeros(1, 3, 3, 2)], {"padding_mode": "wrap"},
     "padding_mode must be zeros, border or reflection"),
    ("GridSample", [zeros(1, 2, 0, 6), zeros(1, 3, 3, 2)], {}, "no elements to sample"),
    ("RoiAlign", [IMAGE, zeros(3, 5), ints(0, 0, 0)], {}, r"rois as \[R, 4\]"),
    ("RoiAlign", [IMAGE, zeros(3, 4), ints(0, 0)], {}, "one integer for each of the 3 regions"),
    ("RoiAlign", [IMAGE, zeros(3, 4), ints(0, 0, 0)], {"output_height": 0}, "must be positive"),
    ("RoiAlign", [IMAGE, zeros(3, 4), ints(0, 0, 0)], {"mode": "median"}, "mode"),
    ("NonMaxSuppression", [zeros(1, 4, 3), zeros(1, 1, 4)], {}, r"must be \[batch, boxes, 4\]"),
    ("NonMaxSuppression", [BOXES, zeros(1, 1, 5)], {}, r"scores \[batch, classes, boxes\]"),
    ("NonMaxSuppression", [BOXES, zeros(2, 1, 4)], {}, r"scores \[batch, classes, boxes\]"),
    ("Resize", [IMAGE, None, None, ints(1, 2, 3)], {}, "one scale or size for each axis"),
    ("Resize", [IMAGE, None, F32([1, 1, 2])], {}, "one scale"),
    ("Resize", [IMAGE, None, F32([1, 1, -2, 1])], {}, "can't resize axis 2 of extent 5 by -2"),
    ("Resize", [IMAGE, None, None, ints(1, 2, 3, 3)], {"mode": "area"}, "unknown value"),
    ("Resize", [IMAGE, None, None, ints(3, 3)],
     {"axes": [2, 3], "keep_aspect_ratio_policy": "larger"}, "stretch, not_larger or not_smaller"),
    ("Resize", [IMAGE, None, None, ints(3, 3)], {"axes": [2, 2]}, "axis is named twice"),
    ("Resize", [IMAGE, None, None, ints(3, 3)], {"axes": [2, 4]}, "4 is not one of the 4 axes"),
    ("Resize", [IMAGE, F32([0, 0, 1]), None, ints(1, 2, 3, 3)],
     {"coordinate_transformation_mode": "tf_crop_and_resize"}, "a begin and an end for each axis"),
    ("DeformConv", [IMAGE, zeros(3, 2, 3, 3), zeros(1, 17, 3, 4)], {}, "offset.* must be 1x18x3x4"),
    ("DeformConv", [IMAGE, zeros(3, 3, 3, 3), zeros(1, 18, 3, 4)], {}, "don't fit x of 1x2x5x6"),
    ("DeformConv", [IMAGE, zeros(3, 2, 3, 3), zeros(1, 18, 3, 4), zeros(4)], {}, "bias"),
    ("Col2Im", [zeros(1, 8, 12), ints(4, 5), ints(2, 2)], {}, None),
    ("Col2Im", [zeros(1, 8, 11), ints(4, 5), ints(2, 2)], {}, "12 positions of blocks of 4"),
    ("Col2Im", [zeros(1, 7, 12), ints(4, 5), ints(2, 2)], {}, r"\[N, C \* block, L\]|blocks of 4"),
    ("Col2Im", [zeros(1, 8, 12), ints(4, 5), ints(2, 0)], {}, "spatial axis|positive"),
    ("MaxUnpool", [zeros(1, 1, 2, 2), np.zeros((1, 1, 2, 3), np.int64)],
     {"kernel_shape": [2, 2]}, "integers of the shape of x, 1x1x2x2"),
    ("MaxUnpool", [zeros(1, 1, 2, 2), np.zeros((1, 1, 2, 2), np.int64), ints(1, 1, 2, 2)],
     {"kernel_shape": [2, 2], "strides": [2, 2]}, "must be at least 1x1x4x4"),
    ("ConvTranspose", [IMAGE, zeros(3, 2, 3, 3)], {}, r"weights must be \[C, O/groups, kernel"),
    ("ConvTranspose", [IMAGE, zeros(2, 2, 3, 3), zeros(3)], {}, "bias"),
    ("ConvTranspose", [IMAGE, zeros(2, 2, 3, 3)], {"output_shape": [7]}, "one extent"),
    ("ConvTranspose", [IMAGE, zeros(2, 2, 3, 3)], {"output_padding": [-1, 0]}, "not negative"),
    ("ConvTranspose", [IMAGE, zeros(2, 2, 3, 3)], {"pads": [4, 4, 4, 4]},
     "pads leave nothing of the output"),
)

# Operator -> the first opset from which on it means what it does at OPSET.
OPSET = 22
SAME_SINCE = ((vision.grid_sample, 20), (vision.affine_grid, 20), (vision.deform_conv, 19),
              (vision.roi_align, 16), (vision.conv_transpose, 11), (vision.col2im, 18),
              (vision.max_unpool, 11), (vision.resize, 18), (vision.resize_antialias, 18),
              (vision.average_pool, 19))
DTYPES = (np.float16, ml_dtypes.bfloat16, np.float64)


def with_dtype(case, dtype):
    """A case of float32 inputs that are rounded to a type, and the same of that type."""
    def rounded(value):
        return value.astype(dtype) if value.dtype == F32 else value

    narrow = onnx.ModelProto.FromString(case.model.SerializeToString())
    narrow.opset_import[0].version = OPSET
    inputs = [rounded(np.asarray(v)) for v in case.inputs]
    for info, value in zip(narrow.graph.input, inputs):
        info.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(value.dtype)
    wide = [v.astype(F32) if v.dtype == dtype else v for v in inputs]
    return (onnx_cases.Case(case.name, case.model, wide, []),
            onnx_cases.Case(case.name, narrow, inputs, []))


def some_cases(operator, since, count):
    """Cases of opsets in which the operator means the same as at OPSET."""
    make = vision.Maker(7)
    cases = (operator(make, "%s_%d" % (operator.__name__, i)) for i in itertools.count())
    fit = (c for c in cases if c.model.opset_import[0].version >= since)
    return list(itertools.islice(fit, count))


class OnnxVisionTypes(unittest.TestCase):
    maxDiff = None

    def test_bad_inputs_are_refused_in_words(self):
        cases = [make_case("case%d" % i, op, inputs, OPSET, **attributes)
                 for i, (op, inputs, attributes, _) in enumerate(REFUSED)]
        with tempfile.TemporaryDirectory() as folder:
            results = onnx_cases.run_cases(cases, folder)
        found = {r.case.name: r for r in results}
        for case, (op, _, _, sentence) in zip(cases, REFUSED):
            result = found[case.name]
            with self.subTest(op, says=sentence):
                if sentence is None:
                    self.assertEqual((result.status, result.problems), ("passed", []))
                else:
                    self.assertNotEqual(result.status, "passed")
                    self.assertRegex(" ".join(result.problems), sentence)
                    self.assertIn("(%s)" % op, " ".join(result.problems))

    def check(self, dtype):
        pairs = [with_dtype(c, dtype) for op, since in SAME_SINCE for c in some_cases(op, since, 4)]
        cases, wrong = peers.refer([wide for wide, _ in pairs])
        self.assertEqual((wrong, len(cases)), ([], 4 * len(SAME_SINCE)))
        for wide, (_, case) in zip(cases, pairs):
            case.outputs = [np.asarray(o).astype(dtype) for o in wide.outputs]
            case.rtol = onnx_cases.TWO_UNITS.get(np.dtype(dtype).name, 1e-4)
            # A sum of rounded terms may be small beside them.
            case.atol = case.rtol / 2 * max(abs(o).max(initial=0) for o in wide.outputs)
        narrow = [case for _, case in pairs]
        wrong = peers.wrong_on_oracle(narrow) + peers.wrong_on_target(narrow, "llvm")
        self.assertEqual("\n".join(wrong), "")

    def test_float64_is_not_float32(self):
        """float64 gives bits beyond those of float32, and the same on the target."""
        [(_, case)] = [with_dtype(c, np.float64) for c in some_cases(vision.grid_sample, 20, 1)]
        case.inputs[0] += 1e-9
        [y] = peers.run_on_target(case, "llvm").values()
        self.assertGreater(np.abs(y - y.astype(F32)).max(), 0)
        case.inputs[0] -= 1e-9
        [z] = peers.run_on_target(case, "llvm").values()
        self.assertGreater(np.abs(y - z).max(), 1e-10)
        self.assertLess(np.abs(y - z).max(), 1e-8)


for _dtype in DTYPES:
    setattr(OnnxVisionTypes, "test_" + np.dtype(_dtype).name,
            lambda self, dtype=_dtype: self.check(dtype))

if __name__ == "__main__":
    unittest.main()
