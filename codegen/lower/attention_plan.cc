// SPDX-License-Identifier: MIT
#include "codegen/lower/attention_plan.h"

#include <algorithm>
#include <set>

#include "codegen/lower/strategy_list.h"
#include "codegen/lower/tile.h"

namespace camshaft::lower {
namespace {

using ir::DType;
using ir::Op;

constexpr int64_t kFloatBytes = 4;
// The rest of the local arrays: accumulators and what there is once a row.
constexpr int64_t kMostLocalBytes = render::kMaxLocalBytes - (16 << 10);
// Rows of scores that begin this far apart, or a multiple of it, meet in the same few lines of the
// first level of the caches.
constexpr int64_t kMeetingBytes = 1 << 10;
// Measured on Zen 3, as all that follows. Of a vector of scores from logits to powers, and in a
// kernel of its own, which divides, too.
constexpr double kSoftmaxCycles = 12;
constexpr double kApartSoftmaxCycles = 26;
constexpr double kRowCycles = 60;  // of the two reductions' ends
// Panels that pass once a strip, from the second level of the caches and from the third.
constexpr double kPanelBytesPerCycle = 120;
constexpr double kOuterPanelBytesPerCycle = 16;
// A strip that is more than the first level holds, and is written and read twice.
constexpr double kStripBytesPerCycle = 64;
// Scores between kernels: written and read twice, beside arithmetic that hides most of it.
constexpr double kOuterBytesPerCycle = 60;
constexpr double kMemoryBytesPerCycle = 7;
// Of a strip: more gain nothing.
constexpr int64_t kMostStripRows = 128;
constexpr double kLaunchCycles = 300;

// The nodes of a region that are computed from one of them, and how.
class Dependents {
 public:
  Dependents(const Task& task, NodeId from) : task_(task), members_({from}) {
    for (const NodeId id : task.region.nodes) {
      const std::vector<NodeId>& inputs = task.node(id).inputs;
      const bool depends = std::any_of(inputs.begin(), inputs.end(),
                                       [&](NodeId input) { return members_.count(input) > 0; });
      if (depends) members_.insert(id);
    }
  }

  bool has(NodeId id) const { return members_.count(id) > 0; }

  // Whether all ways from `from` to `to` pass through one of `by`, if at all, and lie over nodes
  // that `allows` allows otherwise.
  template <typename Allows>
  bool leads(NodeId to, const std::set<NodeId>& by, const Allows& allows) const {
    if (!has(to) || by.count(to) > 0) return true;
    if (!allows(task_.node(to))) return false;
    const std::vector<NodeId>& inputs = task_.node(to).inputs;
    return std::all_of(inputs.begin(), inputs.end(),
                       [&](NodeId input) { return leads(input, by, allows); });
  }

