// SPDX-License-Identifier: MIT
#include "codegen/lower/evaluator.h"

#include <algorithm>

#include "codegen/ir/graph_constants.h"
#include "codegen/ir/literal.h"
namespace camshaft::lower {

using ir::DType;
using ir::KOp;
using ir::Op;

DType compute_dtype(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16 ? DType::kFloat32 : dtype;
}

void Evaluator::bind(NodeId node, Source source) {
  bound_[node] = std::move(source);
  memo_.clear();
}

void Evaluator::unbind(NodeId node) {
  bound_.erase(node);
  memo_.clear();
}

ExprId Evaluator::value(NodeId node, const Index& index) {
  const auto key = std::pair(node, index);
  const auto found = memo_.find(key);
  if (found != memo_.end()) return found->second;
  const auto source = bound_.find(node);
  const ExprId result = source != bound_.end() ? source->second(index) : evaluate(node, index);
  memo_[key] = result;
  return result;
}

Stmt Evaluator::store_output(ir::ArrayId array, const Index& index, ExprId value) {
  return store_node(task_.region.output, array, index, value);
}

Stmt Evaluator::store_node(NodeId output, ir::ArrayId array, const Index& index, ExprId value) {
  const ir::TensorType& type = task_.type(output);
  const ExprId offset =
      layout_offset(kernel_, type.shape, task_.schedule.buffer(output).layout, index);
  // What was rounded to a half, and is stored as that, needs no second rounding.
  const ir::Expr& last = kernel_.expr(value);
  const bool is_widened =
      last.op == KOp::kCast && kernel_.expr(last.args[0]).type.dtype == type.dtype;
  const ExprId stored =
      ir::is_half(type.dtype) && is_widened ? last.args[0] : kernel_.cast(value, type.dtype);
  return ir::make_store(array, offset, stored);
}

ExprId Evaluator::evaluate(NodeId id, const Index& index) {
  const ir::Node& node = task_.node(id);
  if (const auto splat = ir::splat_value(task_.graph(), id)) {
    return kernel_.splat(*splat, {compute_dtype(node.type.dtype), 1});
  }
  if (arrays_.count(id) > 0) return load_leaf(id, index);
  if (ir::is_movement(node.op)) return evaluate_movement(node, index);
  if (node.op == Op::kGather) return evaluate_gather(node, index);
  CAMSHAFT_CHECK(ir::is_elementwise(node.op));
  const ExprId a = value(node.inputs[0], index);
  switch (node.inputs.size()) {
    case 1:
      return evaluate_unary(node, a);
    case 2:
      return evaluate_binary(node, a, value(node.inputs[1], index));
    default:
      return kernel_.select(a, value(node.inputs[1], index), value(node.inputs[2], index));
  }
}

ExprId Evaluator::load_leaf(NodeId id, const Index& index) {
  const ir::TensorType& type = task_.type(id);
  const ExprId offset = layout_offset(kernel_, type.shape, task_.schedule.buffer(id).layout, index);
  return kernel_.cast(kernel_.load(arrays_.at(id), offset), compute_dtype(type.dtype));
}

ExprId Evaluator::evaluate_unary(const ir::Node& node, ExprId a) {
  const ir::ValueType type = kernel_.expr(a).type;
  switch (node.op) {
    case Op::kNeg:
      return base::is_float(type.dtype) ? kernel_.unary(KOp::kNeg, a)
                                        : kernel_.sub(kernel_.splat(0, type), a);
    case Op::kAbs:
      if (base::is_float(type.dtype)) return kernel_.unary(KOp::kAbs, a);
      if (base::is_unsigned_int(type.dtype)) return a;
      return kernel_.select(kernel_.binary(KOp::kLt, a, kernel_.splat(0, type)),
                            kernel_.sub(kernel_.splat(0, type), a), a);
    case Op::kExp:
      return kernel_.unary(KOp::kExp, a);
    case Op::kLog:
      return kernel_.unary(KOp::kLog, a);
    case Op::kSqrt:
      return kernel_.unary(KOp::kSqrt, a);
    case Op::kSin:
      return kernel_.unary(KOp::kSin, a);
    case Op::kCos:
      return kernel_.unary(KOp::kCos, a);
    case Op::kAtan:
      return kernel_.unary(KOp::kAtan, a);
    case Op::kTanh:
      return kernel_.unary(KOp::kTanh, a);
    case Op::kErf:
      return kernel_.unary(KOp::kErf, a);
    case Op::kFloor:
      return kernel_.unary(KOp::kFloor, a);
    case Op::kCeil:
      return kernel_.unary(KOp::kCeil, a);
    case Op::kRound:
      return kernel_.unary(KOp::kRound, a);
    case Op::kSigmoid:
      return kernel_.unary(KOp::kSigmoid, a);
    case Op::kNot: {
      const ExprId one = kernel_.splat(1, type);
      if (type.dtype == DType::kBool) return kernel_.binary(KOp::kXor, a, one);
      return kernel_.sub(kernel_.sub(kernel_.splat(0, type), one), a);  // all bits set, less a
    }
    case Op::kIsNan:
      return kernel_.binary(KOp::kXor, kernel_.binary(KOp::kEq, a, a),
                            kernel_.splat(1, {DType::kBool, type.lanes}));
    case Op::kCast: {
      const DType to = compute_dtype(node.as<ir::CastAttrs>().to);
      if (to == DType::kBool && type.dtype != DType::kBool) {
        return kernel_.binary(KOp::kXor, kernel_.binary(KOp::kEq, a, kernel_.splat(0, type)),
                              kernel_.splat(1, {DType::kBool, type.lanes}));
      }
      // A cast to f16 or bf16 rounds even though the value is then computed in f32.
      const ExprId rounded = kernel_.cast(a, node.as<ir::CastAttrs>().to);
      return kernel_.cast(rounded, to);
    }
    case Op::kBitcast: {
      const ExprId stored = kernel_.cast(a, task_.type(node.inputs[0]).dtype);
      const ExprId bits = kernel_.bitcast(stored, node.type.dtype);
      return kernel_.cast(bits, compute_dtype(node.type.dtype));
    }
    default:
      CAMSHAFT_CHECK(false && "not a unary op");
      return a;
  }
}

// Max or Min with the graph's rule that NaN wins, from kMax and kMin, which give their second
// operand if either is NaN.
ExprId Evaluator::extreme(KOp op, const ir::Node& node, ExprId a, ExprId b) {
  if (!base::is_float(kernel_.expr(a).type.dtype)) return kernel_.binary(op, a, b);
  const auto is_number = [&](NodeId id) {
    const auto value = ir::splat_value(task_.graph(), id);
    return value.has_value() && *value == *value;
  };
  if (is_number(node.inputs[0])) return kernel_.binary(op, a, b);
  if (is_number(node.inputs[1])) return kernel_.binary(op, b, a);
  return kernel_.select(kernel_.binary(KOp::kEq, a, a), kernel_.binary(op, a, b), a);
}

// The kernel's shifts are defined for amounts below the number of bits, the graph's for all.
ExprId Evaluator::shift(KOp op, ExprId a, ExprId amount) {
  const ir::ValueType type = kernel_.expr(a).type;
  const auto bits = static_cast<double>(base::dtype_size_bytes(type.dtype) * 8);
  const ExprId fits = kernel_.binary(KOp::kLt, amount, kernel_.splat(bits, type));
  const ExprId limited = kernel_.binary(KOp::kAnd, amount, kernel_.splat(bits - 1, type));
  return kernel_.select(fits, kernel_.binary(op, a, limited), kernel_.splat(0, type));
}

ExprId Evaluator::evaluate_binary(const ir::Node& node, ExprId a, ExprId b) {
  const ir::ValueType type = kernel_.expr(a).type;
  const bool is_float = base::is_float(type.dtype);
  const auto guarded = [&](KOp op) {  // integers: division by zero gives 0
    if (is_float) return kernel_.binary(op, a, b);
    const ExprId zero = kernel_.splat(0, type);
    const ExprId by_zero = kernel_.binary(KOp::kEq, b, zero);
    const ExprId divisor = kernel_.select(by_zero, kernel_.splat(1, type), b);
    return kernel_.select(by_zero, zero, kernel_.binary(op, a, divisor));
  };
  switch (node.op) {
    case Op::kAdd:
      return kernel_.add(a, b);
    case Op::kSub:
      return kernel_.sub(a, b);
    case Op::kMul:
      return kernel_.mul(a, b);
    case Op::kDiv:
      return guarded(KOp::kDiv);
    case Op::kRem:
      return guarded(KOp::kRem);
    case Op::kPow: {
      if (is_float) return kernel_.binary(KOp::kPow, a, b);
      const ExprId power = kernel_.binary(KOp::kPow, kernel_.cast(a, DType::kFloat64),
                                          kernel_.cast(b, DType::kFloat64));
      return kernel_.cast(kernel_.unary(KOp::kRound, power), type.dtype);
    }
    case Op::kMin:
      return extreme(KOp::kMin, node, a, b);
    case Op::kMax:
      return extreme(KOp::kMax, node, a, b);
    case Op::kEqual:
      return kernel_.binary(KOp::kEq, a, b);
    case Op::kLess:
      return kernel_.binary(KOp::kLt, a, b);
    case Op::kLessEqual:
      return kernel_.binary(KOp::kLe, a, b);
    case Op::kAnd:
      return kernel_.binary(KOp::kAnd, a, b);
    case Op::kOr:
      return kernel_.binary(KOp::kOr, a, b);
    case Op::kXor:
      return kernel_.binary(KOp::kXor, a, b);
    case Op::kShiftLeft:
      return shift(KOp::kShl, a, b);
    case Op::kShiftRight:
      return shift(KOp::kShr, a, b);
    default:
      CAMSHAFT_CHECK(false && "not a binary op");
      return a;
  }
}

ExprId Evaluator::clamp(ExprId index, int64_t extent) {
  const ExprId at_least = kernel_.binary(KOp::kMax, index, kernel_.int_const(0));
  return kernel_.binary(KOp::kMin, at_least, kernel_.int_const(extent - 1));
}

ExprId Evaluator::evaluate_movement(const ir::Node& node, const Index& index) {
  const NodeId from = node.inputs[0];
  const ir::Shape& shape = task_.type(from).shape;
  Index source = index;
  switch (node.op) {
    case Op::kReshape:
      return value(from, reshape_index(kernel_, shape, node.type.shape, index));
    case Op::kTranspose: {
      const std::vector<int>& perm = node.as<ir::TransposeAttrs>().perm;
      for (size_t axis = 0; axis < perm.size(); ++axis) {
        source[static_cast<size_t>(perm[axis])] = index[axis];
      }
      return value(from, source);
    }
    case Op::kBroadcast:
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        if (shape[axis] == 1) source[axis] = kernel_.int_const(0);
      }
      return value(from, source);
    case Op::kSlice: {
      const auto& slice = node.as<ir::SliceAttrs>();
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        source[axis] = kernel_.add(kernel_.mul(index[axis], slice.step[axis]), slice.begin[axis]);
      }
      return value(from, source);
    }
    case Op::kPad:
      return evaluate_pad(node, index);
    case Op::kConcat:
      return evaluate_concat(node, index);
    default:
      CAMSHAFT_CHECK(false && "not a movement op");
      return ir::kNoExpr;
  }
}

