// SPDX-License-Identifier: MIT
#include <algorithm>

#include "codegen/ir/graph_constants.h"
#include "codegen/ir/literal.h"
#include "codegen/passes/passes.h"
#include "codegen/passes/rewriter.h"

namespace camshaft::passes {
namespace {

using ir::Op;
using ir::Shape;

// Evenly spaced indices: begin, begin + step, ...
struct Progression {
  int64_t begin = 0;
  int64_t step = 1;
};

// The indices as such, counted from the end where negative. False if they are not, or out of range.
bool find_progression(const ir::Literal& indices, int64_t rows, Progression& result) {
  const int64_t count = indices.type.elements();
  int64_t previous = 0;
  for (int64_t i = 0; i < count; ++i) {
    int64_t row = ir::literal_as_int(indices, i);
    if (row < 0 && base::is_signed_int(indices.type.dtype)) row += rows;
    if (row < 0 || row >= rows) return false;
    if (i == 0) result.begin = row;
    if (i == 1) result.step = row - previous;
    if (i > 1 && row - previous != result.step) return false;
    previous = row;
  }
  return count > 0 && result.step != 0;
}

NodeId slice_gather(Graph& out, const Node& node) {
  if (node.op != Op::kGather) return kNoNode;
  const ir::Literal* indices = ir::literal_of(out, node.inputs[1]);
  const Shape data = out.node(node.inputs[0]).type.shape;
  const auto axis = static_cast<size_t>(node.as<ir::GatherAttrs>().axis);
  Progression rows;
  if (indices == nullptr || !find_progression(*indices, data[axis], rows)) return kNoNode;
  ir::SliceAttrs slice{Shape(data.size(), 0), data, Shape(data.size(), 1)};
  slice.begin[axis] = rows.begin;
  slice.extent[axis] = indices->type.elements();
  slice.step[axis] = rows.step;
  const NodeId sliced = out.add(Op::kSlice, {node.inputs[0]}, slice, node.name);
  return out.add(Op::kReshape, {sliced}, ir::ReshapeAttrs{node.type.shape}, node.name);
}

}  // namespace

Graph slice_gathers(const Graph& graph) {
  return rewrite(graph, slice_gather);
}

}  // namespace camshaft::passes
