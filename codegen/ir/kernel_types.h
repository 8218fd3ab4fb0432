// SPDX-License-Identifier: MIT
// The type rules of kernel expressions, shared by the builder, the parser and the verifier.
#pragma once

#include "codegen/ir/kernel.h"

namespace camshaft::ir {

// Which rule `node` breaks, as static text, or null. Its operands must be expressions of `kernel`,
// themselves well-typed; array and variable ids may be anything.
const char* expr_type_error(const Kernel& kernel, const Expr& node);

// Whether arithmetic exists in `dtype`: f16 and bf16 live in memory only, bool only in logic.
constexpr bool has_arithmetic(DType dtype) {
  return dtype != DType::kBool && dtype != DType::kFloat16 && dtype != DType::kBFloat16;
}

constexpr bool is_computed_float(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64;
}

constexpr bool is_valid_lanes(int32_t lanes) {
  return lanes >= 1 && lanes <= kMaxLanes && (lanes & (lanes - 1)) == 0;
}

}  // namespace camshaft::ir
