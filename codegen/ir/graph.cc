// SPDX-License-Identifier: MIT
#include "codegen/ir/graph.h"

#include <utility>

#include "codegen/ir/literal.h"

namespace camshaft::ir {
namespace {

constexpr OpInfo kOps[kOpCount] = {
    {Op::kInput, "input", OpClass::kSource, 0},
    {Op::kConstant, "constant", OpClass::kSource, 0},
    {Op::kNeg, "neg", OpClass::kElementwise, 1},
    {Op::kAbs, "abs", OpClass::kElementwise, 1},
    {Op::kExp, "exp", OpClass::kElementwise, 1},
    {Op::kLog, "log", OpClass::kElementwise, 1},
    {Op::kSqrt, "sqrt", OpClass::kElementwise, 1},
    {Op::kSin, "sin", OpClass::kElementwise, 1},
    {Op::kCos, "cos", OpClass::kElementwise, 1},
    {Op::kTanh, "tanh", OpClass::kElementwise, 1},
    {Op::kSigmoid, "sigmoid", OpClass::kElementwise, 1},
    {Op::kErf, "erf", OpClass::kElementwise, 1},
    {Op::kAtan, "atan", OpClass::kElementwise, 1},
    {Op::kFloor, "floor", OpClass::kElementwise, 1},
    {Op::kCeil, "ceil", OpClass::kElementwise, 1},
    {Op::kRound, "round", OpClass::kElementwise, 1},
    {Op::kNot, "not", OpClass::kElementwise, 1},
    {Op::kIsNan, "is_nan", OpClass::kElementwise, 1},
    {Op::kCast, "cast", OpClass::kElementwise, 1},
    {Op::kBitcast, "bitcast", OpClass::kElementwise, 1},
    {Op::kAdd, "add", OpClass::kElementwise, 2},
    {Op::kSub, "sub", OpClass::kElementwise, 2},
    {Op::kMul, "mul", OpClass::kElementwise, 2},
    {Op::kDiv, "div", OpClass::kElementwise, 2},
    {Op::kRem, "rem", OpClass::kElementwise, 2},
    {Op::kPow, "pow", OpClass::kElementwise, 2},
    {Op::kMin, "min", OpClass::kElementwise, 2},
    {Op::kMax, "max", OpClass::kElementwise, 2},
    {Op::kEqual, "equal", OpClass::kElementwise, 2},
    {Op::kLess, "less", OpClass::kElementwise, 2},
    {Op::kLessEqual, "less_equal", OpClass::kElementwise, 2},
    {Op::kAnd, "and", OpClass::kElementwise, 2},
    {Op::kOr, "or", OpClass::kElementwise, 2},
    {Op::kXor, "xor", OpClass::kElementwise, 2},
    {Op::kShiftLeft, "shift_left", OpClass::kElementwise, 2},
    {Op::kShiftRight, "shift_right", OpClass::kElementwise, 2},
    {Op::kSelect, "select", OpClass::kElementwise, 3},
    {Op::kReshape, "reshape", OpClass::kMovement, 1},
    {Op::kTranspose, "transpose", OpClass::kMovement, 1},
    {Op::kBroadcast, "broadcast", OpClass::kMovement, 1},
    {Op::kSlice, "slice", OpClass::kMovement, 1},
    {Op::kPad, "pad", OpClass::kMovement, 1},
    {Op::kConcat, "concat", OpClass::kMovement, -1},
    {Op::kReduce, "reduce", OpClass::kStructured, 1},
    {Op::kArgReduce, "arg_reduce", OpClass::kStructured, 1},
    {Op::kScan, "scan", OpClass::kStructured, 1},
    {Op::kMatMul, "matmul", OpClass::kStructured, 2},
    {Op::kConv, "conv", OpClass::kStructured, 2},
    {Op::kPool, "pool", OpClass::kStructured, 1},
    {Op::kGather, "gather", OpClass::kStructured, 2},
    {Op::kScatter, "scatter", OpClass::kStructured, 3},
    {Op::kTopK, "top_k", OpClass::kStructured, 1},
    {Op::kSuppress, "suppress", OpClass::kStructured, 3},
};

constexpr bool ops_in_order() {
  for (int i = 0; i < kOpCount; ++i) {
    if (static_cast<int>(kOps[i].op) != i) return false;
  }
  return true;
}
static_assert(ops_in_order());

}  // namespace

int64_t TensorType::elements() const {
  int64_t product = 1;
  for (const int64_t extent : shape) product *= extent;
  return product;
}

int64_t TensorType::size_bytes() const {
  return elements() * base::dtype_size_bytes(dtype);
}

std::string to_string(const TensorType& type) {
  std::string text = base::dtype_name(type.dtype);
  text += '[';
  for (size_t i = 0; i < type.shape.size(); ++i) {
    if (i > 0) text += 'x';
    text += std::to_string(type.shape[i]);
  }
  return text + ']';
}

const OpInfo& op_info(Op op) {
  CAMSHAFT_CHECK(static_cast<int>(op) < kOpCount);
  return kOps[static_cast<int>(op)];
}

const Node& Graph::node(NodeId id) const {
  CAMSHAFT_CHECK(id >= 0 && id < size());
  return nodes_[static_cast<size_t>(id)];
}

NodeId Graph::add_input(std::string_view input_name, TensorType type) {
  nodes_.push_back({Op::kInput, {}, {}, std::move(type), std::string(input_name)});
  inputs.push_back({std::string(input_name), size() - 1, ""});
  return size() - 1;
}

NodeId Graph::add_constant(Literal literal, std::string_view node_name) {
  return add_constant(std::make_shared<const Literal>(std::move(literal)), node_name);
}

NodeId Graph::add_constant(std::shared_ptr<const Literal> literal, std::string_view node_name) {
  CAMSHAFT_CHECK(literal != nullptr);
  CAMSHAFT_CHECK(static_cast<int64_t>(literal->bytes.size()) == literal->type.size_bytes());
  TensorType type = literal->type;
  nodes_.push_back({Op::kConstant,
                    {},
                    ConstantAttrs{std::move(literal)},
                    std::move(type),
                    std::string(node_name)});
  return size() - 1;
}

NodeId Graph::add_splat(const TensorType& type, double value) {
  const Shape shape = type.shape;  // `type` may be a node's own, which moves as nodes are added
  const TensorType one{type.dtype, Shape(shape.size(), 1)};
  const NodeId constant = add_constant(splat_literal(one, value));
  if (shape == one.shape) return constant;
  return add(Op::kBroadcast, {constant}, BroadcastAttrs{shape});
}

NodeId Graph::add(Op op, std::vector<NodeId> operands, Attrs attrs, std::string_view node_name) {
  std::vector<TensorType> types;
  types.reserve(operands.size());
  for (const NodeId operand : operands) types.push_back(node(operand).type);
  base::Result<TensorType> type = infer_type(op, types, attrs);
  CAMSHAFT_CHECK(type.has_value());
  nodes_.push_back(
      {op, std::move(operands), std::move(attrs), std::move(type).value(), std::string(node_name)});
  return size() - 1;
}

void Graph::add_output(std::string_view output_name, NodeId node_id) {
  CAMSHAFT_CHECK(node_id >= 0 && node_id < size());
  outputs.push_back({std::string(output_name), node_id, "", {}});
}

std::vector<std::vector<NodeId>> consumers_of(const Graph& graph) {
  std::vector<std::vector<NodeId>> consumers(graph.nodes().size());
  for (NodeId id = 0; id < graph.size(); ++id) {
    for (const NodeId operand : graph.node(id).inputs) {
      consumers[static_cast<size_t>(operand)].push_back(id);
    }
  }
  return consumers;
}

}  // namespace camshaft::ir
