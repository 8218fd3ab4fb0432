// SPDX-License-Identifier: MIT
// TfIdfVectorizer on integers: how often each n-gram of a pool is in a row. (On strings it is
// refused, as all of them are.)
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "codegen/ir/literal.h"
#include "codegen/onnx/format.h"
#include "codegen/onnx/op_table.h"

namespace camshaft::onnx {
namespace {

// The n-grams of one length.
struct Grams {
  int64_t length = 0;
  Shape items;   // length of them for each gram
  Shape places;  // in the output, one for each gram
};

struct Pool {
  std::vector<Grams> by_length;
  int64_t outputs = 0;
};

// The pool holds all 1-grams, then all 2-grams and so on; ngram_counts says where each begins.
std::optional<Pool> read_pool(NodeReader& node) {
  const Shape items = node.ints_attr("pool_int64s").value_or(Shape());
  const Shape begins = node.ints_attr("ngram_counts").value_or(Shape());
  const Shape places = node.ints_attr("ngram_indexes").value_or(Shape());
  const auto fail = [&](const char* what) {
    node.corrupt("%s", what);
    return std::nullopt;
  };
  Pool pool;
  size_t gram = 0;
  for (size_t i = 0; i < begins.size(); ++i) {
    const auto total = static_cast<int64_t>(items.size());
    const int64_t end = i + 1 < begins.size() ? begins[i + 1] : total;
    const auto length = static_cast<int64_t>(i) + 1;
    if (begins[i] < 0 || begins[i] > end || end > total || (end - begins[i]) % length != 0) {
      return fail("ngram_counts don't divide pool_int64s");
    }
    Grams grams{length, {items.begin() + begins[i], items.begin() + end}, {}};
    for (int64_t n = (end - begins[i]) / length; n > 0; --n, ++gram) {
      if (gram >= places.size() || places[gram] < 0 || places[gram] > INT32_MAX) {
        return fail("ngram_indexes needs a place, not negative, for each n-gram of the pool");
      }
      grams.places.push_back(places[gram]);
    }
    pool.by_length.push_back(std::move(grams));
  }
  for (const int64_t place : places) pool.outputs = std::max(pool.outputs, place + 1);
  return pool;
}

// How often each gram is in the rows of x [rows, n] with items `skip` apart: [grams, rows] of f32.
Value count(Value x, const Grams& grams, int64_t skip) {
  const int64_t span = (grams.length - 1) * skip;
  const auto number = static_cast<int64_t>(grams.places.size());
  if (span >= x.dim(1)) return x.builder()->splat({DType::kFloat32, {number, x.dim(0)}}, 0);
  const Value items = reshape(x.builder()->ints(grams.items), {number, grams.length});
  Value found;
  for (int64_t i = 0; i < grams.length; ++i) {
    const Value here = insert_axis(slice_axis(x, 1, i * skip, x.dim(1) - span), 0);
    const Value wanted = reshape(slice_axis(items, 1, i, 1), {number, 1, 1});
    const Value same = equal(here, wanted);
    found = found ? logical_and(found, same) : same;
  }
  return drop_axes(reduce(ir::ReduceKind::kSum, cast(found, DType::kFloat32), {2}), {2});
}

Value read_tfidf_vectorizer(NodeReader& node) {
  const Value given = node.input(0);
  const std::string mode = node.string_attr("mode", "");
  const int64_t shortest = node.required_int("min_gram_length");
  const int64_t longest = node.required_int("max_gram_length");
  const int64_t skips = node.required_int("max_skip_count");
  const std::optional<std::vector<double>> weights = node.floats_attr("weights");
  if (node.has_attr("pool_strings")) {
    node.ignore_attr("pool_strings");
    return node.unsupported("attribute 'pool_strings' is not supported: strings are refused");
  }
  const std::optional<Pool> pool = read_pool(node);
  if (!pool) return {};
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") {
    return node.corrupt("mode must be TF, IDF or TFIDF, not '%s'", printable(mode).c_str());
  }
  const bool is_row = given.rank() < 2;
  if (given.rank() > 2 || !base::is_int(given.dtype()) || skips < 0 || skips > given.elements()) {
    return node.invalid("needs integers [n] or [rows, n], and skips shorter than a row");
  }
  const Value x = cast(is_row ? reshape(given, {1, given.elements()}) : given, DType::kInt64);
  const int64_t rows = x.dim(0);
  if (!node.builder().may_make(pool->outputs)) return {};
  Value counts = node.builder().splat({DType::kFloat32, {pool->outputs, rows}}, 0);
  for (const Grams& grams : pool->by_length) {
    if (grams.length < shortest || grams.length > longest || grams.places.empty()) continue;
    // Skips don't matter to single items: they are counted once.
    for (int64_t skip = 1; skip <= (grams.length == 1 ? 1 : skips + 1); ++skip) {
      counts = scatter(counts, node.builder().ints(grams.places), count(x, grams, skip),
                       ir::ScatterKind::kSum);
    }
  }
  Value y = transpose(counts, {1, 0});
  if (mode == "IDF") y = min(y, 1.0);
  if (mode != "TF" && weights) {
    if (static_cast<int64_t>(weights->size()) < pool->outputs) {
      return node.corrupt("needs a weight for each output");
    }
    const std::vector<double> used(weights->begin(), weights->begin() + pool->outputs);
    y = y * node.builder().vector(DType::kFloat32, used);
  }
  return is_row ? reshape(y, {pool->outputs}) : y;
}

constexpr OpRow kOps[] = {
    {"TfIdfVectorizer", 9, 1, 1, read_tfidf_vectorizer},
};

}  // namespace

OpFamily ngram_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
