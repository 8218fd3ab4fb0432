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

Value Builder::constant(LiteralPtr literal, std::string_view name) {
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
  fail("would need a table of " + std::to_string(elements) + " elements in the plan",
       base::Code::kUnsupported);
  return false;
}

Value Builder::add(ir::Op op, const std::vector<Value>& given, ir::Attrs attrs) {
  std::vector<Value> operands = given;
  std::map<int, Value> counts;
  if (!carry_counts(op, attrs, &operands, &counts)) return {};
  std::vector<TensorType> types;
  std::vector<LiteralPtr> literals;
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
    std::vector<Interval> intervals;
    std::vector<ir::NodeId> nodes;
    for (const Value& operand : operands) {
      intervals.push_back(interval(operand.index()));
      nodes.push_back(node(operand));
    }
    entry.interval = interval_of(op, intervals, attrs, *type);
    entry.node = graph_->add(op, std::move(nodes), std::move(attrs), node_name_);
  }
  entry.counts = std::move(counts);
  return append(std::move(entry)).as_narrow(*narrow);
}

Interval Builder::interval(int index) const {
  const Entry& entry = entries_[static_cast<size_t>(index)];
  return entry.literal != nullptr ? Interval{entry.literal, entry.literal} : entry.interval;
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
  const auto splat = [&](double value) {
    return std::make_shared<const ir::Literal>(ir::splat_literal(entry.type, value));
  };
  entry.interval = {splat(0), splat(static_cast<double>(most))};
  return append(std::move(entry));
}

void Builder::watch_bound(Value is_exceeded) {
  watched_bounds_.push_back(taken_ ? logical_and(taken_, is_exceeded) : is_exceeded);
}

Builder::TakenIf::TakenIf(Builder* builder, Value condition)
    : builder_(builder), before_(builder->taken_) {
  if (!condition) return;
  builder->taken_ = before_ ? logical_and(before_, condition) : condition;
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

Value Builder::fail(std::string sentence, base::Code code) {
  if (!failed()) failure_ = {code, std::move(sentence)};
  return {};
}

Failure Builder::take_failure() {
  return std::exchange(failure_, {});
}

}  // namespace camshaft::onnx
