// SPDX-License-Identifier: MIT
#include "codegen/ir/oracle.h"

#include <optional>
#include <utility>

#include "codegen/ir/literal.h"
#include "codegen/ir/oracle_eval.h"

namespace camshaft::ir {
namespace {

using base::Result;
using base::Status;

bool holds_its_type(const OracleTensor& tensor) {
  const auto count = static_cast<size_t>(tensor.type.elements());
  const bool floats = base::is_float(tensor.type.dtype);
  return tensor.floats.size() == (floats ? count : 0) && tensor.ints.size() == (floats ? 0 : count);
}

OracleTensor empty_tensor(const TensorType& type) {
  OracleTensor tensor{type, {}, {}};
  const auto count = static_cast<size_t>(type.elements());
  if (base::is_float(type.dtype)) {
    tensor.floats.resize(count);
  } else {
    tensor.ints.resize(count);
  }
  return tensor;
}

Status check_inputs(const Graph& graph, const std::vector<OracleTensor>& inputs) {
  if (inputs.size() != graph.inputs.size()) {
    return base::fail(base::Code::kInvalidArgument, "oracle.inputs",
                      "graph '%s' has %zu inputs, given %zu", graph.name.c_str(),
                      graph.inputs.size(), inputs.size());
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorType& wanted = graph.node(graph.inputs[i].node).type;
    if (inputs[i].type == wanted && holds_its_type(inputs[i])) continue;
    return base::fail(base::Code::kInvalidArgument, "oracle.inputs",
                      "input '%s' must be %s; given %s with %zu elements",
                      graph.inputs[i].name.c_str(), to_string(wanted).c_str(),
                      to_string(inputs[i].type).c_str(),
                      inputs[i].floats.size() + inputs[i].ints.size());
  }
  return base::ok();
}

void round_tensor(OracleTensor& tensor) {
  for (double& value : tensor.floats) value = round_to_dtype(value, tensor.type.dtype);
}

// The values of one run, each kept until its last reader.
class Run {
 public:
  Run(const Graph& graph, const std::vector<OracleTensor>& inputs, OracleRounding rounding)
      : graph_(graph), inputs_(inputs), rounding_(rounding) {
    values_.resize(graph.nodes().size());
    readers_left_.resize(graph.nodes().size(), 0);
    // Going backwards, a node that nobody needs adds no need of its own.
    for (const GraphOutput& output : graph.outputs) ++readers_left_[index(output.node)];
    for (NodeId id = graph.size() - 1; id >= 0; --id) {
      if (readers_left_[index(id)] == 0) continue;
      for (const NodeId operand : graph.node(id).inputs) ++readers_left_[index(operand)];
    }
  }

  Status compute_all() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_.node(id);
      if (readers_left_[index(id)] == 0 || op_info(node.op).op_class == OpClass::kSource) continue;
      std::vector<const OracleTensor*> operands;
      for (const NodeId operand : node.inputs) operands.push_back(&value_of(operand));
      CAMSHAFT_TRY_ASSIGN(OracleTensor value, evaluate_node(graph_, node, operands));
      if (rounding_ == OracleRounding::kEveryNode) round_tensor(value);
      values_[index(id)] = std::move(value);
      for (const NodeId operand : node.inputs) release(operand);
    }
    return base::ok();
  }

  std::vector<OracleTensor> outputs() {
    std::vector<OracleTensor> outputs;
    for (const GraphOutput& output : graph_.outputs) outputs.push_back(value_of(output.node));
    return outputs;
  }

 private:
  static size_t index(NodeId id) { return static_cast<size_t>(id); }

  // Sources are read when they are first needed.
  const OracleTensor& value_of(NodeId id) {
    const Node& node = graph_.node(id);
    std::optional<OracleTensor>& value = values_[index(id)];
    if (node.op == Op::kInput) return input_of(id);
    if (!value.has_value()) {
      CAMSHAFT_CHECK(node.op == Op::kConstant);
      value = to_oracle(*node.as<ConstantAttrs>().literal);
    }
    return *value;
  }

