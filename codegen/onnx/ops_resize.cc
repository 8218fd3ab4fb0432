// SPDX-License-Identifier: MIT
// Resize and its ancestor Upsample.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "codegen/onnx/op_table.h"
#include "codegen/onnx/resize.h"

namespace camshaft::onnx {
namespace {

// Weighted sums over one axis: gathers for a few taps, else a product with the matrix of weights,
// most of which are 0. A tap costs as much as this many elements of the matrix: along the last
// axis neighbouring outputs gather their inputs one by one, along the others row by row.
constexpr int64_t kElementsPerTapOfColumns = 40;
constexpr int64_t kElementsPerTapOfRows = 2;
constexpr int64_t kAlwaysGatheredTaps = 4;
constexpr int64_t kMostGatheredTaps = 32;  // which are one expression

bool gathers(const Value& x, int axis, const Taps& taps) {
  const auto count = static_cast<int64_t>(taps.indices.size());
  const bool is_last = axis + 1 == x.rank();
  const int64_t elements = count * (is_last ? kElementsPerTapOfColumns : kElementsPerTapOfRows);
  return count <= kAlwaysGatheredTaps || (count <= kMostGatheredTaps && elements <= x.dim(axis));
}

Value gathered_sum(Value x, int axis, const Taps& taps) {
  Value sum;
  for (size_t k = 0; k < taps.indices.size(); ++k) {
    const Value part = gather(x, x.builder()->ints(taps.indices[k]), axis);
    const Value weights = x.builder()->vector(x.dtype(), taps.weights[k]);
    const Value product = part * place_axes(weights, {axis}, x.rank());
    sum = sum ? sum + product : product;
  }
  return sum;
}

Value matrix_sum(Value x, int axis, const Taps& taps) {
  const auto outputs = static_cast<int64_t>(taps.indices[0].size());
  if (!x.builder()->may_make(x.dim(axis) * outputs)) return {};
  std::vector<double> matrix(static_cast<size_t>(x.dim(axis) * outputs), 0);
  for (size_t k = 0; k < taps.indices.size(); ++k) {
    for (size_t i = 0; i < taps.indices[k].size(); ++i) {
      matrix[static_cast<size_t>(taps.indices[k][i] * outputs) + i] += taps.weights[k][i];
    }
  }
  std::vector<int> to_last;
  std::vector<int> back;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != axis) to_last.push_back(i);
    back.push_back(i < axis ? i : i == axis ? x.rank() - 1 : i - 1);
  }
  to_last.push_back(axis);
  const Value weights = reshape(x.builder()->vector(x.dtype(), matrix), {x.dim(axis), outputs});
  const Value rows = insert_axis(transpose(x, std::move(to_last)), 0);
  if (!rows) return {};
  return transpose(drop_axes(matmul(rows, weights), {0}), std::move(back));
}

Value resample(NodeReader& node, Value x, int axis, const ResizeMode& mode, const ResizeAxis& how,
               double extrapolation) {
  const int64_t taps_each = tap_count(mode, how);
  // may_make bounds each factor before their product.
  if (!node.builder().may_make(how.output) || !node.builder().may_make(taps_each) ||
      !node.builder().may_make(taps_each * how.output)) {
    return {};
  }
  const Taps taps = make_taps(mode, how);
  Value y;
  if (mode.interpolation == Interpolation::kNearest) {
    y = gather(x, node.builder().ints(taps.indices[0]), axis);
  } else {
    y = gathers(x, axis, taps) ? gathered_sum(x, axis, taps) : matrix_sum(x, axis, taps);
  }
  if (std::find(taps.is_outside.begin(), taps.is_outside.end(), true) == taps.is_outside.end()) {
    return y;
  }
  const std::vector<double> flags(taps.is_outside.begin(), taps.is_outside.end());
  const Value outside = place_axes(node.builder().vector(DType::kBool, flags), {axis}, x.rank());
  return select(outside, scalar_like(x, extrapolation), y);
}

