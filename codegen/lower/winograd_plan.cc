// SPDX-License-Identifier: MIT
#include "codegen/lower/winograd_plan.h"

#include <algorithm>

#include "codegen/ir/graph_constants.h"
#include "codegen/ir/literal.h"
#include "codegen/lower/strategy_list.h"
#include "codegen/lower/tile.h"

namespace camshaft::lower {
namespace {

using ir::DType;
using ir::Op;

// The root mean square error, relative to the result's, that a float32 convolution may have. A
// direct one has about 3e-7.
constexpr double kMaxError = 1.5e-6;
// Fewer channels than this leave the transforms too little to save.
constexpr int64_t kMinChannels = 16;
// What weights cost each time they come from memory, most of it hidden behind the arithmetic; also
// what they cost in the plan file, at loading, and in memory. Then streams in the caches, and what
// is written to them and read again.
constexpr double kMemoryBytesPerCycle = 7;
constexpr double kStreamBytesPerCycle = 32;
constexpr double kCacheBytesPerCycle = 16;
// Of a product tile beside its reduction, and of a one-dimensional transform beside its arithmetic.
constexpr double kTileOverhead = 12;
constexpr double kLineOverhead = 3;

double bytes(int64_t floats) {
  return static_cast<double>(floats) * static_cast<double>(sizeof(float));
}

// The two-dimensional transforms of one tile and one vector of channels: n + n lines in and n + m
// lines out; each line's stores or its arithmetic limit it.
double transform_cycles(const CpuTarget& target, int64_t outputs, double* output) {
  const Winograd winograd = make_winograd(outputs);
  const auto n = static_cast<double>(winograd.size());
  const auto m = static_cast<double>(outputs);
  const auto pairs = static_cast<double>(winograd.pairs());
  const double in_ops = 2 * pairs + pairs * 2 * pairs;  // fused multiply-adds of a line
  const double out_ops = 2 * pairs + m * pairs;
  *output = n * (std::max(out_ops / target.fma_per_cycle, m) + kLineOverhead) +
            m * (std::max(out_ops / target.fma_per_cycle, m) + kLineOverhead + m);
  return 2 * n * (std::max(in_ops / target.fma_per_cycle, n) + kLineOverhead);
}

double direct_cycles(const Task& task, const WinogradConv& conv) {
  const std::vector<Strip> strips = {{conv.columns.out, conv.rows.out * conv.batch}};
  const Knobs best = rank_tiles(task.target, strips, conv.out_vectors(), conv.lanes).front();
  const double steps = static_cast<double>(conv.in_channels * 9);
  return steps * reduction_step_cycles(task.target, strips, conv.out_vectors(), best) * 1.1 /
         task.threads;
}

// Sizes of blocks worth a try: all tiles at once, halves, thirds, ... down to a few.
std::vector<int64_t> block_sizes(int64_t tiles) {
  std::vector<int64_t> sizes;
  for (int64_t blocks = 1; blocks <= 64 && blocks <= tiles; ++blocks) {
    const int64_t size = (tiles + blocks - 1) / blocks;
    if (sizes.empty() || sizes.back() != size) sizes.push_back(size);
  }
  return sizes;
}

}  // namespace

std::optional<WinogradConv> find_winograd_conv(const Task& task) {
  if (!task.has_root(Op::kConv)) return std::nullopt;
  WinogradConv conv;
  conv.node = task.region.root;
  const ir::Node& node = task.node(conv.node);
  const auto& attrs = node.as<ir::ConvAttrs>();
  conv.x = node.inputs[0];
  conv.w = node.inputs[1];
  const ir::Shape& x = task.type(conv.x).shape;
  const ir::Shape& w = task.type(conv.w).shape;
  const ir::Shape ones = {1, 1};
  if (x.size() != 4 || node.type.dtype != DType::kFloat32 || node.type.elements() == 0 ||
      w[2] != 3 || w[3] != 3 || attrs.groups != 1 || attrs.strides != ones ||
      attrs.dilations != ones || ir::literal_of(task.graph(), conv.w) == nullptr ||
      !task.has_buffer(conv.x)) {
    return std::nullopt;
  }
  const Window window = window_of(task);
  conv.rows = window.outer[0];
  conv.columns = window.last;
  conv.batch = x[0];
  conv.in_channels = w[1];
  conv.out_channels = w[0];
  conv.lanes = task.schedule.buffer(conv.x).layout.channel_block;
  const bool fits = conv.lanes > 1 && conv.lanes <= task.target.lanes(DType::kFloat32) &&
                    conv.out_channels % conv.lanes == 0;
  return fits ? std::optional(conv) : std::nullopt;
}

std::vector<float> winograd_weights(const Task& task, const WinogradConv& conv) {
  const ir::Literal& literal = *ir::literal_of(task.graph(), conv.w);
  std::vector<float> weights(static_cast<size_t>(literal.type.elements()));
  for (size_t i = 0; i < weights.size(); ++i) {
    weights[i] = static_cast<float>(ir::literal_as_double(literal, static_cast<int64_t>(i)));
  }
  return weights;
}

std::vector<int32_t> accurate_winograds(const Task& task, const WinogradConv& conv) {
  const std::vector<float> weights = winograd_weights(task, conv);
  std::vector<int32_t> result;
  for (const int64_t outputs : kWinogradOutputs) {
    const double error =
        winograd_error(make_winograd(outputs), weights.data(), conv.out_channels, conv.in_channels);
    if (outputs == 2 || error <= kMaxError) result.push_back(static_cast<int32_t>(outputs));
  }
  return result;
}

WinogradCut cut_winograd(const WinogradConv& conv, const Knobs& knobs, int threads) {
  WinogradCut cut;
  cut.tiles = conv.tiles(knobs.winograd);
  cut.block = knobs.block;
  cut.blocks = (cut.tiles + cut.block - 1) / cut.block;
  int64_t least = INT64_MAX;  // blocks times shares of channels that the busiest thread does
  for (int64_t groups = 1; groups <= threads; ++groups) {
    if (threads % groups != 0 || conv.out_vectors() % groups != 0) continue;
    const int64_t chunks = std::min<int64_t>(cut.blocks, threads / groups);
    const int64_t busiest = (cut.blocks + chunks - 1) / chunks * (threads / groups);
    if (busiest >= least) continue;
    least = busiest;
    cut.groups = groups;
    cut.chunks = chunks;
  }
  // Not more chunks than have blocks when each has as many as the fullest.
  cut.chunks = (cut.blocks + cut.blocks_per_chunk() - 1) / cut.blocks_per_chunk();
  return cut;
}

double winograd_cycles(const Task& task, const WinogradConv& conv, const Knobs& knobs) {
  const CpuTarget& target = task.target;
  const int64_t n = knobs.winograd + 2;
  const int64_t tiles = conv.tiles(knobs.winograd);
  const int64_t blocks = (tiles + knobs.block - 1) / knobs.block;
  double output = 0;
  const double input = transform_cycles(target, knobs.winograd, &output);
  const double transforms = static_cast<double>(blocks * knobs.block * conv.in_blocks()) * input +
                            static_cast<double>(tiles * conv.out_vectors()) * output;
  const std::vector<Strip> strips = {{knobs.block, blocks * n * n}};
  const int64_t product_tiles = blocks * n * n * ceil_div(knobs.block, knobs.pixels) *
                                ceil_div(conv.out_vectors(), knobs.vectors);
  const double products = static_cast<double>(conv.in_channels) *
                              reduction_step_cycles(target, strips, conv.out_vectors(), knobs) +
                          static_cast<double>(product_tiles) * kTileOverhead;
  // The weights come from memory once, from the caches for each further block, one set ahead of
  // their use; what lies between the phases is written and read once.
  const double weights = bytes(n * n * conv.in_channels * conv.out_channels);
  const double between = bytes(n * n * knobs.block * (conv.in_channels + conv.out_channels));
  double traffic = weights / kMemoryBytesPerCycle +
                   weights * static_cast<double>(blocks - 1) / kStreamBytesPerCycle;
  if (between > target.l2_bytes / 2) {
    traffic += 2 * between * static_cast<double>(blocks) / kCacheBytesPerCycle;
  }
  const WinogradCut cut = cut_winograd(conv, knobs, task.threads);
  const double share =  // of the busiest thread
      static_cast<double>(cut.blocks_per_chunk()) / static_cast<double>(blocks * cut.groups);
  return (transforms + products + traffic) * share;
}

std::vector<Knobs> rank_winograd(const Task& task, const WinogradConv& conv) {
  std::vector<RatedKnobs> candidates;
  for (const int32_t outputs : accurate_winograds(task, conv)) {
    const int64_t tiles = conv.tiles(outputs);
    for (const int64_t block : block_sizes(tiles)) {
      std::vector<Knobs> ranked =
          rank_tiles(task.target, {{block, 1}}, conv.out_vectors(), conv.lanes);
      ranked.resize(std::min<size_t>(ranked.size(), 4));
      for (Knobs& knobs : ranked) {
        knobs.winograd = outputs;
        knobs.block = static_cast<int32_t>(block);
        const double cycles = winograd_cycles(task, conv, knobs);
        candidates.push_back({cycles, knobs});
      }
    }
  }
  return cheapest_first(candidates);
}

bool pays_conv_winograd(const Task& task) {
  const WinogradConv conv = *find_winograd_conv(task);
  if (std::min(conv.in_channels, conv.out_channels) < kMinChannels) return false;
  const Knobs best = rank_winograd(task, conv).front();
  return winograd_cycles(task, conv, best) < direct_cycles(task, conv);
}

}  // namespace camshaft::lower
