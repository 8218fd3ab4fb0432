// SPDX-License-Identifier: MIT
#include "codegen/lower/matrix_conv.h"

#include <algorithm>
#include <utility>

#include "codegen/ir/graph_constants.h"
#include "codegen/lower/tile.h"
#include "codegen/lower/weights.h"

namespace camshaft::lower {
namespace {

using ir::DType;
using ir::Op;

constexpr int64_t kLeastDepth = 32;         // channels times taps, where the input is copied
constexpr int64_t kLeastPixels = 4;         // of an image: fewer leave most rows empty
constexpr int64_t kPlaneBytes = 160 << 10;  // of a strip, at most: on a worker's stack
constexpr int64_t kStripBytes = 16 << 10;   // of an input read in place, beside little weights

// Cycles by Intel's optimisation manual: a product takes one for each row of its sums, a load from
// the second level of the caches about 20.
constexpr double kLoadCycles = 20;
// Of copying some channels of a pixel that lie together: a load and a store. Not measured alone.
constexpr double kCopyCycles = 2;
// Of an element on its way into a pair: eight instructions for 32.
constexpr double kPairCycles = 0.15;

PlaneAxis plane_axis(const WindowAxis& axis) {
  PlaneAxis plane{axis, {}, 0};
  for (int64_t k = 0; k < axis.kernel; ++k) {
    const int64_t remainder = k * axis.dilation % axis.stride;
    plane.reach = std::max(plane.reach, plane.shift_of(k));
    const auto found = std::find(plane.remainders.begin(), plane.remainders.end(), remainder);
    if (found == plane.remainders.end()) plane.remainders.push_back(remainder);
  }
  return plane;
}

// Rows of a strip of `height`: all strips have about the same number.
void cut_strips(int64_t most, MatrixConv& conv) {
  conv.strips = (conv.height + most - 1) / most;
  conv.strip = (conv.height + conv.strips - 1) / conv.strips;
}

void cut_in_place(const Task& task, MatrixConv& conv) {
  conv.height = conv.window.pixels();
  conv.width = conv.pitch = 1;
  const int64_t pixel_bytes = conv.in_channels * 2;
  const int64_t weight_bytes = pixel_bytes * conv.out_channels;
  const bool are_little = weight_bytes <= task.target.l1_bytes / 2;
  const int64_t bytes = are_little ? kStripBytes : task.target.l2_bytes / 4;
  const int64_t rounded = bytes / pixel_bytes / (2 * kMatrixRows) * (2 * kMatrixRows);
  const int64_t by_threads = (conv.height + task.threads - 1) / task.threads;
  cut_strips(std::max(std::min(rounded, by_threads), 4 * kMatrixRows), conv);
}

void cut_planes(const Task& task, MatrixConv& conv) {
  conv.rows = plane_axis(conv.window.outer.empty() ? WindowAxis{} : conv.window.outer.front());
  conv.columns = plane_axis(conv.window.last);
  conv.height = conv.window.out_rows();
  conv.width = conv.window.last.out;
  conv.pitch = conv.width + conv.columns.reach;
  const int64_t element_bytes = conv.in_pairs ? 4 : 2;
  const int64_t row_bytes =
      conv.planes() * conv.pitch * conv.blocks() * conv.step() * element_bytes;
  const int64_t most_bytes = conv.in_pairs ? task.target.l1_bytes : kPlaneBytes;
  const int64_t fitting = most_bytes / row_bytes - conv.rows.reach;
  const int64_t by_threads = (conv.height + task.threads - 1) / task.threads;
  cut_strips(std::max<int64_t>(std::min(fitting, by_threads), 1), conv);
}

// Whether a pointwise convolution is read in place: products of the input's own blocks may be more
// than those of the planes'.
bool is_in_place(const MatrixConv& conv) {
  if (!conv.window.is_pointwise() || !conv.window.is_dense()) return false;
  if (conv.in_block < kLeastChannels) return false;
  const auto products = [&](int64_t block) {
    const int64_t count = (conv.in_channels + block - 1) / block * conv.column_tiles();
    return static_cast<double>(count * kMatrixRows);
  };
  const auto copies = static_cast<double>(conv.in_channels / conv.in_block * kMatrixRows);
  return conv.window.outer.size() > 1 ||
         products(conv.in_block) <=
             products(product_block(conv.in_channels)) + kCopyCycles * copies;
}

bool fits(const MatrixConv& conv) {
  if (conv.in_place) return true;
  const int64_t bytes = conv.all_elements() * (conv.in_pairs ? 4 : 2);
  return conv.window.outer.size() <= 1 && bytes <= render::kMaxLocalBytes - (64 << 10);
}

// Cycles of an image's products and of what is copied for them.
double plane_cycles(const MatrixConv& conv, double copies) {
  const int64_t tiles = ceil_div(conv.window.pixels(), kMatrixRows) * conv.column_tiles();
  return static_cast<double>(tiles * conv.blocks() * conv.taps() * kMatrixRows) + copies;
}

// Whether planes of pairs take fewer cycles than those of `conv`, and than multiply-adds in f32.
bool is_in_pairs(const MatrixConv& conv) {
  const WindowAxis& columns = conv.window.last;
  if (conv.in_block > 1 || columns.dilation > 1 || 2 * columns.kernel > kMatrixChannels ||
      conv.window.outer.size() > 1 || conv.out_channels < kLeastChannels) {
    return false;
  }
  MatrixConv pairs = conv;
  pairs.in_pairs = true;
  const int64_t rows = conv.window.outer.empty() ? 1 : conv.window.outer.front().in;
  const auto elements = static_cast<double>(rows * columns.in * conv.in_channels);
  const double cycles = plane_cycles(pairs, kPairCycles * elements);
  const int64_t adds = conv.in_channels * conv.window.taps() * conv.window.pixels() *
                       conv.column_tiles();  // two a cycle, of 16 lanes
  return cycles < plane_cycles(conv, kCopyCycles * elements) &&
         cycles < 0.4 * static_cast<double>(adds);
}

}  // namespace

int64_t product_block(int64_t channels) {
  int64_t block = kLeastChannels;
  while (block < channels && block < kMatrixChannels) block *= 2;
  return block;
}

bool is_matrix_conv(const Task& task) {
  if (!task.target.matrices || !task.has_root(Op::kConv)) return false;
  const ir::Node& node = task.node(task.region.root);
  const NodeId w = node.inputs[1];
  return task.type(node.inputs[0]).dtype == DType::kBFloat16 &&
         node.as<ir::ConvAttrs>().groups == 1 && node.type.elements() > 0 &&
         task.has_buffer(node.inputs[0]) && are_known(task, w) &&
         !ir::splat_value(task.graph(), w) &&  // kernels hold it as a number
         window_of(task).pixels() >= kLeastPixels;
}

int64_t MatrixConv::weight_at(int64_t out_channel, int64_t block_number, int64_t tap,
                              int64_t i) const {
  const int64_t channel = block_number * channels() + (in_pairs ? i % 2 : i);
  if (out_channel >= out_channels || channel >= in_channels) return -1;
  const int64_t position = in_pairs ? tap * window.last.kernel + i / 2 : tap;
  return (out_channel * in_channels + channel) * window.taps() + position;
}

int64_t PlaneAxis::plane_of(int64_t k) const {
  const int64_t remainder = k * axis.dilation % axis.stride;
  const auto found = std::find(remainders.begin(), remainders.end(), remainder);
  CAMSHAFT_CHECK(found != remainders.end());
  return found - remainders.begin();
}

PlaneAxis::Range PlaneAxis::inside(int64_t plane, int64_t count) const {
  const int64_t first = remainders[static_cast<size_t>(plane)] - axis.pad;  // of position 0
  const auto round_up = [&](int64_t distance) {
    return distance <= 0 ? 0 : (distance + axis.stride - 1) / axis.stride;
  };
  const int64_t begin = std::min(round_up(-first), count);
  return {begin, std::clamp(round_up(axis.in - first), begin, count)};
}

std::optional<MatrixConv> find_matrix_conv(const Task& task) {
  if (!is_matrix_conv(task)) return std::nullopt;
  const ir::Node& node = task.node(task.region.root);
  MatrixConv conv{};
  conv.x = node.inputs[0];
  conv.w = node.inputs[1];
  const ir::TensorType& x = task.type(conv.x);
  conv.window = window_of(task);
  conv.batch = x.shape[0];
  conv.in_channels = x.shape[1];
  conv.out_channels = task.type(conv.w).shape[0];
  conv.in_block = task.schedule.buffer(conv.x).layout.channel_block;
  if (conv.in_block > kMatrixChannels) return std::nullopt;
  conv.in_place = is_in_place(conv);
  conv.block = conv.in_place ? conv.in_block : product_block(conv.in_channels);
  conv.in_pairs = !conv.in_place && is_in_pairs(conv);
  if (conv.in_pairs) conv.block = 2 * conv.window.last.kernel;
  if (conv.in_block < kLeastChannels && !conv.in_pairs &&
      (conv.in_channels * conv.taps() < kLeastDepth || conv.out_channels < kLeastChannels)) {
    return std::nullopt;
  }
  conv.in_place ? cut_in_place(task, conv) : cut_planes(task, conv);
  return fits(conv) ? std::optional(conv) : std::nullopt;
}

std::vector<Knobs> rank_matrix_tiles(int64_t pixels, int64_t channels, int64_t rows) {
  const auto split_cycles = [&](int64_t tile_pixels, int64_t tile_channels) {
    const auto products = static_cast<double>(tile_pixels * tile_channels * rows);
    return std::max(products,
                    kLoadCycles * static_cast<double>(tile_pixels + tile_channels) * 0.75);
  };
  std::vector<RatedKnobs> candidates;
  // The largest first among equals.
  for (const auto [tile_pixels, tile_channels] :
       {std::pair{3, 1}, {2, 2}, {2, 1}, {1, 3}, {1, 2}, {1, 1}}) {
    if (tile_pixels > pixels || tile_channels > channels) continue;
    const int64_t pixel_rest = pixels % tile_pixels;
    const auto pixel_cycles = [&](int64_t width) {
      if (width == 0) return 0.0;
      const double rest = pixel_rest > 0 ? split_cycles(pixel_rest, width) : 0;
      return static_cast<double>(pixels / tile_pixels) * split_cycles(tile_pixels, width) + rest;
    };
    Knobs knobs;
    knobs.lanes = kMatrixColumns;
    knobs.pixels = tile_pixels;
    knobs.vectors = tile_channels;
    knobs.unroll = 4;
    candidates.push_back(
        {static_cast<double>(channels / tile_channels) * pixel_cycles(tile_channels) +
             pixel_cycles(channels % tile_channels),
         knobs});
  }
  return cheapest_first(candidates);
}

ChannelSets::ChannelSets(int64_t channels, int64_t in_set, int64_t strips, int64_t threads)
    : out_channels(channels),
      vectors(in_set),
      per_part(ceil_div(sets(), std::clamp<int64_t>(ceil_div(threads, strips), 1, sets()))),
      parts(ceil_div(sets(), per_part)) {}

std::vector<Stmt> ChannelSets::of_part(
    Kernel& kernel, ExprId part,
    const std::function<std::vector<Stmt>(ExprId, int64_t)>& body) const {
  const auto minimum = [&](ExprId a, int64_t b) {
    return kernel.binary(ir::KOp::kMin, a, kernel.int_const(b));
  };
  const int64_t whole = out_channels / (vectors * kMatrixColumns);
  if (whole == 1 && sets() == 1) return body(kernel.int_const(0), vectors);
  const ExprId begin = kernel.mul(part, per_part);
  const ExprId end = minimum(kernel.add(begin, per_part), sets());
  std::vector<Stmt> all;
  if (whole > 0) {
    all = loop_between(kernel, "set", begin, minimum(end, whole), 0, whole - 1,
                       [&](ExprId set) { return body(set, vectors); });
  }
  if (whole == sets()) return all;
  std::vector<Stmt> last = body(kernel.int_const(whole), matrices() - whole * vectors);
  all.push_back(
      ir::make_if(kernel.binary(ir::KOp::kEq, end, kernel.int_const(sets())), std::move(last)));
  return all;
}

}  // namespace camshaft::lower
