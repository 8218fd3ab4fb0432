// SPDX-License-Identifier: MIT
#include "codegen/onnx/builder.h"

#include <bit>
#include <utility>

#include "codegen/ir/literal.h"
#include "codegen/ir/oracle.h"
#include "runtime/base/log_ring.h"

namespace camshaft::onnx {
namespace {

// Products and windows grow faster than their operands, and no shape is computed with them.
bool is_cheap(ir::Op op) {
  return op != ir::Op::kMatMul && op != ir::Op::kConv && op != ir::Op::kPool;
}

}  // namespace

Value Builder::append(Entry entry) {
  entries_.push_back(std::move(entry));
  return Value(this, static_cast<int>(entries_.size()) - 1);
}

Value Builder::input(std::string_view name, TensorType type) {
  const ir::NodeId node = graph_->add_input(name, type);
  return append({.type = std::move(type), .node = node});
}

Value Builder::placeholder(TensorType type) {
  if (!ir::infer_type(ir::Op::kReshape, {type}, ir::ReshapeAttrs{type.shape})) return {};
  return splat(type, 1);
}

Value Builder::constant(std::shared_ptr<const ir::Literal> literal, std::string_view name) {
  CAMSHAFT_CHECK(literal != nullptr);
  TensorType type = literal->type;
  return append({.type = std::move(type),
                 .literal = std::move(literal),
                 .name = std::string(name.empty() ? node_name_ : name)});
}

Value Builder::scalar(DType dtype, double value, int rank) {
  const auto key = std::make_tuple(dtype, std::bit_cast<uint64_t>(value), rank);
  if (const auto found = scalars_.find(key); found != scalars_.end()) {
    return Value(this, found->second);
  }
  const TensorType type{dtype, Shape(static_cast<size_t>(rank), 1)};
  const Value made = constant(ir::splat_literal(type, value));
  scalars_[key] = made.index();
  return made;
}

Value Builder::splat(const TensorType& type, double value) {
  return broadcast_to(scalar(type.dtype, value, type.rank()), type.shape);
}

Value Builder::vector(DType dtype, const std::vector<double>& values) {
  return constant(ir::make_literal({dtype, {static_cast<int64_t>(values.size())}}, values));
}

Value Builder::ints(const Shape& values) {
  ir::Literal literal = ir::zero_literal({DType::kInt64, {static_cast<int64_t>(values.size())}});
  std::copy(values.begin(), values.end(), literal.data<int64_t>());
  return constant(std::move(literal));
}

Value Builder::iota(int64_t count) {
  if (!may_make(count)) return {};
  ir::Literal literal = ir::zero_literal({DType::kInt64, {count}});
  for (int64_t i = 0; i < count; ++i) literal.data<int64_t>()[i] = i;
  return constant(std::move(literal));
}

bool Builder::may_make(int64_t elements) {
  if (elements >= 0 && elements <= kMadeElements && made_elements_ + elements <= kAllMadeElements) {
    made_elements_ += elements;
    return true;
  }
  fail("would need a table of " + std::to_string(elements) + " elements in the plan");
  return false;
}

Value Builder::add(ir::Op op, const std::vector<Value>& operands, ir::Attrs attrs) {
  std::vector<TensorType> types;
  for (const Value& operand : operands) {
    if (!operand) return {};
    types.push_back(operand.type());
  }
  const uint64_t sequence = base::log_sequence();
  base::Result<TensorType> type = ir::infer_type(op, types, attrs);
  if (!type) {
    const std::vector<base::LogLine> lines = base::log_lines_after(sequence);
    return fail(lines.empty() ? std::string(ir::op_info(op).name) + " is not possible here"
                              : lines.back().text);
  }
  Entry entry{.type = *type, .literal = fold(op, operands, attrs, *type), .name = node_name_};
  if (entry.literal != nullptr) {
    if (op == ir::Op::kBroadcast) entry.broadcast_of = operands[0].index();
  } else {
    std::vector<ir::NodeId> nodes;
    for (const Value& operand : operands) nodes.push_back(node(operand));
    entry.node = graph_->add(op, std::move(nodes), std::move(attrs), node_name_);
  }
  return append(std::move(entry));
}

std::shared_ptr<const ir::Literal> Builder::fold(ir::Op op, const std::vector<Value>& operands,
                                                 const ir::Attrs& attrs,
                                                 const TensorType& type) const {
  if (!is_cheap(op) || type.elements() > kFoldElements) return nullptr;
  for (const Value& operand : operands) {
    if (operand.literal() == nullptr || operand.elements() > kFoldElements) return nullptr;
  }
  ir::Graph scratch;
  std::vector<ir::NodeId> nodes;
  std::vector<ir::OracleTensor> tensors;
  for (const Value& operand : operands) {
    nodes.push_back(scratch.add_constant(literal(operand.index())));
    tensors.push_back(ir::to_oracle(*operand.literal()));
  }
  std::vector<const ir::OracleTensor*> borrowed;
  for (const ir::OracleTensor& tensor : tensors) borrowed.push_back(&tensor);
  const ir::NodeId result = scratch.add(op, std::move(nodes), attrs);
  base::Result<ir::OracleTensor> value = ir::evaluate_node(scratch, scratch.node(result), borrowed);
  if (!value) return nullptr;
  return std::make_shared<const ir::Literal>(ir::to_literal(*value));
}

ir::NodeId Builder::node(Value value) {
  CAMSHAFT_CHECK(value.builder() == this);
  Entry& entry = entries_[static_cast<size_t>(value.index())];
  if (entry.node == ir::kNoNode) {
    entry.node = entry.broadcast_of < 0
                     ? graph_->add_constant(entry.literal, entry.name)
                     : graph_->add(ir::Op::kBroadcast, {node(Value(this, entry.broadcast_of))},
                                   ir::BroadcastAttrs{entry.type.shape}, entry.name);
  }
  return entry.node;
}

Value Builder::fail(std::string sentence) {
  if (failure_.empty()) failure_ = std::move(sentence);
  return {};
}

std::string Builder::take_failure() {
  return std::exchange(failure_, {});
}

}  // namespace camshaft::onnx
