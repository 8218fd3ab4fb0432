// SPDX-License-Identifier: MIT
#include "codegen/lower/pixel_window.h"

#include <algorithm>
#include <utility>

namespace camshaft::lower {

using ir::KOp;

PixelWindow::PixelWindow(Kernel& kernel, const Window& window, std::vector<bool> is_bordered)
    : kernel_(kernel), axes_(window.outer), is_bordered_(std::move(is_bordered)) {
  axes_.push_back(window.last);
  is_bordered_.resize(axes_.size());
  for (const WindowAxis& axis : axes_) {
    out_.push_back(axis.out);
    taps_.push_back(axis.kernel);
  }
}

int64_t PixelWindow::pixels() const {
  int64_t count = 1;
  for (int64_t extent : out_) count *= extent;
  return count;
}

PixelWindow::Pixel PixelWindow::pixel(ExprId number, std::vector<Stmt>& body) const {
  Pixel pixel;
  pixel.n = let(kernel_, body, "n", kernel_.div(number, pixels()));
  pixel.out = delinearize(kernel_, out_, kernel_.mod(number, pixels()));
  for (size_t s = 0; s < axes_.size(); ++s) {
    pixel.out[s] = let(kernel_, body, "y", pixel.out[s]);
    pixel.first.push_back(kernel_.add(kernel_.mul(pixel.out[s], axes_[s].stride), -axes_[s].pad));
  }
  return pixel;
}

PixelWindow::Tap PixelWindow::tap(const Pixel& pixel, ExprId tap, std::vector<Stmt>& body) const {
  Tap result;
  const Index taps = delinearize(kernel_, taps_, tap);
  for (size_t s = 0; s < axes_.size(); ++s) {
    const WindowAxis& axis = axes_[s];
    const ExprId at =
        let(kernel_, body, "at", kernel_.add(pixel.first[s], kernel_.mul(taps[s], axis.dilation)));
    if (axis.all_inside() || is_bordered_[s]) {
      result.place.push_back(at);
      continue;
    }
    const ExprId last = kernel_.int_const(axis.in - 1);
    const ExprId inside =
        kernel_.binary(KOp::kAnd, kernel_.binary(KOp::kLe, kernel_.int_const(0), at),
                       kernel_.binary(KOp::kLe, at, last));
    result.inside =
        result.inside == ir::kNoExpr ? inside : kernel_.binary(KOp::kAnd, result.inside, inside);
    const ExprId nearest =
        kernel_.binary(KOp::kMin, kernel_.binary(KOp::kMax, at, kernel_.int_const(0)), last);
    result.place.push_back(let(kernel_, body, "near", nearest));
  }
  if (result.inside != ir::kNoExpr) result.inside = let(kernel_, body, "inside", result.inside);
  return result;
}

// Taps k with 0 <= first + k * dilation < in.
ExprId PixelWindow::counted_on_axis(const WindowAxis& axis, ExprId first) const {
  const ExprId zero = kernel_.int_const(0);
  const auto at_least_0 = [&](ExprId value) { return kernel_.binary(KOp::kMax, value, zero); };
  // ceil(-first / dilation), and floor((in - 1 - first) / dilation) + 1, at most the kernel
  const ExprId before = kernel_.div(
      at_least_0(kernel_.sub(kernel_.int_const(axis.dilation - 1), first)), axis.dilation);
  const ExprId behind =
      kernel_.div(at_least_0(kernel_.sub(kernel_.int_const(axis.in - 1 + axis.dilation), first)),
                  axis.dilation);
  const ExprId end = kernel_.binary(KOp::kMin, behind, kernel_.int_const(axis.kernel));
  return at_least_0(kernel_.sub(end, before));
}

ExprId PixelWindow::counted_taps(const Pixel& pixel, bool padding) const {
  ExprId count = kernel_.int_const(1);
  for (size_t s = 0; s < axes_.size(); ++s) {
    WindowAxis axis = axes_[s];
    ExprId first = pixel.first[s];
    if (padding) {
      first = kernel_.add(first, axis.pad);
      axis.in += axis.pad + axis.pad_end;
    }
    count = kernel_.mul(count, counted_on_axis(axis, first));
  }
  return kernel_.cast(kernel_.binary(KOp::kMax, count, kernel_.int_const(1)), ir::DType::kFloat32);
}

std::vector<bool> is_bordered(const Task& task, NodeId x) {
  const bool is_leaf = std::find(task.region.leaves.begin(), task.region.leaves.end(), x) !=
                       task.region.leaves.end();
  if (!is_leaf || !task.is_image(x) || task.schedule.buffer(x).layout.channel_block == 1) return {};
  const ir::Shape& shape = task.type(x).shape;
  std::vector<bool> result(shape.size() - 2, false);
  if (shape[0] == 1) result.front() = true;
  result.back() = true;
  return result;
}

Index channel_index(ExprId n, ExprId c, const Index& spatial) {
  Index index = {n, c};
  index.insert(index.end(), spatial.begin(), spatial.end());
  return index;
}

}  // namespace camshaft::lower
