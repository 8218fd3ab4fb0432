// SPDX-License-Identifier: MIT
// What convolutions and matrix products are to a group of items: sums over taps and inner elements
// for each pixel (a matrix's row) and channel (its column); and how a group's items share them.
#pragma once

#include <vector>

#include "codegen/lower/lower.h"
#include "codegen/lower/window.h"

namespace camshaft::lower {

struct GroupProduct {
  NodeId node = ir::kNoNode;
  NodeId x = ir::kNoNode;
  NodeId w = ir::kNoNode;
  NodeId known = ir::kNoNode;  // weights that are packed; kNoNode: read where they are
  bool is_conv = false;
  Window window;          // of a convolution
  ir::Shape batch_shape;  // of a matrix product
  int64_t sets = 1;       // separate products: a convolution's groups, a matrix's batches
  int64_t pixels = 0;     // of each, through all images or, of one matrix for all batches, these
  int64_t rows = 0;       // of one matrix
  int64_t channels = 0;   // output channels, or columns
  int64_t taps = 1;
  int64_t inner = 0;              // input channels of a set, or columns of the left side; of an
                                  // image of padded channels with these
  int64_t known_inner = 0;        // without them
  int64_t step = 1;               // inner elements that are read at once: they lie together
  int64_t lanes = 8;              // channels of a tile
  std::vector<bool> is_bordered;  // by spatial axis of a convolution: see PixelWindow

  int64_t blocks() const { return inner / step; }
  int64_t channel_tiles() const { return (channels + lanes - 1) / lanes; }
  // Which element of the known weights it is.
  int64_t weight_place(int64_t set, int64_t channel, int64_t tap, int64_t k) const;
};

// Is the region such a product, of a dtype that tiles exist for?
bool is_group_product(const Task& task);
GroupProduct make_group_product(const Task& task);

// How the items of a group are laid out. Knobs: `lanes` channels times `pixels` pixels are an
// item's tile; `vectors` items are next to each other along pixels, `unroll` share the sums of a
// tile (its slices), and the rest of the group is along channels.
struct GroupShape {
  int64_t across = 1;         // items along pixels
  int64_t along = 1;          // items along channels
  int64_t slices = 1;         // items that share a tile's sums:
  int64_t block_slices = 1;   // some blocks of inner elements each,
  int64_t tap_slices = 1;     // and some taps each
  int64_t tile_pixels = 1;    // of an item
  int64_t pixel_tiles = 1;    // groups along pixels
  int64_t channel_tiles = 1;  // groups along channels

  int64_t group_pixels() const { return across * tile_pixels; }
  int64_t groups(const GroupProduct& product) const {
    return product.sets * pixel_tiles * channel_tiles;
  }
};
GroupShape group_shape(const GroupProduct& product, const Knobs& knobs);

}  // namespace camshaft::lower
