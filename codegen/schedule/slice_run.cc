// SPDX-License-Identifier: MIT
#include "codegen/schedule/slice_run.h"

namespace camshaft::schedule {

using ir::Shape;

namespace {

// The same slice of a tensor that lies row-major, with the inner part of a blocked axis as an axis
// of its own. Nothing if it cuts through a block.
std::optional<ir::SliceAttrs> slice_in_memory(const ir::SliceAttrs& slice, Layout layout,
                                              Shape* from) {
  const int64_t block = layout.channel_block;
  ir::SliceAttrs result = slice;
  if (block == 1) return result;
  if (slice.begin[1] % block != 0 || slice.extent[1] % block != 0 || slice.step[1] != 1) {
    return std::nullopt;
  }
  (*from)[1] /= block;
  result.begin[1] /= block;
  result.extent[1] /= block;
  from->push_back(block);
  result.begin.push_back(0);
  result.extent.push_back(block);
  result.step.push_back(1);
  return result;
}

}  // namespace

std::optional<int64_t> first_of_run(const ir::SliceAttrs& attrs, Layout layout, Shape from) {
  const std::optional<ir::SliceAttrs> slice = slice_in_memory(attrs, layout, &from);
  if (!slice) return std::nullopt;
  int64_t first = 0;
  bool must_be_whole = false;  // an axis before this one has several elements
  for (size_t axis = 0; axis < from.size(); ++axis) {
    const int64_t begin = slice->begin[axis];
    const int64_t extent = slice->extent[axis];
    if (must_be_whole && extent != from[axis]) return std::nullopt;
    if (extent > 1 && slice->step[axis] != 1) return std::nullopt;
    must_be_whole |= extent > 1;
    first = first * from[axis] + begin;
  }
  return first;
}

}  // namespace camshaft::schedule
