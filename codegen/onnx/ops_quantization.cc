// SPDX-License-Identifier: MIT
// Affine quantization: one scale for the tensor, for each slice of an axis, or for each block of
// one.
#include <utility>

#include "codegen/onnx/narrow_cast.h"
#include "codegen/onnx/op_table.h"

namespace camshaft::onnx {
namespace {

// The tensor that is quantized, and along which axis its scales lie. Where blocks of it have a
// scale each and fill the axis, `x` has that axis divided in two, [blocks, block], so that scales
// stay as small as they are.
struct Operand {
  Value x;
  Shape shape;  // of the whole
  int axis = 0;
  int64_t block = 0;  // 0: no blocks
  bool is_divided = false;
};

Operand operand_of(NodeReader& node, Value x) {
  Operand operand{x, x.shape()};
  const int64_t axis = node.int_attr("axis", 1);
  operand.block = node.int_attr("block_size", 0);
  if (operand.block == 0) {
    // The axis of a tensor whose scale is a scalar need not exist.
    if (node.input(1).elements() != 1) operand.axis = node.axis(axis, x.rank());
    return operand;
  }
  operand.axis = node.axis(axis, x.rank());
  if (operand.block < 0 || x.rank() == 0) {
    node.invalid("block_size must not be negative, and a scalar has no blocks");
    operand.block = 0;
    return operand;
  }
  operand.is_divided = x.dim(operand.axis) % operand.block == 0;
  if (!operand.is_divided) return operand;
  Shape divided = x.shape();
  divided[static_cast<size_t>(operand.axis)] /= operand.block;
  divided.insert(divided.begin() + operand.axis + 1, operand.block);
  operand.x = reshape(x, std::move(divided));
  return operand;
}

// Each number of a parameter `block` times.
Value repeated(Value parameter, const Operand& operand) {
  const int axis = operand.axis;
  const int64_t blocks = parameter.dim(axis);
  Shape stretched = parameter.shape();
  stretched.insert(stretched.begin() + axis + 1, operand.block);
  Shape flat = parameter.shape();
  flat[static_cast<size_t>(axis)] = blocks * operand.block;
  const Value each = broadcast_to(insert_axis(parameter, axis + 1), stretched);
  return slice_axis(reshape(each, std::move(flat)), axis, 0,
                    operand.shape[static_cast<size_t>(axis)]);
}

// A scale or zero point as it broadcasts against operand.x: it is a scalar, [extent of axis], or
// with blocks of the operand's shape with the axis divided.
Value over(NodeReader& node, Value parameter, const Operand& operand) {
  if (!parameter || parameter.elements() == 1) return reshape(parameter, {});
  const auto rank = static_cast<int>(operand.shape.size());
  const int64_t extent = rank == 0 ? 1 : operand.shape[static_cast<size_t>(operand.axis)];
  if (operand.block > 0) {
    const int64_t blocks = extent == 0 ? 0 : (extent - 1) / operand.block + 1;
    if (parameter.rank() == rank && parameter.dim(operand.axis) == blocks) {
      return operand.is_divided ? insert_axis(parameter, operand.axis + 1)
                                : repeated(parameter, operand);
    }
  } else if (parameter.rank() == 1 && rank > 0 && parameter.dim(0) == extent) {
    return place_axes(parameter, {operand.axis}, rank);
  }
  return node.invalid("scales %s don't fit axis %d of %s, in blocks of %lld",
                      shape_text(parameter.shape()).c_str(), operand.axis,
                      shape_text(operand.shape).c_str(), static_cast<long long>(operand.block));
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
  const Operand operand = operand_of(node, node.input(0));
  const Value zero = node.input(2);
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
  Value y = cast(operand.x, precision) / over(node, cast(scales, precision), operand);
  const Value offset = over(node, numbers_of(zero), operand);
  const bool is_float = target.narrow != Narrow::kNone && narrow_format(target.narrow).is_float;
  if (!is_float) return reshape(quantize_to_int(y, offset, target), operand.shape);
  if (offset) y = cast(y, DType::kFloat32) + cast(offset, DType::kFloat32);
  return reshape(encode_narrow(y, target.narrow, {.saturate = saturate}), operand.shape);
}

// Differences are exact: in f32 for up to 16 bits, else in i32.
Value read_dequantize_linear(NodeReader& node) {
  const Operand operand = operand_of(node, numbers_of(node.input(0)));
  const Value scales = numbers_of(node.input(1));
  DType target = scales.dtype();
  if (node.int_attr("output_dtype", 0) != 0) target = node.dtype_attr("output_dtype", target);
  const DType exact = operand.x.dtype() == DType::kInt32 ? DType::kInt32 : DType::kFloat32;
  Value y = cast(operand.x, exact);
  if (node.input(2)) y = y - cast(over(node, numbers_of(node.input(2)), operand), exact);
  const DType wide = target == DType::kFloat64 ? target : DType::kFloat32;
  return cast(reshape(cast(y, wide) * cast(over(node, scales, operand), wide), operand.shape),
              target);
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
