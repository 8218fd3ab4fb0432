// SPDX-License-Identifier: MIT
// Operators of domain ai.onnx.ml that act on tensors of numbers.
#include <algorithm>
#include <cmath>
#include <utility>

#include "codegen/ir/literal.h"
#include "codegen/onnx/op_table.h"
#include "codegen/onnx/tree_ensemble.h"

namespace camshaft::onnx {
namespace {

// x[..., indices]: a row for a vector.
Value read_array_feature_extractor(NodeReader& node) {
  Value x = node.input(0);
  const Value indices = node.input(1);
  if (x.rank() == 0) return node.invalid("needs data with an axis");
  if (x.rank() == 1) x = insert_axis(x, 0);
  return gather(x, reshape(indices, {indices.elements()}), x.rank() - 1);
}

Value read_binarizer(NodeReader& node) {
  const Value x = node.input(0);
  return cast(less(splat_like(x, node.float_attr("threshold", 0)), x), x.dtype());
}

// Attribute keys_* or values_*, whichever is given.
Value label_list(NodeReader& node, const std::string& prefix) {
  Builder& builder = node.builder();
  if (const std::optional<Shape> ints = node.ints_attr(prefix + "_int64s")) {
    return builder.ints(*ints);
  }
  if (const auto floats = node.floats_attr(prefix + "_floats")) {
    return builder.vector(DType::kFloat32, *floats);
  }
  if (node.has_attr(prefix + "_tensor")) return node.tensor_attr(prefix + "_tensor");
  return node.unsupported("labels of strings are not supported");
}

Value default_label(NodeReader& node, DType dtype) {
  node.ignore_attr("default_string");
  const auto given = static_cast<double>(node.int_attr("default_int64", -1));
  const double real = node.float_attr("default_float", -0.0);
  if (node.has_attr("default_tensor")) {
    const Value label = node.tensor_attr("default_tensor");
    if (label) return reshape(label, {});
  }
  return node.builder().scalar(dtype, base::is_float(dtype) ? real : given);
}

// The last key that an element equals decides; a NaN equals a NaN.
Value read_label_encoder(NodeReader& node) {
  const Value x = node.input(0);
  const Value keys = label_list(node, "keys");
  const Value values = label_list(node, "values");
  if (!keys || !values) return {};
  if (keys.rank() != 1 || keys.type().shape != values.type().shape || keys.elements() == 0) {
    return node.invalid("needs as many keys as values, and at least one");
  }
  if (keys.dtype() != x.dtype()) return node.invalid("keys and input differ in element type");
  const Value wide = insert_axis(x, x.rank());
  Value hit = equal(wide, keys);
  if (base::is_float(x.dtype())) {
    hit = logical_or(hit, logical_and(is_nan(wide), is_nan(keys)));
  }
  const Value which = arg_reduce(cast(hit, DType::kInt32), {ir::ReduceKind::kMax, x.rank(), true});
  const Value found = gather(values, drop_axes(which, {x.rank()}), 0);
  const Value is_found = equal(
      drop_axes(reduce(ir::ReduceKind::kMax, cast(hit, DType::kInt32), {x.rank()}), {x.rank()}),
      1.0);
  return select(is_found, found, default_label(node, values.dtype()));
}

constexpr OpRow kOps[] = {
    {"ArrayFeatureExtractor", 1, 2, 2, read_array_feature_extractor, kMl},
    {"Binarizer", 1, 1, 1, read_binarizer, kMl},
    {"LabelEncoder", 1, 1, 1, read_label_encoder, kMl},
    {"TreeEnsemble", 1, 1, 1, read_tree_ensemble, kMl},
};

}  // namespace

OpFamily ml_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
