// SPDX-License-Identifier: MIT
#include "codegen/lower/tile_store.h"

namespace camshaft::lower {

std::vector<Stmt> store_tile(Frame& frame, Evaluator& evaluator, TileAccumulators& acc,
                             const std::function<int64_t(int64_t)>& used_lanes,
                             const std::function<Index(int64_t, int64_t, ExprId)>& index) {
  const Region& region = frame.task.region;
  std::vector<Stmt> body;
  for (int64_t pixel = 0; pixel < acc.pixels(); ++pixel) {
    for (int64_t vector = 0; vector < acc.vectors(); ++vector) {
      append(body, loop(frame.kernel(), "lane", used_lanes(vector), ir::LoopKind::kVector,
                        [&](ExprId lane) -> std::vector<Stmt> {
                          const ExprId sum = acc.element(pixel, vector, lane);
                          evaluator.bind(region.root, [sum](const Index&) { return sum; });
                          const Index at = index(pixel, vector, lane);
                          return {evaluator.store_output(frame.output, at,
                                                         evaluator.value(region.output, at))};
                        }));
      evaluator.unbind(region.root);
    }
  }
  return body;
}

}  // namespace camshaft::lower
