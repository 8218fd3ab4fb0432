// SPDX-License-Identifier: MIT
// Operators that carry a state along a sequence, and from call to call, in place of attention.
#include <optional>
#include <vector>

#include "codegen/onnx/activations.h"
#include "codegen/onnx/attention.h"
#include "codegen/onnx/op_table.h"

namespace camshaft::onnx {
namespace {

// --- LinearAttention -----------------------------------------------------------------------------
// A state of [B, Hkv, Dk, Dv] for each sample takes in a key and its value each step, and a query
// reads it:
//   state = decay * state + key (value - read-out of key, where the rule corrects)
// Without decay and correction all steps are three matrix products; else they are unrolled.

struct LinearAttention {
  Value q;      // [B, Hq, T, Dk], scaled
  Value k;      // [B, Hkv, T, Dk]
  Value v;      // [B, Hkv, T, Dv]
  Value state;  // [B, Hkv, Dk, Dv]
  Value decay;  // [B, Hkv, T, Dk or 1], its logarithm; absent: none
  Value beta;   // [B, Hkv or 1, T, 1], the rate of correction; absent: none
};

// The state before, read by all queries at once, plus what earlier keys say to each query.
Value all_steps(LinearAttention& all) {
  const int64_t steps = all.k.dim(2);
  Builder& builder = *all.q.builder();
  const Value scores = attention_scores(all.q, all.k, 1);
  const Value seen = less_equal(positions_i32(builder, steps, 3), positions_i32(builder, steps, 2));
  const Value now = attention_mix(select(seen, scores, scalar_like(scores, 0)), all.v);
  const Value y = now + attention_mix(all.q, all.state);
  all.state = all.state + matmul(transpose(all.k, {0, 1, 3, 2}), all.v);
  return y;
}

// Step t of x, with the axes that it has to itself: a column for keys, a row for values.
Value step_of(Value x, int64_t t) {
  return slice_axis(x, 2, t, 1);
}
Value column(Value x) {
  return transpose(x, {0, 1, 3, 2});
}

Value one_step(LinearAttention& all, int64_t t) {
  const Value key = column(step_of(all.k, t));
  Value value = step_of(all.v, t);
  if (all.decay) all.state = all.state * column(exp(step_of(all.decay, t)));
  if (all.beta) {
    const Value said = reduce(ir::ReduceKind::kSum, all.state * key, {2});
    value = step_of(all.beta, t) * (value - said);
  }
  all.state = all.state + key * value;
  return attention_mix(step_of(all.q, t), all.state);
}

// An optional input of [B, T, heads * size] as [B, heads, T, size]; absent if it is.
Value per_head(NodeReader& node, int i, int64_t heads, int64_t size, DType dtype) {
  const Value x = node.input(i);
  const Value key = node.input(1);
  if (x && x.rank() == 3 && x.shape() == Shape{key.dim(0), key.dim(1), heads * size}) {
    return split_heads(cast(x, dtype), heads);
  }
  return node.invalid("input %d of %s doesn't fit keys of %s", i, shape_text(x.shape()).c_str(),
                      shape_text(key.shape()).c_str());
}

bool check_rule(NodeReader& node, bool has_decay, bool corrects) {
  if (bool(node.input(4)) == has_decay && bool(node.input(5)) == corrects) return true;
  node.corrupt("its update_rule and the inputs decay and beta contradict each other");
  return false;
}

// Decay and beta, of one extent for all or for each, by what the rule wants.
bool read_gates(NodeReader& node, LinearAttention& all) {
  const std::string rule = node.string_attr("update_rule", "gated_delta");
  const bool has_decay = rule == "gated" || rule == "gated_delta";
  const bool corrects = rule == "delta" || rule == "gated_delta";
  if (!has_decay && !corrects && rule != "linear") {
    node.unsupported("update_rule must be 'linear', 'gated', 'delta' or 'gated_delta'");
    return false;
  }
  if (!check_rule(node, has_decay, corrects)) return false;
  const int64_t heads = all.k.dim(1);
  if (has_decay) {
    const bool is_one = node.input(4).dim(-1) == heads;
    all.decay = per_head(node, 4, heads, is_one ? 1 : all.k.dim(3), all.k.dtype());
  }
  if (corrects) {
    all.beta = per_head(node, 5, node.input(5).dim(-1) == 1 ? 1 : heads, 1, all.k.dtype());
  }
  return (!has_decay || all.decay) && (!corrects || all.beta);
}

std::optional<LinearAttention> read_linear_inputs(NodeReader& node) {
  const Value query = node.input(0);
  const Value key = node.input(1);
  const Value value = node.input(2);
  const int64_t q_heads = node.required_int("q_num_heads");
  const int64_t heads = node.required_int("kv_num_heads");
  const Shape steps = {query.dim(0), query.dim(1)};
  const bool fits = query.rank() == 3 && key.rank() == 3 && value.rank() == 3 && heads >= 1 &&
                    q_heads >= 1 && q_heads % heads == 0 && query.dim(2) % q_heads == 0 &&
                    value.dim(2) % heads == 0 && key.dim(2) == query.dim(2) / q_heads * heads &&
                    Shape{key.dim(0), key.dim(1)} == steps &&
                    Shape{value.dim(0), value.dim(1)} == steps;
  if (!fits) {
    node.invalid("Q, K and V of %s, %s and %s don't fit %lld and %lld heads",
                 shape_text(query.shape()).c_str(), shape_text(key.shape()).c_str(),
                 shape_text(value.shape()).c_str(), static_cast<long long>(q_heads),
                 static_cast<long long>(heads));
    return std::nullopt;
  }
  const DType dtype = attention_dtype(query);
  LinearAttention all;
  all.q = split_heads(cast(query, dtype), q_heads);
  all.k = split_heads(cast(key, dtype), heads);
  all.v = split_heads(cast(value, dtype), heads);
  if (!all.q || !all.k || !all.v) return std::nullopt;
  const double scale = node.float_attr("scale", 0);
  all.q = all.q * (scale == 0 ? default_scale(all.q) : scale);
  const Shape state = {key.dim(0), heads, all.k.dim(3), all.v.dim(3)};
  const Value past = node.input(3);
  all.state = past ? cast(past, dtype) : node.builder().splat({dtype, state}, 0);
  if (all.state.shape() == state) return all;
  node.invalid("the state must be %s, not %s", shape_text(state).c_str(),
               shape_text(all.state.shape()).c_str());
  return std::nullopt;
}

Value read_linear_attention(NodeReader& node) {
  node.ignore_attr("chunk_size");
  std::optional<LinearAttention> all = read_linear_inputs(node);
  if (!all || !read_gates(node, *all)) return {};
  const int64_t steps = all->k.dim(2);
  Value y;
  if (!all->decay && !all->beta) {
    y = all_steps(*all);
  } else if (steps > Builder::kMostIterations) {
    return node.unsupported("would run %lld steps; at most %lld are supported",
                            static_cast<long long>(steps),
                            static_cast<long long>(Builder::kMostIterations));
  } else {
    std::vector<Value> rows;
    for (int64_t t = 0; t < steps; ++t) rows.push_back(one_step(*all, t));
    y = steps == 0 ? all->q : concat(rows, 2);
  }
  const Value past = node.input(3);
  node.set_output(1, cast(all->state, past ? past.dtype() : node.input(0).dtype()));
  return merge_heads(cast(y, node.input(0).dtype()));
}

// --- CausalConvWithState -------------------------------------------------------------------------

// A convolution of each channel along the sequence that looks back only; what it will look back to
// is handed on.
Value read_causal_conv(NodeReader& node) {
  const Value x = node.input(0);
  const Value weights = node.input(1);
  const std::string activation = node.string_attr("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish") {
    return node.unsupported("activation must be 'none', 'silu' or 'swish'");
  }
  const int64_t channels = x.dim(1);
  if (x.rank() != 3 || weights.rank() != 3 || weights.dim(0) != channels || weights.dim(1) != 1 ||
      weights.dim(2) < 1) {
    return node.invalid("needs [batch, channels, length] and weights [channels, 1, size]");
  }
  const Shape history = {x.dim(0), channels, weights.dim(2) - 1};
  const Value past = node.input(3);
  const Value bias = node.input(2);
  if ((past && past.shape() != history) || (bias && bias.shape() != Shape{channels})) {
    return node.invalid("the state must be %s and the bias one value for each channel",
                        shape_text(history).c_str());
  }
  const Value before = past ? past : node.builder().splat({x.dtype(), history}, 0);
  const Value all = history[2] > 0 ? concat({before, x}, 2) : x;
  if (!all) return {};
  node.set_output(1, slice_axis(all, 2, x.dim(2), history[2]));
  const DType dtype = attention_dtype(x);
  const int64_t padding = past ? 0 : history[2];  // zeros before the sequence need no copy of it
  Value y =
      conv(cast(past ? all : x, dtype), cast(weights, dtype), {{1}, {1}, {padding}, {0}, channels});
  if (bias) y = y + place_axes(cast(bias, dtype), {1}, 3);
  return cast(activation == "none" ? y : swish(y, 1), x.dtype());
}

constexpr OpRow kOps[] = {
    {"LinearAttention", 27, 3, 6, read_linear_attention},
    {"CausalConvWithState", 27, 2, 4, read_causal_conv},
};

}  // namespace

OpFamily linear_attention_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
