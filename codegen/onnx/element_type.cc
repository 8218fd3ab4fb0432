// SPDX-License-Identifier: MIT
#include "codegen/onnx/element_type.h"

#include <cmath>
#include <iterator>
#include <limits>

namespace camshaft::onnx {
namespace {

// By the number of TensorProto.DataType. The packaged onnx.proto is older than the last of them.
struct DataType {
  const char* name;
  std::optional<ElementType> type = {};
};
constexpr DataType kDataTypes[] = {
    {"undefined"},
    {"float", ElementType{DType::kFloat32}},
    {"uint8", ElementType{DType::kUInt8}},
    {"int8", ElementType{DType::kInt8}},
    {"uint16", ElementType{DType::kUInt16}},
    {"int16", ElementType{DType::kInt16}},
    {"int32", ElementType{DType::kInt32}},
    {"int64", ElementType{DType::kInt64}},
    {"string"},
    {"bool", ElementType{DType::kBool}},
    {"float16", ElementType{DType::kFloat16}},
    {"double", ElementType{DType::kFloat64}},
    {"uint32", ElementType{DType::kUInt32}},
    {"uint64", ElementType{DType::kUInt64}},
    {"complex64"},
    {"complex128"},
    {"bfloat16", ElementType{DType::kBFloat16}},
    {"float8e4m3fn", ElementType{DType::kUInt8, Narrow::kFloat8E4M3FN}},
    {"float8e4m3fnuz", ElementType{DType::kUInt8, Narrow::kFloat8E4M3FNUZ}},
    {"float8e5m2", ElementType{DType::kUInt8, Narrow::kFloat8E5M2}},
    {"float8e5m2fnuz", ElementType{DType::kUInt8, Narrow::kFloat8E5M2FNUZ}},
    {"uint4", ElementType{DType::kUInt8, Narrow::kUInt4}},
    {"int4", ElementType{DType::kInt8, Narrow::kInt4}},
    {"float4e2m1", ElementType{DType::kUInt8, Narrow::kFloat4E2M1}},
    {"float8e8m0", ElementType{DType::kUInt8, Narrow::kFloat8E8M0}},
    {"uint2", ElementType{DType::kUInt8, Narrow::kUInt2}},
    {"int2", ElementType{DType::kInt8, Narrow::kInt2}},
    {"float6e2m3", ElementType{DType::kUInt8, Narrow::kFloat6E2M3}},
    {"float6e3m2", ElementType{DType::kUInt8, Narrow::kFloat6E3M2}},
};
constexpr int64_t kDataTypeCount = std::size(kDataTypes);

// By Narrow.
constexpr NarrowFormat kFormats[] = {
    {},
    {.bits = 4, .is_float = false, .is_signed = false},
    {.bits = 4, .is_float = false, .is_signed = true},
    {.bits = 2, .is_float = false, .is_signed = false},
    {.bits = 2, .is_float = false, .is_signed = true},
    {8, true, true, 4, 3, 7, 0x7e, -1, 0x7f},
    {8, true, true, 4, 3, 8, 0x7f, -1, 0x80, false},
    {8, true, true, 5, 2, 15, 0x7b, 0x7c, 0x7e},
    {8, true, true, 5, 2, 16, 0x7f, -1, 0x80, false},
    {8, true, false, 8, 0, 127, 0xfe, -1, 0xff},
    {6, true, true, 2, 3, 1, 0x1f},
    {6, true, true, 3, 2, 3, 0x1f},
    {4, true, true, 2, 1, 1, 0x7},
};

double float_value(const NarrowFormat& format, int code) {
  const int sign_bit = format.is_signed ? 1 << (format.bits - 1) : 0;
  const double sign = (code & sign_bit) != 0 ? -1 : 1;
  const int magnitude = code & ~sign_bit;
  if (code == format.nan || magnitude == format.nan) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (magnitude == format.infinity) return sign * std::numeric_limits<double>::infinity();
  if (magnitude > format.largest) return std::numeric_limits<double>::quiet_NaN();
  const int mantissa = magnitude & ((1 << format.mantissa_bits) - 1);
  const int exponent = magnitude >> format.mantissa_bits;
  // Below the smallest exponent there is no leading 1; e8m0 has no numbers there.
  const bool is_normal = exponent > 0 || format.mantissa_bits == 0;
  const int digits = mantissa + (is_normal ? 1 << format.mantissa_bits : 0);
  const int scale = (is_normal ? exponent : 1) - format.bias - format.mantissa_bits;
  return sign * std::ldexp(digits, scale);
}

}  // namespace

std::optional<ElementType> to_element_type(int64_t data_type) {
  return data_type >= 0 && data_type < kDataTypeCount ? kDataTypes[data_type].type : std::nullopt;
}

std::optional<DType> to_dtype(int64_t data_type) {
  const std::optional<ElementType> type = to_element_type(data_type);
  return type && type->narrow == Narrow::kNone ? std::optional(type->dtype) : std::nullopt;
}

int32_t to_data_type(DType dtype) {
  int32_t number = 0;
  while (kDataTypes[number].type != ElementType{dtype}) ++number;
  return number;
}

std::string data_type_name(int64_t data_type) {
  if (data_type >= 0 && data_type < kDataTypeCount) return kDataTypes[data_type].name;
  return "type " + std::to_string(data_type);
}

std::string element_type_name(ElementType type) {
  if (type.narrow == Narrow::kNone) return base::dtype_name(type.dtype);
  for (const DataType& each : kDataTypes) {
    if (each.type == type) return each.name;
  }
  return "";
}

const NarrowFormat& narrow_format(Narrow type) {
  CAMSHAFT_CHECK(type != Narrow::kNone);
  return kFormats[static_cast<int>(type)];
}

double narrow_value(Narrow type, uint8_t code) {
  const NarrowFormat& format = narrow_format(type);
  const int low = code & ((1 << format.bits) - 1);
  if (format.is_float) return float_value(format, low);
  const bool is_negative = format.is_signed && (low >> (format.bits - 1)) != 0;
  return is_negative ? low - (1 << format.bits) : low;
}

}  // namespace camshaft::onnx
