// SPDX-License-Identifier: MIT
// Movement that does nothing but choose and order channels: the splits, concatenations and shuffles
// between convolutions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/ir/graph.h"

namespace camshaft::passes {

// Channel `number` (axis 1) of a node that moves nothing, or not only channels.
struct Channel {
  ir::NodeId source = ir::kNoNode;
  int64_t number = 0;
  bool operator==(const Channel&) const = default;
};

// What each movement node of a graph is made of.
class ChannelMaps {
 public:
  explicit ChannelMaps(const ir::Graph& graph);

  // Whether the node's elements are those of whole channels of others, one after another; its shape
  // may have several axes, or one less, for them.
  bool moves_channels(ir::NodeId id) const { return views_[static_cast<size_t>(id)].has_value(); }
  // Of such a node.
  const std::vector<Channel>& channels(ir::NodeId id) const;
  // Whether its shape, too, is [batch, channels, spatial axes of the sources...].
  bool has_channel_axis(ir::NodeId id) const;

 private:
  // `channels` of `spatial` elements each, `batch` times.
  struct View {
    int64_t batch = 1;
    ir::Shape spatial;
    std::vector<Channel> channels;
  };
  // Axes [begin, end) of a shape that are the channels'.
  struct Axes {
    size_t begin = 0;
    size_t end = 0;
    bool operator==(const Axes&) const = default;
  };

  std::optional<View> view_of(ir::NodeId id) const;
  std::optional<View> moved(const ir::Node& node) const;
  std::optional<View> concatenated(const ir::Node& node) const;
  static std::optional<Axes> axes_of(const View& view, const ir::Shape& shape);

  const ir::Graph& graph_;
  std::vector<std::optional<View>> views_;  // by NodeId; of movement nodes only
};

}  // namespace camshaft::passes
