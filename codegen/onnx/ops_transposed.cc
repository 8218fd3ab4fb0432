// SPDX-License-Identifier: MIT
// Windows backwards: Col2Im, MaxUnpool.
#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "codegen/onnx/extents.h"
#include "codegen/onnx/op_table.h"
#include "codegen/onnx/window.h"
#include "runtime/base/bytes.h"

namespace camshaft::onnx {
namespace {

int64_t product(const Shape& extents) {
  return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<int64_t>());
}

// --- Col2Im --------------------------------------------------------------------------------------

// What Col2Im reads, checked. One entry for each spatial axis.
struct Columns {
  Shape image;
  Window window;    // the block is its kernel
  Shape positions;  // of the window
};

std::optional<Columns> read_columns(NodeReader& node) {
  const Value x = node.input(0);
  std::optional<Shape> image = node.known_ints(1, "image_shape");
  std::optional<Shape> block = node.known_ints(2, "block_shape");
  if (!image || !block) return std::nullopt;
  const bool is_sane = std::all_of(image->begin(), image->end(), [](int64_t extent) {
    return extent >= 1 && extent <= INT32_MAX;
  });
  if (!is_sane || image->empty() || x.rank() != 3) {
    node.invalid("needs x as [N, C * block, L] and positive extents of the image");
    return std::nullopt;
  }
  std::optional<Window> window = read_window_without_pads(node, image->size(), std::move(*block));
  if (!window || !read_explicit_pads(node, &*window)) return std::nullopt;
  std::optional<Shape> positions = window_positions(node, *image, *window);
  if (!positions) return std::nullopt;
  if (x.dim(2) != product(*positions) || x.dim(1) % product(window->kernel) != 0) {
    node.invalid("x is %s, but the image has %lld positions of blocks of %lld",
                 shape_text(x.shape()).c_str(), static_cast<long long>(product(*positions)),
                 static_cast<long long>(product(window->kernel)));
    return std::nullopt;
  }
  return Columns{std::move(*image), std::move(*window), std::move(*positions)};
}

// Which elements of blocks add to each element of an axis of the image: up to `count` pairs of a
// tap and a position, as tap * positions + position; -1 where there are fewer.
struct Addends {
  int64_t count = 0;
  Shape pairs;  // [count, extent]
};

Addends find_addends(const Columns& columns, size_t axis) {
  const Window& window = columns.window;
  const int64_t extent = columns.image[axis];
  std::vector<Shape> found(static_cast<size_t>(extent));
  Addends addends;
  for (int64_t tap = 0; tap < window.kernel[axis]; ++tap) {
    for (int64_t position = 0; position < columns.positions[axis]; ++position) {
      const int64_t at =
          position * window.strides[axis] + tap * window.dilations[axis] - window.pads_begin[axis];
      if (at < 0 || at >= extent) continue;
      Shape& pairs = found[static_cast<size_t>(at)];
      pairs.push_back(tap * columns.positions[axis] + position);
      addends.count = std::max(addends.count, static_cast<int64_t>(pairs.size()));
    }
  }
  addends.count = std::max<int64_t>(addends.count, 1);
  addends.pairs.assign(static_cast<size_t>(addends.count * extent), -1);
  for (size_t at = 0; at < found.size(); ++at) {
    for (size_t k = 0; k < found[at].size(); ++k) {
      addends.pairs[k * found.size() + at] = found[at][k];
    }
  }
  return addends;
}

// x as [N, C, (taps * positions) of each axis].
Value pairs_by_axis(Value x, const Columns& columns) {
  const size_t rank = columns.image.size();
  Shape split = {x.dim(0), x.dim(1) / product(columns.window.kernel)};
  split.insert(split.end(), columns.window.kernel.begin(), columns.window.kernel.end());
  split.insert(split.end(), columns.positions.begin(), columns.positions.end());
  std::vector<int> perm = {0, 1};
  Shape shape = {split[0], split[1]};
  for (size_t i = 0; i < rank; ++i) {
    perm.insert(perm.end(), {static_cast<int>(2 + i), static_cast<int>(2 + rank + i)});
    shape.push_back(columns.window.kernel[i] * columns.positions[i]);
  }
  return reshape(transpose(reshape(x, std::move(split)), std::move(perm)), std::move(shape));
}

// Sums what adds to each element of an axis of the image, where `axis` of y are pairs.
Value sum_addends(Value y, int axis, const Addends& addends) {
  const auto extent = static_cast<int64_t>(addends.pairs.size()) / addends.count;
  Builder& builder = *y.builder();
  Shape places = addends.pairs;
  std::vector<double> is_there(places.size(), 1);
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] < 0) places[i] = is_there[i] = 0;
  }
  const bool all_there = places == addends.pairs;
  Shape shape = y.shape();
  shape[static_cast<size_t>(axis)] = extent;
  shape.insert(shape.begin() + axis, addends.count);
  const auto rank = static_cast<int>(shape.size());
  const Value mask = reshape(builder.vector(DType::kBool, is_there), {addends.count, extent});
  const Value terms = reshape(gather(y, builder.ints(places), axis), std::move(shape));
  const Value counted =
      all_there ? terms
                : select(place_axes(mask, {axis, axis + 1}, rank), terms, scalar_like(terms, 0));
  return drop_axes(addends.count == 1 ? counted : reduce(ir::ReduceKind::kSum, counted, {axis}),
                   {axis});
}

