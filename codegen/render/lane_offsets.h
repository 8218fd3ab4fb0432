// SPDX-License-Identifier: MIT
// Indices of gathers, taken apart: what all lanes share, and how far each lane is from that. Where
// the distances are numbers, a gather is a few loads and shuffles (strided.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/ir/kernel.h"

namespace camshaft::render {

// Lane i of an index is the sum of `shared`, which are scalars, plus offsets[i].
struct LaneOffsets {
  std::vector<ir::ExprId> shared;
  std::vector<int64_t> offsets;
};

// Nothing where lanes differ by more than numbers.
std::optional<LaneOffsets> lane_offsets(const ir::Kernel& kernel, ir::ExprId index);

// The same index with at most one shared scalar; as it is where it can't be taken apart.
ir::ExprId with_one_scalar(ir::Kernel& kernel, ir::ExprId index);

}  // namespace camshaft::render
