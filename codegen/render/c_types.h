// SPDX-License-Identifier: MIT
// How C names the kernel IR's types and constants.
//
// A scalar has its C type (f16: _Float16, bf16: uint16_t that holds the bits, bool: bool, in memory
// uint8_t). Lanes are clang's ext_vector_type: float x 8 is f32x8. Lanes of bool are a mask: signed
// integers, 0 or -1, as wide as what was compared to make them.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "codegen/ir/kernel.h"

namespace camshaft::render {

inline int size_of(ir::DType dtype) {
  return static_cast<int>(base::dtype_size_bytes(dtype));
}

// Whether values of the type are masks.
inline bool is_mask(ir::ValueType type) {
  return type.dtype == ir::DType::kBool && type.lanes > 1;
}

// The type of the same lanes in memory: bool as bytes.
inline ir::ValueType memory_type(ir::ValueType type) {
  return {type.dtype == ir::DType::kBool ? ir::DType::kUInt8 : type.dtype, type.lanes};
}

// "float", "int8_t", ...
const char* c_scalar_type(ir::DType dtype);
// The type of an array's elements.
const char* c_memory_type(ir::DType dtype);

// A literal of exactly the dtype's C type. Bool: "true" or "false".
std::string c_float_literal(double value, ir::DType dtype);
std::string c_int_literal(int64_t value, ir::DType dtype);

// The vector types that a translation unit uses.
class CTypes {
 public:
  // The C name of `type`, which isn't lanes of bool; declares it where it is a vector.
  std::string name(ir::ValueType type);
  // A vector of signed integers of `bytes` bytes.
  std::string mask_name(int bytes, int32_t lanes);
  // The vector type with the given alignment, for access to memory.
  std::string memory_name(ir::ValueType type, int64_t alignment);

  // The declarations, a line each, in an order that compiles.
  std::string declarations() const;

 private:
  std::set<std::string> vectors_;
  std::set<std::string> aligned_;
};

}  // namespace camshaft::render
