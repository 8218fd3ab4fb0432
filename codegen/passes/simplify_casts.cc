// SPDX-License-Identifier: MIT
#include "codegen/passes/passes.h"
#include "codegen/passes/rewriter.h"

namespace camshaft::passes {
namespace {

using base::DType;
using ir::Op;

// Bits of an integer dtype's magnitude; bool has one.
int value_bits(DType dtype) {
  if (dtype == DType::kBool) return 1;
  const int bits = static_cast<int>(base::dtype_size_bytes(dtype)) * 8;
  return base::is_signed_int(dtype) ? bits - 1 : bits;
}

// Bits of the significand, the leading one included.
int significand_bits(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return 53;
    case DType::kFloat32:
      return 24;
    case DType::kFloat16:
      return 11;
    default:
      return 8;
  }
}

// Whether a cast from one to the other loses nothing.
bool holds_all_values(DType wide, DType narrow) {
  if (wide == narrow) return true;
  if (base::is_float(narrow)) {
    return base::is_float(wide) && significand_bits(wide) > significand_bits(narrow) &&
           (wide == DType::kFloat32 || wide == DType::kFloat64);
  }
  if (wide == DType::kBool) return false;
  if (base::is_float(wide)) return value_bits(narrow) <= significand_bits(wide);
  if (base::is_signed_int(narrow) && !base::is_signed_int(wide)) return false;
  return value_bits(narrow) <= value_bits(wide);
}

// A float between two integers turns wrapping into saturation, which shows only where the last one
// is too small.
bool middle_may_go(DType from, DType middle, DType to) {
  if (!holds_all_values(middle, from)) return false;
  const bool changes_rule = !base::is_float(from) && base::is_float(middle) && base::is_int(to);
  return !changes_rule || holds_all_values(to, from);
}

NodeId simplify(Graph& out, const Node& node) {
  if (node.op != Op::kCast) return kNoNode;
  const Node& x = out.node(node.inputs[0]);
  if (x.type.dtype == node.type.dtype) return node.inputs[0];
  if (x.op != Op::kCast) return kNoNode;
  const NodeId source = x.inputs[0];
  if (!middle_may_go(out.node(source).type.dtype, x.type.dtype, node.type.dtype)) return kNoNode;
  if (out.node(source).type == node.type) return source;
  return out.add(Op::kCast, {source}, node.attrs, node.name);
}

}  // namespace

Graph simplify_casts(const Graph& graph) {
  return rewrite(graph, simplify);
}

}  // namespace camshaft::passes
