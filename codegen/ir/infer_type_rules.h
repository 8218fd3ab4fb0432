// SPDX-License-Identifier: MIT
// Private to infer_type*.cc: the rules of one op each, and how they say no.
#pragma once

#include <optional>
#include <vector>

#include "codegen/ir/graph.h"
#include "runtime/base/limits.h"
#include "runtime/base/status.h"

namespace camshaft::ir {

// A tensor, window or offset larger than this is refused; in bytes and in elements.
using base::kMaxTensorBytes;

// What is being typed; every rule gets it.
struct TypeQuery {
  Op op;
  const std::vector<TensorType>& operands;
  const Attrs& attrs;

  const TensorType& operand(int i) const { return operands[static_cast<size_t>(i)]; }
  template <typename T>
  const T& as() const {
    return std::get<T>(attrs);
  }
};

using TypeResult = base::Result<TensorType>;

// Writes "OP: SENTENCE; operands f32[...], ..." to the log ring.
base::Status reject(const TypeQuery& query, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

// `type` if its extents are not negative and it is of a sane size.
TypeResult checked_type(const TypeQuery& query, TensorType type);

inline bool is_numeric(DType dtype) {
  return dtype != DType::kBool;
}

TypeResult infer_elementwise(const TypeQuery& query);
TypeResult infer_movement(const TypeQuery& query);
TypeResult infer_structured(const TypeQuery& query);

}  // namespace camshaft::ir
