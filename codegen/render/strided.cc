// SPDX-License-Identifier: MIT
#include "codegen/render/strided.h"

#include <algorithm>
#include <cstdlib>

namespace camshaft::render {

namespace {

constexpr int64_t kMaxStride = 4;

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

}  // namespace

std::optional<StridedLoad> strided_load(const ir::Kernel& kernel, const ir::Expr& expr) {
  const ir::Expr& index = kernel.expr(expr.args[0]);
  int64_t stride = 0;
  if (index.op != ir::KOp::kRamp || !kernel.is_int_const(index.args[1], &stride)) {
    return std::nullopt;
  }
  StridedLoad load;
  load.base = index.args[0];
  if (stride == -1) {
    reverse_lanes(expr.type.lanes, &load);
  } else if (stride >= 1 && stride <= kMaxStride) {
    take_lanes(stride, expr.type.lanes, &load);
  } else {
    return std::nullopt;
  }
  return load;
}

}  // namespace camshaft::render
