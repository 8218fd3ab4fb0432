// SPDX-License-Identifier: MIT
// ONNX's element types as ours. The types narrower than a byte and the 8-bit floats are stored
// types: the graph has no arithmetic in them. A tensor of such a type is held in a carrier dtype,
// an element a byte, and the reader remembers which type it is: the integers as their numbers in i8
// or u8, the floats as their codes in u8.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "codegen/ir/graph.h"

namespace camshaft::onnx {

using ir::DType;

enum class Narrow : uint8_t {
  kNone,  // the dtype itself
  kUInt4,
  kInt4,
  kUInt2,
  kInt2,
  kFloat8E4M3FN,
  kFloat8E4M3FNUZ,
  kFloat8E5M2,
  kFloat8E5M2FNUZ,
  kFloat8E8M0,  // powers of two, without a sign
  kFloat6E2M3,
  kFloat6E3M2,
  kFloat4E2M1,
};

struct ElementType {
  DType dtype = DType::kFloat32;  // the carrier where `narrow` is not kNone
  Narrow narrow = Narrow::kNone;
  bool operator==(const ElementType&) const = default;
};

// The type for a TensorProto.DataType, or nothing where we have none.
std::optional<ElementType> to_element_type(int64_t data_type);
// The same for those that are a dtype.
std::optional<DType> to_dtype(int64_t data_type);
// The TensorProto.DataType for a dtype.
int32_t to_data_type(DType dtype);
// "float16", "string"; the number for one that we have never heard of.
std::string data_type_name(int64_t data_type);
// "int4", "f32".
std::string element_type_name(ElementType type);

// What the codes of a narrow type mean.
struct NarrowFormat {
  int bits;  // of an element in a file
  bool is_float;
  bool is_signed;
  // Floats: a sign, `exponent_bits` with this bias, `mantissa_bits`; codes as in IEEE 754 but for
  // what follows. The largest finite code, without the sign; what infinity and NaN become (-1: the
  // type has no such code). In the "uz" types NaN is the code of -0, and there is no -0.
  int exponent_bits = 0;
  int mantissa_bits = 0;
  int bias = 0;
  int largest = 0;
  int infinity = -1;
  int nan = -1;
  bool has_negative_zero = true;
};
const NarrowFormat& narrow_format(Narrow type);  // not of kNone

// The number that a code stands for; the high bits of the byte beyond the type's are ignored.
double narrow_value(Narrow type, uint8_t code);

}  // namespace camshaft::onnx