// Blocks side by side: pairs [tap, position] are elements [position, tap] of the image.
Value lay_side_by_side(Value y, int axis, int64_t taps, int64_t positions) {
  Shape split = y.shape();
  split[static_cast<size_t>(axis)] = positions;
  split.insert(split.begin() + axis, taps);
  std::vector<int> perm(split.size());
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[static_cast<size_t>(axis)], perm[static_cast<size_t>(axis) + 1]);
  return reshape(transpose(reshape(y, std::move(split)), std::move(perm)), y.shape());
}

// One axis after the other: the sum is separable.
Value read_col2im(NodeReader& node) {
  const std::optional<Columns> columns = read_columns(node);
  if (!columns) return {};
  const Window& window = columns->window;
  Value y = pairs_by_axis(node.input(0), *columns);
  for (size_t i = 0; i < columns->image.size() && y; ++i) {
    const auto axis = static_cast<int>(i) + 2;
    if (window.strides[i] == window.kernel[i] && window.dilations[i] == 1 &&
        window.pads_begin[i] == 0 && y.dim(axis) == columns->image[i]) {
      y = lay_side_by_side(y, axis, window.kernel[i], columns->positions[i]);
      continue;
    }
    if (!node.builder().may_make(y.dim(axis))) return {};
    const Addends addends = find_addends(*columns, i);
    if (!node.builder().may_make(static_cast<int64_t>(addends.pairs.size()))) return {};
    y = sum_addends(y, axis, addends);
  }
  return y;
}

// --- MaxUnpool -----------------------------------------------------------------------------------

// The indices count in the extents that follow from the window; output_shape may ask for more,
// which are zeros.
Value read_max_unpool(NodeReader& node) {
  const Value x = node.input(0);
  const Value indices = node.input(1);
  std::optional<Shape> kernel = pool_kernel(node, x);
  if (!kernel) return {};
  std::optional<Window> window = read_window_without_pads(node, kernel->size(), std::move(*kernel));
  if (!window || !read_explicit_pads(node, &*window)) return {};
  if (indices.shape() != x.shape() || !base::is_int(indices.dtype())) {
    return node.invalid("the indices must be integers of the shape of x, %s",
                        shape_text(x.shape()).c_str());
  }
  const std::optional<Shape> extents =
      transposed_outputs(node, x, *window, Shape(window->rank(), 0));
  if (!extents) return {};
  Shape shape = {x.dim(0), x.dim(1)};
  shape.insert(shape.end(), extents->begin(), extents->end());
  const Value zeros = node.builder().splat({x.dtype(), shape}, 0);
  if (!zeros) return {};
  Value y = reshape(scatter(reshape(zeros, {zeros.elements()}), reshape(indices, {x.elements()}),
                            reshape(x, {x.elements()}), ir::ScatterKind::kReplace),
                    shape);
  if (has_count(x, 0)) y = with_count(y, 0, extent_of(x, 0));
  if (!node.input(2)) return y;
  const std::optional<Shape> wanted = node.known_ints(2, "output_shape");
  if (!wanted || !y) return {};
  ir::PadAttrs more{Shape(shape.size(), 0), Shape(shape.size(), 0)};
  for (size_t i = 0; i < shape.size(); ++i) {
    if (wanted->size() != shape.size() || (*wanted)[i] < shape[i]) {
      return node.invalid("output_shape must be at least %s, which the window gives",
                          shape_text(shape).c_str());
    }
    more.after[i] = (*wanted)[i] - shape[i];
  }
  return pad(y, std::move(more));
}

constexpr OpRow kOps[] = {
    {"Col2Im", 18, 3, 3, read_col2im},
    {"MaxUnpool", 9, 2, 3, read_max_unpool},
};

}  // namespace

OpFamily transposed_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
