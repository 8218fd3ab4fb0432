// SPDX-License-Identifier: MIT
// The three functions of each strategy, for the table in strategies.cc.
#pragma once

#include <vector>

#include "codegen/lower/lower.h"

namespace camshaft::lower {

#define CAMSHAFT_DECLARE_STRATEGY(name)              \
  bool matches_##name(const Task& task);             \
  std::vector<Knobs> knobs_##name(const Task& task); \
  LoweredKernel emit_##name(const Task& task, const Knobs& knobs)

CAMSHAFT_DECLARE_STRATEGY(item_window);
CAMSHAFT_DECLARE_STRATEGY(group_product);
CAMSHAFT_DECLARE_STRATEGY(group_winograd);
CAMSHAFT_DECLARE_STRATEGY(group_rows);
CAMSHAFT_DECLARE_STRATEGY(conv_separable);
CAMSHAFT_DECLARE_STRATEGY(conv_depthwise);
CAMSHAFT_DECLARE_STRATEGY(conv_depthwise_rows);
bool pays_conv_depthwise_rows(const Task& task);
CAMSHAFT_DECLARE_STRATEGY(conv_winograd);
bool pays_conv_winograd(const Task& task);
CAMSHAFT_DECLARE_STRATEGY(conv_matrix_planar);
CAMSHAFT_DECLARE_STRATEGY(conv_matrix);
CAMSHAFT_DECLARE_STRATEGY(conv_direct);
CAMSHAFT_DECLARE_STRATEGY(attention_rows);
bool pays_attention_rows(const Task& task);
CAMSHAFT_DECLARE_STRATEGY(attention);
CAMSHAFT_DECLARE_STRATEGY(gemv);
bool pays_gemv(const Task& task);
CAMSHAFT_DECLARE_STRATEGY(gemm);
CAMSHAFT_DECLARE_STRATEGY(pool);
bool pays_pool(const Task& task);
CAMSHAFT_DECLARE_STRATEGY(pool_rows);
CAMSHAFT_DECLARE_STRATEGY(reduce);
CAMSHAFT_DECLARE_STRATEGY(scatter);
CAMSHAFT_DECLARE_STRATEGY(top_k);
CAMSHAFT_DECLARE_STRATEGY(suppress);
CAMSHAFT_DECLARE_STRATEGY(elementwise);
CAMSHAFT_DECLARE_STRATEGY(fallback);
#undef CAMSHAFT_DECLARE_STRATEGY

// Is the region's root, or a node, a convolution of every channel by itself, with known weights?
bool is_depthwise(const Task& task);
bool is_depthwise(const Task& task, NodeId id);
// Whether a region that one which reduces its output was joined into (schedule::Region::pooled) is
// better than the two.
bool pays_to_pool(const Task& joined);
// Knobs of a strategy without choices: no vectors, no tiles.
Knobs scalar_knobs();

}  // namespace camshaft::lower
