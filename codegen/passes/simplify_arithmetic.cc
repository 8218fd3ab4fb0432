// SPDX-License-Identifier: MIT
// Identities over one elementwise node and its operands. Each rule is a function that returns the
// node to use instead, or kNoNode.
#include <cmath>
#include <optional>

#include "codegen/ir/graph_constants.h"
#include "codegen/ir/literal.h"
#include "codegen/passes/passes.h"
#include "codegen/passes/rewriter.h"

namespace camshaft::passes {
namespace {

using ir::Op;
using ir::splat_value;

constexpr int64_t kMaxReciprocals = int64_t{1} << 20;

// The node a rule looks at, with short names for its parts.
struct Match {
  Graph& out;
  const Node& node;

  NodeId operand(int i) const { return node.inputs[static_cast<size_t>(i)]; }
  Op op_of(int i) const { return out.node(operand(i)).op; }
  // Operand `j` of operand `i`.
  NodeId inner(int i, int j = 0) const {
    return out.node(operand(i)).inputs[static_cast<size_t>(j)];
  }
  bool is_splat(int i, double value) const { return splat_value(out, operand(i)) == value; }
  bool is_float() const { return base::is_float(node.type.dtype); }
  NodeId make(Op op, std::vector<NodeId> operands) const {
    return out.add(op, std::move(operands), {}, node.name);
  }
  NodeId splat(double value) const { return out.add_splat(node.type, value); }
};

bool is_commutative(Op op) {
  switch (op) {
    case Op::kAdd:
    case Op::kMul:
    case Op::kMin:
    case Op::kMax:
    case Op::kEqual:
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
      return true;
    default:
      return false;
  }
}

bool is_known(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  return ir::literal_of(graph, node.op == Op::kBroadcast ? node.inputs[0] : id) != nullptr;
}

// A constant goes to the right.
NodeId order_operands(const Match& m) {
  if (!is_commutative(m.node.op)) return kNoNode;
  if (!is_known(m.out, m.operand(0)) || is_known(m.out, m.operand(1))) return kNoNode;
  return m.make(m.node.op, {m.operand(1), m.operand(0)});
}

NodeId simplify_add(const Match& m) {
  if (m.is_splat(1, 0)) return m.operand(0);
  if (m.op_of(1) == Op::kNeg) return m.make(Op::kSub, {m.operand(0), m.inner(1)});
  if (m.op_of(0) == Op::kNeg) return m.make(Op::kSub, {m.operand(1), m.inner(0)});
  return kNoNode;
}

NodeId simplify_sub(const Match& m) {
  if (m.is_splat(1, 0)) return m.operand(0);
  if (m.is_splat(0, 0)) return m.make(Op::kNeg, {m.operand(1)});
  if (m.op_of(1) == Op::kNeg) return m.make(Op::kAdd, {m.operand(0), m.inner(1)});
  return kNoNode;
}

NodeId simplify_mul(const Match& m) {
  if (m.is_splat(1, 1)) return m.operand(0);
  if (m.is_splat(1, -1)) return m.make(Op::kNeg, {m.operand(0)});
  // x * 0 is not 0 for infinities and NaN.
  if (!m.is_float() && m.is_splat(1, 0)) return m.splat(0);
  if (m.op_of(0) == Op::kNeg && m.op_of(1) == Op::kNeg) {
    return m.make(Op::kMul, {m.inner(0), m.inner(1)});
  }
  return kNoNode;
}

// Reciprocals of powers of two, if all elements are such and the reciprocals are normal numbers:
// then x / c and x * (1/c) are roundings of the same number.
std::optional<ir::Literal> exact_reciprocals(const ir::Literal& literal) {
  const int64_t count = literal.type.elements();
  if (!base::is_float(literal.type.dtype) || count > kMaxReciprocals) return std::nullopt;
  ir::Literal result = ir::zero_literal(literal.type);
  for (int64_t i = 0; i < count; ++i) {
    int exponent = 0;
    const double value = ir::literal_as_double(literal, i);
    if (std::fabs(std::frexp(value, &exponent)) != 0.5 || std::abs(exponent) > 14) {
      return std::nullopt;
    }
    ir::set_literal_element(result, i, 1 / value);
  }
  return result;
}

NodeId simplify_div(const Match& m) {
  if (m.is_splat(1, 1)) return m.operand(0);
  if (m.is_splat(1, -1)) return m.make(Op::kNeg, {m.operand(0)});
  const Node& divisor = m.out.node(m.operand(1));
  const bool stretched = divisor.op == Op::kBroadcast;
  const ir::Literal* literal = ir::literal_of(m.out, stretched ? divisor.inputs[0] : m.operand(1));
  if (literal == nullptr) return kNoNode;
  std::optional<ir::Literal> reciprocals = exact_reciprocals(*literal);
  if (!reciprocals) return kNoNode;
  const ir::Attrs attrs = divisor.attrs;
  NodeId factor = m.out.add_constant(std::move(*reciprocals));
  if (stretched) factor = m.out.add(Op::kBroadcast, {factor}, attrs);
  return m.make(Op::kMul, {m.operand(0), factor});
}

NodeId simplify_pow(const Match& m) {
  const std::optional<double> exponent = splat_value(m.out, m.operand(1));
  const NodeId x = m.operand(0);
  if (!exponent) return kNoNode;
  if (*exponent == 0) return m.splat(1);  // of NaN, too
  if (*exponent == 1) return x;
  if (*exponent == 2) return m.make(Op::kMul, {x, x});
  if (*exponent == 3) return m.make(Op::kMul, {m.make(Op::kMul, {x, x}), x});
  if (!m.is_float()) return kNoNode;
  if (*exponent == 0.5) return m.make(Op::kSqrt, {x});
  if (*exponent == -1) return m.make(Op::kDiv, {m.splat(1), x});
  if (*exponent == -0.5) return m.make(Op::kDiv, {m.splat(1), m.make(Op::kSqrt, {x})});
  return kNoNode;
}

// Bitwise ops with all bits clear (`zero`) or set, logical ones with false or true.
NodeId simplify_bits(const Match& m) {
  const Op op = m.node.op;
  if (op != Op::kXor && m.operand(0) == m.operand(1)) return m.operand(0);
  const std::optional<int64_t> bits = ir::splat_int(m.out, m.operand(1));
  if (!bits) return kNoNode;
  const int64_t ones = ir::wrap_to_dtype(-1, m.node.type.dtype);
  if (*bits == 0) return op == Op::kAnd ? m.operand(1) : m.operand(0);
  if (*bits == ones && op == Op::kAnd) return m.operand(0);
  if (*bits == ones && op == Op::kOr) return m.operand(1);
  if (*bits == ones) return m.make(Op::kNot, {m.operand(0)});
  return kNoNode;
}

NodeId simplify_select(const Match& m) {
  if (m.operand(1) == m.operand(2)) return m.operand(1);
  if (const std::optional<int64_t> known = ir::splat_int(m.out, m.operand(0))) {
    return m.operand(*known != 0 ? 1 : 2);
  }
  if (m.op_of(0) != Op::kNot) return kNoNode;
  return m.make(Op::kSelect, {m.inner(0), m.operand(2), m.operand(1)});
}

bool gives_whole_numbers(Op op) {
  return op == Op::kFloor || op == Op::kCeil || op == Op::kRound;
}

NodeId simplify_unary(const Match& m) {
  const Op op = m.node.op;
  const Op inner = m.op_of(0);
  if ((op == Op::kNeg || op == Op::kNot) && inner == op) return m.inner(0);
  if (op == Op::kAbs && inner == Op::kAbs) return m.operand(0);
  if (op == Op::kAbs && inner == Op::kNeg) return m.make(Op::kAbs, {m.inner(0)});
  if (gives_whole_numbers(op) && gives_whole_numbers(inner)) return m.operand(0);
  if (op == Op::kNeg && inner == Op::kSub) return m.make(Op::kSub, {m.inner(0, 1), m.inner(0)});
  return kNoNode;
}

// Over axes of extent 1 a reduction is its only element.
NodeId simplify_reduce(const Match& m) {
  return m.node.type == m.out.node(m.operand(0)).type ? m.operand(0) : kNoNode;
}

NodeId simplify(Graph& out, const Node& node) {
  const Match m{out, node};
  if (const NodeId ordered = order_operands(m); ordered != kNoNode) return ordered;
  switch (node.op) {
    case Op::kAdd:
      return simplify_add(m);
    case Op::kSub:
      return simplify_sub(m);
    case Op::kMul:
      return simplify_mul(m);
    case Op::kDiv:
      return simplify_div(m);
    case Op::kPow:
      return simplify_pow(m);
    case Op::kMin:
    case Op::kMax:
      return m.operand(0) == m.operand(1) ? m.operand(0) : kNoNode;
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
      return simplify_bits(m);
    case Op::kSelect:
      return simplify_select(m);
    case Op::kReduce:
      return simplify_reduce(m);
    default:
      return ir::is_elementwise(node.op) && node.inputs.size() == 1 ? simplify_unary(m) : kNoNode;
  }
}

}  // namespace

Graph simplify_arithmetic(const Graph& graph) {
  return rewrite(graph, simplify);
}

}  // namespace camshaft::passes
