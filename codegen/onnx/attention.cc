// SPDX-License-Identifier: MIT
#include "codegen/onnx/attention.h"

#include <algorithm>
#include <cmath>

#include "codegen/onnx/builder.h"
#include "codegen/onnx/flat_index.h"
#include "codegen/onnx/formulas.h"

namespace camshaft::onnx {
namespace {

// Heads of q that share a head of k become rows of one product.
Value group_heads(Value x, int64_t kv_heads) {
  if (!x || x.dim(1) == kv_heads) return x;
  return reshape(x, {x.dim(0), kv_heads, x.dim(1) / kv_heads * x.dim(2), x.dim(3)});
}

Value ungroup_heads(Value x, int64_t heads) {
  if (!x || x.dim(1) == heads) return x;
  return reshape(x, {x.dim(0), heads, x.dim(1) * x.dim(2) / heads, x.dim(3)});
}

}  // namespace

DType attention_dtype(Value x) {
  return x.dtype() == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
}

Value attention_scores(Value q, Value k, double scale) {
  const DType dtype = attention_dtype(q);
  const Value product =
      matmul(group_heads(cast(q, dtype), k.dim(1)), transpose(cast(k, dtype), {0, 1, 3, 2}));
  return ungroup_heads(scale == 1 ? product : product * scale, q.dim(1));
}

Value attention_mix(Value probabilities, Value v) {
  const DType dtype = attention_dtype(v);
  const Value p = group_heads(cast(probabilities, dtype), v.dim(1));
  return ungroup_heads(matmul(p, cast(v, dtype)), probabilities.dim(1));
}

AttentionStages attend(const Attention& attention) {
  AttentionStages stages;
  stages.scores = attention_scores(attention.q, attention.k, attention.scale);
  stages.capped = stages.scores;
  if (attention.softcap != 0) {
    stages.capped = attention.softcap * tanh(stages.scores / attention.softcap);
  }
  stages.biased = stages.capped;
  if (attention.bias) stages.biased = stages.biased + cast(attention.bias, stages.biased.dtype());
  if (attention.allowed) {
    stages.biased =
        select(attention.allowed, stages.biased, scalar_like(stages.biased, attention.masked));
  }
  const Value logits = cast(stages.biased, attention.softmax_dtype);
  stages.probabilities =
      attention.may_see_nothing ? softmax_or_zero(logits, {3}) : softmax(logits, {3});
  stages.y = cast(attention_mix(stages.probabilities, attention.v), attention.q.dtype());
  return stages;
}

bool check_heads(NodeReader& node, const Attention& attention) {
  if (!attention.q || !attention.k || !attention.v) return false;
  const Shape& q = attention.q.shape();
  const Shape& k = attention.k.shape();
  const Shape& v = attention.v.shape();
  const bool fits = q.size() == 4 && k.size() == 4 && v.size() == 4 && k[0] == q[0] &&
                    v[0] == q[0] && k[1] == v[1] && k[1] > 0 && q[1] % k[1] == 0 && k[2] == v[2] &&
                    k[3] == q[3];
  if (!fits) {
    node.invalid("Q, K and V don't fit: as [batch, heads, length, size] they are %s, %s and %s",
                 shape_text(q).c_str(), shape_text(k).c_str(), shape_text(v).c_str());
  }
  return fits;
}

double default_scale(Value q) {
  return 1 / std::sqrt(static_cast<double>(std::max<int64_t>(q.dim(3), 1)));
}

Value split_heads(Value x, int64_t heads) {
  if (!x) return x;
  return transpose(reshape(x, {x.dim(0), x.dim(1), heads, x.dim(2) / heads}), {0, 2, 1, 3});
}

Value merge_heads(Value x) {
  if (!x) return x;
  return reshape(transpose(x, {0, 2, 1, 3}), {x.dim(0), x.dim(2), x.dim(1) * x.dim(3)});
}

Value positions_i32(Builder& builder, int64_t count, int axis) {
  return cast(positions(&builder, count, axis, 4), DType::kInt32);
}

Value both(Value a, Value b) {
  if (!a) return b;
  return b ? logical_and(a, b) : a;
}

}  // namespace camshaft::onnx
