// SPDX-License-Identifier: MIT
#include "codegen/render/c_types.h"

namespace camshaft::render {

std::string CTypes::name(ir::ValueType type) {
  if (type.lanes == 1) return dialect_.scalar_type(type.dtype);
  vectors_.insert(dialect_.vector_declaration(type.dtype, type.lanes));
  return dialect_.vector_type(type.dtype, type.lanes);
}

std::string CTypes::mask_name(int bytes, int32_t lanes) {
  return name({mask_dtype(bytes), lanes});
}

void CTypes::use_access(ir::ValueType type, int64_t alignment) {
  (void)name(type);
  aligned_.insert(dialect_.access_declaration(type, alignment));
}

std::string CTypes::declarations() const {
  std::string text;
  for (const std::string& line : vectors_) text += line;
  for (const std::string& line : aligned_) text += line;
  return text;
}

}  // namespace camshaft::render
