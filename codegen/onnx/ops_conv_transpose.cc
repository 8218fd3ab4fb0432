// SPDX-License-Identifier: MIT
// ConvTranspose.
#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "codegen/onnx/op_table.h"
#include "codegen/onnx/window.h"
#include "runtime/base/bytes.h"

namespace camshaft::onnx {
namespace {

int64_t product(const Shape& extents) {
  return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<int64_t>());
}

// Input element q adds its product with kernel tap k to output element stride * q + k. So the
// elements stride * m + r of one phase r are a convolution of the input with the taps r, r +
// stride, ..., backwards; all phases are channels of one convolution, whose result is then
// interleaved. That multiplies by no zeros but those that fill up a kernel that isn't whole
// strides.

// The output's size where it is given or implied by auto_pad; else nothing, and pads count.
std::optional<Shape> transposed_size(NodeReader& node, Value x, const Window& window,
                                     const std::string& mode) {
  std::optional<Shape> size = node.ints_attr("output_shape");
  if (size) {
    if (size->size() == window.rank()) return size;
    if (static_cast<int>(size->size()) == x.rank()) return Shape(size->begin() + 2, size->end());
    node.invalid("output_shape needs one extent for each spatial axis");
    return size;
  }
  if (mode == "NOTSET" || mode == "VALID") return std::nullopt;
  size = Shape();
  for (size_t i = 0; i < window.rank(); ++i) {
    size->push_back(x.shape()[i + 2] * window.strides[i]);
  }
  return size;
}

// Sets the pads of the transposed convolution; what the output lacks to its size goes to `extra`.
bool read_transposed_pads(NodeReader& node, Value x, Window* window, Shape* extra) {
  const std::optional<std::string> mode = read_auto_pad(node);
  *extra = node.ints_attr("output_padding").value_or(Shape(window->rank(), 0));
  const auto is_sane = [](int64_t value) { return value >= 0 && value <= INT32_MAX; };
  if (extra->size() != window->rank() || !std::all_of(extra->begin(), extra->end(), is_sane)) {
    node.invalid("output_padding needs one value, not negative, for each spatial axis");
    return false;
  }
  if (!mode) return false;
  const std::optional<Shape> size = transposed_size(node, x, *window, *mode);
  if (!size) {
    if (*mode == "NOTSET") return read_explicit_pads(node, window);
    node.ignore_attr("pads");
    return true;
  }
  node.ignore_attr("pads");
  if (size->size() != window->rank() || !std::all_of(size->begin(), size->end(), is_sane)) {
    node.invalid("output_shape needs one extent, not negative, for each spatial axis");
    return false;
  }
  for (size_t i = 0; i < window->rank(); ++i) {
    const int64_t total =
        window->strides[i] * (x.shape()[i + 2] - 1) + (*extra)[i] + window->span(i) - (*size)[i];
    const int64_t pad = std::max<int64_t>(total, 0);
    window->pads_begin[i] = *mode == "SAME_UPPER" ? pad / 2 : pad - pad / 2;
    window->pads_end[i] = pad - window->pads_begin[i];
    (*extra)[i] += std::max<int64_t>(-total, 0);
  }
  return true;
}

// Zeros between the elements of spatial axis i: what is left of a stride where taps are dilated,
// too.
Value with_zeros_between(Value x, size_t i, int64_t stride) {
  if (!x) return {};
  const auto axis = static_cast<int>(i) + 2;
  const int64_t extent = x.dim(axis);
  Shape shape = x.shape();
  ir::PadAttrs zeros{Shape(shape.size() + 1, 0), Shape(shape.size() + 1, 0)};
  zeros.after[i + 3] = stride - 1;
  const Value spread = pad(insert_axis(x, axis + 1), std::move(zeros));
  shape[i + 2] = extent * stride;
  return slice_axis(reshape(spread, std::move(shape)), axis, 0, (extent - 1) * stride + 1);
}

// The convolution that computes all phases.
class Phases {
 public:
  // `outputs` are the spatial extents of the result, which begin at window.pads_begin.
  Phases(Value x, const Window& window, const Shape& outputs, int64_t groups)
      : x_(x), window_(window), outputs_(outputs), groups_(groups) {
    for (size_t i = 0; i < window.rank(); ++i) {
      taps_.push_back((window.kernel[i] + window.strides[i] - 1) / window.strides[i]);
      first_.push_back(window.pads_begin[i] / window.strides[i]);
      count_.push_back((window.pads_begin[i] + outputs[i] - 1) / window.strides[i] - first_[i] + 1);
    }
  }

  Value convolve(Value w) const {
    const Value weights = phase_weights(w);
    ir::ConvAttrs attrs{Shape(taps_.size(), 1), window_.dilations, {}, {}, groups_};
    Value x = x_;
    for (size_t i = 0; i < taps_.size(); ++i) {
      const auto axis = static_cast<int>(i) + 2;
      const int64_t begin = (taps_[i] - 1) * window_.dilations[i] - first_[i];
      const int64_t end = first_[i] + count_[i] - x.dim(axis);
      const int64_t cut = std::max<int64_t>(-begin, 0);
      x = slice_axis(x, axis, cut, x.dim(axis) - cut - std::max<int64_t>(-end, 0));
      attrs.pads_begin.push_back(std::max<int64_t>(begin, 0));
      attrs.pads_end.push_back(std::max<int64_t>(end, 0));
    }
    const int64_t phases = product(window_.strides);
    if (w.dim(1) == 1 && w.dim(0) == groups_) {  // so that each channel stands alone again
      x = repeated_channels(x, phases);
      attrs.groups *= phases;
    }
    return interleave(conv(x, weights, std::move(attrs)), w.dim(1));
  }

