// SPDX-License-Identifier: MIT
// Attention of ONNX's own domains.
#include <algorithm>
#include <limits>

#include "codegen/onnx/attention.h"
#include "codegen/onnx/formulas.h"
#include "codegen/onnx/op_table.h"

namespace camshaft::onnx {
namespace {

// --- Attention -----------------------------------------------------------------------------------

// Q, K, V with their heads as axis 1; with the past before K and V.
struct Heads {
  Value q;
  Value k;
  Value v;
  int64_t past = 0;  // keys from before
};

// An input of three axes as heads; of four it is so already.
Value read_heads(NodeReader& node, int i, const char* attribute, int64_t heads) {
  const Value x = node.input(i);
  if (x.rank() == 4) return x;
  if (heads >= 1 && x.dim(2) % heads == 0) return split_heads(x, heads);
  return node.invalid("%s must be given and divide the last extent of input %d, %s", attribute, i,
                      shape_text(x.shape()).c_str());
}

std::optional<Heads> read_qkv(NodeReader& node) {
  const int64_t q_heads = node.int_attr("q_num_heads", 0);
  const int64_t kv_heads = node.int_attr("kv_num_heads", 0);
  const int rank = node.input(0).rank();
  if ((rank != 3 && rank != 4) || node.input(1).rank() != rank || node.input(2).rank() != rank) {
    node.invalid("Q, K and V must all have three axes or all four");
    return std::nullopt;
  }
  Heads heads{read_heads(node, 0, "q_num_heads", q_heads),
              read_heads(node, 1, "kv_num_heads", kv_heads),
              read_heads(node, 2, "kv_num_heads", kv_heads)};
  const Value past_key = node.input(4);
  const Value past_value = node.input(5);
  if (!past_key != !past_value) {
    node.corrupt("past_key and past_value must be given together");
    return std::nullopt;
  }
  if (past_key) {
    heads.past = past_key.dim(2);
    heads.k = concat({past_key, heads.k}, 2);
    heads.v = concat({past_value, heads.v}, 2);
  }
  if (!heads.q || !heads.k || !heads.v) return std::nullopt;
  return heads;
}

// What keeps queries from keys: the node's mask, causality, a window, padding behind the keys.
class Mask {
 public:
  Mask(NodeReader& node, const Heads& heads)
      : node_(node),
        queries_(heads.q.dim(2)),
        keys_(heads.k.dim(2)),
        key_(positions_i32(node.builder(), keys_, 3)),
        query_(positions_i32(node.builder(), queries_, 2)) {
    // A query's place among the keys.
    const Value valid = valid_keys(heads);
    query_ = valid ? query_ + (valid - static_cast<double>(queries_))
                   : query_ + static_cast<double>(heads.past);
    if (valid) allow(less(key_, valid), true);
    read_causal(valid);
    read_windows();
    read_mask(heads);
  }

  void apply(Attention& attention) const {
    attention.allowed = allowed_;
    attention.bias = bias_;
    attention.may_see_nothing = may_see_nothing_;
  }

 private:
  void allow(Value condition, bool may_exclude_all) {
    allowed_ = both(allowed_, condition);
    may_see_nothing_ |= may_exclude_all;
  }

  // How many keys of each sample count, [B, 1, 1, 1]; absent if all do.
  Value valid_keys(const Heads& heads) {
    const Value count = node_.input(6);
    if (!count) return {};
    if (count.shape() != Shape{heads.q.dim(0)} || heads.past > 0) {
      return node_.invalid("nonpad_kv_seqlen must be one value for each sample, without a past");
    }
    return place_axes(cast(count, DType::kInt32), {0}, 4);
  }

  void read_causal(Value valid) {
    if (node_.flag_attr("is_causal", false)) allow(less_equal(key_, query_), bool(valid));
  }

  void read_windows() {
    const int64_t left = node_.int_attr("left_window_size", -1);
    const int64_t right = node_.int_attr("right_window_size", -1);
    if (left < -1 || right < -1) node_.invalid("a window must be -1 (no bound), 0 or larger");
    if (left >= 0 && left < keys_ + queries_) {
      allow(less_equal(query_ - static_cast<double>(left), key_), true);
    }
    if (right >= 0 && right < keys_) {
      allow(less_equal(key_, query_ + static_cast<double>(right)), true);
    }
  }

