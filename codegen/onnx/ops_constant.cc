// SPDX-License-Identifier: MIT
// Operators whose result is known when compiling, and those that hand their input through.
#include <algorithm>
#include <cmath>
#include <utility>

#include "codegen/ir/literal.h"
#include "codegen/onnx/extents.h"
#include "codegen/onnx/op_table.h"

namespace camshaft::onnx {
namespace {

Value read_constant(NodeReader& node) {
  Builder& builder = node.builder();
  for (const char* name : {"value_string", "value_strings"}) {
    if (node.has_attr(name)) {
      node.ignore_attr(name);
      return node.unsupported("attribute '%s' is not supported", name);
    }
  }
  if (node.has_attr("value")) return node.tensor_attr("value");
  if (node.has_attr("sparse_value")) return node.sparse_tensor_attr("sparse_value");
  if (node.has_attr("value_float")) {
    return builder.scalar(DType::kFloat32, node.float_attr("value_float", 0));
  }
  if (node.has_attr("value_floats")) {
    return builder.vector(DType::kFloat32,
                          node.floats_attr("value_floats").value_or(std::vector<double>()));
  }
  if (node.has_attr("value_int")) {
    return reshape(builder.ints({node.int_attr("value_int", 0)}), {});
  }
  if (node.has_attr("value_ints")) {
    return builder.ints(node.ints_attr("value_ints").value_or(Shape()));
  }
  return node.corrupt("has none of its value attributes");
}

Value read_constant_of_shape(NodeReader& node) {
  const std::optional<Shape> shape = node.bounded_ints(0, "shape");
  const bool is_zero = !node.has_attr("value");
  const Value fill =
      is_zero ? node.builder().scalar(DType::kFloat32, 0) : node.tensor_attr("value");
  if (!shape || !fill) return {};
  if (fill.elements() != 1) return node.invalid("attribute 'value' must have one element");
  return with_target_counts(broadcast_to(reshape(fill, {}), *shape), node.input(0));
}

Value read_identity(NodeReader& node) {
  return node.input(0);
}

// At inference nothing is dropped. The mask was of the data's dtype before opset 10; what it holds
// is defined from opset 12 on (ones), and before, onnxruntime gives zeros.
Value read_dropout(NodeReader& node) {
  const Value x = node.input(0);
  node.ignore_attr("ratio");
  node.ignore_attr("seed");
  if (node.input(2)) {
    const std::optional<double> training = node.known_scalar(2, "training_mode");
    const std::optional<double> ratio = node.input(1) ? node.known_scalar(1, "ratio") : 0.5;
    if (!training || !ratio) return {};
    if (*training != 0 && *ratio != 0) {
      return node.unsupported("training mode: export the model for inference");
    }
  }
  const DType mask = node.opset() < 10 ? x.dtype() : DType::kBool;
  const Value kept = node.builder().splat({mask, x.shape()}, node.opset() < 12 ? 0 : 1);
  node.set_output(1, with_counts_of(kept, x));
  return x;
}

Value read_shape(NodeReader& node) {
  const Shape& shape = node.input(0).shape();
  const auto rank = static_cast<int64_t>(shape.size());
  const auto place = [&](int64_t value) {
    return std::clamp<int64_t>(value < 0 ? value + rank : value, 0, rank);
  };
  const int64_t start = place(node.int_attr("start", 0));
  const int64_t end = place(node.int_attr("end", rank));
  if (start >= end) return node.builder().ints({});
  std::vector<Value> extents;
  for (int64_t axis = start; axis < end; ++axis) {
    extents.push_back(reshape(extent_of(node.input(0), static_cast<int>(axis)), {1}));
  }
  return concat(extents, 0);
}

Value read_size(NodeReader& node) {
  Value size = node.builder().scalar(DType::kInt64, 1);
  for (int axis = 0; axis < node.input(0).rank(); ++axis) {
    size = size * extent_of(node.input(0), axis);
  }
  return size;
}

Value range_of_ints(NodeReader& node, int64_t start, int64_t limit, int64_t delta) {
  // In unsigned arithmetic the distance is exact whatever the signs.
  const bool runs = delta > 0 ? start < limit : start > limit;
  const uint64_t distance = delta > 0 ? static_cast<uint64_t>(limit) - static_cast<uint64_t>(start)
                                      : static_cast<uint64_t>(start) - static_cast<uint64_t>(limit);
  const uint64_t step = delta > 0 ? static_cast<uint64_t>(delta) : 0 - static_cast<uint64_t>(delta);
  const uint64_t count = runs ? (distance - 1) / step + 1 : 0;
  if (!node.builder().may_make(count > INT64_MAX ? INT64_MAX : static_cast<int64_t>(count))) {
    return {};
  }
  ir::Literal literal = ir::zero_literal({node.input(0).dtype(), {static_cast<int64_t>(count)}});
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t value = static_cast<uint64_t>(start) + i * static_cast<uint64_t>(delta);
    ir::set_literal_element_int(literal, static_cast<int64_t>(i), static_cast<int64_t>(value));
  }
  return node.builder().constant(std::move(literal));
}

// Elements are start + i * delta; with stash_type, and before opset 27, rounded once at the end.
Value range_of_floats(NodeReader& node, double start, double limit, double delta) {
  const double exact = std::ceil((limit - start) / delta);
  if (std::isnan(exact)) return node.invalid("start, limit and delta must be finite");
  const double count = std::clamp(exact, 0.0, 1e18);
  if (!node.builder().may_make(static_cast<int64_t>(count))) return {};
  std::vector<double> values;
  for (int64_t i = 0; i < static_cast<int64_t>(count); ++i) {
    values.push_back(start + static_cast<double>(i) * delta);
  }
  return node.builder().vector(node.input(0).dtype(), values);
}

// A range of integers whose end or start depends on data; delta is known.
Value range_of_counted_ints(NodeReader& node, int64_t delta) {
  const Value start = reshape(cast(node.input(0), DType::kInt64), {});
  const Value limit = reshape(cast(node.input(1), DType::kInt64), {});
  if (delta == 0) return node.invalid("delta is 0");
  const double size = std::abs(static_cast<double>(delta));
  const Value distance = delta > 0 ? limit - start : start - limit;
  const Value count = max((distance + (size - 1)) / size, 0.0);
  const std::optional<int64_t> given = node.given_bound(delta > 0 ? 1 : 0);
  std::optional<int64_t> bound = given;
  if (const std::optional<Shape> known = count.upper_bounds()) {
    bound = std::min(bound.value_or(INT64_MAX), std::max<int64_t>(known->front(), 0));
  }
  if (given && *bound == *given) {
    node.builder().watch_bound(
        less(node.builder().scalar(DType::kInt64, static_cast<double>(*given)), count));
  }
  if (!bound) {
    return node.unsupported(
        "how many numbers it gives depends on data, and nothing bounds it; it must be known when "
        "compiling: give --bound '%s=N', the most of them, or --freeze for inputs of the model",
        node.label().c_str());
  }
  const Value steps = node.builder().iota(*bound);
  const Value values = start + steps * static_cast<double>(delta);
  return with_count(cast(values, node.input(0).dtype()), 0, count);
}

Value read_range(NodeReader& node) {
  node.ignore_attr("stash_type");
  constexpr const char* kNames[] = {"start", "limit", "delta"};
  const bool is_known = node.input(0).literal() != nullptr && node.input(1).literal() != nullptr;
  if (!is_known && !base::is_float(node.input(0).dtype())) {
    const std::optional<double> delta = node.known_scalar(2, kNames[2]);
    return delta ? range_of_counted_ints(node, static_cast<int64_t>(*delta)) : Value();
  }
  for (int i = 0; i < 3; ++i) {
    if (!node.known_scalar(i, kNames[i])) return {};
    if (node.input(i).dtype() != node.input(0).dtype()) {
      return node.invalid("start, limit and delta must be of one dtype");
    }
  }
  if (base::is_float(node.input(0).dtype())) {
    const double delta = node.input(2).known_doubles()->front();
    if (delta == 0) return node.invalid("delta is 0");
    return range_of_floats(node, node.input(0).known_doubles()->front(),
                           node.input(1).known_doubles()->front(), delta);
  }
  const int64_t delta = node.input(2).known_ints()->front();
  if (delta == 0) return node.invalid("delta is 0");
  return range_of_ints(node, node.input(0).known_ints()->front(),
                       node.input(1).known_ints()->front(), delta);
}

constexpr OpRow kOps[] = {
    {"Constant", 7, 0, 0, read_constant}, {"ConstantOfShape", 9, 1, 1, read_constant_of_shape},
    {"Identity", 7, 1, 1, read_identity}, {"Dropout", 7, 1, 3, read_dropout},
    {"Shape", 7, 1, 1, read_shape},       {"Size", 7, 1, 1, read_size},
    {"Range", 11, 3, 3, read_range},
};

}  // namespace

OpFamily constant_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