// Resamples each axis whose positions are not all its own. Integers are interpolated in f32.
Value resample_all(NodeReader& node, const ResizeMode& mode, const std::vector<ResizeAxis>& axes,
                   double extrapolation) {
  const Value input = node.input(0);
  const bool interpolates = mode.interpolation != Interpolation::kNearest;
  Value x = interpolates && !base::is_float(input.dtype()) ? cast(input, DType::kFloat32) : input;
  for (int i = 0; i < input.rank() && x; ++i) {
    const ResizeAxis& axis = axes[static_cast<size_t>(i)];
    const bool is_whole = mode.coordinates != Coordinates::kTfCropAndResize ||
                          (axis.roi_begin == 0 && axis.roi_end == 1);
    if (axis.input == axis.output && axis.scale == 1 && is_whole) continue;
    if (axis.input < 1 || axis.output < 0 || !(axis.scale > 0) || !std::isfinite(axis.scale)) {
      return node.invalid("can't resize axis %d of extent %lld by %g", i,
                          static_cast<long long>(axis.input), axis.scale);
    }
    x = resample(node, x, i, mode, axis, extrapolation);
  }
  return cast(x, input.dtype());
}

// The output's extents for given scales; as onnxruntime, in float.
void apply_scales(const std::vector<double>& scales, const std::vector<int>& axes,
                  std::vector<ResizeAxis>* how) {
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizeAxis& axis = (*how)[static_cast<size_t>(axes[i])];
    axis.scale = scales[i];
    const float extent = std::floor(static_cast<float>(axis.input) * static_cast<float>(scales[i]));
    axis.output = extent >= 0 && extent < 1e15F ? static_cast<int64_t>(extent) : -1;
  }
}

bool apply_sizes(NodeReader& node, const Shape& sizes, const std::vector<int>& axes,
                 std::vector<ResizeAxis>* how) {
  const std::string policy = node.string_attr("keep_aspect_ratio_policy", "stretch");
  double smallest = std::numeric_limits<double>::infinity();
  double largest = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizeAxis& axis = (*how)[static_cast<size_t>(axes[i])];
    axis.output = sizes[i];
    axis.scale = static_cast<double>(sizes[i]) / static_cast<double>(axis.input);
    smallest = std::min(smallest, axis.scale);
    largest = std::max(largest, axis.scale);
  }
  if (policy == "stretch") return true;
  if (policy != "not_larger" && policy != "not_smaller") {
    node.unsupported("keep_aspect_ratio_policy must be stretch, not_larger or not_smaller");
    return false;
  }
  for (const int i : axes) {
    ResizeAxis& axis = (*how)[static_cast<size_t>(i)];
    axis.scale = policy == "not_larger" ? smallest : largest;
    const double extent = std::floor(axis.scale * static_cast<double>(axis.input) + 0.5);
    axis.output = extent >= 0 && extent < 1e15 ? static_cast<int64_t>(extent) : -1;
  }
  return true;
}

bool apply_roi(NodeReader& node, const std::vector<int>& axes, std::vector<ResizeAxis>* how) {
  const std::optional<std::vector<double>> roi = node.known_doubles(1, "roi");
  if (!roi) return false;
  if (roi->size() != 2 * axes.size()) {
    node.invalid("roi needs a begin and an end for each axis");
    return false;
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    (*how)[static_cast<size_t>(axes[i])].roi_begin = (*roi)[i];
    (*how)[static_cast<size_t>(axes[i])].roi_end = (*roi)[i + axes.size()];
  }
  return true;
}

// One of several names; a problem if it is none of them.
template <typename Enum>
Enum choose(NodeReader& node, const char* attribute, const char* otherwise,
            std::initializer_list<std::pair<const char*, Enum>> choices) {
  const std::string given = node.string_attr(attribute, otherwise);
  for (const auto& [name, value] : choices) {
    if (given == name) return value;
  }
  node.unsupported("attribute '%s' has an unknown value", attribute);
  return choices.begin()->second;
}

Interpolation read_interpolation(NodeReader& node) {
  return choose<Interpolation>(node, "mode", "nearest",
                               {{"nearest", Interpolation::kNearest},
                                {"linear", Interpolation::kLinear},
                                {"bilinear", Interpolation::kLinear},
                                {"cubic", Interpolation::kCubic}});
}

