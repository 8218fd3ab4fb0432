// SPDX-License-Identifier: MIT
// Normalizations, and the softmax family.
#include <cmath>
#include <utility>

#include "codegen/onnx/extents.h"
#include "codegen/onnx/formulas.h"
#include "codegen/onnx/op_table.h"

namespace camshaft::onnx {
namespace {

using ir::ReduceKind;
using Axes = std::vector<int>;

// --- Softmax -------------------------------------------------------------------------------------

// One axis, or before opset 13 all from `axis` on, taken together.
std::optional<Axes> softmax_axes(NodeReader& node) {
  const int rank = node.input(0).rank();
  const bool flattens = node.opset() < 13;
  const int64_t given = node.int_attr("axis", flattens ? 1 : -1);
  if (flattens && given == rank) return Axes();
  if (rank == 0) {
    node.invalid("needs an axis");
    return std::nullopt;
  }
  const int axis = node.axis(given, rank);
  return flattens ? axis_range(axis, rank) : Axes{axis};
}

Value read_softmax(NodeReader& node) {
  const Value x = node.input(0);
  const std::optional<Axes> axes = softmax_axes(node);
  if (!axes) return {};
  return softmax(x, *axes);
}

Value read_log_softmax(NodeReader& node) {
  const Value x = node.input(0);
  const std::optional<Axes> axes = softmax_axes(node);
  if (!axes) return {};
  const Value shifted = x - reduce(ReduceKind::kMax, x, *axes);
  return shifted - log(reduce(ReduceKind::kSum, exp(shifted), *axes));
}

// 1 at the first of the largest elements, 0 elsewhere.
Value read_hardmax(NodeReader& node) {
  const Value x = node.input(0);
  const std::optional<Axes> axes = softmax_axes(node);
  if (!axes) return {};
  if (axes->empty()) return splat_like(x, 1);
  const int axis = axes->front();
  Shape flat(x.shape().begin(), x.shape().begin() + axis);
  int64_t extent = 1;
  for (const int each : *axes) extent *= x.dim(each);
  flat.push_back(extent);
  if (axes->size() == 1) flat.insert(flat.end(), x.shape().begin() + axis + 1, x.shape().end());
  const Value first = arg_reduce(reshape(x, flat), {ReduceKind::kMax, axis});
  const Value steps = node.builder().iota(extent);
  const Value is_first = equal(first, place_axes(steps, {axis}, static_cast<int>(flat.size())));
  return with_counts_of(reshape(cast(is_first, x.dtype()), x.shape()), x);
}

// --- Statistics ----------------------------------------------------------------------------------

// The dtype in which statistics are computed where nothing else is said.
DType statistics_dtype(Value x) {
  return x.dtype() == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
}

// The same where attribute stash_type may say something else.
DType stash_type(NodeReader& node, Value x) {
  return node.dtype_attr("stash_type", statistics_dtype(x));
}

// Values along the channel axis, 1, of x.
Value along_channels(NodeReader& node, Value parameter, const char* name) {
  const Value x = node.input(0);
  const int axis = x.rank() == 1 ? 0 : 1;
  if (parameter.rank() == 1 && x.rank() >= 1 &&
      (x.rank() == 1 ? parameter.dim(0) == 1 : parameter.dim(0) == x.dim(1))) {
    return place_axes(parameter, {axis}, x.rank());
  }
  return node.invalid("%s must be one value for each of the channels of %s", name,
                      shape_text(x.shape()).c_str());
}

// --- BatchNormalization --------------------------------------------------------------------------

// y = x * scale + shift, one scale and shift for each channel: rounded once where the statistics
// are known.
struct Affine {
  Value scale;
  Value shift;
};

Affine batch_norm_affine(NodeReader& node, double epsilon, DType dtype) {
  const std::optional<std::vector<double>> known[4] = {
      node.input(1).known_doubles(), node.input(2).known_doubles(), node.input(3).known_doubles(),
      node.input(4).known_doubles()};
  if (known[0] && known[1] && known[2] && known[3]) {
    std::vector<double> scale = *known[0];
    std::vector<double> shift = *known[1];
    for (size_t i = 0; i < scale.size(); ++i) {
      scale[i] /= std::sqrt((*known[3])[i] + epsilon);
      shift[i] -= (*known[2])[i] * scale[i];
    }
    return {node.builder().vector(dtype, scale), node.builder().vector(dtype, shift)};
  }
  const Value deviation = sqrt(cast(node.input(4), dtype) + epsilon);
  const Value scale = cast(node.input(1), dtype) / deviation;
  return {scale, cast(node.input(2), dtype) - cast(node.input(3), dtype) * scale};
}

Value read_batch_normalization(NodeReader& node) {
  const Value x = node.input(0);
  node.ignore_attr("momentum");
  const double epsilon = node.float_attr("epsilon", 1e-5);
  if (!node.flag_attr("spatial", true)) return node.unsupported("spatial=0 is not supported");
  if (node.flag_attr("training_mode", false)) {
    return node.unsupported("training mode: export the model for inference");
  }
  constexpr const char* kNames[] = {"", "scale", "B", "mean", "var"};
  for (int i = 1; i < 5; ++i) {
    if (!along_channels(node, node.input(i), kNames[i])) return {};
  }
  // Scale times x and the shift are large where their sum is small: halves would lose that. Nor are
  // statistics of a wider dtype than x narrowed before they are used.
  const bool is_same = node.input(1).dtype() == x.dtype() && node.input(3).dtype() == x.dtype();
  const DType dtype = is_same ? statistics_dtype(x) : DType::kFloat32;
  const Affine affine = batch_norm_affine(node, epsilon, dtype);
  const Value y = cast(x, dtype) * along_channels(node, affine.scale, "scale") +
                  along_channels(node, affine.shift, "B");
  return cast(y, x.dtype());
}

// --- The others ----------------------------------------------------------------------------------

Value read_instance_normalization(NodeReader& node) {
  const Value x = node.input(0);
  if (x.rank() < 3) return node.invalid("needs [N, C, spatial...]");
  const Value scale = along_channels(node, node.input(1), "scale");
  const Value shift = along_channels(node, node.input(2), "B");
  const DType dtype = statistics_dtype(x);
  const Normalized normalized =
      normalize(cast(x, dtype), axis_range(2, x.rank()), node.float_attr("epsilon", 1e-5));
  return cast(normalized.y * cast(scale, dtype) + cast(shift, dtype), x.dtype());
}

Value read_layer_normalization(NodeReader& node) {
  const Value x = node.input(0);
  if (x.rank() == 0) return node.invalid("needs an axis");
  const int axis = node.axis(node.int_attr("axis", -1), x.rank());
  const DType stash = stash_type(node, x);
  const Normalized normalized =
      normalize(cast(x, stash), axis_range(axis, x.rank()), node.float_attr("epsilon", 1e-5));
  if (node.wants_output(1)) node.set_output(1, normalized.mean);
  if (node.wants_output(2)) node.set_output(2, normalized.inverse_deviation);
  const Value y =
      cast(normalized.y, node.input(1).dtype()) * broadcast_to(node.input(1), x.shape());
  return node.input(2) ? y + broadcast_to(node.input(2), x.shape()) : y;
}

Value read_rms_normalization(NodeReader& node) {
  const Value x = node.input(0);
  if (x.rank() == 0) return node.invalid("needs an axis");
  const int axis = node.axis(node.int_attr("axis", -1), x.rank());
  const double epsilon = node.float_attr("epsilon", 1e-5);
  const Value wide = cast(x, stash_type(node, x));
  const Value y = normalize_rms(wide, axis_range(axis, x.rank()), epsilon).y;
  return cast(y, node.input(1).dtype()) * broadcast_to(node.input(1), x.shape());
}

// Scale and bias are one value a group before opset 21, one a channel from then on.
Value read_group_normalization(NodeReader& node) {
  const Value x = node.input(0);
  const int64_t groups = node.required_int("num_groups");
  const double epsilon = node.float_attr("epsilon", 1e-5);
  const DType stash = stash_type(node, x);
  if (x.rank() < 2 || groups < 1 || x.dim(1) < 1 || x.dim(1) % groups != 0) {
    return node.invalid("num_groups must divide the channels");
  }
  Shape grouped = x.shape();
  grouped[1] /= groups;
  grouped.insert(grouped.begin() + 1, groups);
  const auto rank = static_cast<int>(grouped.size());
  const Value y =
      cast(normalize(cast(reshape(x, grouped), stash), axis_range(2, rank), epsilon).y, x.dtype());
  if (node.opset() >= 21) {
    return reshape(y, x.shape()) * along_channels(node, node.input(1), "scale") +
           along_channels(node, node.input(2), "bias");
  }
  for (int i = 1; i < 3; ++i) {
    if (node.input(i).shape() == Shape{groups}) continue;
    return node.invalid("input %d must be one value for each of the %lld groups", i,
                        static_cast<long long>(groups));
  }
  return reshape(y * place_axes(node.input(1), {1}, rank) + place_axes(node.input(2), {1}, rank),
                 x.shape());
}

// The window runs over channels. An average that counts the padding is the sum over `size`.
Value read_lrn(NodeReader& node) {
  const Value x = node.input(0);
  const int64_t size = node.required_int("size");
  const double alpha = node.float_attr("alpha", 1e-4);
  const double beta = node.float_attr("beta", 0.75);
  const double bias = node.float_attr("bias", 1);
  if (x.rank() < 2 || size < 1 || size > INT32_MAX) {
    return node.invalid("needs [N, C, spatial...] and a positive size");
  }
  int64_t area = 1;
  for (int i = 2; i < x.rank(); ++i) area *= x.dim(i);
  const ir::PoolAttrs window{.kind = ir::PoolKind::kAverage,
                             .kernel = {size, 1},
                             .strides = {1, 1},
                             .dilations = {1, 1},
                             .pads_begin = {(size - 1) / 2, 0},
                             .pads_end = {size - 1 - (size - 1) / 2, 0},
                             .count_include_pad = true};
  const Value squares = pool(reshape(x * x, {x.dim(0), 1, x.dim(1), area}), window);
  return x / pow(bias + alpha * reshape(squares, x.shape()), beta);
}

Value read_lp_normalization(NodeReader& node) {
  const Value x = node.input(0);
  const int64_t p = node.int_attr("p", 2);
  if (x.rank() == 0) return node.invalid("needs an axis");
  const Axes axes = {node.axis(node.int_attr("axis", -1), x.rank())};
  if (p != 1 && p != 2) return node.unsupported("p must be 1 or 2");
  const Value sum = reduce(ReduceKind::kSum, p == 1 ? abs(x) : x * x, axes);
  const Value norm = p == 1 ? sum : sqrt(sum);
  return select(equal(norm, 0.0), scalar_like(x, 0), x / norm);
}

// The operator's function body keeps the quotient finite by adding 1e-9 to the deviation.
Value read_mean_variance_normalization(NodeReader& node) {
  const Value x = node.input(0);
  const std::optional<Axes> axes =
      node.axes(node.ints_attr("axes").value_or(Shape{0, 2, 3}), x.rank());
  if (!axes) return {};
  const Value centered = x - mean(x, *axes);
  return centered / (sqrt(mean(centered * centered, *axes)) + 1e-9);
}

// --- onnxruntime's own ---------------------------------------------------------------------------

// Of opset 1 of the default domain, as onnxruntime has it.
Value read_simplified_layer_normalization(NodeReader& node) {
  const Value x = node.input(0);
  if (x.rank() == 0) return node.invalid("needs an axis");
  const int axis = node.axis(node.int_attr("axis", -1), x.rank());
  const double epsilon = node.float_attr("epsilon", 1e-5);
  const Value wide = cast(x, stash_type(node, x));
  const Normalized normalized = normalize_rms(wide, axis_range(axis, x.rank()), epsilon);
  node.set_output(1, normalized.inverse_deviation);
  return cast(normalized.y, node.input(1).dtype()) * broadcast_to(node.input(1), x.shape());
}

// One value for each index of x's last axis; absent if not given.
Value along_last(NodeReader& node, int i, const char* name) {
  const Value parameter = node.input(i);
  const Value x = node.input(0);
  if (!parameter || parameter.shape() == Shape{x.dim(-1)}) return parameter;
  return node.invalid("%s must be one value for each index of the last axis of %s", name,
                      shape_text(x.shape()).c_str());
}

// Input, plus what skipped the layer, plus a bias: normalized over the last axis.
Value read_skip_normalization(NodeReader& node, bool simplified) {
  const Value x = node.input(0);
  const Value gamma = along_last(node, 2, "gamma");
  const Value beta = simplified ? Value() : along_last(node, 3, "beta");
  const Value bias = along_last(node, simplified ? 3 : 4, "bias");
  const double epsilon = node.float_attr("epsilon", 1e-12f);
  if (x.rank() < 2 || broadcast_shapes(x.shape(), node.input(1).shape()) != x.shape()) {
    return node.invalid("skip of %s doesn't fit %s", shape_text(node.input(1).shape()).c_str(),
                        shape_text(x.shape()).c_str());
  }
  if (!gamma) return {};
  const DType dtype = statistics_dtype(x);
  Value sum = cast(x, dtype) + cast(node.input(1), dtype);
  if (bias) sum = sum + cast(bias, dtype);
  const std::vector<int> last = {x.rank() - 1};
  const Normalized normalized =
      simplified ? normalize_rms(sum, last, epsilon) : normalize(sum, last, epsilon);
  if (!simplified) node.set_output(1, normalized.mean);
  node.set_output(2, normalized.inverse_deviation);
  node.set_output(3, cast(sum, x.dtype()));
  const Value y = normalized.y * cast(gamma, dtype);
  return cast(beta ? y + cast(beta, dtype) : y, x.dtype());
}

Value read_skip_layer_normalization(NodeReader& node) {
  return read_skip_normalization(node, false);
}
Value read_skip_simplified_layer_normalization(NodeReader& node) {
  return read_skip_normalization(node, true);
}

constexpr OpRow kOps[] = {
    {"Softmax", 7, 1, 1, read_softmax},
    {"LogSoftmax", 7, 1, 1, read_log_softmax},
    {"Hardmax", 7, 1, 1, read_hardmax},
    {"BatchNormalization", 7, 5, 5, read_batch_normalization},
    {"InstanceNormalization", 7, 3, 3, read_instance_normalization},
    {"LayerNormalization", kOldestOpset, 2, 3, read_layer_normalization},  // in onnxruntime always
    {"SimplifiedLayerNormalization", kOldestOpset, 2, 2, read_simplified_layer_normalization},
    {"RMSNormalization", 23, 2, 2, read_rms_normalization},
    {"GroupNormalization", 18, 3, 3, read_group_normalization},
    {"LRN", 7, 1, 1, read_lrn},
    {"LpNormalization", 7, 1, 1, read_lp_normalization},
    {"MeanVarianceNormalization", 9, 1, 1, read_mean_variance_normalization},
    {"SkipLayerNormalization", 1, 3, 5, read_skip_layer_normalization, kMicrosoft},
    {"SkipSimplifiedLayerNormalization", 1, 3, 4, read_skip_simplified_layer_normalization,
     kMicrosoft},
};

}  // namespace

OpFamily normalization_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
