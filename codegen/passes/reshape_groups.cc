// SPDX-License-Identifier: MIT
#include "codegen/passes/reshape_groups.h"

#include <algorithm>

namespace camshaft::passes {

using ir::Shape;

std::optional<std::vector<ReshapeGroup>> reshape_groups(const Shape& from, const Shape& to) {
  const auto is_empty = [](int64_t extent) { return extent == 0; };
  if (std::any_of(from.begin(), from.end(), is_empty)) return std::nullopt;
  std::vector<ReshapeGroup> groups;
  size_t i = 0;
  size_t j = 0;
  while (i < from.size() || j < to.size()) {
    ReshapeGroup group{i, i, j, j};
    int64_t left = i < from.size() ? from[i++] : 1;
    int64_t right = j < to.size() ? to[j++] : 1;
    while (left != right) {
      if (left < right) {
        left *= from[i++];
      } else {
        right *= to[j++];
      }
    }
    group.from_end = i;
    group.to_end = j;
    groups.push_back(group);
  }
  return groups;
}

std::optional<Shape> reshaped_source(const Shape& source, const Shape& from, const Shape& to) {
  const auto groups = reshape_groups(from, to);
  if (!groups) return std::nullopt;
  Shape result(to.size(), 1);
  for (const ReshapeGroup& group : *groups) {
    bool stretched = true;  // only unit axes in the source
    bool whole = true;      // nothing stretched
    for (size_t axis = group.from_begin; axis < group.from_end; ++axis) {
      stretched = stretched && source[axis] == 1;
      whole = whole && source[axis] == from[axis];
    }
    if (!stretched && !whole) return std::nullopt;
    if (!whole) continue;
    std::copy(to.begin() + static_cast<ptrdiff_t>(group.to_begin),
              to.begin() + static_cast<ptrdiff_t>(group.to_end),
              result.begin() + static_cast<ptrdiff_t>(group.to_begin));
  }
  return result;
}

}  // namespace camshaft::passes
