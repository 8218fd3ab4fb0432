// SPDX-License-Identifier: MIT
// Scaled dot-product attention, which operators of several domains are.
#pragma once

#include <limits>

#include "codegen/onnx/node_reader.h"
#include "codegen/onnx/value.h"

namespace camshaft::onnx {

// softmax(scale * q k^T + bias) v for all heads. Absent masks let all keys be seen.
struct Attention {
  Value q;  // [B, Hq, Lq, D]
  Value k;  // [B, Hkv, Lk, D]; Hq / Hkv neighbouring heads of q share one of k and v
  Value v;  // [B, Hkv, Lk, Dv]
  double scale = 1;
  double softcap = 0;  // scores become softcap * tanh(scores / softcap); 0: they stay
  Value bias = {};     // added to the scores; broadcasts to [B, Hq, Lq, Lk]
  Value allowed = {};  // bool: the keys that a query may see; broadcasts likewise
  double masked = -std::numeric_limits<double>::infinity();  // the score of a key not allowed
  // Whether some query may see no key at all: its result is then 0 instead of NaN.
  bool may_see_nothing = false;
  DType softmax_dtype = DType::kFloat32;
};

// All of [B, Hq, Lq, Lk] but y. Halves are computed in f32: only y has q's dtype.
struct AttentionStages {
  Value scores;  // scale * q k^T
  Value capped;
  Value biased;  // bias added, and `masked` where not allowed
  Value probabilities;
  Value y;  // [B, Hq, Lq, Dv]
};

AttentionStages attend(const Attention& attention);

// The first stage and the last, still of attention_dtype(): scores of q and k, and v weighted with
// probabilities, [B, Hq, Lq, Dv].
Value attention_scores(Value q, Value k, double scale);
Value attention_mix(Value probabilities, Value v);

// Whether q, k and v have the shapes above; a problem if not.
bool check_heads(NodeReader& node, const Attention& attention);

// 1 / sqrt(size of q's heads).
double default_scale(Value q);

// The dtype that attention on x is computed in.
DType attention_dtype(Value x);

// [B, L, heads * D] as [B, heads, L, D], and back.
Value split_heads(Value x, int64_t heads);
Value merge_heads(Value x);

// Positions 0, 1, ... as i32 along `axis` of four, to compare with others for a mask.
Value positions_i32(Builder& builder, int64_t count, int axis);

// Both conditions; an absent one holds everywhere.
Value both(Value a, Value b);

}  // namespace camshaft::onnx
