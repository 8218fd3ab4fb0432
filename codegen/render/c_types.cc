// SPDX-License-Identifier: MIT
#include "codegen/render/c_types.h"

#include <charconv>
#include <cmath>

namespace camshaft::render {

namespace {

using ir::DType;

std::string to_text(double value, bool is_single) {
  char buffer[64];
  const auto end = is_single
                       ? std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value))
                       : std::to_chars(buffer, buffer + sizeof buffer, value);
  std::string text(buffer, end.ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

// "f32x8": the lanes' name follows dtype_name().
std::string vector_name(DType dtype, int32_t lanes) {
  const DType named = dtype == DType::kBFloat16 ? DType::kUInt16 : dtype;
  return std::string(base::dtype_name(named)) + "x" + std::to_string(lanes);
}

std::string vector_declaration(const std::string& name, DType dtype, int32_t lanes) {
  return "typedef " + std::string(c_scalar_type(dtype)) + " " + name +
         " __attribute__((ext_vector_type(" + std::to_string(lanes) + ")));\n";
}

}  // namespace

const char* c_scalar_type(DType dtype) {
  constexpr const char* kNames[base::kDTypeCount] = {
      "float",   "double",  "_Float16", "uint16_t", "int8_t",   "int16_t", "int32_t",
      "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "bool"};
  return kNames[static_cast<int>(dtype)];
}

const char* c_memory_type(DType dtype) {
  return dtype == DType::kBool ? "uint8_t" : c_scalar_type(dtype);
}

std::string c_float_literal(double value, DType dtype) {
  const bool is_single = dtype == DType::kFloat32;
  const std::string suffix = is_single ? "f" : "";
  if (std::isnan(value)) return "__builtin_nan" + suffix + "(\"\")";
  if (is_single) value = static_cast<double>(static_cast<float>(value));
  const std::string sign = std::signbit(value) ? "-" : "";
  if (std::isinf(value)) return sign + "__builtin_inf" + suffix + "()";
  return sign + to_text(std::fabs(value), is_single) + suffix;
}

std::string c_int_literal(int64_t value, DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return value != 0 ? "true" : "false";
    case DType::kUInt32:
      return std::to_string(static_cast<uint32_t>(value)) + "u";
    case DType::kUInt64:
      return std::to_string(static_cast<uint64_t>(value)) + "ul";
    case DType::kInt32:
      return value == INT32_MIN ? "(-2147483647 - 1)" : std::to_string(value);
    case DType::kInt64:
      return value == INT64_MIN ? "(-9223372036854775807l - 1)" : std::to_string(value) + "l";
    default:
      return std::to_string(value);
  }
}

std::string CTypes::name(ir::ValueType type) {
  if (type.lanes == 1) return c_scalar_type(type.dtype);
  const std::string result = vector_name(type.dtype, type.lanes);
  vectors_.insert(vector_declaration(result, type.dtype, type.lanes));
  return result;
}

std::string CTypes::mask_name(int bytes, int32_t lanes) {
  const DType dtype = bytes == 1   ? DType::kInt8
                      : bytes == 2 ? DType::kInt16
                      : bytes == 4 ? DType::kInt32
                                   : DType::kInt64;
  return name({dtype, lanes});
}

std::string CTypes::memory_name(ir::ValueType type, int64_t alignment) {
  const std::string vector = name(memory_type(type));
  const std::string result = vector + "_at" + std::to_string(alignment);
  aligned_.insert("typedef " + vector + " " + result + " __attribute__((aligned(" +
                  std::to_string(alignment) + ")));\n");
  return result;
}

std::string CTypes::declarations() const {
  std::string text;
  for (const std::string& line : vectors_) text += line;
  for (const std::string& line : aligned_) text += line;
  return text;
}

}  // namespace camshaft::render
