// SPDX-License-Identifier: MIT
#include "codegen/lower/window.h"

#include <algorithm>

namespace camshaft::lower {

using ir::KOp;
using ir::LoopKind;

bool WindowAxis::is_inside(int64_t at, int64_t k) const {
  const int64_t place = at * stride + k * dilation - pad;
  return place >= 0 && place < in;
}

bool WindowAxis::is_in_padded(int64_t at, int64_t k) const {
  return at * stride + k * dilation < pad + in + pad_end;
}

bool WindowAxis::all_inside() const {
  return pad == 0 && (out - 1) * stride + (kernel - 1) * dilation < in;
}

namespace {

ir::Shape extents_of(const Window& window, int64_t WindowAxis::* extent) {
  ir::Shape shape;
  for (const WindowAxis& axis : window.outer) shape.push_back(axis.*extent);
  return shape;
}

int64_t product_of(const Window& window, int64_t WindowAxis::* extent) {
  int64_t product = 1;
  for (const WindowAxis& axis : window.outer) product *= axis.*extent;
  return product;
}

bool is_pointwise(const WindowAxis& axis) {
  return axis.kernel == 1 && axis.all_inside();
}

}  // namespace

int64_t Window::out_rows() const {
  return product_of(*this, &WindowAxis::out);
}

int64_t Window::tap_rows() const {
  return product_of(*this, &WindowAxis::kernel);
}

bool Window::is_pointwise() const {
  return lower::is_pointwise(last) &&
         std::all_of(outer.begin(), outer.end(),
                     [](const WindowAxis& axis) { return lower::is_pointwise(axis); });
}

bool Window::is_dense() const {
  return last.stride == 1 && std::all_of(outer.begin(), outer.end(),
                                         [](const WindowAxis& axis) { return axis.stride == 1; });
}

std::vector<Strip> Window::strips() const {
  if (!flat) return {{last.out, out_rows()}};
  std::vector<Strip> result;
  if (pixels() / strip > 0) result.push_back({strip, pixels() / strip});
  if (pixels() % strip > 0) result.push_back({pixels() % strip, 1});
  return result;
}

bool Window::is_inner(int64_t first, int64_t count) const {
  for (int64_t column = first; column < first + count; ++column) {
    for (int64_t k = 0; k < last.kernel; ++k) {
      if (!column_inside(column, k)) return false;
    }
  }
  return true;
}

Window window_of(const Task& task) {
  return window_of(task, task.region.root);
}

Window window_of(const Task& task, NodeId id) {
  const ir::Node& node = task.node(id);
  const ir::Shape& x = task.type(node.inputs[0]).shape;
  const auto make = [&](const auto& attrs, const int64_t* kernel) {
    Window window;
    for (size_t s = 0; s + 2 < x.size(); ++s) {
      window.outer.push_back({x[s + 2], node.type.shape[s + 2], kernel[s], attrs.strides[s],
                              attrs.dilations[s], attrs.pads_begin[s], attrs.pads_end[s]});
    }
    window.last = window.outer.back();
    window.outer.pop_back();
    return window;
  };
  if (node.op == ir::Op::kConv) {
    return make(node.as<ir::ConvAttrs>(), task.type(node.inputs[1]).shape.data() + 2);
  }
  return make(node.as<ir::PoolAttrs>(), node.as<ir::PoolAttrs>().kernel.data());
}

namespace {

// The tiles of a row of `width` pixels: neighbouring ones of a size without edge taps are one loop.
std::vector<Stmt> tiles_of_row(Kernel& kernel, const Window& window, ExprId base, int64_t width,
                               int64_t pixels,
                               const std::function<std::vector<Stmt>(const Tile&)>& body) {
  std::vector<Stmt> result;
  int64_t first = 0;
  int64_t tiles = 0;
  for (const TileRun& run : split_evenly(width, pixels)) {
    int64_t left = run.count;
    while (left > 0) {
      int64_t repeat = 1;
      while (repeat < left && window.is_inner(first, run.rows) &&
             window.is_inner(first + repeat * run.rows, run.rows)) {
        ++repeat;
      }
      append(result, loop(kernel, "tile", repeat, LoopKind::kSerial, [&](ExprId at) {
               const ExprId column = kernel.add(kernel.mul(at, run.rows), first);
               return body({kernel.add(base, column), run.rows, first, kernel.add(at, tiles)});
             }));
      tiles += repeat;
      first += repeat * run.rows;
      left -= repeat;
    }
  }
  return result;
}

}  // namespace

std::vector<Stmt> for_each_tile(Kernel& kernel, const Window& window, ExprId row, int64_t pixels,
                                const std::function<std::vector<Stmt>(const Tile&)>& body) {
  if (!window.flat) {
    return tiles_of_row(kernel, window, kernel.int_const(0), window.last.out, pixels, body);
  }
  const ExprId base = kernel.mul(row, window.strip);
  const std::vector<Strip> strips = window.strips();
  if (strips.size() == 1) {
    return tiles_of_row(kernel, window, base, strips[0].rows, pixels, body);
  }
  const ExprId last = kernel.int_const(window.rows() - 1);
  return {ir::make_if(kernel.binary(KOp::kLt, row, last),
                      tiles_of_row(kernel, window, base, strips[0].rows, pixels, body)),
          ir::make_if(kernel.binary(KOp::kEq, row, last),
                      tiles_of_row(kernel, window, base, strips[1].rows, pixels, body))};
}

namespace {

// The taps of output `at` that are inside the input: [first_tap, end_tap).
ExprId first_tap(Kernel& kernel, const WindowAxis& axis, ExprId at) {
  // ceil((pad - at * stride) / dilation), at least 0
  const ExprId before =
      kernel.sub(kernel.int_const(axis.pad + axis.dilation - 1), kernel.mul(at, axis.stride));
  return kernel.div(kernel.binary(KOp::kMax, before, kernel.int_const(0)), axis.dilation);
}

ExprId end_tap(Kernel& kernel, const WindowAxis& axis, ExprId at) {
  // floor((in - 1 + pad - at * stride) / dilation) + 1, at most the kernel
  const ExprId behind = kernel.sub(kernel.int_const(axis.in - 1 + axis.pad + axis.dilation),
                                   kernel.mul(at, axis.stride));
  const ExprId taps =
      kernel.div(kernel.binary(KOp::kMax, behind, kernel.int_const(0)), axis.dilation);
  return kernel.binary(KOp::kMin, taps, kernel.int_const(axis.kernel));
}

}  // namespace

std::vector<Stmt> for_each_tap_row(Kernel& kernel, const Window& window, ExprId row,
                                   const Body& body) {
  if (window.flat) return body(kernel.int_const(0));
  const Index at = delinearize(kernel, extents_of(window, &WindowAxis::out), row);
  const std::function<std::vector<Stmt>(size_t, ExprId)> nest = [&](size_t s, ExprId before) {
    if (s == window.outer.size()) return body(before);
    const WindowAxis& axis = window.outer[s];
    const Body inside = [&](ExprId tap) {
      return nest(s + 1, kernel.add(kernel.mul(before, axis.kernel), tap));
    };
    if (axis.all_inside()) return loop(kernel, "kh", axis.kernel, LoopKind::kSerial, inside);
    return loop_between(kernel, "kh", first_tap(kernel, axis, at[s]), end_tap(kernel, axis, at[s]),
                        0, axis.kernel - 1, inside);
  };
  return nest(0, kernel.int_const(0));
}

ExprId counted_tap_rows(Kernel& kernel, const Window& window, ExprId row, bool padding) {
  const Index at = delinearize(kernel, extents_of(window, &WindowAxis::out), row);
  ExprId rows = kernel.int_const(1);
  for (size_t s = 0; s < window.outer.size(); ++s) {
    WindowAxis axis = window.outer[s];
    if (padding) {
      axis.in += axis.pad + axis.pad_end;
      axis.pad = 0;
    }
    const ExprId taps = kernel.sub(end_tap(kernel, axis, at[s]), first_tap(kernel, axis, at[s]));
    rows = kernel.mul(rows, kernel.binary(KOp::kMax, taps, kernel.int_const(1)));
  }
  return rows;
}

int64_t counted_tap_columns(const Window& window, int64_t column, bool padding) {
  int64_t count = 0;
  for (int64_t k = 0; k < window.last.kernel; ++k) {
    const bool counts =
        padding ? window.last.is_in_padded(column, k) : window.last.is_inside(column, k);
    count += counts ? 1 : 0;
  }
  return std::max<int64_t>(count, 1);
}

Index output_index(Kernel& kernel, const Window& window, ExprId n, ExprId c, ExprId row,
                   ExprId column) {
  Index index = {n, c};
  ir::Shape extents = extents_of(window, &WindowAxis::out);
  if (window.flat) {
    extents.push_back(window.last.out);
    const Index at = delinearize(kernel, extents, column);
    index.insert(index.end(), at.begin(), at.end());
  } else {
    const Index at = delinearize(kernel, extents, row);
    index.insert(index.end(), at.begin(), at.end());
    index.push_back(column);
  }
  return index;
}

Index input_index(Kernel& kernel, const Window& window, ExprId n, ExprId c, ExprId row,
                  ExprId column, ExprId tap_row, ExprId tap_column) {
  if (window.flat) {
    Index index = output_index(kernel, window, n, c, row, column);
    for (size_t s = 0; s < window.outer.size(); ++s) {
      index[s + 2] = kernel.mul(index[s + 2], window.outer[s].stride);
    }
    index.back() = kernel.mul(index.back(), window.last.stride);
    return index;
  }
  const ExprId at = kernel.add(kernel.mul(column, window.last.stride),
                               kernel.mul(tap_column, window.last.dilation));
  return input_row_index(kernel, window, n, c, row, tap_row, kernel.add(at, -window.last.pad));
}

Index input_row_index(Kernel& kernel, const Window& window, ExprId n, ExprId c, ExprId row,
                      ExprId tap_row, ExprId in_column) {
  const Index at = delinearize(kernel, extents_of(window, &WindowAxis::out), row);
  const Index tap = delinearize(kernel, extents_of(window, &WindowAxis::kernel), tap_row);
  Index index = {n, c};
  for (size_t s = 0; s < window.outer.size(); ++s) {
    const WindowAxis& axis = window.outer[s];
    const ExprId place =
        kernel.add(kernel.mul(at[s], axis.stride), kernel.mul(tap[s], axis.dilation));
    index.push_back(kernel.add(place, -axis.pad));
  }
  index.push_back(in_column);
  return index;
}

}  // namespace camshaft::lower
