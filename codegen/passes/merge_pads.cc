// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "codegen/passes/passes.h"
#include "codegen/passes/rewriter.h"

namespace camshaft::passes {
namespace {

using ir::Op;
using ir::Shape;

bool is_zero(const Shape& values) {
  return std::all_of(values.begin(), values.end(), [](int64_t v) { return v == 0; });
}

// Batch and channels are not padded.
bool pads_spatial_axes_only(const ir::PadAttrs& pad) {
  return pad.mode == ir::PadMode::kConstant && pad.before[0] == 0 && pad.before[1] == 0 &&
         pad.after[0] == 0 && pad.after[1] == 0;
}

template <typename Window>
void add_pads(Window& window, const ir::PadAttrs& pad) {
  for (size_t i = 0; i < window.pads_begin.size(); ++i) {
    window.pads_begin[i] += pad.before[i + 2];
    window.pads_end[i] += pad.after[i + 2];
  }
}

// Whether the pool's own padding can mean what the Pad did.
bool pool_can_pad(const ir::PoolAttrs& pool, double value) {
  if (pool.kind == ir::PoolKind::kMax) return std::isinf(value) && value < 0;
  return value == 0 &&
         (pool.count_include_pad || (is_zero(pool.pads_begin) && is_zero(pool.pads_end)));
}

NodeId merge(Graph& out, const Node& node) {
  if (node.op != Op::kConv && node.op != Op::kPool) return kNoNode;
  const Node pad = out.node(node.inputs[0]);
  if (pad.op != Op::kPad) return kNoNode;
  const auto& attrs = pad.as<ir::PadAttrs>();
  if (!pads_spatial_axes_only(attrs)) return kNoNode;
  std::vector<NodeId> operands = node.inputs;
  operands[0] = pad.inputs[0];
  if (node.op == Op::kConv) {
    if (attrs.value != 0) return kNoNode;
    ir::ConvAttrs conv = node.as<ir::ConvAttrs>();
    add_pads(conv, attrs);
    return out.add(Op::kConv, std::move(operands), conv, node.name);
  }
  ir::PoolAttrs pool = node.as<ir::PoolAttrs>();
  if (pool.ceil_mode || !pool_can_pad(pool, attrs.value)) return kNoNode;
  add_pads(pool, attrs);
  if (pool.kind == ir::PoolKind::kAverage) pool.count_include_pad = true;
  return out.add(Op::kPool, std::move(operands), pool, node.name);
}

}  // namespace

Graph merge_pads(const Graph& graph) {
  return rewrite(graph, merge);
}

}  // namespace camshaft::passes
