// SPDX-License-Identifier: MIT
#include "codegen/lower/separable_plan.h"

#include <algorithm>
#include <set>

#include "codegen/lower/strategy_list.h"
#include "codegen/lower/tile.h"
#include "codegen/lower/weights.h"
#include "codegen/lower/window.h"

namespace camshaft::lower {
namespace {

using ir::DType;
using ir::Op;

constexpr int64_t kFloatBytes = 4;
// The rest of the local arrays: accumulators.
constexpr int64_t kMostStripBytes = render::kMaxLocalBytes - (8 << 10);
// What a tensor between two kernels costs beside their arithmetic, which hides most of it, where it
// is too large for the second level of the caches (written and read), and for the third. Measured
// on Zen 3, as all that follows.
constexpr double kOuterBytesPerCycle = 60;
constexpr double kMemoryBytesPerCycle = 7;
// Rows under a strip's windows that were read for the strip before it, too, and weights; and that
// rows of other channels are far away.
constexpr double kInnerBytesPerCycle = 32;
constexpr double kJumpCycles = 100;
// Of a vector that a window has summed.
constexpr double kWindowOverhead = 2;
// Of a vector that elementwise nodes are computed of: in a kernel of their own, and in a strip that
// fits the first level of the caches, a quarter of the second, or neither.
constexpr double kElementwiseCycles = 4;
constexpr double kNearElementwiseCycles = 2;
constexpr double kFarElementwiseCycles = 2.8;
constexpr double kFartherElementwiseCycles = 4.5;
// Of a launch, and of threads that wait for one another at its end.
constexpr double kLaunchCycles = 300;
constexpr double kBarrierCycles = 1000;
// One kernel is taken where it is cheaper by more than the model may be wrong.
constexpr double kMargin = 0.975;

int64_t inner_bytes(const SeparableConv& conv) {
  return conv.batch * conv.channels * conv.rows * conv.columns * kFloatBytes;
}

int64_t row_bytes(const SeparableConv& conv) {
  return conv.channels * conv.columns * kFloatBytes;
}

int64_t weight_bytes(const SeparableConv& conv) {
  return conv.channels * conv.out_vectors() * conv.lanes * kFloatBytes;
}

// Input rows under the windows of `rows` output rows; and those of them that the windows of the
// rows before stand on, too.
int64_t rows_under(const Window& window, int64_t rows) {
  if (window.outer.empty()) return 1;
  const WindowAxis& axis = window.outer.back();
  const int64_t planes = window.tap_rows() / axis.kernel;
  return planes * ((rows - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1);
}
int64_t halo_rows(const Window& window) {
  if (window.outer.empty()) return 0;
  return std::max<int64_t>(rows_under(window, 1) - window.outer.back().stride, 0);
}
int64_t input_row_bytes(const SeparableConv& conv, const Window& window) {
  return conv.channels * window.last.in * kFloatBytes;
}

// Vectors of `inner` that `rows` rows have.
double inner_vectors(const SeparableConv& conv, int64_t rows) {
  return static_cast<double>(rows * conv.columns * conv.channels / conv.block);
}

// Arithmetic of a vector of a depthwise convolution.
double window_cycles(const Task& task, const SeparableConv& conv) {
  return static_cast<double>(window_of(task, conv.depthwise).taps()) / task.target.fma_per_cycle +
         kWindowOverhead;
}

double product_cycles(const Task& task, const SeparableConv& conv, const std::vector<Strip>& strips,
                      const Knobs& knobs) {
  return static_cast<double>(conv.channels) *
         reduction_step_cycles(task.target, strips, conv.out_vectors(), knobs);
}

// Of a strip of `inner`.
double strip_inner_cycles(const Task& task, const SeparableConv& conv, int64_t rows) {
  if (conv.depthwise == ir::kNoNode) {
    const int64_t bytes = rows * row_bytes(conv);
    const double cycles = bytes <= task.target.l1_bytes       ? kNearElementwiseCycles
                          : bytes <= task.target.l2_bytes / 4 ? kFarElementwiseCycles
                                                              : kFartherElementwiseCycles;
    return inner_vectors(conv, rows) * cycles;
  }
  const Window window = window_of(task, conv.depthwise);
  const int64_t again = halo_rows(window) * input_row_bytes(conv, window);
  return inner_vectors(conv, rows) * window_cycles(task, conv) +
         static_cast<double>(again) / kInnerBytesPerCycle +
         static_cast<double>(conv.channels / conv.block) * kJumpCycles;
}

double strip_cycles(const Task& task, const SeparableConv& conv, const Knobs& knobs,
                    int64_t groups) {
  const int64_t pixels = knobs.rows * conv.columns;
  // Weights that don't stay in the caches pass once a strip.
  const bool pass = weight_bytes(conv) > task.target.l2_bytes / 2;
  const double weights = pass ? static_cast<double>(weight_bytes(conv)) / kInnerBytesPerCycle : 0;
  const double products = product_cycles(task, conv, {{pixels, 1}}, knobs);
  return strip_inner_cycles(task, conv, knobs.rows) +
         (products + weights) / static_cast<double>(groups);
}

// Of writing and reading a depthwise `inner`, which stays in a level of the caches if what it is
// computed from does, too.
double traffic_cycles(const Task& task, const SeparableConv& conv) {
  const int64_t bytes = inner_bytes(conv);
  const int64_t input = task.type(task.node(conv.depthwise).inputs[0]).size_bytes();
  if (2 * bytes <= task.target.l2_bytes) return 0;
  const bool is_cached = bytes + std::max(bytes, input) <= task.target.l3_bytes;
  return static_cast<double>(2 * bytes) / (is_cached ? kOuterBytesPerCycle : kMemoryBytesPerCycle);
}

// What a strip needs in the second level of the caches.
int64_t working_bytes(const Task& task, const SeparableConv& conv, int64_t rows) {
  int64_t bytes = rows * row_bytes(conv) + std::min<int64_t>(weight_bytes(conv), 64 << 10);
  if (conv.depthwise != ir::kNoNode) {
    const Window window = window_of(task, conv.depthwise);
    bytes += rows_under(window, rows) * input_row_bytes(conv, window);
  }
  return bytes;
}

// The only structured node below `inner`, or kNoNode; nothing where there are others.
std::optional<NodeId> root_of(const Task& task, NodeId inner) {
  NodeId root = ir::kNoNode;
  for (const NodeId id : task.region.nodes) {
    if (id > inner || !ir::is_structured(task.node(id).op)) continue;
    if (root != ir::kNoNode) return std::nullopt;
    root = id;
  }
  return root;
}

// The block of a leaf with the channels, rows and columns of `inner`; 0 if it has none.
int32_t block_of(const Task& task, NodeId leaf, NodeId inner) {
  if (!task.has_buffer(leaf) || task.is_image(leaf)) return 0;
  const int32_t block = task.schedule.buffer(leaf).layout.channel_block;
  const int32_t lanes = std::min(block, task.target.lanes(DType::kFloat32));
  return block > 1 && task.type(leaf).shape[1] == task.type(inner).shape[1] ? lanes : 0;
}

// The leaves that `inner` is computed from.
std::vector<NodeId> leaves_below(const Task& task, NodeId inner) {
  std::set<NodeId> reached = {inner};
  std::vector<NodeId> leaves;
  for (NodeId id = inner; id >= 0; --id) {
    if (reached.count(id) == 0) continue;
    if (std::binary_search(task.region.leaves.begin(), task.region.leaves.end(), id)) {
      leaves.push_back(id);
    } else {
      reached.insert(task.node(id).inputs.begin(), task.node(id).inputs.end());
    }
  }
  return leaves;
}

// Fills in `block` and `full_leaves` of an elementwise `inner`; false unless there is a leaf of its
// shape, all such leaves lie alike, and all others are numbers for each channel.
bool find_leaves(const Task& task, SeparableConv& conv) {
  for (const NodeId id : task.region.nodes) {
    const Op op = task.node(id).op;
    if (id <= conv.inner && !ir::is_elementwise(op) && op != Op::kBroadcast && op != Op::kReshape) {
      return false;
    }
  }
  const ir::Shape& shape = task.type(conv.inner).shape;
  for (const NodeId leaf : leaves_below(task, conv.inner)) {
    if (task.type(leaf).shape != shape) {
      if (task.type(leaf).elements() > shape[0] * shape[1]) return false;
      continue;
    }
    const int32_t block = block_of(task, leaf, conv.inner);
    if (block == 0 || (!conv.full_leaves.empty() && block != conv.block)) return false;
    conv.block = block;
    conv.full_leaves.push_back(leaf);
  }
  return !conv.full_leaves.empty();
}

bool is_float(const Task& task, NodeId id) {
  return task.type(id).dtype == DType::kFloat32;
}

bool is_pointwise(const Task& task, NodeId root) {
  const Window window = window_of(task, root);
  return task.node(root).as<ir::ConvAttrs>().groups == 1 && window.is_pointwise() &&
         window.is_dense();
}

std::vector<int64_t> strip_rows(const Task& task, const SeparableConv& conv) {
  std::vector<int64_t> result;
  for (int64_t strips = 1; strips <= conv.rows; ++strips) {
    const int64_t rows = ceil_div(conv.rows, strips);
    if (!result.empty() && result.back() == rows) continue;
    const bool fits = rows * row_bytes(conv) <= kMostStripBytes &&
                      working_bytes(task, conv, rows) <= task.target.l2_bytes * 3 / 4;
    if (fits) result.push_back(rows);
  }
  return result;
}

}  // namespace

std::optional<SeparableConv> find_separable_conv(const Task& task) {
  const NodeId inner = task.region.inner;
  if (inner == ir::kNoNode || task.region.pooled != ir::kNoNode || !task.has_root(Op::kConv) ||
      task.target.is_gpu)
    return std::nullopt;
  SeparableConv conv;
  conv.node = task.region.root;
  conv.inner = inner;
  const ir::Node& node = task.node(conv.node);
  conv.w = node.inputs[1];
  const std::optional<NodeId> root = root_of(task, inner);
  if (!root || node.inputs[0] != inner || !are_known(task, conv.w) || !is_float(task, conv.node) ||
      !is_float(task, inner) || !is_float(task, conv.w) || node.type.elements() == 0 ||
      !is_pointwise(task, conv.node)) {
    return std::nullopt;
  }
  conv.depthwise = *root;
  if (conv.depthwise == ir::kNoNode) {
    if (!find_leaves(task, conv)) return std::nullopt;
  } else {
    if (!is_depthwise(task, *root) || !is_float(task, *root)) return std::nullopt;
    if (task.type(*root).shape != task.type(inner).shape) return std::nullopt;
    conv.block = block_of(task, task.node(*root).inputs[0], inner);
    if (conv.block == 0) return std::nullopt;
  }
  const ir::Shape& shape = task.type(inner).shape;
  conv.batch = shape[0];
  conv.channels = shape[1];
  conv.out_channels = node.type.shape[1];
  conv.columns = shape.back();
  conv.rows = task.type(inner).elements() / (shape[0] * shape[1] * conv.columns);
  conv.lanes = output_lanes(task, conv.out_channels);
  return conv;
}

SeparableCut cut_separable(const Task& task, const SeparableConv& conv, const Knobs& knobs) {
  SeparableCut cut;
  cut.strips = ceil_div(conv.rows, knobs.rows);
  cut.sets = ceil_div(conv.out_vectors(), knobs.vectors);
  double least = 0;
  for (int64_t groups = 1; groups <= std::min<int64_t>(task.threads, cut.sets); ++groups) {
    if (cut.sets % groups != 0) continue;
    const int64_t items = ceil_div(conv.batch * cut.strips * groups, task.threads);
    const double cycles = static_cast<double>(items) * strip_cycles(task, conv, knobs, groups);
    if (groups > 1 && cycles >= least) continue;
    least = cycles;
    cut.groups = groups;
  }
  return cut;
}

double separable_cycles(const Task& task, const SeparableConv& conv, const Knobs& knobs) {
  const SeparableCut cut = cut_separable(task, conv, knobs);
  const int64_t strips = conv.batch * cut.strips * cut.groups;
  const double all = strip_cycles(task, conv, knobs, cut.groups) * static_cast<double>(strips);
  const double busiest =
      static_cast<double>(ceil_div(strips, task.threads)) / static_cast<double>(strips);
  // The last strip of an image may be short.
  const double existing =
      static_cast<double>(conv.rows) / static_cast<double>(cut.strips * knobs.rows);
  return all * std::max(busiest, existing / task.threads);
}

double apart_cycles(const Task& task, const SeparableConv& conv) {
  constexpr int64_t kStripPixels = 96;
  const int64_t pixels = conv.batch * conv.rows * conv.columns;
  const int64_t strips = ceil_div(pixels, kStripPixels);
  const bool pass = weight_bytes(conv) > task.target.l2_bytes / 2;
  const double weights = pass ? static_cast<double>(weight_bytes(conv)) / kInnerBytesPerCycle : 0;
  const std::vector<Strip> even = {{ceil_div(pixels, strips), strips}};
  const Knobs best = rank_tiles(task.target, even, conv.out_vectors(), conv.lanes).front();
  const bool is_window = conv.depthwise != ir::kNoNode;
  const double inner = inner_vectors(conv, conv.batch * conv.rows) *
                       (is_window ? window_cycles(task, conv) : kElementwiseCycles);
  const double traffic = is_window ? traffic_cycles(task, conv) : 0;  // of the others: in `inner`
  const double work = inner + product_cycles(task, conv, even, best) + weights + traffic;
  return work / task.threads + kLaunchCycles + (task.threads > 1 ? kBarrierCycles : 0);
}

std::vector<Knobs> rank_separable(const Task& task, const SeparableConv& conv) {
  std::vector<RatedKnobs> candidates;
  for (const int64_t rows : strip_rows(task, conv)) {
    std::vector<Knobs> ranked =
        rank_tiles(task.target, {{rows * conv.columns, 1}}, conv.out_vectors(), conv.lanes);
    ranked.resize(std::min<size_t>(ranked.size(), 4));
    for (Knobs& knobs : ranked) {
      knobs.rows = static_cast<int32_t>(rows);
      candidates.push_back({separable_cycles(task, conv, knobs), knobs});
    }
  }
  return cheapest_first(candidates);
}

bool pays_to_separate(const Task& joined) {
  const std::optional<SeparableConv> conv = find_separable_conv(joined);
  if (!conv) return false;
  const std::vector<Knobs> ranked = rank_separable(joined, *conv);
  return !ranked.empty() &&
         separable_cycles(joined, *conv, ranked.front()) < kMargin * apart_cycles(joined, *conv);
}

}  // namespace camshaft::lower
