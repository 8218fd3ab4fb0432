// SPDX-License-Identifier: MIT
// Random small graphs, reproducible from a seed, rich in what the passes look for: constants of all
// forms, chains of movement, per-channel arithmetic behind Conv and MatMul.
#pragma once

#include <cstdint>

#include "codegen/ir/graph.h"

namespace camshaft::ir {

struct RandomGraphOptions {
  DType float_type = DType::kFloat32;
  // Only ops whose result changes little where operands change little: no comparisons, casts to
  // integers, rounding or arg reductions. For passes that change results by rounding.
  bool smooth = false;
  bool powers = true;  // Pow nodes
  int steps = 24;
};

Graph random_graph(uint64_t seed, const RandomGraphOptions& options);

}  // namespace camshaft::ir
