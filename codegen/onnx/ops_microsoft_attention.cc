// SPDX-License-Identifier: MIT
// Attention as onnxruntime's optimizer writes it: with the projections before it, and masks of
// several forms. A masked key's score gets `mask_filter_value` added; one that comes later than the
// query (`unidirectional`) gets the lowest float instead.
#include <limits>
#include <utility>

#include "codegen/onnx/attention.h"
#include "codegen/onnx/op_table.h"

namespace camshaft::onnx {
namespace {

// What both operators say about masks besides the mask itself.
struct Masking {
  int64_t batch = 0;
  int64_t queries = 0;
  int64_t keys = 0;
  int64_t past = 0;
};

Masking masking_of(const Attention& attention, int64_t past) {
  return {attention.q.dim(0), attention.q.dim(2), attention.k.dim(2), past};
}

// Which keys input i lets be seen, as bool that broadcasts to [B, 1, Lq, Lk]; absent if all. One
// axis: the keys' number for each sample, or their ends and then their begins, or ends with further
// sums that say nothing new.
Value visible_keys(NodeReader& node, int i, const Masking& masking) {
  const Value mask = node.input(i);
  if (!mask) return {};
  const Shape& shape = mask.shape();
  const auto [batch, queries, keys, past] = masking;
  if (shape == Shape{batch, 1} || shape == Shape{1, 1}) return {};
  const Value zero = scalar_like(mask, 0);
  if (shape == Shape{batch, keys}) return place_axes(less(zero, mask), {0, 3}, 4);
  // New keys only: the past ones can be seen.
  if (past > 0 && shape == Shape{batch, keys - past}) {
    const Value old = node.builder().splat({DType::kBool, {batch, past}}, 1);
    return place_axes(concat({old, less(zero, mask)}, 1), {0, 3}, 4);
  }
  if (shape == Shape{batch, queries, keys}) return place_axes(less(zero, mask), {0, 2, 3}, 4);
  if (shape == Shape{batch} || shape == Shape{2 * batch} || shape == Shape{3 * batch + 2}) {
    const Value key = positions_i32(node.builder(), keys, 3);
    const Value numbers = cast(mask, DType::kInt32);
    const Value end = place_axes(slice_axis(numbers, 0, 0, batch), {0}, 4);
    if (shape != Shape{2 * batch}) return less(key, end);
    const Value begin = place_axes(slice_axis(numbers, 0, batch, batch), {0}, 4);
    return both(less(key, end), less_equal(begin, key));
  }
  return node.unsupported("a mask of %s is not supported for %lld samples, %lld queries, %lld keys",
                          shape_text(shape).c_str(), static_cast<long long>(batch),
                          static_cast<long long>(queries), static_cast<long long>(keys));
}

// Fills in what the node says of masks: its inputs `mask` and `bias`.
void read_masks(NodeReader& node, int mask, int bias, int64_t past, Attention& attention) {
  const Masking masking = masking_of(attention, past);
  const double filter = node.float_attr("mask_filter_value", -10000);
  const Value visible = visible_keys(node, mask, masking);
  const Value zero = node.builder().scalar(attention_dtype(attention.q), 0, 4);
  if (visible) attention.bias = select(visible, zero, scalar_like(zero, filter));
  if (const Value added = node.input(bias)) {
    const Shape scores = {masking.batch, attention.q.dim(1), masking.queries, masking.keys};
    if (added.rank() != 4 || broadcast_shapes(added.shape(), scores) != scores) {
      node.invalid("an attention_bias of %s doesn't fit scores of %s",
                   shape_text(added.shape()).c_str(), shape_text(scores).c_str());
    }
    const Value wide = cast(added, zero.dtype());
    attention.bias = attention.bias ? attention.bias + wide : wide;
  }
  attention.masked = std::numeric_limits<float>::lowest();
  if (node.flag_attr("unidirectional", false) && masking.queries > 1) {
    const Value query =
        positions_i32(node.builder(), masking.queries, 2) + static_cast<double>(past);
    attention.allowed = less_equal(positions_i32(node.builder(), masking.keys, 3), query);
  }
}

// A scale of 0 is none.
void read_scale(NodeReader& node, Attention& attention) {
  const double scale = node.float_attr("scale", 0);
  attention.scale = scale == 0 ? default_scale(attention.q) : scale;
}

// Positive and a divisor of the extents; 0 and a problem if not.
int64_t read_head_count(NodeReader& node, const Shape& sizes) {
  const int64_t heads = node.required_int("num_heads");
  bool divides = heads >= 1;
  for (const int64_t size : sizes) divides = divides && size > 0 && size % heads == 0;
  if (divides) return heads;
  node.invalid("num_heads must divide the sizes of Q, K and V, %s", shape_text(sizes).c_str());
  return 0;
}

// --- Attention -----------------------------------------------------------------------------------

// The sizes of Q, K and V in `total` columns of packed weights.
Shape packed_sizes(NodeReader& node, int64_t total) {
  const Shape sizes =
      node.ints_attr("qkv_hidden_sizes").value_or(Shape{total / 3, total / 3, total / 3});
  if (sizes.size() == 3 && sizes[0] == sizes[1] && sizes[0] > 0 && sizes[2] > 0 &&
      sizes[2] <= total && sizes[0] <= (total - sizes[2]) / 2 && 2 * sizes[0] + sizes[2] == total) {
    return sizes;
  }
  node.invalid("the weights' %lld columns are not those of Q, K and V",
               static_cast<long long>(total));
  return {};
}

// Input `past`, [2, B, heads, P, D], before k and v.
int64_t prepend_past(NodeReader& node, Value past, Attention& attention) {
  const Shape& k = attention.k.shape();
  if (past.rank() != 5 || past.shape() != Shape{2, k[0], k[1], past.dim(3), k[3]}) {
    node.invalid("a past of %s doesn't fit keys of %s", shape_text(past.shape()).c_str(),
                 shape_text(k).c_str());
    return 0;
  }
  attention.k = concat({drop_axes(slice_axis(past, 0, 0, 1), {0}), attention.k}, 2);
  attention.v = concat({drop_axes(slice_axis(past, 0, 1, 1), {0}), attention.v}, 2);
  return past.dim(3);
}

Value read_attention(NodeReader& node) {
  const Value x = node.input(0);
  const Value weights = node.input(1);
  const Value bias = node.input(2);
  node.ignore_attr("rotary_embedding_dim");
  if (node.flag_attr("do_rotary", false) || node.flag_attr("past_present_share_buffer", false)) {
    return node.unsupported("do_rotary and past_present_share_buffer are not supported");
  }
  if (x.rank() != 3 || weights.rank() != 2 || weights.dim(0) != x.dim(2) ||
      (bias && bias.shape() != Shape{weights.dim(1)})) {
    return node.invalid("needs [batch, length, size], weights [size, columns] and bias [columns]");
  }
  const Shape sizes = packed_sizes(node, weights.dim(1));
  const int64_t heads = read_head_count(node, sizes);
  if (sizes.empty() || heads == 0) return {};
  Value all = matmul(x, weights);
  if (bias) all = all + bias;
  Attention attention{.q = split_heads(slice_axis(all, 2, 0, sizes[0]), heads),
                      .k = split_heads(slice_axis(all, 2, sizes[0], sizes[1]), heads),
                      .v = split_heads(slice_axis(all, 2, 2 * sizes[0], sizes[2]), heads)};
  if (!attention.q) return {};
  const Value past = node.input(4);
  const int64_t past_keys = past ? prepend_past(node, past, attention) : 0;
  if (!check_heads(node, attention)) return {};
  read_scale(node, attention);
  read_masks(node, 3, 5, past_keys, attention);
  if (node.wants_output(1)) {
    node.set_output(1, concat({insert_axis(attention.k, 0), insert_axis(attention.v, 0)}, 0));
  }
  return merge_heads(attend(attention).y);
}

// --- MultiHeadAttention --------------------------------------------------------------------------

// Member `i` of heads that lie packed, [B, L, heads, members, D], as [B, heads, L, D].
Value packed_member(Value x, int64_t i) {
  return transpose(drop_axes(slice_axis(x, 3, i, 1), {3}), {0, 2, 1, 3});
}

// x, [B, heads, L, D], plus its part of the bias: `heads * D` elements from `begin` on.
Value with_head_bias(Value x, Value bias, int64_t begin) {
  if (!x || !bias) return x;
  const Value part = slice_axis(bias, 0, begin, x.dim(1) * x.dim(3));
  return x + (part ? reshape(part, {1, x.dim(1), 1, x.dim(3)}) : Value());
}

// Q, K and V without bias and past, in any of the forms that the operator takes; absent with a
// problem if it is none of them.
Attention read_separate_or_packed(NodeReader& node) {
  const Value query = node.input(0);
  const Value key = node.input(1);
  const Value value = node.input(2);
  if (query.rank() == 5 && query.dim(3) == 3 && !key && !value) {
    return {packed_member(query, 0), packed_member(query, 1), packed_member(query, 2)};
  }
  if (query.rank() != 3 || !key) {
    node.invalid("needs a query of three axes with a key, or Q, K and V packed in five");
    return {};
  }
  const int64_t heads = read_head_count(node, {query.dim(2)});
  if (heads == 0) return {};
  const Value q = split_heads(query, heads);
  if (key.rank() == 5 && key.dim(3) == 2 && !value) {
    return {q, packed_member(key, 0), packed_member(key, 1)};
  }
  if (value && key.rank() == 4 && value.rank() == 4) return {q, key, value};
  if (value && key.rank() == 3 && value.rank() == 3 &&
      read_head_count(node, {key.dim(2), value.dim(2)}) > 0) {
    return {q, split_heads(key, heads), split_heads(value, heads)};
  }
  node.invalid("key and value must both have three axes or both four, or be packed in five");
  return {};
}

void add_projection_bias(NodeReader& node, Attention& attention) {
  const Value bias = node.input(3);
  if (!bias) return;
  const int64_t size = attention.q.dim(1) * attention.q.dim(3);
  const int64_t v_size = attention.v.dim(1) * attention.v.dim(3);
  if (bias.shape() != Shape{2 * size + v_size}) {
    node.invalid("the bias must be one value for each of the %lld columns of Q, K and V",
                 static_cast<long long>(2 * size + v_size));
    return;
  }
  attention.q = with_head_bias(attention.q, bias, 0);
  if (node.input(1).rank() == 4) return;  // keys of another layer, which had theirs
  attention.k = with_head_bias(attention.k, bias, size);
  attention.v = with_head_bias(attention.v, bias, 2 * size);
}

Value read_multi_head_attention(NodeReader& node) {
  if (node.input(8) || node.input(9)) {
    return node.unsupported("past_sequence_length and cache_indirection are not supported");
  }
  Attention attention = read_separate_or_packed(node);
  if (!check_heads(node, attention)) return {};
  if (attention.q.dim(1) != node.required_int("num_heads")) {
    return node.invalid("num_heads is not the heads' number, %lld",
                        static_cast<long long>(attention.q.dim(1)));
  }
  add_projection_bias(node, attention);
  const Value past_key = node.input(6);
  const Value past_value = node.input(7);
  if (!past_key != !past_value) {
    return node.corrupt("past_key and past_value must be given together");
  }
  if (past_key) {
    attention.k = concat({past_key, attention.k}, 2);
    attention.v = concat({past_value, attention.v}, 2);
  }
  if (!check_heads(node, attention)) return {};
  read_scale(node, attention);
  read_masks(node, 4, 5, past_key ? past_key.dim(2) : 0, attention);
  const AttentionStages stages = attend(attention);
  node.set_output(1, attention.k);
  node.set_output(2, attention.v);
  node.set_output(3, cast(stages.biased, attention.q.dtype()));
  return merge_heads(stages.y);
}

constexpr OpRow kOps[] = {
    {"Attention", 1, 2, 7, read_attention, kMicrosoft},
    {"MultiHeadAttention", 1, 1, 10, read_multi_head_attention, kMicrosoft},
};

}  // namespace

OpFamily microsoft_attention_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
