// SPDX-License-Identifier: MIT
// Numbers that integers stand for: (x - zero point) * scale. What the operators on quantized
// tensors share. Scales and zero points must already broadcast against x, and a zero point may be
// absent.
#pragma once

#include "codegen/onnx/value.h"

namespace camshaft::onnx {

// A scale or zero point of one element as a scalar; one with an element for each index of `axis` of
// a tensor of `rank` axes with that axis; another as it is.
Value along_axis(Value parameter, int axis, int rank);

// The same for a matrix: an element for each row, each column. A vector has one of either.
Value along_rows(Value parameter, Value matrix);
Value along_columns(Value parameter, Value matrix);

// x - zero_point as i32. A known x stays known, however large: weights are subtracted from when
// compiling.
Value without_zero_point(Value x, Value zero_point);

// The number, in f32.
Value dequantize(Value x, Value scale, Value zero_point);

// The integer of dtype `to` nearest to x / scale, ties to even, plus the zero point; saturated.
Value quantize(Value x, Value scale, Value zero_point, DType to);

// The same for x already divided by the scale.
Value quantize_quotient(Value quotient, Value zero_point, DType to);

}  // namespace camshaft::onnx