ResizeMode read_mode(NodeReader& node) {
  ResizeMode mode;
  mode.interpolation = read_interpolation(node);
  mode.coordinates =
      choose<Coordinates>(node, "coordinate_transformation_mode", "half_pixel",
                          {{"half_pixel", Coordinates::kHalfPixel},
                           {"half_pixel_symmetric", Coordinates::kHalfPixelSymmetric},
                           {"pytorch_half_pixel", Coordinates::kPytorchHalfPixel},
                           {"align_corners", Coordinates::kAlignCorners},
                           {"asymmetric", Coordinates::kAsymmetric},
                           {"tf_half_pixel_for_nn", Coordinates::kTfHalfPixelForNn},
                           {"tf_crop_and_resize", Coordinates::kTfCropAndResize}});
  mode.nearest = choose<NearestMode>(node, "nearest_mode", "round_prefer_floor",
                                     {{"round_prefer_floor", NearestMode::kRoundPreferFloor},
                                      {"round_prefer_ceil", NearestMode::kRoundPreferCeil},
                                      {"floor", NearestMode::kFloor},
                                      {"ceil", NearestMode::kCeil}});
  mode.cubic_a = node.float_attr("cubic_coeff_a", -0.75);
  mode.exclude_outside = node.flag_attr("exclude_outside", false);
  mode.antialias = node.flag_attr("antialias", false);
  return mode;
}

std::vector<ResizeAxis> axes_as_they_are(Value x) {
  std::vector<ResizeAxis> axes;
  for (const int64_t extent : x.shape()) axes.push_back({extent, extent, 1, 0, 1});
  return axes;
}

// The axes that roi, scales and sizes speak of, in their order.
std::optional<std::vector<int>> named_axes(NodeReader& node) {
  const int rank = node.input(0).rank();
  std::vector<int> axes;
  if (const std::optional<Shape> given = node.ints_attr("axes")) {
    if (!node.axes(*given, rank)) return std::nullopt;
    for (const int64_t axis : *given) axes.push_back(node.axis(axis, rank));
  } else {
    axes.resize(static_cast<size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
  }
  return axes;
}

// Upsample, and Resize of opset 10: x_original = x_resized / scale, rounded down for nearest.
Value resize_asymmetric(NodeReader& node, const std::optional<std::vector<double>>& scales) {
  const Value x = node.input(0);
  if (!scales) return {};
  std::vector<ResizeAxis> how = axes_as_they_are(x);
  std::vector<int> axes(how.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (scales->size() != axes.size()) return node.invalid("needs one scale for each axis");
  apply_scales(*scales, axes, &how);
  ResizeMode mode;
  mode.interpolation = read_interpolation(node);
  mode.coordinates = Coordinates::kAsymmetric;
  mode.nearest = NearestMode::kFloor;
  return resample_all(node, mode, how, 0);
}

Value read_upsample(NodeReader& node) {
  if (node.opset() >= 9) return resize_asymmetric(node, node.known_doubles(1, "scales"));
  const std::optional<std::vector<double>> scales = node.floats_attr("scales");
  return scales ? resize_asymmetric(node, scales) : node.corrupt("attribute 'scales' is missing");
}

Value read_resize(NodeReader& node) {
  if (node.opset() < 11) return resize_asymmetric(node, node.known_doubles(1, "scales"));
  const ResizeMode mode = read_mode(node);
  const double extrapolation = node.float_attr("extrapolation_value", 0);
  const std::optional<std::vector<int>> axes = named_axes(node);
  std::vector<ResizeAxis> how = axes_as_they_are(node.input(0));
  const Value scales = node.input(2);
  const Value sizes = node.input(3);
  if (!axes) return {};
  if (mode.coordinates == Coordinates::kTfCropAndResize && !apply_roi(node, *axes, &how)) return {};
  // An empty `scales` stands for none in opset 11.
  const bool by_size = sizes && sizes.elements() > 0;
  const Value chosen = by_size ? sizes : scales;
  if (!chosen) return node.corrupt("has neither scales nor sizes");
  if (chosen.elements() != static_cast<int64_t>(axes->size())) {
    return node.invalid("needs one scale or size for each axis");
  }
  if (by_size) {
    const std::optional<Shape> known = node.known_ints(3, "sizes");
    if (!known || !apply_sizes(node, *known, *axes, &how)) return {};
  } else {
    node.ignore_attr("keep_aspect_ratio_policy");
    const std::optional<std::vector<double>> known = node.known_doubles(2, "scales");
    if (!known) return {};
    apply_scales(*known, *axes, &how);
  }
  return resample_all(node, mode, how, extrapolation);
}

constexpr OpRow kOps[] = {
    {"Resize", 10, 1, 4, read_resize},
    {"Upsample", 7, 1, 2, read_upsample},
};

}  // namespace

OpFamily resize_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
