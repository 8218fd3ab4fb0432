// SPDX-License-Identifier: MIT
// The evaluator: the expression for one element of any node of a region. It pulls: elementwise
// nodes become arithmetic, movement nodes become index arithmetic, leaves become loads. Strategies
// bind what they computed themselves (an accumulator, a row's maximum) and ask for the region's
// output.
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "codegen/lower/index.h"
#include "codegen/lower/lower.h"

namespace camshaft::lower {

// The dtype in which values of `dtype` are computed: f32 for f16 and bf16, otherwise itself.
ir::DType compute_dtype(ir::DType dtype);

class Evaluator {
 public:
  using Source = std::function<ExprId(const Index&)>;

  // Loads come from the parameters that `arrays` lists. All references must outlive the evaluator.
  Evaluator(Kernel& kernel, const Task& task, const std::map<NodeId, ir::ArrayId>& arrays)
      : kernel_(kernel), task_(task), arrays_(arrays) {}

  // From now on `node`'s elements come from `source`.
  void bind(NodeId node, Source source);
  void unbind(NodeId node);
  // Element `index` of `node`, in compute_dtype(node's dtype).
  ExprId value(NodeId node, const Index& index);
  // Stores `value` (in the compute dtype) as element `index` of the region's output, or of another
  // node that has a buffer.
  Stmt store_output(ir::ArrayId array, const Index& index, ExprId value);
  Stmt store_node(NodeId node, ir::ArrayId array, const Index& index, ExprId value);

 private:
  ExprId evaluate(NodeId id, const Index& index);
  ExprId evaluate_unary(const ir::Node& node, ExprId a);
  ExprId evaluate_binary(const ir::Node& node, ExprId a, ExprId b);
  ExprId evaluate_movement(const ir::Node& node, const Index& index);
  ExprId evaluate_pad(const ir::Node& node, const Index& index);
  ExprId evaluate_concat(const ir::Node& node, const Index& index);
  ExprId evaluate_gather(const ir::Node& node, const Index& index);
  bool are_inside(NodeId indices, int64_t extent) const;
  ExprId extreme(ir::KOp op, const ir::Node& node, ExprId a, ExprId b);
  ExprId shift(ir::KOp op, ExprId a, ExprId amount);
  ExprId load_leaf(NodeId id, const Index& index);
  ExprId clamp(ExprId index, int64_t extent);

  Kernel& kernel_;
  const Task& task_;
  const std::map<NodeId, ir::ArrayId>& arrays_;
  std::map<NodeId, Source> bound_;
  std::map<std::pair<NodeId, Index>, ExprId> memo_;
};

}  // namespace camshaft::lower
