// SPDX-License-Identifier: MIT
#include "codegen/onnx/quantized.h"

#include <algorithm>
#include <utility>

#include "codegen/ir/literal.h"
#include "codegen/onnx/builder.h"

namespace camshaft::onnx {
namespace {

// Where each element of a tensor of `shape` finds its own in a parameter that broadcasts against
// it.
Shape broadcast_strides(const Shape& shape, const Shape& parameter) {
  Shape strides(shape.size(), 0);
  int64_t stride = 1;
  for (size_t i = 0; i < parameter.size(); ++i) {  // from the last axis
    const size_t axis = shape.size() - 1 - i;
    const int64_t extent = parameter[parameter.size() - 1 - i];
    if (extent != 1) strides[axis] = stride;
    stride *= extent;
  }
  return strides;
}

Value known_difference(Value x, Value zero_point) {
  const Shape& shape = x.shape();
  const ir::Literal& data = *x.literal();
  const ir::Literal* zeros = zero_point.literal();
  const Shape strides =
      zeros == nullptr ? Shape(shape.size(), 0) : broadcast_strides(shape, zeros->type.shape);
  ir::Literal result = ir::zero_literal({DType::kInt32, shape});
  Shape index(shape.size(), 0);
  int64_t place = 0;
  for (int64_t i = 0; i < x.elements(); ++i) {
    const int64_t zero = zeros == nullptr ? 0 : ir::literal_as_int(*zeros, place);
    ir::set_literal_element_int(result, i, ir::literal_as_int(data, i) - zero);
    for (size_t axis = shape.size(); axis-- > 0;) {
      place += strides[axis];
      if (++index[axis] < shape[axis]) break;
      place -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return x.builder()->constant(std::move(result));
}

}  // namespace

Value along_axis(Value parameter, int axis, int rank) {
  if (!parameter || parameter.elements() == 1) return reshape(parameter, {});
  return parameter.rank() == 1 && axis < rank ? place_axes(parameter, {axis}, rank) : parameter;
}

Value along_rows(Value parameter, Value matrix) {
  return along_axis(parameter, std::max(matrix.rank() - 2, 0), std::max(matrix.rank(), 1));
}
Value along_columns(Value parameter, Value matrix) {
  return along_axis(parameter, std::max(matrix.rank() - 1, 0), std::max(matrix.rank(), 1));
}

Value without_zero_point(Value x, Value zero_point) {
  if (!x || !base::is_int(x.dtype()) || x.narrow() != Narrow::kNone) return cast(x, DType::kInt32);
  const bool fits = !zero_point || broadcast_shapes(x.shape(), zero_point.shape()) == x.shape();
  const bool is_known =
      !zero_point || (zero_point.literal() != nullptr && zero_point.narrow() == Narrow::kNone &&
                      base::is_int(zero_point.dtype()));
  if (x.literal() != nullptr && is_known && fits) return known_difference(x, zero_point);
  const Value wide = cast(x, DType::kInt32);
  return zero_point ? wide - cast(zero_point, DType::kInt32) : wide;
}

Value dequantize(Value x, Value scale, Value zero_point) {
  return cast(without_zero_point(x, zero_point), DType::kFloat32) * cast(scale, DType::kFloat32);
}

Value quantize(Value x, Value scale, Value zero_point, DType to) {
  return quantize_quotient(x / cast(scale, DType::kFloat32), zero_point, to);
}

// The sum is exact in f32 wherever it does not saturate.
Value quantize_quotient(Value quotient, Value zero_point, DType to) {
  const Value rounded = round(quotient);
  return cast(zero_point ? rounded + cast(zero_point, DType::kFloat32) : rounded, to);
}

}  // namespace camshaft::onnx
