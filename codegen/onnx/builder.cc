// SPDX-License-Identifier: MIT
#include "codegen/onnx/builder.h"

#include <bit>
#include <optional>
#include <utility>

#include "codegen/ir/literal.h"
#include "codegen/ir/oracle.h"
#include "codegen/onnx/extents.h"
#include "runtime/base/log_ring.h"

namespace camshaft::onnx {
namespace {

// Values that stand for sizes are small.
constexpr int64_t kBoundedElements = 256;

bool carries_bounds(ir::Op op) {
  switch (op) {
    case ir::Op::kAdd:
    case ir::Op::kSub:
    case ir::Op::kMul:
    case ir::Op::kDiv:
    case ir::Op::kMin:
    case ir::Op::kMax:
    case ir::Op::kSelect:
    case ir::Op::kCast:
    case ir::Op::kFloor:
    case ir::Op::kCeil:
    case ir::Op::kRound:
    case ir::Op::kReduce:
    case ir::Op::kGather:
      return true;
    default:
      return ir::is_movement(op);
  }
}

// Products and windows grow faster than their operands, and no shape is computed with them.
bool is_cheap(ir::Op op) {
  return op != ir::Op::kMatMul && op != ir::Op::kConv && op != ir::Op::kPool;
}

// Which operands' elements the result's elements are: all of [first, last).
std::pair<size_t, size_t> moved_operands(ir::Op op, const ir::Attrs& attrs, size_t count) {
  if (ir::is_movement(op)) return {0, count};
  if (op == ir::Op::kSelect) return {1, count};
  if (op == ir::Op::kGather) return {0, 1};
  const auto* scatter = std::get_if<ir::ScatterAttrs>(&attrs);
  const bool replaces = scatter != nullptr && scatter->kind == ir::ScatterKind::kReplace;
  return {0, replaces ? count : 0};
}

// The narrow type of the result, or nothing if the operation does not exist for its operands.
std::optional<Narrow> narrow_result(ir::Op op, const std::vector<Value>& operands,
                                    const ir::Attrs& attrs) {
  const auto [first, last] = moved_operands(op, attrs, operands.size());
  const Narrow result = first < last ? operands[first].narrow() : Narrow::kNone;
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool is_row_number = op == ir::Op::kScatter && i == 1;
    const bool is_moved = i >= first && i < last && !is_row_number;
    if (operands[i].narrow() != (is_moved ? result : Narrow::kNone)) return std::nullopt;
  }
  return result;
}

std::string narrow_sentence(const std::vector<Value>& operands) {
  std::string names;
  for (const Value& operand : operands) {
    names += (names.empty() ? "" : ", ") + element_type_name(operand.element_type());
  }
  return "is not possible on " + names +
         ": types of less than 8 bits and 8-bit floats can be moved, cast, quantized and "
         "dequantized";
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

Value Builder::add(ir::Op op, const std::vector<Value>& given, ir::Attrs attrs) {
  std::vector<Value> operands = given;
  std::map<int, Value> counts;
  if (!carry_counts(op, attrs, &operands, &counts)) return {};
  std::vector<TensorType> types;
  Literals literals;
  for (const Value& operand : operands) {
    if (!operand) return {};
    types.push_back(operand.type());
    literals.push_back(literal(operand.index()));
  }
  const std::optional<Narrow> narrow = narrow_result(op, operands, attrs);
  if (!narrow) return fail(narrow_sentence(operands));
  const uint64_t sequence = base::log_sequence();
  base::Result<TensorType> type = ir::infer_type(op, types, attrs);
  if (!type) {
    const std::vector<base::LogLine> lines = base::log_lines_after(sequence);
    return fail(lines.empty() ? std::string(ir::op_info(op).name) + " is not possible here"
                              : lines.back().text);
  }
  Entry entry{.type = *type, .literal = fold(op, literals, attrs, *type), .name = node_name_};
  if (entry.literal != nullptr) {
    if (op == ir::Op::kBroadcast) entry.broadcast_of = operands[0].index();
  } else {
    entry.bounds = bounds_of(op, operands, attrs, *type);
    std::vector<ir::NodeId> nodes;
    for (const Value& operand : operands) nodes.push_back(node(operand));
    entry.node = graph_->add(op, std::move(nodes), std::move(attrs), node_name_);
  }
  entry.counts = std::move(counts);
  return append(std::move(entry)).as_narrow(*narrow);
}

std::shared_ptr<const ir::Literal> Builder::fold(ir::Op op, const Literals& operands,
                                                 const ir::Attrs& attrs,
                                                 const TensorType& type) const {
  if (!is_cheap(op) || type.elements() > kFoldElements) return nullptr;
  for (const std::shared_ptr<const ir::Literal>& operand : operands) {
    if (operand == nullptr || operand->type.elements() > kFoldElements) return nullptr;
  }
  ir::Graph scratch;
  std::vector<ir::NodeId> nodes;
  std::vector<ir::OracleTensor> tensors;
  for (const std::shared_ptr<const ir::Literal>& operand : operands) {
    nodes.push_back(scratch.add_constant(operand));
    tensors.push_back(ir::to_oracle(*operand));
  }
  std::vector<const ir::OracleTensor*> borrowed;
  for (const ir::OracleTensor& tensor : tensors) borrowed.push_back(&tensor);
  const ir::NodeId result = scratch.add(op, std::move(nodes), attrs);
  base::Result<ir::OracleTensor> value = ir::evaluate_node(scratch, scratch.node(result), borrowed);
  if (!value) return nullptr;
  return std::make_shared<const ir::Literal>(ir::to_literal(*value));
}

// The operation on its operands' bounds, for those that grow with their operands: sizes are not
// negative, and nothing else has bounds.
std::shared_ptr<const ir::Literal> Builder::bounds_of(ir::Op op, const std::vector<Value>& operands,
                                                      const ir::Attrs& attrs,
                                                      const TensorType& type) const {
  if (type.elements() > kBoundedElements || !carries_bounds(op)) return nullptr;
  Literals most;
  for (const Value& operand : operands) {
    const std::shared_ptr<const ir::Literal>& known = literal(operand.index());
    most.push_back(known != nullptr ? known : bounds(operand.index()));
  }
  if (op == ir::Op::kSelect) {
    return most[1] == nullptr || most[2] == nullptr
               ? nullptr
               : fold(ir::Op::kMax, {most[1], most[2]}, {}, type);
  }
  if (op == ir::Op::kMin) {  // one bound is enough
    if (most[0] == nullptr) return most[1];
    if (most[1] == nullptr) return most[0];
  }
  const bool shrinks = op == ir::Op::kSub || op == ir::Op::kDiv;
  if (shrinks && literal(operands[1].index()) == nullptr) return most[0];
  for (const std::shared_ptr<const ir::Literal>& each : most) {
    if (each == nullptr) return nullptr;
  }
  return fold(op, most, attrs, type);
}

Value Builder::with_counts(Value x, std::map<int, Value> counts) {
  if (!x) return x;
  Entry entry = entries_[static_cast<size_t>(x.index())];
  if (entry.literal == nullptr || entry.broadcast_of >= 0) entry.node = node(x);
  entry.counts = std::move(counts);
  return append(std::move(entry));
}

Value Builder::with_bound(Value x, int64_t most) {
  if (!x || x.literal() != nullptr) return x;
  Entry entry = entries_[static_cast<size_t>(x.index())];
  entry.bounds =
      std::make_shared<const ir::Literal>(ir::splat_literal(entry.type, static_cast<double>(most)));
  return append(std::move(entry));
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
