// SPDX-License-Identifier: MIT
// Tensors whose elements are known when compiling, though they need not be a literal: what movement
// and the arithmetic of masks make of literals.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/lower/lower.h"

namespace camshaft::lower {

// A literal, with steps through it for each axis; or what an elementwise operation makes of others.
// (Masks of many elements are not folded into literals, but computed as they are read.)
struct Known {
  ir::Op op = ir::Op::kConstant;
  ir::DType dtype = ir::DType::kFloat32;
  const ir::Literal* literal = nullptr;
  std::vector<int64_t> steps;
  std::vector<Known> parts;  // of an operation: its operands, of equal shapes
};
// Absent if the node is not known, or made in another way. The graph must outlive it.
std::optional<Known> known(const Task& task, NodeId id);

// Calls `change` for each literal's steps, in the order of number_at(); false if one of the calls
// is.
template <typename Change>
bool each_literal(Known& of, const Change& change) {
  if (of.literal != nullptr) return change(of.steps);
  return std::all_of(of.parts.begin(), of.parts.end(),
                     [&](Known& part) { return each_literal(part, change); });
}

// Element `key` along the last axis. `place` is where the row begins in the first literal, and goes
// on to the literals that follow.
double number_at(const Known& of, const int64_t*& place, int64_t key);

}  // namespace camshaft::lower