  const OracleTensor& input_of(NodeId id) const {
    size_t i = 0;
    while (i < graph_.inputs.size() && graph_.inputs[i].node != id) ++i;
    CAMSHAFT_CHECK(i < inputs_.size());
    return inputs_[i];
  }

  void release(NodeId id) {
    if (--readers_left_[index(id)] == 0) values_[index(id)].reset();
  }

  const Graph& graph_;
  const std::vector<OracleTensor>& inputs_;
  const OracleRounding rounding_;
  std::vector<std::optional<OracleTensor>> values_;
  std::vector<int> readers_left_;
};

}  // namespace

OracleTensor to_oracle(const Literal& literal) {
  OracleTensor tensor = empty_tensor(literal.type);
  for (size_t i = 0; i < tensor.floats.size(); ++i) {
    tensor.floats[i] = literal_as_double(literal, static_cast<int64_t>(i));
  }
  for (size_t i = 0; i < tensor.ints.size(); ++i) {
    tensor.ints[i] = literal_as_int(literal, static_cast<int64_t>(i));
  }
  return tensor;
}

Literal to_literal(const OracleTensor& tensor) {
  CAMSHAFT_CHECK(holds_its_type(tensor));
  Literal literal = zero_literal(tensor.type);
  for (size_t i = 0; i < tensor.floats.size(); ++i) {
    set_literal_element(literal, static_cast<int64_t>(i), tensor.floats[i]);
  }
  for (size_t i = 0; i < tensor.ints.size(); ++i) {
    set_literal_element_int(literal, static_cast<int64_t>(i), tensor.ints[i]);
  }
  return literal;
}

Result<std::vector<OracleTensor>> run_oracle(const Graph& graph,
                                             const std::vector<OracleTensor>& inputs,
                                             OracleRounding rounding) {
  CAMSHAFT_TRY(check_inputs(graph, inputs));
  Run run(graph, inputs, rounding);
  CAMSHAFT_TRY(run.compute_all());
  return run.outputs();
}

Result<OracleTensor> evaluate_node(const Graph& graph, const Node& node,
                                   const std::vector<const OracleTensor*>& operands) {
  CAMSHAFT_CHECK(node.inputs.size() == operands.size());
  for (const OracleTensor* operand : operands) CAMSHAFT_CHECK(holds_its_type(*operand));
  if (node.op == Op::kConstant) return to_oracle(*node.as<ConstantAttrs>().literal);
  OracleTensor result = empty_tensor(node.type);
  const Evaluation eval{node, operands};
  switch (node.op) {
    case Op::kReduce:
      evaluate_reduce(eval, result);
      break;
    case Op::kArgReduce:
      evaluate_arg_reduce(eval, result);
      break;
    case Op::kScan:
      evaluate_scan(eval, result);
      break;
    case Op::kMatMul:
      evaluate_matmul(eval, result);
      break;
    case Op::kConv:
      evaluate_conv(eval, result);
      break;
    case Op::kPool:
      evaluate_pool(eval, result);
      break;
    case Op::kGather:
      if (!evaluate_gather(eval, result).is_ok()) {
        return base::fail(base::Code::kInvalidArgument, "oracle.gather",
                          "graph '%s': node \"%s\" cannot be computed", graph.name.c_str(),
                          node.name.c_str());
      }
      break;
    case Op::kScatter:
      evaluate_scatter(eval, result);
      break;
    case Op::kTopK:
      evaluate_top_k(eval, result);
      break;
    case Op::kSuppress:
      evaluate_suppress(eval, result);
      break;
    default:
      if (is_elementwise(node.op)) {
        evaluate_elementwise(eval, result);
      } else {
        CAMSHAFT_CHECK(is_movement(node.op));
        evaluate_movement(eval, result);
      }
  }
  return result;
}

}  // namespace camshaft::ir
