// SPDX-License-Identifier: MIT
// Convolutions as products of matrices (ir::Matrix): rows are output pixels, columns output
// channels, and what is summed over are blocks of input channels at the taps of the window.
//
// Rows of a matrix lie at one distance from each other, so the pixels that a tap reads must. A
// pointwise convolution of stride 1 has them so in its input, if that has enough channels beside
// one another. Of any other, the input rows under a strip of output rows are copied to planes
// first: in blocks of as many channels as a product takes, with the padding, and with one plane for
// each remainder that the stride leaves of the positions that taps read. There every tap is at one
// shift from the output pixel, across the ends of rows too: the few pixels between the end of one
// output row and the beginning of the next are computed and not stored.
//
// Few channels, of an image mostly, would leave such products nearly empty. There the planes are of
// pairs of channels, as words, with the columns as they are: a row of a matrix is a whole row of
// taps, which lie together, and the next row begins a stride further on, inside the one before.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "codegen/lower/frame.h"
#include "codegen/lower/window.h"

namespace camshaft::lower {

inline constexpr int64_t kMatrixRows = ir::kMaxMatrixRows;
inline constexpr int64_t kMatrixColumns = 16;   // of sums
inline constexpr int64_t kMatrixChannels = 32;  // summed over by one product, at most
inline constexpr int64_t kLeastChannels = 8;    // of a product: fewer leave most of it empty

// One spatial axis of the planes: position j of the plane of remainder f holds input position
// j * stride + f - pad.
struct PlaneAxis {
  WindowAxis axis;
  std::vector<int64_t> remainders;  // that taps read, each once
  int64_t reach = 0;                // furthest shift of a tap

  // Of tap `k`: which of the planes, and by how many positions it is ahead of the output pixel.
  int64_t plane_of(int64_t k) const;
  int64_t shift_of(int64_t k) const { return k * axis.dilation / axis.stride; }
  // Positions [begin, end) of `count` of plane `plane` that are inside the input.
  struct Range {
    int64_t begin = 0;
    int64_t end = 0;
  };
  Range inside(int64_t plane, int64_t count) const;
};

struct MatrixConv {
  NodeId x, w;
  Window window;
  int64_t batch;
  int64_t in_channels;
  int64_t out_channels;
  int64_t in_block;  // channels that lie together in the input
  int64_t block;     // of one product; the last one may have fewer, the rest being zeros
  bool in_place;     // matrices are loaded from the input itself, whose blocks are the products'
  bool in_pairs;     // or from planes of pairs of channels
  PlaneAxis rows;    // of the planes, where there are any
  PlaneAxis columns;
  // The output as `height` rows of `width` pixels, `pitch` places from row to row where matrices
  // are loaded from; in place each pixel is a row.
  int64_t height, width, pitch;
  int64_t strip;  // output rows that are computed together, of the last strip too: it may begin
                  // inside the one before
  int64_t strips;

  // Channels that are summed over at once, and how often; positions of the window where they are.
  int64_t channels() const { return in_pairs ? 2 : block; }
  int64_t blocks() const { return (in_channels + channels() - 1) / channels(); }
  int64_t taps() const { return in_pairs ? window.tap_rows() : window.taps(); }
  // From a place to the next one, in elements of what matrices are loaded from.
  int64_t step() const { return in_pairs ? columns.axis.stride : block; }
  // Element of the weights that is summed over as number `i` of a product's `block`; -1: none.
  int64_t weight_at(int64_t out_channel, int64_t block_number, int64_t tap, int64_t i) const;
  int64_t column_tiles() const { return (out_channels + kMatrixColumns - 1) / kMatrixColumns; }
  // Pixels of a strip, those between rows among them, and rows of a matrix of them.
  int64_t places() const { return (strip - 1) * pitch + width; }
  int64_t tile_rows() const { return std::min(kMatrixRows, places()); }
  int64_t row_tiles() const { return (places() + kMatrixRows - 1) / kMatrixRows; }
  // Elements of a plane of one block of channels (words of one pair), and planes of a block.
  int64_t plane_rows() const { return strip + rows.reach; }
  int64_t plane_elements() const { return plane_rows() * pitch * step(); }
  int64_t planes() const {
    return static_cast<int64_t>(rows.remainders.size() *
                                (in_pairs ? 1 : columns.remainders.size()));
  }
  int64_t all_elements() const { return blocks() * planes() * plane_elements(); }
};

// Whether the region's root is a convolution of bf16 in one group, with known weights that differ,
// and the target has matrices.
bool is_matrix_conv(const Task& task);
// Channels of a product: as few as hold all `channels`, or as many as there may be.
int64_t product_block(int64_t channels);
// Nothing where the region is no such convolution, or has too little to multiply.
std::optional<MatrixConv> find_matrix_conv(const Task& task);

// Knobs for tiles of matrices that fit the target's registers, cheapest first by a model: `pixels`
// and `vectors` count the matrices of a tile. There are so many of them, of pixels and of output
// channels; `rows` has a matrix of sums.
std::vector<Knobs> rank_matrix_tiles(int64_t pixels, int64_t channels, int64_t rows);

// Sets of matrices of output channels, `vectors` of them each: so many threads share `strips`
// strips of pixels and, where there are too few, the sets of each, in parts of which none is empty.
struct ChannelSets {
  int64_t out_channels;
  int64_t vectors;
  int64_t per_part;
  int64_t parts;

  ChannelSets(int64_t out_channels, int64_t vectors, int64_t strips, int64_t threads);
  // Statements for the sets of part `part`, each by `body(set, matrices of it)`; a last one that is
  // not whole is apart.
  std::vector<Stmt> of_part(Kernel& kernel, ExprId part,
                            const std::function<std::vector<Stmt>(ExprId, int64_t)>& body) const;

 private:
  int64_t matrices() const { return (out_channels + kMatrixColumns - 1) / kMatrixColumns; }
  int64_t sets() const { return (matrices() + vectors - 1) / vectors; }
};

}  // namespace camshaft::lower
