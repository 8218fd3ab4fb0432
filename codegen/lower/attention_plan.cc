// SPDX-License-Identifier: MIT
#include "codegen/lower/attention_plan.h"

#include <algorithm>

#include "codegen/lower/strategy_list.h"
#include "codegen/lower/tile.h"

namespace camshaft::lower {
namespace {

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
// What shares K and V reads less, which may count for more than the model says.
constexpr double kAsGood = 1.05;

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

namespace {

// Whether so many neighbouring batches read the same elements of an operand.
bool is_shared(const Task& task, const Attention& a, NodeId operand, int64_t batches) {
  Frame frame(task, "", Knobs{});
  Kernel& kernel = frame.kernel();
  Evaluator evaluator(kernel, task, frame.arrays);
  const auto variable = [&](int64_t extent) {
    return kernel.var(kernel.add_loop_var("i", 0, extent - 1));
  };
  const ir::Shape& shape = task.type(operand).shape;
  const ExprId first = kernel.mul(variable(a.batches / batches), batches);
  const ExprId row = variable(shape[shape.size() - 2]);
  const ExprId column = variable(shape.back());
  const auto element = [&](int64_t batch) {
    const ExprId number = kernel.add(first, batch);
    return evaluator.value(operand, matrix_index(kernel, a.batch_shape, number, row, column));
  };
  const ExprId of_first = element(0);
  for (int64_t batch = 1; batch < batches; ++batch) {
    if (element(batch) != of_first) return false;
  }
  return true;
}

AttentionRowsPlan plan_together(const Task& task, const Attention& a, int64_t batches) {
  AttentionRowsPlan plan;
  plan.batches = batches;
  plan.rows = batches * a.rows;
  plan.scores = streamed_shape(task, plan.rows, a.k);
  plan.product = streamed_shape(task, plan.rows, a.v);
  plan.pitch = strip_pitch(a);
  const int64_t elements = plan.rows * (a.depth + plan.pitch + a.columns);
  plan.is_possible = plan.scores.is_possible() && plan.product.is_possible() &&
                     elements * kFloatBytes <= kMostLocalBytes;
  if (!plan.is_possible) return plan;
  plan.cycles =
      static_cast<double>(a.batches / batches) *
          (streamed_cycles(task.target, plan.scores) + streamed_cycles(task.target, plan.product) +
           softmax_cycles(a, plan.rows, kSoftmaxCycles)) +
      kLaunchCycles;
  return plan;
}

}  // namespace

AttentionRowsPlan plan_attention_rows(const Task& task, const Attention& attention) {
  AttentionRowsPlan best = plan_together(task, attention, 1);
  for (int64_t batches = 2; batches * attention.rows <= kMostStreamedRows; ++batches) {
    if (!best.is_possible || attention.batches % batches != 0) continue;
    if (!is_shared(task, attention, attention.k, batches)) continue;
    if (!is_shared(task, attention, attention.v, batches)) continue;
    const AttentionRowsPlan plan = plan_together(task, attention, batches);
    if (plan.is_possible && plan.cycles <= kAsGood * best.cycles) best = plan;
  }
  return best;
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