 private:
  // [C, O/G, kernel...] to [G * phases * O/G, C/G, taps...], the taps backwards.
  Value phase_weights(Value w) const {
    ir::PadAttrs fill{Shape(w.shape().size(), 0), Shape(w.shape().size(), 0)};
    const auto rank = static_cast<int>(taps_.size());
    Shape split = {groups_, w.dim(0) / groups_, w.dim(1)};
    std::vector<int> phase_axes;
    std::vector<int> tap_axes;
    for (int i = 0; i < rank; ++i) {
      const auto axis = static_cast<size_t>(i);
      fill.after[axis + 2] = taps_[axis] * window_.strides[axis] - window_.kernel[axis];
      split.insert(split.end(), {taps_[axis], window_.strides[axis]});
      tap_axes.push_back(3 + 2 * i);
      phase_axes.push_back(4 + 2 * i);
    }
    std::vector<int> perm = {0};
    perm.insert(perm.end(), phase_axes.begin(), phase_axes.end());
    perm.insert(perm.end(), {2, 1});
    perm.insert(perm.end(), tap_axes.begin(), tap_axes.end());
    Shape shape = {groups_ * product(window_.strides) * w.dim(1), w.dim(0) / groups_};
    shape.insert(shape.end(), taps_.begin(), taps_.end());
    Value result =
        reshape(transpose(reshape(pad(w, std::move(fill)), std::move(split)), perm), shape);
    for (int i = 0; i < rank; ++i) result = flip(result, i + 2);
    return result;
  }

  static Value repeated_channels(Value x, int64_t times) {
    if (!x || times == 1) return x;
    Shape copies = x.shape();
    copies.insert(copies.begin() + 2, times);
    Shape shape = x.shape();
    shape[1] *= times;
    return reshape(broadcast_to(insert_axis(x, 2), copies), std::move(shape));
  }

  // [N, G * phases * O/G, count...] to [N, O, outputs...].
  Value interleave(Value y, int64_t outputs_each) const {
    if (!y) return {};
    const auto rank = static_cast<int>(taps_.size());
    Shape split = {y.dim(0), groups_};
    split.insert(split.end(), window_.strides.begin(), window_.strides.end());
    split.push_back(outputs_each);
    split.insert(split.end(), count_.begin(), count_.end());
    std::vector<int> perm = {0, 1, 2 + rank};
    Shape shape = {y.dim(0), groups_ * outputs_each};
    for (int i = 0; i < rank; ++i) {
      perm.insert(perm.end(), {3 + rank + i, 2 + i});
      shape.push_back(count_[static_cast<size_t>(i)] * window_.strides[static_cast<size_t>(i)]);
    }
    y = reshape(transpose(reshape(y, std::move(split)), std::move(perm)), std::move(shape));
    for (size_t i = 0; i < taps_.size(); ++i) {
      y = slice_axis(y, static_cast<int>(i) + 2,
                     window_.pads_begin[i] - first_[i] * window_.strides[i], outputs_[i]);
    }
    return y;
  }

  Value x_;
  const Window& window_;
  const Shape& outputs_;
  int64_t groups_;
  // For each spatial axis:
  Shape taps_;   // of a phase
  Shape first_;  // the least m that an output needs
  Shape count_;  // how many are needed
};

Value read_conv_transpose(NodeReader& node) {
  Value x = node.input(0);
  const Value w = node.input(1);
  const int64_t groups = node.int_attr("group", 1);
  std::optional<Shape> kernel = weight_kernel(node, x, w);
  if (!kernel) return {};
  if (groups < 1 || w.dim(0) != x.dim(1) || w.dim(0) < groups || w.dim(0) % groups != 0) {
    return node.invalid("weights must be [C, O/groups, kernel...], C a multiple of the groups");
  }
  std::optional<Window> window = read_window_without_pads(node, kernel->size(), std::move(*kernel));
  Shape extra;
  if (!window || !read_transposed_pads(node, x, &*window, &extra)) return {};
  const std::optional<Shape> outputs = transposed_outputs(node, x, *window, extra);
  if (!outputs) return {};
  for (size_t i = 0; i < window->rank(); ++i) {
    if (window->kernel[i] == 1) window->dilations[i] = 1;
    if (window->strides[i] == 1 || window->dilations[i] == 1) continue;
    x = with_zeros_between(x, i, window->strides[i]);
    window->strides[i] = 1;
  }
  return add_bias(node, Phases(x, *window, *outputs, groups).convolve(w), node.input(2));
}

constexpr OpRow kOps[] = {
    {"ConvTranspose", 7, 2, 3, read_conv_transpose},
};

}  // namespace

OpFamily conv_transpose_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
