// SPDX-License-Identifier: MIT
// Operators that read a tensor at computed positions: GridSample, AffineGrid, DeformConv.
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "codegen/onnx/op_table.h"
#include "codegen/onnx/sampling.h"
#include "codegen/onnx/window.h"

namespace camshaft::onnx {
namespace {

int64_t product(Shape::const_iterator begin, Shape::const_iterator end) {
  return std::accumulate(begin, end, int64_t{1}, std::multiplies<int64_t>());
}

// --- GridSample ----------------------------------------------------------------------------------

enum class GridMode : uint8_t { kLinear, kNearest, kCubic };

struct GridSampling {
  GridMode mode = GridMode::kLinear;
  Padding padding = Padding::kZeros;
  bool align_corners = false;

  Borders borders(int64_t extent) const {
    const auto last = static_cast<double>(extent - 1);
    return align_corners ? Borders{0, last} : Borders{-0.5, last + 0.5};
  }
};

std::optional<GridSampling> read_grid_sampling(NodeReader& node) {
  GridSampling how;
  const std::string mode = node.string_attr("mode", "linear");
  const std::string padding = node.string_attr("padding_mode", "zeros");
  how.align_corners = node.flag_attr("align_corners", false);
  if (mode == "nearest") {
    how.mode = GridMode::kNearest;
  } else if (mode == "cubic" || mode == "bicubic") {  // "bi-" is the spelling of opset 16
    how.mode = GridMode::kCubic;
  } else if (mode != "linear" && mode != "bilinear") {
    node.unsupported("mode must be linear, nearest or cubic");
    return std::nullopt;
  }
  if (padding == "border") {
    how.padding = Padding::kBorder;
  } else if (padding == "reflection") {
    how.padding = Padding::kReflection;
  } else if (padding != "zeros") {
    node.unsupported("padding_mode must be zeros, border or reflection");
    return std::nullopt;
  }
  return how;
}

bool check_grid(NodeReader& node) {
  const Value x = node.input(0);
  const Value grid = node.input(1);
  if (x.rank() < 3 || grid.rank() != x.rank() || grid.dim(-1) != x.rank() - 2 ||
      grid.dim(0) != x.dim(0) || !base::is_float(grid.dtype())) {
    node.invalid(
        "needs x as [N, C, D1, ..., Dr] and a grid of floats [N, O1, ..., Or, r]; they are %s and "
        "%s",
        shape_text(x.shape()).c_str(), shape_text(grid.shape()).c_str());
    return false;
  }
  if (product(x.shape().begin() + 2, x.shape().end()) > 0) return true;
  node.invalid("x has no elements to sample");
  return false;
}

// Positions [N, Q] on spatial axis `axis` in elements, from the grid's [-1, 1]. The grid's last
// component is of the first axis.
Value grid_positions(Value grid, int axis, int64_t extent, const GridSampling& how) {
  const int last = grid.rank() - 1;
  const Value component = slice_axis(grid, last, last - 2 - axis, 1);
  if (!component) return {};
  const Value g = computable(
      reshape(component, {grid.dim(0), product(grid.shape().begin() + 1, grid.shape().end() - 1)}));
  const auto size = static_cast<double>(extent);
  const Value position =
      how.align_corners ? (g + 1.0) / 2.0 * (size - 1) : ((g + 1.0) * size - 1.0) / 2.0;
  // As onnxruntime and PyTorch, the cubic kernel keeps a position outside and repeats the border.
  if (how.mode == GridMode::kCubic && how.padding == Padding::kBorder) return position;
  return pad_positions(how.mode == GridMode::kNearest ? round(position) : position, how.padding,
                       how.borders(extent), extent);
}

// The nearest elements of x [N, C, S], of any dtype.
Value sample_nearest(Value x, const std::vector<Value>& positions, const Shape& extents,
                     Padding padding) {
  Value index;
  Value outside;
  for (size_t axis = 0; axis < positions.size(); ++axis) {
    const Value at = to_indices(positions[axis], extents[axis], x.elements());
    index = index ? index * static_cast<double>(extents[axis]) + at : at;
    const Value here = is_outside(positions[axis], {0, static_cast<double>(extents[axis] - 1)});
    outside = outside ? logical_or(outside, here) : here;
  }
  const Value y = gather_planes(x, {}, index);
  if (padding != Padding::kZeros || !outside) return y;
  return select(insert_axis(outside, 1), scalar_like(x, 0), y);
}

Value sample_smooth(Value x, const std::vector<Value>& positions, const Shape& extents,
                    const GridSampling& how) {
  const Kernel1d& kernel = how.mode == GridMode::kCubic ? cubic_kernel() : linear_kernel();
  Taps taps;
  for (size_t axis = 0; axis < positions.size(); ++axis) {
    const Taps here = make_taps(positions[axis], kernel, how.padding, how.borders(extents[axis]),
                                extents[axis], x.elements());
    taps = axis == 0 ? here : outer_product(taps, here, extents[axis]);
  }
  return cast(sample_planes(computable(x), {}, taps, ir::ReduceKind::kSum), x.dtype());
}

Value read_grid_sample(NodeReader& node) {
  const Value x = node.input(0);
  const Value grid = node.input(1);
  const std::optional<GridSampling> how = read_grid_sampling(node);
  if (!how || !check_grid(node)) return {};
  const Shape extents(x.shape().begin() + 2, x.shape().end());
  Shape result(grid.shape().begin(), grid.shape().end() - 1);
  result.insert(result.begin() + 1, x.dim(1));
  std::vector<Value> positions;
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    positions.push_back(grid_positions(grid, static_cast<int>(axis), extents[axis], *how));
  }
  const Value planes = reshape(x, {x.dim(0), x.dim(1), product(extents.begin(), extents.end())});
  return reshape(how->mode == GridMode::kNearest
                     ? sample_nearest(planes, positions, extents, how->padding)
                     : sample_smooth(planes, positions, extents, *how),
                 result);
}

// --- AffineGrid ----------------------------------------------------------------------------------

// The coordinates of an axis' elements in [-1, 1].
Value grid_coordinates(NodeReader& node, int64_t extent, bool align_corners, DType dtype) {
  const Value steps = cast(node.builder().iota(extent), dtype);
  const auto size = static_cast<double>(extent);
  if (!align_corners) return (steps * 2.0 + 1.0) / size - 1.0;
  return extent == 1 ? steps - 1.0 : steps * 2.0 / (size - 1) - 1.0;
}

// Each component is a row of theta times (x, y, ..., 1).
Value read_affine_grid(NodeReader& node) {
  const Value theta = computable(node.input(0));
  const bool align_corners = node.flag_attr("align_corners", false);
  const std::optional<Shape> size = node.known_ints(1, "size");
  if (!size) return {};
  const auto spatial = static_cast<int>(size->size()) - 2;
  const bool is_sane = std::all_of(size->begin(), size->end(), [](int64_t e) { return e >= 0; });
  if ((spatial != 2 && spatial != 3) || !is_sane || theta.rank() != 3 ||
      theta.dim(0) != size->front() || theta.dim(1) != spatial || theta.dim(2) != spatial + 1) {
    return node.invalid(
        "needs theta as [N, 2, 3] with a size of [N, C, H, W], or [N, 3, 4] with [N, C, D, H, W]; "
        "they are %s and %s",
        shape_text(theta.shape()).c_str(), shape_text(*size).c_str());
  }
  const int rank = spatial + 2;
  const auto column = [&](int which) {  // [N, 1, ..., components]
    return place_axes(drop_axes(slice_axis(theta, 2, which, 1), {2}), {0, rank - 1}, rank);
  };
  Value grid = column(spatial);
  for (int axis = 0; axis < spatial; ++axis) {  // theta's first column is of the last axis
    const int64_t extent = (*size)[static_cast<size_t>(axis) + 2];
    const Value along = grid_coordinates(node, extent, align_corners, theta.dtype());
    grid = column(spatial - 1 - axis) * place_axes(along, {axis + 1}, rank) + grid;
  }
  return cast(grid, node.input(0).dtype());
}

// --- DeformConv ----------------------------------------------------------------------------------

// What DeformConv reads, checked. The letters are those of shapes below.
struct Deformed {
  Window window;
  Shape outputs;      // spatial extents of the result; Q is their product
  int64_t groups;     // G: channels that share weights
  int64_t offsets;    // F: groups of channels that share offsets
  int64_t taps;       // K: of the kernel
  int64_t positions;  // Q
};

bool has_shape(NodeReader& node, Value value, const char* what, const Shape& shape) {
  if (value.shape() == shape) return true;
  node.invalid("%s must be %s, not %s", what, shape_text(shape).c_str(),
               shape_text(value.shape()).c_str());
  return false;
}

std::optional<Deformed> read_deformed(NodeReader& node) {
  const Value x = node.input(0);
  const Value w = node.input(1);
  std::optional<Shape> kernel = weight_kernel(node, x, w);
  const int64_t groups = node.int_attr("group", 1);
  const int64_t offsets = node.int_attr("offset_group", 1);
  if (!kernel) return std::nullopt;
  std::optional<Window> window = read_window_without_pads(node, kernel->size(), std::move(*kernel));
  if (!window || !read_explicit_pads(node, &*window)) return std::nullopt;
  std::optional<Shape> outputs = window_positions(node, spatial_extents(x), *window);
  if (!outputs) return std::nullopt;
  if (groups < 1 || offsets < 1 || x.dim(1) % groups != 0 || x.dim(1) % offsets != 0 ||
      w.dim(0) % groups != 0 || w.dim(1) != x.dim(1) / groups || x.elements() == 0) {
    node.invalid("weights %s, group %lld and offset_group %lld don't fit x of %s",
                 shape_text(w.shape()).c_str(), static_cast<long long>(groups),
                 static_cast<long long>(offsets), shape_text(x.shape()).c_str());
    return std::nullopt;
  }
  const int64_t taps = product(window->kernel.begin(), window->kernel.end());
  const int64_t positions = product(outputs->begin(), outputs->end());
  Shape each = {x.dim(0), offsets * taps * (x.rank() - 2)};
  each.insert(each.end(), outputs->begin(), outputs->end());
  if (!has_shape(node, node.input(2), "offset", each)) return std::nullopt;
  each[1] = offsets * taps;
  if (node.input(4) && !has_shape(node, node.input(4), "mask", each)) return std::nullopt;
  return Deformed{std::move(*window), std::move(*outputs), groups, offsets, taps, positions};
}

// Where the taps would lie on spatial axis `axis` without offsets: [1, K, Q].
Value window_places(NodeReader& node, const Deformed& how, size_t axis, DType dtype) {
  const auto spatial = static_cast<int>(how.outputs.size());
  const auto along = [&](int64_t count, int place) {
    return place_axes(cast(node.builder().iota(count), dtype), {place}, 2 * spatial);
  };
  const auto i = static_cast<int>(axis);
  const Value tap =
      along(how.window.kernel[axis], i) * static_cast<double>(how.window.dilations[axis]);
  const Value start =
      along(how.outputs[axis], spatial + i) * static_cast<double>(how.window.strides[axis]) -
      static_cast<double>(how.window.pads_begin[axis]);
  Shape all = how.window.kernel;
  all.insert(all.end(), how.outputs.begin(), how.outputs.end());
  return reshape(broadcast_to(tap + start, all), {1, how.taps, how.positions});
}

// The columns of the matrix product: what the taps see, [N, C, K, Q].
Value deformed_columns(NodeReader& node, const Deformed& how) {
  const Value x = node.input(0);
  const Value offset = computable(node.input(2));
  const Value mask = node.input(4);
  const auto spatial = static_cast<int64_t>(how.outputs.size());
  const int64_t rows = x.dim(0) * how.offsets;
  const int64_t samples = how.taps * how.positions;
  const Value by_axis = reshape(offset, {rows, how.taps, spatial, how.positions});
  Taps taps;
  for (int64_t axis = 0; axis < spatial; ++axis) {
    const auto i = static_cast<size_t>(axis);
    const int64_t extent = x.shape()[i + 2];
    const Value shift = drop_axes(slice_axis(by_axis, 2, axis, 1), {2});
    const Value at = shift + window_places(node, how, i, offset.dtype());
    const Taps here = make_taps(reshape(at, {rows, samples}), linear_kernel(), Padding::kZeros, {},
                                extent, x.elements());
    taps = axis == 0 ? here : outer_product(taps, here, extent);
  }
  const int64_t size = product(x.shape().begin() + 2, x.shape().end());
  const Value planes = reshape(computable(x), {rows, x.dim(1) / how.offsets, size});
  Value columns = sample_planes(planes, {}, taps, ir::ReduceKind::kSum);
  if (mask) columns = columns * reshape(cast(mask, columns.dtype()), {rows, 1, samples});
  return reshape(columns, {x.dim(0), x.dim(1), how.taps, how.positions});
}

// As a convolution by a matrix product, but that the columns are sampled at offset places.
Value read_deform_conv(NodeReader& node) {
  const std::optional<Deformed> how = read_deformed(node);
  if (!how) return {};
  const Value x = node.input(0);
  const int64_t depth = x.dim(1) / how->groups * how->taps;
  const int64_t outputs = node.input(1).dim(0);
  const Value columns =
      reshape(deformed_columns(node, *how), {x.dim(0), how->groups, depth, how->positions});
  const Value weights =
      reshape(cast(node.input(1), columns.dtype()), {1, how->groups, outputs / how->groups, depth});
  Shape result = {x.dim(0), outputs};
  result.insert(result.end(), how->outputs.begin(), how->outputs.end());
  return cast(add_bias(node, reshape(matmul(weights, columns), result),
                       cast(node.input(3), columns.dtype())),
              x.dtype());
}

constexpr OpRow kOps[] = {
    {"GridSample", 16, 2, 2, read_grid_sample},
    {"AffineGrid", 20, 2, 2, read_affine_grid},
    {"DeformConv", 19, 3, 5, read_deform_conv},
};

}  // namespace

OpFamily sampling_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
