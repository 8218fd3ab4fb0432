// SPDX-License-Identifier: MIT
#include "codegen/ir/graph_constants.h"

#include <cmath>

#include "codegen/ir/literal.h"

namespace camshaft::ir {
namespace {

// The literal of equal elements behind movement that only repeats or drops elements; null if none.
const Literal* splat_literal_of(const Graph& graph, NodeId id) {
  if (graph.node(id).type.elements() == 0) return nullptr;
  while (true) {
    const Node& node = graph.node(id);
    switch (node.op) {
      case Op::kConstant: {
        const Literal* literal = literal_of(graph, id);
        return is_splat(*literal) ? literal : nullptr;
      }
      case Op::kReshape:
      case Op::kTranspose:
      case Op::kBroadcast:
      case Op::kSlice:
        id = node.inputs[0];
        break;
      default:
        return nullptr;
    }
  }
}

}  // namespace

const Literal* literal_of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  return node.op == Op::kConstant ? node.as<ConstantAttrs>().literal.get() : nullptr;
}

std::optional<double> splat_value(const Graph& graph, NodeId id) {
  const Literal* literal = splat_literal_of(graph, id);
  if (literal == nullptr) return std::nullopt;
  const double value = literal_as_double(*literal, 0);
  if (!base::is_float(literal->type.dtype) && std::fabs(value) > 0x1p53) return std::nullopt;
  return value;
}

std::optional<int64_t> splat_int(const Graph& graph, NodeId id) {
  if (base::is_float(graph.node(id).type.dtype)) return std::nullopt;
  const Literal* literal = splat_literal_of(graph, id);
  if (literal == nullptr) return std::nullopt;
  return literal_as_int(*literal, 0);
}

}  // namespace camshaft::ir