  // Keys beyond the mask's last extent are masked; before opset 24 an extent of 1 stretches.
  void read_mask(const Heads& heads) {
    Value mask = node_.input(3);
    if (!mask) return;
    const bool is_condition = mask.dtype() == DType::kBool;
    const int64_t missing = keys_ - mask.dim(-1);
    Shape shape = mask.shape();
    if (!shape.empty()) shape.back() = 1;
    const std::optional<Shape> all =
        broadcast_shapes(shape, {heads.q.dim(0), heads.q.dim(1), queries_, 1});
    if (mask.rank() < 1 || mask.rank() > 4 || !all || all->at(0) != heads.q.dim(0) ||
        all->at(1) != heads.q.dim(1) || all->at(2) != queries_ || missing < 0 ||
        !(is_condition || base::is_float(mask.dtype()))) {
      node_.invalid(
          "attn_mask must be bool or float and broadcast to the scores, [%lld, %lld, "
          "%lld, %lld]; it is %s",
          static_cast<long long>(heads.q.dim(0)), static_cast<long long>(heads.q.dim(1)),
          static_cast<long long>(queries_), static_cast<long long>(keys_),
          to_string(mask.type()).c_str());
      return;
    }
    if (missing > 0 && (node_.opset() >= 24 || mask.dim(-1) > 1)) {
      ir::PadAttrs tail{Shape(shape.size(), 0), Shape(shape.size(), 0)};
      tail.after.back() = missing;
      if (!is_condition) tail.value = -std::numeric_limits<double>::infinity();
      mask = pad(mask, std::move(tail));
    }
    may_see_nothing_ = true;
    if (is_condition) {
      allowed_ = both(allowed_, mask);
    } else {
      bias_ = mask;
    }
  }

  NodeReader& node_;
  int64_t queries_;
  int64_t keys_;
  Value key_;    // positions, [1, 1, 1, Lk]
  Value query_;  // [B or 1, 1, Lq, 1]
  Value allowed_;
  Value bias_;
  bool may_see_nothing_ = false;
};

void set_scores_output(NodeReader& node, const AttentionStages& stages, DType dtype) {
  const int64_t mode = node.int_attr("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) node.invalid("qk_matmul_output_mode must be 0, 1, 2 or 3");
  if (!node.wants_output(3)) return;
  const Value by_mode[] = {stages.scores, stages.capped, stages.biased, stages.probabilities};
  node.set_output(3, cast(by_mode[std::clamp<int64_t>(mode, 0, 3)], dtype));
}

// At least the dtype of the rest: halves don't save work.
DType softmax_dtype(NodeReader& node, Value q) {
  const DType dtype = node.dtype_attr("softmax_precision", attention_dtype(q));
  if (!base::is_float(dtype)) node.invalid("softmax_precision must be a float type");
  return dtype == DType::kFloat64 ? dtype : attention_dtype(q);
}

Value read_attention(NodeReader& node) {
  const std::optional<Heads> heads = read_qkv(node);
  if (!heads) return {};
  Attention attention{.q = heads->q, .k = heads->k, .v = heads->v};
  if (!check_heads(node, attention)) return {};
  attention.scale = node.has_attr("scale") ? node.float_attr("scale", 1) : default_scale(heads->q);
  attention.softcap = node.float_attr("softcap", 0);
  attention.softmax_dtype = softmax_dtype(node, heads->q);
  Mask(node, *heads).apply(attention);
  const AttentionStages stages = attend(attention);
  node.set_output(1, heads->k);
  node.set_output(2, heads->v);
  set_scores_output(node, stages, heads->q.dtype());
  return node.input(0).rank() == 3 ? merge_heads(stages.y) : stages.y;
}

// --- FlexAttention -------------------------------------------------------------------------------

// What the graph that an attribute holds makes of x; x itself without one.
Value modified(NodeReader& node, const char* attribute, Value x) {
  if (!x || !node.has_attr(attribute)) return x;
  const ::onnx::GraphProto* graph = node.required_graph(attribute);
  if (graph == nullptr) return {};
  const std::optional<std::vector<Value>> results = node.read_subgraph(*graph, {x});
  if (!results) return {};
  if (results->size() == 1 && results->front() && results->front().type() == x.type()) {
    return results->front();
  }
  return node.invalid("'%s' must give one tensor of its input's type, %s", attribute,
                      to_string(x.type()).c_str());
}

Value read_flex_attention(NodeReader& node) {
  const Attention attention{.q = node.input(0), .k = node.input(1), .v = node.input(2)};
  if (!check_heads(node, attention)) return {};
  const double scale =
      node.has_attr("scale") ? node.float_attr("scale", 1) : default_scale(attention.q);
  const DType dtype = node.dtype_attr("softmax_precision", attention_dtype(attention.q));
  if (!base::is_float(dtype)) return node.invalid("softmax_precision must be a float type");
  const Value scores = cast(attention_scores(attention.q, attention.k, scale), dtype);
  const Value changed = modified(node, "score_mod", scores);
  const Value wide = cast(changed, dtype == DType::kFloat64 ? dtype : DType::kFloat32);
  const Value probabilities = modified(node, "prob_mod", cast(softmax(wide, {3}), dtype));
  if (!probabilities) return {};
  return cast(attention_mix(probabilities, attention.v), attention.q.dtype());
}

constexpr OpRow kOps[] = {
    {"Attention", 23, 3, 7, read_attention},
    {"FlexAttention", 1, 3, 3, read_flex_attention, kPreview},
};

}  // namespace

OpFamily attention_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