ExprId Evaluator::evaluate_pad(const ir::Node& node, const Index& index) {
  const auto& pad = node.as<ir::PadAttrs>();
  const ir::TensorType& type = task_.type(node.inputs[0]);
  Index source = index;
  ExprId inside = kernel_.int_const(1, DType::kBool);
  for (size_t axis = 0; axis < index.size(); ++axis) {
    const int64_t extent = type.shape[axis];
    if (pad.before[axis] == 0 && pad.after[axis] == 0) continue;
    const ExprId at = kernel_.add(index[axis], -pad.before[axis]);
    switch (pad.mode) {
      case ir::PadMode::kConstant: {
        const ExprId low = kernel_.binary(KOp::kLe, kernel_.int_const(0), at);
        const ExprId high = kernel_.binary(KOp::kLt, at, kernel_.int_const(extent));
        inside = kernel_.binary(KOp::kAnd, inside, kernel_.binary(KOp::kAnd, low, high));
        source[axis] = clamp(at, extent);
        break;
      }
      case ir::PadMode::kEdge:
        source[axis] = clamp(at, extent);
        break;
      case ir::PadMode::kReflect: {
        // A triangle wave of period 2 * (extent - 1).
        const int64_t period = std::max<int64_t>(2 * (extent - 1), 1);
        const int64_t turns = (pad.before[axis] + period - 1) / period * period;
        const ExprId phase = kernel_.mod(kernel_.add(at, turns), period);
        source[axis] =
            kernel_.binary(KOp::kMin, phase, kernel_.sub(kernel_.int_const(period), phase));
        source[axis] = clamp(source[axis], extent);
        break;
      }
      case ir::PadMode::kWrap: {
        const int64_t turns = (pad.before[axis] + extent - 1) / extent * extent;
        source[axis] = kernel_.mod(kernel_.add(at, turns), extent);
        break;
      }
    }
  }
  const ExprId padding = kernel_.splat(pad.value, {compute_dtype(type.dtype), 1});
  if (type.elements() == 0) return padding;
  return kernel_.select(inside, value(node.inputs[0], source), padding);
}

