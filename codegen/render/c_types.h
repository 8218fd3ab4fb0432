// SPDX-License-Identifier: MIT
// The types that a translation unit uses.
//
// A scalar has the dialect's type (bool: bool, in memory a byte). Lanes of bool are a mask: signed
// integers, 0 or -1, as wide as what was compared to make them.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "codegen/ir/kernel.h"
#include "codegen/render/c_dialect.h"

namespace camshaft::render {

inline int size_of(ir::DType dtype) {
  return static_cast<int>(base::dtype_size_bytes(dtype));
}

// Whether values of the type are masks.
inline bool is_mask(ir::ValueType type) {
  return type.dtype == ir::DType::kBool && type.lanes > 1;
}

// The integers that a mask of that width consists of.
inline ir::DType mask_dtype(int bytes) {
  return bytes == 1   ? ir::DType::kInt8
         : bytes == 2 ? ir::DType::kInt16
         : bytes == 4 ? ir::DType::kInt32
                      : ir::DType::kInt64;
}

// The type of the same lanes in memory: bool as bytes.
inline ir::ValueType memory_type(ir::ValueType type) {
  return {type.dtype == ir::DType::kBool ? ir::DType::kUInt8 : type.dtype, type.lanes};
}

// The vector types that a translation unit uses.
class CTypes {
 public:
  explicit CTypes(const CDialect& dialect) : dialect_(dialect) {}

  // The name of `type`, which isn't lanes of bool; declares it where it is a vector.
  std::string name(ir::ValueType type);
  // A vector of signed integers of `bytes` bytes.
  std::string mask_name(int bytes, int32_t lanes);
  // Notes that lanes with the given alignment are read from or written to memory.
  void use_access(ir::ValueType type, int64_t alignment);

  // The declarations, a line each, in an order that compiles.
  std::string declarations() const;

 private:
  const CDialect& dialect_;
  std::set<std::string> vectors_;
  std::set<std::string> aligned_;
};

}  // namespace camshaft::render
