// SPDX-License-Identifier: MIT
// A Reshape seen as independent small reshapes of neighbouring axes.
#pragma once

#include <optional>
#include <vector>

#include "codegen/ir/graph.h"

namespace camshaft::passes {

// Axes [from_begin, from_end) become axes [to_begin, to_end), of the same number of elements. One
// side may be empty: then the other has unit axes only.
struct ReshapeGroup {
  size_t from_begin = 0;
  size_t from_end = 0;
  size_t to_begin = 0;
  size_t to_end = 0;
};

// The finest grouping of the axes of two shapes with equally many elements, in order. Nothing where
// an extent is 0: such tensors have no elements to follow.
std::optional<std::vector<ReshapeGroup>> reshape_groups(const ir::Shape& from, const ir::Shape& to);

// If a tensor of shape `source`, broadcast to `from` and reshaped to `to`, can be reshaped first
// and broadcast to `to` then: the shape between. Nothing if a group of axes is stretched in part.
std::optional<ir::Shape> reshaped_source(const ir::Shape& source, const ir::Shape& from,
                                         const ir::Shape& to);

}  // namespace camshaft::passes
