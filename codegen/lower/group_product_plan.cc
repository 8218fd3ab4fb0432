// SPDX-License-Identifier: MIT
#include <algorithm>
#include <tuple>

#include "codegen/ir/graph_constants.h"
#include "codegen/lower/group_product.h"
#include "codegen/lower/pixel_window.h"
#include "codegen/lower/strategy_list.h"
#include "codegen/lower/tile.h"
#include "codegen/lower/weights.h"

namespace camshaft::lower {
namespace {

using ir::Op;

constexpr int64_t kMostStep = 8;
// Of the 48 KiB of a large GPU's unit, so that two groups have room.
constexpr int64_t kMostSharedBytes = 24 << 10;

int64_t round_up(int64_t value, int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

// The largest of 8, 4, 2, 1 that divides `extent`.
int64_t even_step(int64_t extent) {
  int64_t step = kMostStep;
  while (extent % step != 0) step /= 2;
  return step;
}

void set_convolution(const Task& task, GroupProduct& product) {
  const ir::Node& node = task.node(product.node);
  const ir::Shape& w = task.type(product.w).shape;
  product.is_conv = true;
  product.window = window_of(task);
  product.sets = node.as<ir::ConvAttrs>().groups;
  product.pixels = node.type.shape[0] * product.window.pixels();
  product.channels = w[0] / product.sets;
  product.taps = product.window.taps();
  product.inner = product.known_inner = w[1];
  product.known = product.w;
  const int64_t block =
      task.has_buffer(product.x) ? task.schedule.buffer(product.x).layout.channel_block : 1;
  // What pads an image's channels is zeros, and so are the weights for it.
  if (task.is_image(product.x) && block > 1 && product.sets == 1) {
    product.inner = schedule::texel_channels(product.inner);
  }
  product.step = block > 1 && product.inner % block == 0 ? block : even_step(product.inner);
  product.is_bordered = is_bordered(task, product.x);
}

void set_matrix_product(const Task& task, GroupProduct& product) {
  const ir::Shape& x = task.type(product.x).shape;
  product.batch_shape.assign(x.begin(), x.end() - 2);
  for (int64_t extent : product.batch_shape) product.sets *= extent;
  product.rows = product.pixels = x[x.size() - 2];
  product.inner = product.known_inner = x.back();
  product.channels = task.type(product.w).shape.back();
  product.step = even_step(product.inner);
  if (task.is_image(product.x)) product.step = base::kTexelElements;
  product.known = shared_matrix(task, product.w);
  if (product.known == ir::kNoNode) return;
  product.pixels *= product.sets;
  product.sets = 1;
}

int64_t tile_lanes(int64_t channels) {
  int64_t lanes = 4;
  while (lanes < 8 && lanes < channels) lanes *= 2;
  return lanes;
}

// A model of a GPU with many units, from measurements on an H200: a step of an item waits about
// this long for what it reads; a unit with work for more warps than its schedulers can hide that.
constexpr double kWaitCycles = 800;
constexpr double kSchedulers = 128 * 4;
constexpr double kLaunchCycles = 2000;
constexpr double kIdleCycles = 100;  // for each idle item beside a busy one
constexpr int64_t kWarp = 32;

double cost(const GroupProduct& product, const GroupShape& shape) {
  const auto pixels = static_cast<double>(shape.tile_pixels);
  const auto lanes = static_cast<double>(product.lanes);
  const auto inner = static_cast<double>(product.step);
  const double steps = static_cast<double>(round_up(product.taps, shape.tap_slices) *
                                           round_up(product.blocks(), shape.block_slices));
  const double products = pixels * lanes * inner;
  const double reads = pixels * inner + inner * lanes + 4 * (pixels + inner);
  const double work = products + reads;
  const double warps =
      static_cast<double>(shape.groups(product) * render::kGroupItems / kWarp) / kSchedulers;
  const double sums = shape.slices == 1 ? 0 : 400 + 4 * pixels * lanes;
  const auto tiles = static_cast<double>(shape.channel_tiles * shape.along) *
                     static_cast<double>(shape.pixel_tiles * shape.group_pixels());
  const double used = static_cast<double>(product.channel_tiles() * product.pixels) / tiles;
  return kIdleCycles * (1 / used - 1) + kLaunchCycles +
         steps * std::max(kWaitCycles + work, warps * work) +
         std::max(warps, 1.0) * (sums + 8 * pixels * lanes / static_cast<double>(shape.slices));
}

bool fits(const GroupProduct& product, const Knobs& knobs) {
  const GroupShape shape = group_shape(product, knobs);
  if (shape.tap_slices > product.taps || shape.along < 1) return false;
  const int64_t bytes = render::kGroupItems * knobs.pixels * knobs.lanes * 4;
  return shape.slices == 1 || bytes <= kMostSharedBytes;
}

}  // namespace

int64_t GroupProduct::weight_place(int64_t set, int64_t channel, int64_t tap, int64_t k) const {
  if (!is_conv) return k * channels + channel;
  return ((set * channels + channel) * known_inner + k) * taps + tap;
}

bool is_group_product(const Task& task) {
  const bool is_conv = task.has_root(Op::kConv);
  if (!is_conv && !task.has_root(Op::kMatMul)) return false;
  const ir::Node& node = task.node(task.region.root);
  for (const NodeId operand : node.inputs) {
    if (task.type(operand).elements() == 0) return false;
  }
  const bool is_word = base::dtype_size_bytes(node.type.dtype) == 4;
  return is_word && node.type.elements() > 0 &&
         task.type(task.region.output).shape == node.type.shape &&
         (!is_conv || are_known(task, node.inputs[1]));
}

GroupProduct make_group_product(const Task& task) {
  GroupProduct product;
  product.node = task.region.root;
  product.x = task.node(product.node).inputs[0];
  product.w = task.node(product.node).inputs[1];
  if (task.has_root(Op::kConv)) {
    set_convolution(task, product);
  } else {
    set_matrix_product(task, product);
  }
  const bool has_images = task.schedule.image_limit.width > 0;
  product.lanes = has_images ? base::kTexelElements : tile_lanes(product.channels);
  return product;
}

GroupShape group_shape(const GroupProduct& product, const Knobs& knobs) {
  GroupShape shape;
  shape.across = knobs.vectors;
  shape.slices = knobs.unroll;
  shape.along = render::kGroupItems / (shape.across * shape.slices);
  shape.tile_pixels = knobs.pixels;
  while (shape.block_slices * 2 <= std::min(shape.slices, product.blocks())) {
    shape.block_slices *= 2;
  }
  shape.tap_slices = shape.slices / shape.block_slices;
  shape.pixel_tiles = round_up(product.pixels, shape.group_pixels());
  shape.channel_tiles = round_up(product.channel_tiles(), std::max<int64_t>(shape.along, 1));
  return shape;
}

bool matches_group_product(const Task& task) {
  return task.target.is_gpu && is_group_product(task);
}

std::vector<Knobs> knobs_group_product(const Task& task) {
  const GroupProduct product = make_group_product(task);
  std::vector<std::pair<double, Knobs>> ranked;
  for (int32_t pixels : {1, 2, 3, 4, 8}) {
    for (int32_t across = 1; across <= render::kGroupItems; across *= 2) {
      for (int32_t slices = 1; across * slices <= render::kGroupItems; slices *= 2) {
        Knobs knobs;
        knobs.lanes = static_cast<int32_t>(product.lanes);
        knobs.pixels = pixels;
        knobs.vectors = across;
        knobs.unroll = slices;
        const bool is_wide = pixels * across > 1 && pixels * across >= 2 * product.pixels;
        if (is_wide || !fits(product, knobs)) continue;
        // Few items next to each other read memory in small pieces.
        const bool is_narrow = across < std::min<int64_t>(8, product.pixels);
        const double penalty = is_narrow ? 4 : 1;
        ranked.emplace_back(penalty * cost(product, group_shape(product, knobs)), knobs);
      }
    }
  }
  std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
    const auto order = [](const auto& entry) {
      const Knobs& knobs = entry.second;
      return std::tuple(entry.first, knobs.pixels, knobs.vectors, knobs.unroll);
    };
    return order(a) < order(b);
  });
  std::vector<Knobs> result;
  for (const auto& [cycles, knobs] : ranked) result.push_back(knobs);
  return result;
}

}  // namespace camshaft::lower
