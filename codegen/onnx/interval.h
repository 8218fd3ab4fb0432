// SPDX-License-Identifier: MIT
// What is known of the elements of a value that depends on data: the least and the most that each
// can be. Sizes are computed from sizes, so that an extent's bound follows from the model.
#pragma once

#include <memory>
#include <vector>

#include "codegen/ir/graph.h"
#include "codegen/ir/literal.h"

namespace camshaft::onnx {

using LiteralPtr = std::shared_ptr<const ir::Literal>;

// Of the value's shape and dtype; each absent if unknown. A known value's are its data.
struct Interval {
  LiteralPtr least;
  LiteralPtr most;
};

// Elements that an operation on known operands may have to be computed when reading.
inline constexpr int64_t kFoldElements = 1 << 14;

// The result of an operation on known operands; null if it is too large or too dear to compute at
// once, or has no value.
LiteralPtr fold(ir::Op op, const std::vector<LiteralPtr>& operands, const ir::Attrs& attrs,
                const ir::TensorType& type);

// What follows for the result of an operation (of type `type`) from its operands' intervals:
// nothing for an operation that sizes are not computed with, for large tensors, and for numbers
// that are no sizes (above 2^31).
Interval interval_of(ir::Op op, const std::vector<Interval>& operands, const ir::Attrs& attrs,
                     const ir::TensorType& type);

}  // namespace camshaft::onnx
