// SPDX-License-Identifier: MIT
// Operators that write at positions which are data, and TopK.
#include <algorithm>
#include <utility>

#include "codegen/onnx/extents.h"
#include "codegen/onnx/flat_index.h"
#include "codegen/onnx/op_table.h"

namespace camshaft::onnx {
namespace {

using ir::ScatterKind;

std::optional<ScatterKind> scatter_kind(NodeReader& node) {
  const std::string name = node.opset() < 16 ? "none" : node.string_attr("reduction", "none");
  if (name == "none") return ScatterKind::kReplace;
  if (name == "add") return ScatterKind::kSum;
  if (name == "mul") return ScatterKind::kProd;
  if (name == "max") return ScatterKind::kMax;
  if (name == "min") return ScatterKind::kMin;
  node.unsupported("reduction must be none, add, mul, max or min");
  return std::nullopt;
}

// Of bools, a sum is an or and a product an and.
Value scatter_any(Value data, Value rows, Value updates, ScatterKind kind) {
  if (data.dtype() != DType::kBool || kind == ScatterKind::kReplace) {
    return scatter(data, rows, updates, kind);
  }
  const bool is_or = kind == ScatterKind::kSum || kind == ScatterKind::kMax;
  return cast(scatter(cast(data, DType::kUInt8), rows, cast(updates, DType::kUInt8),
                      is_or ? ScatterKind::kMax : ScatterKind::kMin),
              DType::kBool);
}

Value read_scatter_elements(NodeReader& node) {
  const Value data = node.input(0);
  const Value indices = node.input(1);
  const Value updates = node.input(2);
  const std::optional<ScatterKind> kind = scatter_kind(node);
  const int axis = node.axis(node.int_attr("axis", 0), data.rank());
  if (data.rank() == 0 || indices.rank() != data.rank() || updates.shape() != indices.shape()) {
    return node.invalid("data, indices and updates must be of one rank, the last two of one shape");
  }
  if (!base::is_int(indices.dtype())) return node.invalid("indices must be integers");
  for (int i = 0; i < data.rank(); ++i) {
    if (i != axis && indices.dim(i) > data.dim(i)) {
      return node.invalid("indices exceed data on axis %d", i);
    }
  }
  if (!kind) return {};
  if (has_counts(data)) return node.unsupported("data whose extents depend on data");
  const Value numbers = element_numbers(indices, data.shape(), axis, Outside::kNegative);
  const Shape flat = {indices.elements()};
  return reshape(scatter_any(reshape(data, {data.elements()}), reshape(numbers, flat),
                             reshape(updates, flat), *kind),
                 data.shape());
}

Value read_scatter_nd(NodeReader& node) {
  const Value data = node.input(0);
  const Value indices = node.input(1);
  const Value updates = node.input(2);
  const std::optional<ScatterKind> kind = scatter_kind(node);
  const int64_t depth = indices.dim(-1);
  if (indices.rank() == 0 || depth < 1 || depth > data.rank()) {
    return node.invalid("the last axis of indices must have between 1 and %d coordinates",
                        data.rank());
  }
  if (!base::is_int(indices.dtype())) return node.invalid("indices must be integers");
  const auto open = data.shape().begin() + depth;
  Shape fitting(indices.shape().begin(), indices.shape().end() - 1);
  fitting.insert(fitting.end(), open, data.shape().end());
  if (updates.shape() != fitting) {
    return node.invalid("updates must be %s: one for each tuple of indices, not %s",
                        shape_text(fitting).c_str(), shape_text(updates.shape()).c_str());
  }
  if (!kind) return {};
  if (has_counts(data)) return node.unsupported("data whose extents depend on data");
  const Shape prefix(data.shape().begin(), open);
  const int64_t rows = TensorType{DType::kBool, prefix}.elements();
  const int64_t inner = TensorType{DType::kBool, {open, data.shape().end()}}.elements();
  const int64_t count = indices.elements() / depth;
  const Value numbers = tuple_numbers(indices, prefix, 0, Outside::kNegative);
  return reshape(scatter_any(reshape(data, {rows, inner}), reshape(numbers, {count}),
                             reshape(updates, {count, inner}), *kind),
                 data.shape());
}

// How many TopK takes: an attribute up to opset 9, then an input.
std::optional<int64_t> top_k_count(NodeReader& node, int64_t extent) {
  if (node.opset() < 10) return node.required_int("k");
  if (!node.input(1)) {
    node.corrupt("input 1 (K) is missing");
    return std::nullopt;
  }
  const std::optional<Shape> k = node.bounded_ints(1, "K");
  if (!k) return std::nullopt;
  const bool is_known = node.input(1).literal() != nullptr;
  if (k->size() == 1) return is_known ? k->front() : std::clamp<int64_t>(k->front(), 0, extent);
  node.invalid("input 1 (K) must have one element, not %zu", k->size());
  return std::nullopt;
}

// In any order will do where `sorted` is 0; ours is sorted.
Value read_top_k(NodeReader& node) {
  const Value x = node.input(0);
  const int axis = node.axis(node.int_attr("axis", -1), x.rank());
  const bool largest = node.opset() < 11 || node.flag_attr("largest", true);
  if (node.opset() >= 11) node.ignore_attr("sorted");
  const std::optional<int64_t> count = top_k_count(node, x.dim(axis));
  if (!count || x.rank() == 0) return {};
  if (*count < 0 || *count > x.dim(axis)) {
    return node.invalid("K is %lld, but axis %d has %lld elements", static_cast<long long>(*count),
                        axis, static_cast<long long>(x.dim(axis)));
  }
  Value indices = top_k(x, {axis, *count, largest});
  if (node.opset() >= 10 && node.input(1).literal() == nullptr) {
    indices = with_count(indices, axis, min(reshape(node.input(1), {}), extent_of(x, axis)));
  }
  node.set_output(1, indices);
  return gather(reshape(without_counts(x), {x.elements()}),
                element_numbers(indices, x.shape(), axis, Outside::kUnspecified), 0);
}

constexpr OpRow kOps[] = {
    {"Scatter", 9, 3, 3, read_scatter_elements},
    {"ScatterElements", 11, 3, 3, read_scatter_elements},
    {"ScatterND", 11, 3, 3, read_scatter_nd},
    {"TopK", 7, 1, 2, read_top_k},
};

}  // namespace

OpFamily scatter_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
