// SPDX-License-Identifier: MIT
// Affine quantization: one scale for the tensor, for each slice of an axis, or for each block of
// one.
#include <utility>

#include "codegen/onnx/narrow_cast.h"
#include "codegen/onnx/op_table.h"

namespace camshaft::onnx {
namespace {

// A scale or zero point stretched over x: a scalar, [extent of axis], or with blocks x's shape with
// the axis divided.
Value over_blocks(NodeReader& node, Value parameter, Value x, int axis, int64_t block) {
  const int64_t blocks = parameter.dim(axis);
  if (parameter.rank() != x.rank() || block > INT32_MAX ||
      (x.dim(axis) - 1) / block + 1 != blocks) {
    return node.invalid("scales %s don't fit %s in blocks of %lld",
                        shape_text(parameter.shape()).c_str(), shape_text(x.shape()).c_str(),
                        static_cast<long long>(block));
  }
  Shape repeated = parameter.shape();
  repeated.insert(repeated.begin() + axis + 1, block);
  Shape flat = parameter.shape();
  flat[static_cast<size_t>(axis)] = blocks * block;
  const Value each = broadcast_to(insert_axis(parameter, axis + 1), repeated);
  return slice_axis(reshape(each, std::move(flat)), axis, 0, x.dim(axis));
}

Value over(NodeReader& node, Value parameter, Value x, int64_t axis, int64_t block) {
  if (!parameter || parameter.elements() == 1) return reshape(parameter, {});
  const int place = node.axis(axis, x.rank());
  if (x.rank() == 0) return {};
  if (block > 0) return over_blocks(node, parameter, x, place, block);
  if (parameter.rank() == 1 && parameter.dim(0) == x.dim(place)) {
    return place_axes(parameter, {place}, x.rank());
  }
  return node.invalid("scales %s don't fit axis %d of %s", shape_text(parameter.shape()).c_str(),
                      place, shape_text(x.shape()).c_str());
}

// What a narrow value stands for in arithmetic; any other value is that itself.
Value numbers_of(Value x) {
  return x && x.narrow() != Narrow::kNone ? decode_narrow(x, DType::kFloat32) : x;
}

// Rounded, plus the zero point, saturated to an integer type.
Value quantize_to_int(Value quotient, Value zero, ElementType target) {
  Value y = cast(round(quotient), DType::kFloat32);
  if (zero) y = y + cast(zero, DType::kFloat32);
  if (target.narrow == Narrow::kNone) return cast(y, target.dtype);
  const NarrowFormat& format = narrow_format(target.narrow);
  const double count = 1 << format.bits;
  const double lowest = format.is_signed ? -count / 2 : 0;
  return encode_narrow(min(max(y, lowest), lowest + count - 1), target.narrow);
}

// The quotient is rounded in the dtype of the scale, or `precision`; the sum with the zero point is
// exact in f32. A cast to an integer saturates.
Value read_quantize_linear(NodeReader& node) {
  const Value x = node.input(0);
  const Value zero = node.input(2);
  const int64_t axis = node.int_attr("axis", 1);
  const int64_t block = node.int_attr("block_size", 0);
  const bool saturate = node.flag_attr("saturate", true);
  const ElementType otherwise = zero ? zero.element_type() : ElementType{DType::kUInt8};
  // 0 stands for "not given".
  const ElementType target = node.int_attr("output_dtype", 0) != 0
                                 ? node.element_attr("output_dtype", otherwise)
                                 : otherwise;
  const Value scales = numbers_of(node.input(1));
  DType precision = scales.dtype();
  if (node.int_attr("precision", 0) != 0) precision = node.dtype_attr("precision", precision);
  if (!base::is_float(precision)) precision = DType::kFloat32;
  if (target.narrow == Narrow::kNone &&
      (!base::is_int(target.dtype) || base::dtype_size_bytes(target.dtype) > 2)) {
    return node.unsupported("quantizes to %s", base::dtype_name(target.dtype));
  }
  const Value scale = over(node, cast(scales, precision), x, axis, block);
  const Value quotient = broadcast_to(cast(x, precision) / scale, x.shape());
  const Value offset = over(node, numbers_of(zero), x, axis, block);
  const bool is_float = target.narrow != Narrow::kNone && narrow_format(target.narrow).is_float;
  if (!is_float) return broadcast_to(quantize_to_int(quotient, offset, target), x.shape());
  Value y = quotient;
  if (offset) y = cast(y, DType::kFloat32) + cast(offset, DType::kFloat32);
  return encode_narrow(y, target.narrow, {.saturate = saturate});
}

// Differences are exact: in f32 for up to 16 bits, else in i32.
Value read_dequantize_linear(NodeReader& node) {
  const Value x = numbers_of(node.input(0));
  const Value scales = numbers_of(node.input(1));
  const int64_t axis = node.int_attr("axis", 1);
  const int64_t block = node.int_attr("block_size", 0);
  DType target = scales.dtype();
  if (node.int_attr("output_dtype", 0) != 0) target = node.dtype_attr("output_dtype", target);
  const DType exact = x.dtype() == DType::kInt32 ? DType::kInt32 : DType::kFloat32;
  Value y = cast(x, exact);
  if (node.input(2)) y = y - cast(over(node, numbers_of(node.input(2)), x, axis, block), exact);
  const DType wide = target == DType::kFloat64 ? target : DType::kFloat32;
  return cast(cast(y, wide) * cast(over(node, scales, x, axis, block), wide), target);
}

constexpr OpRow kOps[] = {
    {"QuantizeLinear", 10, 2, 3, read_quantize_linear},
    {"DequantizeLinear", 10, 2, 3, read_dequantize_linear},
    {"QuantizeLinear", 1, 2, 3, read_quantize_linear, kMicrosoft},
    {"DequantizeLinear", 1, 2, 3, read_dequantize_linear, kMicrosoft},
};

}  // namespace

OpFamily quantization_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
