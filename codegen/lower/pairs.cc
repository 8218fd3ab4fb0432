// SPDX-License-Identifier: MIT
#include "codegen/lower/pairs.h"

#include <algorithm>

#include "codegen/lower/frame.h"

namespace camshaft::lower {

ir::DType word_dtype(ir::DType dtype) {
  return ir::is_half(dtype) ? ir::DType::kUInt32 : ir::DType::kInt32;
}

ir::DType product_dtype(ir::DType dtype) {
  const bool is_byte = base::dtype_size_bytes(dtype) == 1;
  return is_byte ? ir::DType::kInt32 : compute_dtype(dtype);
}

Pair widen_pair(Kernel& kernel, ExprId words) {
  using ir::DType;
  const ir::ValueType type = kernel.expr(words).type;
  const auto splat = [&](int64_t bits) {
    return kernel.broadcast(kernel.int_const(bits, DType::kUInt32), type.lanes);
  };
  return {kernel.bitcast(kernel.binary(ir::KOp::kShl, words, splat(16)), DType::kFloat32),
          kernel.bitcast(kernel.binary(ir::KOp::kAnd, words, splat(0xffff0000)), DType::kFloat32)};
}

Pair broadcast_pair(Kernel& kernel, ExprId word, int64_t lanes, std::vector<Stmt>& body) {
  const ExprId words = kernel.broadcast(word, static_cast<int32_t>(lanes));
  return widen_pair(kernel, let(kernel, body, "words", words));
}

ExprId half_word(Kernel& kernel, ir::ArrayId array, ExprId at) {
  const ExprId bits = kernel.bitcast(kernel.load(array, at), ir::DType::kUInt16);
  return kernel.cast(bits, ir::DType::kUInt32);
}

ExprId word_of(Kernel& kernel, ir::ArrayId array, ExprId low, ExprId high) {
  const ExprId shift = kernel.int_const(16, ir::DType::kUInt32);
  const ExprId upper = kernel.binary(ir::KOp::kShl, half_word(kernel, array, high), shift);
  return kernel.binary(ir::KOp::kOr, half_word(kernel, array, low), upper);
}

bool pairs_fit(const CpuTarget& target, const Knobs& knobs) {
  const int32_t held = std::min(knobs.pixels + 1, 2 * knobs.vectors) + 2;
  return knobs.pixels * knobs.vectors + held <= target.vector_registers;
}

bool is_one_instruction(const CpuTarget& target, int32_t lanes) {
  const render::DotForm form = render::dot_form(target, lanes);
  return form == render::DotForm::kVnni || form == render::DotForm::kUsdot;
}

bool quads_fit(const CpuTarget& target, const Knobs& knobs) {
  return is_one_instruction(target, knobs.lanes) || pairs_fit(target, knobs);
}

}  // namespace camshaft::lower
