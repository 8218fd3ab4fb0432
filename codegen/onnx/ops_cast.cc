// SPDX-License-Identifier: MIT
// Operators that change the element type.
#include <string>

#include "codegen/onnx/format.h"
#include "codegen/onnx/narrow_cast.h"
#include "codegen/onnx/op_table.h"

namespace camshaft::onnx {
namespace {

NarrowRounding rounding_attrs(NodeReader& node) {
  NarrowRounding rounding;
  rounding.saturate = node.flag_attr("saturate", true);
  const std::string mode = node.string_attr("round_mode", "up");
  if (mode == "down") rounding.power = PowerRounding::kDown;
  if (mode == "nearest") rounding.power = PowerRounding::kNearest;
  if (mode != "up" && mode != "down" && mode != "nearest") {
    node.corrupt("round_mode must be up, down or nearest, not '%s'", printable(mode).c_str());
  }
  return rounding;
}

Value read_cast(NodeReader& node) {
  node.required_int("to");
  const ElementType to = node.element_attr("to", node.input(0).element_type());
  return convert(node.input(0), to, rounding_attrs(node));
}

Value read_cast_like(NodeReader& node) {
  return convert(node.input(0), node.input(1).element_type(), rounding_attrs(node));
}

int bits_of(ElementType type) {
  if (type.narrow != Narrow::kNone) return narrow_format(type.narrow).bits;
  return static_cast<int>(base::dtype_size_bytes(type.dtype)) * 8;
}

// Bool and the narrow types go by way of u8. A bool is held as 0 or 1, so that of other bits is 1.
Value read_bit_cast(NodeReader& node) {
  const Value x = node.input(0);
  const ElementType from = x.element_type();
  node.required_int("to");
  const ElementType to = node.element_attr("to", from);
  if (bits_of(from) != bits_of(to)) {
    return node.invalid("%s has not the size of %s", element_type_name(to).c_str(),
                        element_type_name(from).c_str());
  }
  if (from == to) return x;
  const bool is_narrow = from.narrow != Narrow::kNone || to.narrow != Narrow::kNone;
  if (!is_narrow && from.dtype != DType::kBool && to.dtype != DType::kBool) {
    return bitcast(x, to.dtype);
  }
  const Value codes = from.narrow != Narrow::kNone ? narrow_codes(x)
                      : from.dtype == DType::kBool ? cast(x, DType::kUInt8)
                                                   : bitcast(x, DType::kUInt8);
  if (to.narrow != Narrow::kNone) return from_narrow_codes(codes, to.narrow);
  return to.dtype == DType::kBool ? cast(codes, DType::kBool) : bitcast(codes, to.dtype);
}

constexpr OpRow kOps[] = {
    {"Cast", 7, 1, 1, read_cast},
    {"CastLike", 15, 2, 2, read_cast_like},
    {"BitCast", 26, 1, 1, read_bit_cast},
};

}  // namespace

OpFamily cast_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
