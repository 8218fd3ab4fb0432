// SPDX-License-Identifier: MIT
#include "codegen/passes/channel_map.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace camshaft::passes {
namespace {

using ir::Node;
using ir::NodeId;
using ir::Op;
using ir::Shape;

int64_t product(const Shape& shape, size_t begin, size_t end) {
  return std::accumulate(shape.begin() + static_cast<ptrdiff_t>(begin),
                         shape.begin() + static_cast<ptrdiff_t>(end), int64_t{1},
                         std::multiplies<>());
}

// The elements of a tensor of shape `shape`, row-major, of the given strides over `from`.
std::vector<Channel> taken(const std::vector<Channel>& from, const Shape& shape, int64_t first,
                           const Shape& strides) {
  std::vector<Channel> result;
  const int64_t count = product(shape, 0, shape.size());
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i;
    int64_t at = first;
    for (size_t axis = shape.size(); axis-- > 0;) {
      at += rest % shape[axis] * strides[axis];
      rest /= shape[axis];
    }
    result.push_back(from[static_cast<size_t>(at)]);
  }
  return result;
}

Shape dense_strides(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

Shape part(const Shape& shape, size_t begin, size_t end) {
  return {shape.begin() + static_cast<ptrdiff_t>(begin),
          shape.begin() + static_cast<ptrdiff_t>(end)};
}

}  // namespace

ChannelMaps::ChannelMaps(const ir::Graph& graph)
    : graph_(graph), views_(static_cast<size_t>(graph.size())) {
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (!ir::is_movement(node.op) || node.type.elements() == 0) continue;
    views_[static_cast<size_t>(id)] = node.op == Op::kConcat ? concatenated(node) : moved(node);
  }
}

const std::vector<Channel>& ChannelMaps::channels(NodeId id) const {
  CAMSHAFT_CHECK(moves_channels(id));
  return views_[static_cast<size_t>(id)]->channels;
}

bool ChannelMaps::has_channel_axis(NodeId id) const {
  if (!moves_channels(id)) return false;
  const View& view = *views_[static_cast<size_t>(id)];
  Shape shape = {view.batch, static_cast<int64_t>(view.channels.size())};
  shape.insert(shape.end(), view.spatial.begin(), view.spatial.end());
  return graph_.node(id).type.shape == shape;
}

std::optional<ChannelMaps::View> ChannelMaps::view_of(NodeId id) const {
  const ir::TensorType& type = graph_.node(id).type;
  if (ir::is_movement(graph_.node(id).op) && views_[static_cast<size_t>(id)]) {
    return views_[static_cast<size_t>(id)];
  }
  if (type.rank() < 3 || type.elements() == 0) return std::nullopt;
  View view{type.shape[0], part(type.shape, 2, type.shape.size()), {}};
  for (int64_t c = 0; c < type.shape[1]; ++c) view.channels.push_back({id, c});
  return view;
}

// Axes before the channels hold the batch, axes behind them the spatial elements.
std::optional<ChannelMaps::Axes> ChannelMaps::axes_of(const View& view, const Shape& shape) {
  const int64_t spatial = product(view.spatial, 0, view.spatial.size());
  Axes axes{0, shape.size()};
  while (axes.begin < shape.size() && product(shape, 0, axes.begin) < view.batch) ++axes.begin;
  while (axes.end > axes.begin && product(shape, axes.end, shape.size()) < spatial) --axes.end;
  if (product(shape, 0, axes.begin) != view.batch ||
      product(shape, axes.end, shape.size()) != spatial) {
    return std::nullopt;
  }
  return axes;
}

std::optional<ChannelMaps::View> ChannelMaps::moved(const Node& node) const {
  std::optional<View> view = view_of(node.inputs[0]);
  if (!view) return std::nullopt;
  const Shape& from = graph_.node(node.inputs[0]).type.shape;
  const std::optional<Axes> axes = axes_of(*view, from);
  if (!axes) return std::nullopt;
  const Shape strides = dense_strides(part(from, axes->begin, axes->end));
  const auto is_channel = [&](size_t axis) { return axis >= axes->begin && axis < axes->end; };
  switch (node.op) {
    case Op::kReshape:
      return axes_of(*view, node.type.shape) ? view : std::nullopt;
    case Op::kTranspose: {
      const std::vector<int>& perm = node.as<ir::TransposeAttrs>().perm;
      Shape shape, steps;
      for (size_t axis = 0; axis < perm.size(); ++axis) {
        const auto source = static_cast<size_t>(perm[axis]);
        if (is_channel(axis) != is_channel(source)) return std::nullopt;
        if (!is_channel(axis) && axis != source) return std::nullopt;
        if (!is_channel(axis)) continue;
        shape.push_back(from[source]);
        steps.push_back(strides[source - axes->begin]);
      }
      view->channels = taken(view->channels, shape, 0, steps);
      return view;
    }
    case Op::kSlice: {
      const auto& slice = node.as<ir::SliceAttrs>();
      Shape shape, steps;
      int64_t first = 0;
      for (size_t axis = 0; axis < from.size(); ++axis) {
        if (!is_channel(axis)) {
          const bool is_whole =
              slice.extent[axis] == from[axis] && (slice.step[axis] == 1 || from[axis] == 1);
          if (!is_whole) return std::nullopt;
          continue;
        }
        const int64_t stride = strides[axis - axes->begin];
        first += slice.begin[axis] * stride;
        shape.push_back(slice.extent[axis]);
        steps.push_back(slice.step[axis] * stride);
      }
      view->channels = taken(view->channels, shape, first, steps);
      return view;
    }
    default:
      return std::nullopt;
  }
}

std::optional<ChannelMaps::View> ChannelMaps::concatenated(const Node& node) const {
  const auto axis = static_cast<size_t>(node.as<ir::ConcatAttrs>().axis);
  std::vector<View> views;
  std::optional<Axes> axes;
  for (const NodeId operand : node.inputs) {
    std::optional<View> view = view_of(operand);
    if (!view) return std::nullopt;
    const std::optional<Axes> own = axes_of(*view, graph_.node(operand).type.shape);
    if (!own || axis < own->begin || axis >= own->end) return std::nullopt;
    if (axes &&
        (*own != *axes || view->batch != views[0].batch || view->spatial != views[0].spatial)) {
      return std::nullopt;
    }
    axes = own;
    views.push_back(std::move(*view));
  }
  View result{views[0].batch, views[0].spatial, {}};
  const int64_t outer = product(node.type.shape, axes->begin, axis);
  for (int64_t i = 0; i < outer; ++i) {
    for (const View& view : views) {
      const auto count = static_cast<int64_t>(view.channels.size()) / outer;
      const auto begin = view.channels.begin() + static_cast<ptrdiff_t>(i * count);
      result.channels.insert(result.channels.end(), begin, begin + static_cast<ptrdiff_t>(count));
    }
  }
  return result;
}

}  // namespace camshaft::passes