 private:
  const Task& task_;
  std::set<NodeId> members_;
};

// The only structured nodes of a region: two products and two reductions between them.
bool find_structured(const Task& task, Attention& a) {
  std::vector<NodeId> found;
  for (const NodeId id : task.region.nodes) {
    const Op op = task.node(id).op;
    if (ir::is_structured(op) && op != Op::kGather) found.push_back(id);
  }
  if (found.size() != 4) return false;
  const auto is_reduce = [&](NodeId id, ir::ReduceKind kind) {
    const ir::Node& node = task.node(id);
    if (node.op != Op::kReduce || node.type.rank() == 0) return false;
    const auto& attrs = node.as<ir::ReduceAttrs>();
    return attrs.kind == kind && attrs.axes == std::vector<int>{node.type.rank() - 1};
  };
  a.scores = found[0];
  a.maximum = found[1];
  a.sum = found[2];
  a.product = found[3];
  return task.node(a.scores).op == Op::kMatMul && is_reduce(a.maximum, ir::ReduceKind::kMax) &&
         is_reduce(a.sum, ir::ReduceKind::kSum) && a.product == task.region.root &&
         task.node(a.product).op == Op::kMatMul;
}

bool is_f32(const Task& task, NodeId id) {
  return task.type(id).dtype == DType::kFloat32;
}

// Of probabilities that need not be rounded as they have no memory.
bool only_rounds(const ir::Node& node) {
  return node.op == Op::kCast && ir::is_half(node.type.dtype);
}

NodeId without_rounding(const Task& task, NodeId id) {
  while (only_rounds(task.node(id))) id = task.node(id).inputs[0];
  return id;
}

// exp(logits - maximum), where a maximum that is infinite may be another number.
bool are_exponentials(const Task& task, const Attention& a) {
  const ir::Node& power = task.node(a.powers);
  if (power.op != Op::kExp) return false;
  const ir::Node& difference = task.node(power.inputs[0]);
  if (difference.op != Op::kSub || difference.inputs[0] != a.logits) return false;
  const ir::Node& broadcast = task.node(difference.inputs[1]);
  if (broadcast.op != Op::kBroadcast) return false;
  const NodeId from = broadcast.inputs[0];
  const ir::Node& number = task.node(from);
  return from == a.maximum || (number.op == Op::kSelect && number.inputs[2] == a.maximum);
}

// Whether the region's nodes are those of an attention, and nothing else.
bool has_form(const Task& task, const Attention& a) {
  const Dependents of_scores(task, a.scores);
  const auto keeps_order = [](const ir::Node& node) {
    return ir::is_elementwise(node.op) || node.op == Op::kReshape;
  };
  const auto is_of_row = [&](const ir::Node& node) {
    const bool is_full = node.type.shape == task.type(a.logits).shape;
    const bool is_number = node.type.shape == task.type(a.maximum).shape;
    return (is_full || is_number) && (ir::is_elementwise(node.op) || node.op == Op::kBroadcast);
  };
  const auto passes_on = [](const ir::Node& node) {
    return node.op == Op::kReshape || only_rounds(node);
  };
  return !of_scores.has(a.v) && are_exponentials(task, a) &&
         of_scores.leads(a.logits, {a.scores}, keeps_order) &&
         of_scores.leads(a.powers, {a.logits, a.maximum}, is_of_row) &&
         of_scores.leads(a.probabilities, {a.powers, a.maximum, a.sum}, is_of_row) &&
         of_scores.leads(task.node(a.product).inputs[0], {a.probabilities}, passes_on);
}

// The number that exponentials of a row are divided by.
NodeId divisor_of(const Task& task, const Attention& a) {
  const ir::Node& quotient = task.node(a.probabilities);
  if (quotient.op != Op::kDiv || quotient.inputs[0] != a.powers) return ir::kNoNode;
  const ir::Node& broadcast = task.node(quotient.inputs[1]);
  if (broadcast.op != Op::kBroadcast) return ir::kNoNode;
  const NodeId divisor = broadcast.inputs[0];
  return task.type(divisor).shape == task.type(a.sum).shape ? divisor : ir::kNoNode;
}

// The transposes and reshapes that the region ends with.
std::vector<NodeId> moved_at_the_end(const Task& task) {
  std::vector<NodeId> moved;
  NodeId id = task.region.output;
  for (; task.node(id).op == Op::kTranspose || task.node(id).op == Op::kReshape;
       id = task.node(id).inputs[0]) {
    moved.insert(moved.begin(), id);
  }
  return moved;
}

void measure(const Task& task, Attention& a) {
  const ir::Shape& q = task.type(a.q).shape;
  a.batch_shape.assign(q.begin(), q.end() - 2);
  for (const int64_t extent : a.batch_shape) a.batches *= extent;
  const ir::Shape& full = task.type(a.logits).shape;
  a.row_shape.assign(full.begin(), full.end() - 1);
  a.rows = q[q.size() - 2];
  a.depth = q.back();
  a.keys = task.type(a.scores).shape.back();
  a.columns = task.type(a.product).shape.back();
  a.lanes = 1;
  const int64_t widest = task.target.lanes(DType::kFloat32);
  while (a.lanes < widest && a.lanes < std::max(a.keys, a.columns)) a.lanes *= 2;
}

double product_cycles(const Task& task, const Attention& a, int64_t rows, const Knobs& knobs) {
  const auto step = [&](int64_t vectors) {
    return reduction_step_cycles(task.target, {{rows, 1}}, vectors, knobs);
  };
  return static_cast<double>(a.depth) * step(a.key_vectors()) +
         static_cast<double>(a.keys) * step(a.column_vectors());
}

// Of a strip, without its products.
double softmax_cycles(const Attention& a, int64_t rows, double of_vector) {
  return static_cast<double>(rows) *
         (kRowCycles + of_vector * static_cast<double>(a.key_vectors()));
}

double packing_cycles(const Attention& a) {
  return panel_cycles(RightSide::kColumns, a.depth, a.keys) +
         panel_cycles(RightSide::kRows, a.keys, a.columns);
}

double strip_cycles(const Task& task, const Attention& a, const AttentionCut& cut,
                    const Knobs& knobs) {
  const int64_t bytes = (cut.key_panel + cut.value_panel) * kFloatBytes;
  const bool is_near = bytes + cut.strip_rows * cut.pitch * kFloatBytes <= task.target.l2_bytes;
  const double panels =
      static_cast<double>(bytes) / (is_near ? kPanelBytesPerCycle : kOuterPanelBytesPerCycle);
  const int64_t strip = cut.strip_rows * cut.pitch * kFloatBytes;
  const double far =
      strip > task.target.l1_bytes ? static_cast<double>(4 * strip) / kStripBytesPerCycle : 0;
  return cut.most_seen * (product_cycles(task, a, cut.strip_rows, knobs) +
                          softmax_cycles(a, cut.strip_rows, kSoftmaxCycles) + panels + far);
}

// Of the thread that has most.
double chunks_cycles(const Task& task, const Attention& a, const AttentionCut& cut,
                     const Knobs& knobs) {
  const int64_t items = ceil_div(a.batches * cut.chunks, task.threads);
  const double strips =
      static_cast<double>(a.rows) / static_cast<double>(cut.chunks * cut.strip_rows);
  return static_cast<double>(items) *
         (packing_cycles(a) + strips * strip_cycles(task, a, cut, knobs));
}

int64_t strip_pitch(const Attention& a) {
  const int64_t pitch = a.key_vectors() * a.lanes;
  return pitch * kFloatBytes % kMeetingBytes == 0 ? pitch + 2 * a.lanes : pitch;
}

// What the strips of a cut see.
void look_at_masks(const Attention& a, AttentionCut& cut) {
  if (a.seen.empty()) return;
  const KeySpan all{0, ceil_div(a.keys, a.block())};
  int64_t most = 0;
  for (int64_t first = 0; first < cut.strips; first += cut.strips_per_chunk()) {
    int64_t blocks = 0;
    for (int64_t i = first; i < std::min(first + cut.strips_per_chunk(), cut.strips); ++i) {
      KeySpan keys{a.keys, 0};
      for (int64_t row = i * cut.strip_rows; row < std::min((i + 1) * cut.strip_rows, a.rows);
           ++row) {
        const KeySpan& seen = a.seen[static_cast<size_t>(row)];
        keys = {std::min(keys.begin, seen.begin), std::max(keys.end, seen.end)};
      }
      cut.blocks.push_back({keys.begin / a.block(), ceil_div(keys.end, a.block())});
      blocks += cut.blocks.back().end - cut.blocks.back().begin;
    }
    most = std::max(most, blocks);
  }
  const bool are_all = std::all_of(cut.blocks.begin(), cut.blocks.end(),
                                   [&](const KeySpan& span) { return span == all; });
  if (are_all) return cut.blocks.clear();
  cut.most_seen = static_cast<double>(most) / static_cast<double>(all.end * cut.strips_per_chunk());
}

// The same for a cut into so many chunks.
AttentionCut cut_into(const Attention& a, const Knobs& knobs, int64_t chunks) {
  AttentionCut cut;
  const int64_t chunk_rows = ceil_div(a.rows, chunks);
  const int64_t strips = chunks * ceil_div(chunk_rows, knobs.rows);
  cut.strip_rows = ceil_div(a.rows, strips);
  cut.strips = ceil_div(a.rows, cut.strip_rows);
  cut.chunks = std::min(chunks, cut.strips);
  cut.pitch = strip_pitch(a);
  const auto panel = [&](int64_t steps, int64_t vectors) {
    return steps * ceil_div(vectors, knobs.vectors) * knobs.vectors * a.lanes;
  };
  cut.key_panel = panel(a.depth, a.key_vectors());
  cut.value_panel = panel(a.keys, a.column_vectors());
  const int64_t strip = cut.strip_rows * (cut.pitch + a.depth);
  cut.has_local_panels = (cut.key_panel + cut.value_panel + strip) * kFloatBytes <= kMostLocalBytes;
  look_at_masks(a, cut);
  return cut;
}

bool fits(const Attention& a, const AttentionCut& cut) {
  return cut.strip_rows <= kMostStripRows &&
         cut.strip_rows * (cut.pitch + a.depth) * kFloatBytes <= kMostLocalBytes;
}

}  // namespace

std::optional<Attention> find_attention(const Task& task) {
  const Region& region = task.region;
  if (region.inner == ir::kNoNode || region.pooled != ir::kNoNode || !task.has_root(Op::kMatMul) ||
      task.target.is_gpu || task.has_images()) {
    return std::nullopt;
  }
  Attention a;
  if (!find_structured(task, a)) return std::nullopt;
  a.q = task.node(a.scores).inputs[0];
  a.k = task.node(a.scores).inputs[1];
  a.v = task.node(a.product).inputs[1];
  a.logits = task.node(a.maximum).inputs[0];
  a.powers = task.node(a.sum).inputs[0];
  a.probabilities = without_rounding(task, region.inner);
  const std::vector<NodeId> floats = {a.scores, a.product, a.logits, a.powers, a.probabilities};
  const bool are_floats =
      std::all_of(floats.begin(), floats.end(), [&](NodeId id) { return is_f32(task, id); });
  const ir::Shape& full = task.type(a.logits).shape;
  const bool have_shapes =
      task.type(a.powers).shape == full && task.type(a.probabilities).shape == full &&
      task.type(a.scores).shape == task.type(task.node(a.product).inputs[0]).shape &&
      full.back() == task.type(a.scores).shape.back() && task.type(a.product).elements() > 0 &&
      task.type(a.q).elements() > 0 && task.type(a.scores).elements() > 0;
  if (!are_floats || !have_shapes || !has_form(task, a)) return std::nullopt;
  a.exponents = task.node(a.powers).inputs[0];
  a.divisor = divisor_of(task, a);
  a.moved = moved_at_the_end(task);
  measure(task, a);
  if (a.divisor != ir::kNoNode) a.seen = seen_keys(task, a);
  return a;
}

AttentionCut cut_attention(const Task& task, const Attention& attention, const Knobs& knobs) {
  AttentionCut best = cut_into(attention, knobs, 1);
  double least = chunks_cycles(task, attention, best, knobs);
  for (int64_t chunks = 2; chunks <= std::min<int64_t>(task.threads, attention.rows); ++chunks) {
    const AttentionCut cut = cut_into(attention, knobs, chunks);
    const double cycles = chunks_cycles(task, attention, cut, knobs);
    if (cycles >= least) continue;
    least = cycles;
    best = cut;
  }
  return best;
}

double attention_cycles(const Task& task, const Attention& attention, const Knobs& knobs) {
  return chunks_cycles(task, attention, cut_attention(task, attention, knobs), knobs) +
         kLaunchCycles;
}

namespace {

// Of the two products of a batch, as kernels that pack, or of few rows.
double apart_products_cycles(const Task& task, const Attention& attention) {
  const auto lanes = static_cast<int32_t>(attention.lanes);
  const auto step = [&](int64_t vectors) {
    const std::vector<Strip> rows = {{attention.rows, 1}};
    const Knobs best = rank_tiles(task.target, rows, vectors, lanes).front();
    return reduction_step_cycles(task.target, rows, vectors, best);
  };
  const double packed = static_cast<double>(attention.depth) * step(attention.key_vectors()) +
                        static_cast<double>(attention.keys) * step(attention.column_vectors()) +
                        packing_cycles(attention);
  const StreamedShape scores = streamed_shape(task, attention.rows, attention.k);
  const StreamedShape product = streamed_shape(task, attention.rows, attention.v);
  if (!scores.is_possible() || !product.is_possible()) return packed;
  return std::min(packed,
                  streamed_cycles(task.target, scores) + streamed_cycles(task.target, product));
}

}  // namespace

double apart_cycles(const Task& task, const Attention& attention) {
  const double products = apart_products_cycles(task, attention);
  const double softmax = softmax_cycles(attention, attention.rows, kApartSoftmaxCycles);
  const int64_t bytes = attention.batches * attention.rows * attention.keys * kFloatBytes;
  double traffic = 0;
  if (2 * bytes > task.target.l2_bytes) {
    const bool is_cached = 2 * bytes <= task.target.l3_bytes;
    traffic =
        static_cast<double>(4 * bytes) / (is_cached ? kOuterBytesPerCycle : kMemoryBytesPerCycle);
  }
  const double work = static_cast<double>(attention.batches) * (products + softmax) + traffic;
  return work / task.threads + 3 * kLaunchCycles;
}

AttentionRowsPlan plan_attention_rows(const Task& task, const Attention& attention) {
  AttentionRowsPlan plan;
  plan.scores = streamed_shape(task, attention.rows, attention.k);
  plan.product = streamed_shape(task, attention.rows, attention.v);
  plan.pitch = strip_pitch(attention);
  const int64_t elements = attention.rows * (attention.depth + plan.pitch + attention.columns);
  plan.is_possible = plan.scores.is_possible() && plan.product.is_possible() &&
                     elements * kFloatBytes <= kMostLocalBytes;
  if (!plan.is_possible) return plan;
  plan.cycles =
      static_cast<double>(attention.batches) *
          (streamed_cycles(task.target, plan.scores) + streamed_cycles(task.target, plan.product) +
           softmax_cycles(attention, attention.rows, kSoftmaxCycles)) +
      kLaunchCycles;
  return plan;
}

std::vector<Knobs> rank_attention(const Task& task, const Attention& attention) {
  std::vector<RatedKnobs> candidates;
  const auto lanes = static_cast<int32_t>(attention.lanes);
  const int64_t widest = std::max(attention.key_vectors(), attention.column_vectors());
  int64_t last = 0;
  for (int64_t strips = 1; strips <= attention.rows; ++strips) {
    const int64_t rows = ceil_div(attention.rows, strips);
    if (rows == last) continue;
    last = rows;
    std::vector<Knobs> ranked = rank_tiles(task.target, {{rows, 1}}, widest, lanes);
    ranked.resize(std::min<size_t>(ranked.size(), 4));
    for (Knobs& knobs : ranked) {
      knobs.rows = static_cast<int32_t>(rows);
      knobs.unroll = static_cast<int32_t>(std::min<int64_t>({attention.depth, attention.keys, 8}));
      if (!fits(attention, cut_attention(task, attention, knobs))) continue;
      candidates.push_back({attention_cycles(task, attention, knobs), knobs});
    }
  }
  return cheapest_first(candidates);
}

bool pays_to_attend(const Task& joined) {
  const std::optional<Attention> attention = find_attention(joined);
  if (!attention) return false;
  const Task alone = {joined.schedule, joined.region, joined.target, 1};
  const double apart = apart_cycles(alone, *attention);
  const AttentionRowsPlan rows = plan_attention_rows(alone, *attention);
  if (rows.is_possible && rows.cycles < apart) return true;
  const std::vector<Knobs> ranked = rank_attention(alone, *attention);
  return !ranked.empty() && attention_cycles(alone, *attention, ranked.front()) < apart;
}

}  // namespace camshaft::lower
