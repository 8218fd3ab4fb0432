// SPDX-License-Identifier: MIT
#include "codegen/render/strided.h"

#include <algorithm>
#include <bit>

#include "codegen/render/lane_offsets.h"

namespace camshaft::render {

namespace {

constexpr int64_t kMaxStride = 4;
constexpr int64_t kMostChunks = 8;

// Lane i comes from element i * stride, which lies in the chunk numbered i * stride / lanes.
void take_lanes(int64_t stride, int lanes, StridedLoad* load) {
  const int64_t last_chunk = (lanes - 1) * stride + 1 - lanes;
  for (int64_t chunk = 0; chunk < stride; ++chunk) {
    load->chunks.push_back(std::min(chunk * lanes, last_chunk));
    std::vector<int> mask(static_cast<size_t>(lanes));
    for (int lane = 0; lane < lanes; ++lane) {
      const int64_t element = lane * stride;
      const bool is_here = element / lanes == chunk;
      const int64_t here = std::clamp<int64_t>(element - load->chunks.back(), 0, lanes - 1);
      mask[static_cast<size_t>(lane)] = chunk == 0 ? static_cast<int>(here)
                                        : is_here  ? static_cast<int>(lanes + here)
                                                   : lane;
    }
    load->masks.push_back(std::move(mask));
  }
}

void reverse_lanes(int lanes, StridedLoad* load) {
  load->chunks = {1 - lanes};
  std::vector<int> mask;
  for (int lane = lanes; lane-- > 0;) mask.push_back(lane);
  load->masks = {std::move(mask)};
}

// Chunks of neighbouring elements, each from the first lane on that none has yet, until all have
// theirs. False where that takes more than a chunk for two lanes: a load a lane is no slower then.
bool take_offsets(const std::vector<int64_t>& offsets, StridedLoad* load) {
  const auto lanes = static_cast<int64_t>(offsets.size());
  const auto [low, high] = std::minmax_element(offsets.begin(), offsets.end());
  const int64_t first = *low;
  const int64_t reach = *high - first + 1;
  // A chunk ends within what is read, so it is narrower than the result where that is.
  load->chunk_lanes = static_cast<int>(
      std::min(lanes, static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(reach)))));
  const int64_t last_chunk = *high + 1 - load->chunk_lanes;
  std::vector<bool> has_value(offsets.size());
  const auto lowest_missing = [&] {
    int64_t lowest = INT64_MAX;
    for (size_t i = 0; i < offsets.size(); ++i) {
      if (!has_value[i]) lowest = std::min(lowest, offsets[i]);
    }
    return lowest;
  };
  for (int64_t begin = first; begin != INT64_MAX; begin = lowest_missing()) {
    begin = std::min(begin, last_chunk);
    std::vector<int> mask(offsets.size());
    for (size_t i = 0; i < offsets.size(); ++i) {
      const int64_t here = offsets[i] - begin;
      const bool is_here = !has_value[i] && here >= 0 && here < load->chunk_lanes;
      const bool is_alone = load->chunks.empty();
      mask[i] = static_cast<int>(is_here ? here + (is_alone ? 0 : lanes) : is_alone ? 0 : i);
      has_value[i] = has_value[i] || is_here;
    }
    load->chunks.push_back(begin);
    load->masks.push_back(std::move(mask));
    if (static_cast<int64_t>(load->chunks.size()) > std::min(lanes / 2, kMostChunks)) return false;
  }
  return load->chunk_lanes == lanes || (load->chunks.size() == 1 && load->chunk_lanes > 1);
}

}  // namespace

std::optional<StridedLoad> strided_load(const ir::Kernel& kernel, const ir::Expr& expr) {
  const ir::Expr& index = kernel.expr(expr.args[0]);
  StridedLoad load;
  load.chunk_lanes = expr.type.lanes;
  int64_t stride = 0;
  if (index.op == ir::KOp::kRamp && kernel.is_int_const(index.args[1], &stride)) {
    load.base = index.args[0];
    if (stride == -1) {
      reverse_lanes(expr.type.lanes, &load);
      return load;
    }
    if (stride >= 1 && stride <= kMaxStride) {
      take_lanes(stride, expr.type.lanes, &load);
      return load;
    }
  }
  const std::optional<LaneOffsets> parts = lane_offsets(kernel, expr.args[0]);
  if (!parts || parts->shared.size() != 1) return std::nullopt;
  load.base = parts->shared[0];
  if (!take_offsets(parts->offsets, &load)) return std::nullopt;
  return load;
}

}  // namespace camshaft::render
