// SPDX-License-Identifier: MIT
// What is known about a node's value at compile time.
#pragma once

#include <optional>

#include "codegen/ir/graph.h"

namespace camshaft::ir {

// The literal of a Constant node; null for any other node.
const Literal* literal_of(const Graph& graph, NodeId id);

// The number that all elements of `id` are, if it is a constant of equal elements, or a Reshape,
// Transpose, Broadcast or Slice of such. Nothing for integers that a double can't hold exactly, and
// for tensors without elements.
std::optional<double> splat_value(const Graph& graph, NodeId id);

// The same as an integer, for integer dtypes and bool: u64 by bit pattern.
std::optional<int64_t> splat_int(const Graph& graph, NodeId id);

}  // namespace camshaft::ir
