// SPDX-License-Identifier: MIT
#include "codegen/lower/tile_store.h"

#include <algorithm>

namespace camshaft::lower {
namespace {

constexpr int64_t kLanesWorthTurning = 4;

}  // namespace

Along along_of(const Task& task, int64_t lanes, int64_t pixels) {
  const bool is_blocked = task.schedule.buffer(task.region.output).layout.channel_block > 1;
  const bool few = lanes < kLanesWorthTurning || pixels == 1;
  return is_blocked || few ? Along::kLanes : Along::kPixels;
}

std::vector<Stmt> store_tile(Frame& frame, Evaluator& evaluator, TileAccumulators& acc,
                             const std::function<int64_t(int64_t)>& used_lanes, Along along,
                             const std::function<Index(ExprId, int64_t, ExprId)>& index) {
  const Region& region = frame.task.region;
  Kernel& kernel = frame.kernel();
  const auto element = [&](ExprId pixel, int64_t vector, ExprId lane) -> std::vector<Stmt> {
    const ExprId sum = acc.element(pixel, vector, lane);
    evaluator.bind(region.root, [sum](const Index&) { return sum; });
    const Index at = index(pixel, vector, lane);
    return {evaluator.store_output(frame.output, at, evaluator.value(region.output, at))};
  };
  // A vector may be of several blocks of channels, which lie apart in memory.
  const int64_t block = frame.task.schedule.buffer(region.output).layout.channel_block;
  const int64_t width = block > 1 ? std::min(block, acc.lanes()) : acc.lanes();
  std::vector<Stmt> body;
  const auto vector_loop = [&](int64_t extent, const Body& inside) {
    append(body, loop(kernel, "v", extent, ir::LoopKind::kVector, inside));
    evaluator.unbind(region.root);
  };
  if (along == Along::kLanes) {
    for (int64_t pixel = 0; pixel < acc.pixels(); ++pixel) {
      const ExprId p = kernel.int_const(pixel);
      for (int64_t vector = 0; vector < acc.vectors(); ++vector) {
        const int64_t used = used_lanes(vector);
        for (int64_t first = 0; first < used; first += width) {
          vector_loop(std::min(width, used - first),
                      [&](ExprId lane) { return element(p, vector, kernel.add(lane, first)); });
        }
      }
    }
    return body;
  }
  for (int64_t vector = 0; vector < acc.vectors(); ++vector) {
    for (int64_t lane = 0; lane < used_lanes(vector); ++lane) {
      const ExprId l = kernel.int_const(lane);
      vector_loop(acc.pixels(), [&](ExprId pixel) { return element(pixel, vector, l); });
    }
  }
  return body;
}

}  // namespace camshaft::lower
