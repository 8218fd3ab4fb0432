// SPDX-License-Identifier: MIT
// Questions about a kernel's expressions that every renderer asks.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "codegen/ir/kernel.h"

namespace camshaft::render {

// Calls `visit` for each statement, outer before inner.
void for_each_stmt(const std::vector<ir::Stmt>& body,
                   const std::function<void(const ir::Stmt&)>& visit);

// Whether the kernel has a thread loop (Lets may stand beside it); if not, it is one iteration.
bool has_thread_loop(const ir::Kernel& kernel);

// Lists what one statement evaluates: the expressions below some roots, each once, operands first.
// Reused from statement to statement, so that a list costs no more than its length.
class StmtOrder {
 public:
  explicit StmtOrder(const ir::Kernel& kernel) : kernel_(kernel) {}

  // Valid until the next call. kNoExpr roots are skipped.
  const std::vector<ir::ExprId>& list(const std::vector<ir::ExprId>& roots);

 private:
  const ir::Kernel& kernel_;
  std::vector<uint32_t> stamps_;  // by ExprId: the list it was last put on
  uint32_t stamp_ = 0;
  std::vector<ir::ExprId> order_;
};

// Every array, parameter or local, starts at a multiple of this many bytes.
inline constexpr int64_t kArrayAlignment = 64;

// Prefetches go into the first level of the caches (2 would be the second, 1 the third). Most are
// for data that is needed some microseconds later, but what does not stay there for so long has
// reached the second on its way.
inline constexpr int kPrefetchLocality = 3;

// Bytes to which lanes of `type` at a scalar index are aligned in every execution, as far as the
// form of the index shows it; at least the element's size, at most that of the lanes.
int64_t access_alignment(const ir::Kernel& kernel, ir::ExprId index, ir::ValueType type);

}  // namespace camshaft::render