ExprId Evaluator::evaluate_concat(const ir::Node& node, const Index& index) {
  const auto axis = static_cast<size_t>(node.as<ir::ConcatAttrs>().axis);
  ExprId result = ir::kNoExpr;
  int64_t end = node.type.shape[axis];
  for (size_t i = node.inputs.size(); i-- > 0;) {
    const int64_t extent = task_.type(node.inputs[i]).shape[axis];
    const int64_t begin = end - extent;
    end = begin;
    if (extent == 0) continue;
    Index source = index;
    source[axis] = clamp(kernel_.add(index[axis], -begin), extent);
    const ExprId piece = value(node.inputs[i], source);
    if (result == ir::kNoExpr) {
      result = piece;
    } else {
      const ExprId here = kernel_.binary(KOp::kLt, index[axis], kernel_.int_const(begin + extent));
      result = kernel_.select(here, piece, result);
    }
  }
  CAMSHAFT_CHECK(result != ir::kNoExpr);
  return result;
}

// Whether all of an integer node's elements are known to be in [0, extent).
bool Evaluator::are_inside(NodeId indices, int64_t extent) const {
  const ir::Literal* literal = ir::literal_of(task_.graph(), indices);
  if (literal == nullptr) return false;
  for (int64_t i = 0; i < literal->type.elements(); ++i) {
    const int64_t value = ir::literal_as_int(*literal, i);
    if (value < 0 || value >= extent) return false;
  }
  return true;
}

ExprId Evaluator::evaluate_gather(const ir::Node& node, const Index& index) {
  const auto axis = static_cast<size_t>(node.as<ir::GatherAttrs>().axis);
  const ir::Shape& data_shape = task_.type(node.inputs[0]).shape;
  const size_t indices_rank = task_.type(node.inputs[1]).shape.size();
  const Index which(index.begin() + static_cast<int64_t>(axis),
                    index.begin() + static_cast<int64_t>(axis + indices_rank));
  ExprId at = kernel_.cast(value(node.inputs[1], which), DType::kInt64);
  if (!are_inside(node.inputs[1], data_shape[axis])) {
    const ExprId from_end = kernel_.add(at, kernel_.int_const(data_shape[axis]));
    at = kernel_.select(kernel_.binary(KOp::kLt, at, kernel_.int_const(0)), from_end, at);
    at = clamp(at, data_shape[axis]);
  }
  Index source(index.begin(), index.begin() + static_cast<int64_t>(axis));
  source.push_back(at);
  source.insert(source.end(), index.begin() + static_cast<int64_t>(axis + indices_rank),
                index.end());
  return value(node.inputs[0], source);
}

}  // namespace camshaft::lower
