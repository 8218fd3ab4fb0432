// SPDX-License-Identifier: MIT
// Strategy `conv_direct`: convolution with constant weights, straight from the
// blocked input into a register tile of pixels x vectors of output channels. Weights are packed at
// compile time in the order in which the loops read them:
//   [group][vectors of output channels][input block][tap][channel in block][vector][lane]
// so the inner loop streams them. Of bf16, two channels at a time are read, and packed, as a word,
// of bytes four (pairs.h). No padding is stored and no bound is tested in it: see window.h.
#include <algorithm>

#include "codegen/lower/channel_runs.h"
#include "codegen/lower/frame.h"
#include "codegen/lower/pairs.h"
#include "codegen/lower/strategy_list.h"
#include "codegen/lower/tile.h"
#include "codegen/lower/tile_store.h"
#include "codegen/lower/weights.h"
#include "codegen/lower/window.h"

namespace camshaft::lower {
namespace {

using ir::DType;
using ir::KOp;
using ir::LoopKind;
using ir::Op;

constexpr int64_t kStripPixels = 96;  // at most, of a pointwise convolution
constexpr int64_t kShortRow = 16;     // pixels
constexpr int64_t kChannelsAFetch = 8;
constexpr int64_t kRunUnroll = 2;  // channels of an input that lies in runs, which may be short

struct Conv {
  NodeId node, x, w;
  Window window;
  int64_t groups;
  int64_t in_channels;   // of a group
  int64_t out_channels;  // of a group
  int64_t in_block;      // channels that lie together in the input
  int64_t lanes;
  int64_t vectors;                 // of output channels in a group
  int64_t element_bytes;           // of input and weights
  int64_t step = 1;                // channels that are read at once, as a word
  std::vector<int64_t> runs = {};  // of channels, of an input that has no memory of its own

  bool reads_pairs() const { return step == 2; }
  bool reads_quads() const { return step == 4; }
  int64_t taps() const { return in_channels * window.taps(); }
};

// Pixels of a strip of a pointwise convolution: its input stays in the second level of the caches
// while all output channels are computed. All strips have about the same size.
int64_t strip_pixels(const CpuTarget& target, int64_t pixels, int64_t pixel_bytes) {
  const int64_t fitting = target.l2_bytes / 2 / pixel_bytes;
  const int64_t most = std::clamp<int64_t>(fitting, 16, kStripPixels);
  const int64_t strips = (pixels + most - 1) / most;
  return (pixels + strips - 1) / strips;
}

Conv make_conv(const Task& task, int32_t lanes) {
  Conv conv;
  conv.node = task.region.root;
  const ir::Node& node = task.node(conv.node);
  const auto& attrs = node.as<ir::ConvAttrs>();
  conv.x = node.inputs[0];
  conv.w = node.inputs[1];
  const ir::Shape& w = task.type(conv.w).shape;
  conv.window = window_of(task);
  // Of a long row the strided pixels have one address and a step; of short ones whole tiles count.
  conv.window.flat =
      conv.window.is_pointwise() && (conv.window.is_dense() || conv.window.last.out <= kShortRow);
  conv.groups = attrs.groups;
  conv.in_channels = w[1];
  conv.element_bytes = base::dtype_size_bytes(task.type(conv.x).dtype);
  conv.window.strip =
      strip_pixels(task.target, conv.window.pixels(), conv.in_channels * conv.element_bytes);
  conv.out_channels = w[0] / attrs.groups;
  conv.runs = channel_runs(task);
  const int64_t block = conv.runs.empty() ? task.schedule.buffer(conv.x).layout.channel_block : 1;
  conv.in_block = conv.in_channels % block == 0 ? block : 1;
  if (task.type(conv.x).dtype == DType::kBFloat16 && conv.in_block % 2 == 0) conv.step = 2;
  if (task.type(conv.x).dtype == DType::kUInt8 && conv.in_block % 4 == 0) conv.step = 4;
  conv.lanes = lanes;
  conv.vectors = (conv.out_channels + lanes - 1) / lanes;
  return conv;
}

// Position of a weight vector in the packed array (of elements, or of pairs), all in vectors' first
// lanes: constant parts in numbers, variable parts in expressions. `width` is the vectors of this
// set of output channels.
struct Packing {
  const Conv& conv;
  int64_t per_set(int64_t width) const { return conv.taps() / conv.step * width * conv.lanes; }
  int64_t group_size() const { return per_set(conv.vectors); }
};

void pack_weights(const Conv& conv, int64_t set_vectors, WeightPacker& packer) {
  const Window& window = conv.window;
  for (int64_t g = 0; g < conv.groups; ++g) {
    for (int64_t first = 0; first < conv.vectors; first += set_vectors) {
      const int64_t width = std::min(set_vectors, conv.vectors - first);
      for (int64_t c0 = 0; c0 < conv.in_channels; c0 += conv.in_block) {
        for (int64_t tap = 0; tap < window.taps(); ++tap) {
          for (int64_t c = c0; c < c0 + conv.in_block; c += conv.step) {
            for (int64_t i = 0; i < width * conv.lanes * conv.step; ++i) {
              const int64_t o = first * conv.lanes + i / conv.step;
              const int64_t row =
                  (g * conv.out_channels + o) * conv.in_channels + c + i % conv.step;
              o < conv.out_channels ? packer.put(row * window.taps() + tap) : packer.skip();
            }
          }
        }
      }
    }
  }
}

class Emitter {
 public:
  Emitter(const Task& task, const Knobs& knobs)
      : task_(task),
        knobs_(knobs),
        conv_(make_conv(task, knobs.lanes)),
        frame_(task, "conv_direct", knobs, {conv_.w}),
        kernel_(frame_.kernel()),
        evaluator_(kernel_, task, frame_.arrays) {
    weights_ = PackedWeights(
        frame_, "w", conv_.w, weight_count() * conv_.step,
        [&](WeightPacker& packer) { pack_weights(conv_, knobs.vectors, packer); }, conv_.step);
    if (conv_.step > 1) words_ = frame_.add_words(conv_.x);
    acc_ = kernel_.add_local("acc", dtype(), knobs.pixels * knobs.vectors * knobs.lanes);
  }

  LoweredKernel emit() {
    const int64_t batch = task_.type(conv_.x).shape[0];
    const int64_t sets = (conv_.vectors + knobs_.vectors - 1) / knobs_.vectors;
    const int64_t rows = conv_.window.rows();
    rows_outside_ = has_rows_outside(sets, rows);
    set_thread_loop(kernel_, batch * conv_.groups * sets * rows, [&](ExprId t) {
      const int64_t inner = rows_outside_ ? sets : rows;
      ExprId fast = kernel_.mod(t, inner);
      ExprId rest = kernel_.div(t, inner);
      const int64_t outer = rows_outside_ ? rows : sets;
      ExprId slow = kernel_.mod(rest, outer);
      rest = kernel_.div(rest, outer);
      const ExprId set = rows_outside_ ? fast : slow;
      const ExprId row = rows_outside_ ? slow : fast;
      group_ = kernel_.mod(rest, conv_.groups);
      n_ = kernel_.div(rest, conv_.groups);
      return sets_body(set, row, sets);
    });
    return std::move(frame_.lowered);
  }

 private:
  DType dtype() const { return task_.type(conv_.node).dtype; }
  int64_t weight_count() const { return conv_.groups * Packing{conv_}.group_size(); }
  int64_t weight_bytes() const {
    return weights_.in_memory() ? weight_count() * weights_.element_bytes() : 0;
  }
  int64_t line() const { return line_elements(task_.type(conv_.x).dtype); }  // of the caches

  // Which of the two loops, over rows and over sets of output channels, is the outer one: the inner
  // one's operand passes once for each step of the outer one, unless it stays in the caches.
  bool has_rows_outside(int64_t sets, int64_t rows) const {
    const int64_t cached = task_.target.l2_bytes / 2;
    const int64_t x_bytes = task_.type(conv_.x).size_bytes();
    const int64_t weight_passes = weight_bytes() <= cached ? 1 : rows;
    const int64_t x_passes = x_bytes <= cached ? 1 : sets;
    if (weight_bytes() <= cached) return true;
    return weight_bytes() * weight_passes < x_bytes * x_passes;
  }

  // All sets of output channels have knobs_.vectors vectors, but perhaps the last. A partly filled
  // last vector is stored apart, so the last set's number is a constant then too.
  std::vector<Stmt> sets_body(ExprId set, ExprId row, int64_t sets) {
    int64_t rest = conv_.vectors % knobs_.vectors;
    const bool partial = conv_.out_channels % conv_.lanes != 0;
    if (rest == 0 && !partial) return row_body(set, row, knobs_.vectors);
    if (rest == 0) rest = knobs_.vectors;
    if (sets == 1) return row_body(kernel_.int_const(0), row, rest);
    const ExprId last = kernel_.int_const(sets - 1);
    std::vector<Stmt> body;
    body.push_back(
        ir::make_if(kernel_.binary(KOp::kLt, set, last), row_body(set, row, knobs_.vectors)));
    body.push_back(ir::make_if(kernel_.binary(KOp::kEq, set, last),
                               row_body(kernel_.int_const(sets - 1), row, rest)));
    return body;
  }

  std::vector<Stmt> row_body(ExprId set, ExprId row, int64_t vectors) {
    return for_each_tile(kernel_, conv_.window, row, knobs_.pixels, [&](const Tile& tile) {
      TileAccumulators acc(kernel_, acc_, tile.pixels, vectors, conv_.lanes);
      std::vector<Stmt> body = acc.clear();
      append(body, accumulate(acc, tile, set, row));
      append(body, store(acc, tile, set, row));
      return body;
    });
  }

  std::vector<Stmt> accumulate(TileAccumulators& acc, const Tile& tile, ExprId set, ExprId row) {
    const int64_t blocks = conv_.in_channels / conv_.in_block;
    const Packing packing{conv_};
    const ExprId base = kernel_.add(kernel_.mul(group_, packing.group_size()),
                                    kernel_.mul(set, packing.per_set(knobs_.vectors)));
    if (!conv_.runs.empty()) return accumulate_runs(acc, tile, base, row);
    return loop(kernel_, "cb", blocks, LoopKind::kSerial, [&](ExprId block) {
      std::vector<Stmt> body = prefetch_weights(acc, tile, base, row, block, blocks);
      append(body, prefetch_pixels(tile, row, block));
      append(body, for_each_tap_row(kernel_, conv_.window, row, [&](ExprId tap_row) {
               const ExprId rows_before =
                   kernel_.add(kernel_.mul(block, conv_.window.tap_rows()), tap_row);
               const ExprId first_tap = kernel_.mul(rows_before, conv_.window.last.kernel);
               const auto one_tap = [&](ExprId tap, int64_t unroll) {
                 return tap_body(acc, tile,
                                 {base, block, kernel_.add(first_tap, tap), row, tap_row, tap},
                                 unroll);
               };
               // Inner tiles loop over the taps: unrolled, LLVM would keep inputs that neighbouring
               // taps share in registers that the tile needs, and spill. Edge tiles leave taps out,
               // so they can't; there a loop over channels keeps the taps apart.
               if (conv_.window.is_inner(tile.sample, tile.pixels)) {
                 return loop(kernel_, "kw", conv_.window.last.kernel, LoopKind::kSerial,
                             [&](ExprId tap) { return one_tap(tap, knobs_.unroll); });
               }
               std::vector<Stmt> body;
               for (int64_t tap = 0; tap < conv_.window.last.kernel; ++tap) {
                 append(body, one_tap(kernel_.int_const(tap), knobs_.unroll / 2));
               }
               return body;
             }));
      return body;
    });
  }

  // Each loop stays within a run of channels, so that it reads one leaf. What is left of a run is a
  // loop, too: in longer code without loops LLVM would move loads up, and spill.
  std::vector<Stmt> accumulate_runs(TileAccumulators& acc, const Tile& tile, ExprId base,
                                    ExprId row) {
    const int64_t most = fetches_weights() ? kChannelsAFetch : kRunUnroll;
    const int64_t unroll = std::clamp<int64_t>(knobs_.unroll, 1, most);
    int64_t turns = 0;
    for (const int64_t run : conv_.runs) turns += run / unroll;
    std::vector<Stmt> body;
    int64_t first = 0;
    int64_t turns_before = 0;
    for (const int64_t run : conv_.runs) {
      append(body, loop(kernel_, "c", run / unroll, LoopKind::kSerial, [&](ExprId turn) {
               std::vector<Stmt> inside =
                   prefetch_weights(acc, tile, base, row, kernel_.add(turn, turns_before), turns);
               const ExprId begin = kernel_.add(kernel_.mul(turn, unroll), first);
               append(inside, channels_body(acc, tile, base, row, begin, unroll));
               return inside;
             }));
      const int64_t rest = run % unroll;
      first += run;
      turns_before += run / unroll;
      append(body, loop(kernel_, "c", rest, LoopKind::kSerial, [&](ExprId c) {
               return channels_body(acc, tile, base, row, kernel_.add(c, first - rest), 1);
             }));
    }
    return body;
  }

  std::vector<Stmt> channels_body(TileAccumulators& acc, const Tile& tile, ExprId base, ExprId row,
                                  ExprId begin, int64_t count) {
    const ExprId zero = kernel_.int_const(0);
    std::vector<Stmt> body;
    for (int64_t u = 0; u < count; ++u) {
      const ExprId c = kernel_.add(begin, u);
      const ExprId weights = kernel_.add(base, kernel_.mul(c, acc.vectors() * conv_.lanes));
      append(body, step_body(acc, tile, weights, c, {base, zero, zero, row, zero, zero}));
    }
    return body;
  }

  bool fetches_weights() const { return weight_bytes() > task_.target.l2_bytes / 2; }

  // Weights that don't stay in the caches are fetched one set ahead: evenly, some lines for each of
  // the `turns` through the input's channels, such as blocks of them.
  std::vector<Stmt> prefetch_weights(const TileAccumulators& acc, const Tile& tile, ExprId base,
                                     ExprId row, ExprId turn, int64_t turns) {
    if (!fetches_weights()) return {};
    const Strip strip = conv_.window.strips().front();
    const int64_t tiles = (strip.rows + knobs_.pixels - 1) / knobs_.pixels;
    const int64_t steps = tiles * turns * (rows_outside_ ? 1 : conv_.window.rows());
    const int64_t set = Packing{conv_}.per_set(acc.vectors());
    const int64_t weights_in_line = line() / conv_.step;
    const int64_t lines = (set / weights_in_line + steps - 1) / steps;
    ExprId number = tile.number;
    if (!rows_outside_) number = kernel_.add(kernel_.mul(row, tiles), number);
    const ExprId step = kernel_.add(kernel_.mul(number, turns), turn);
    const ExprId first =
        kernel_.add(kernel_.add(base, set), kernel_.mul(step, lines * weights_in_line));
    return weights_.prefetch(kernel_, first, lines);
  }

  // Of a pointwise convolution of stride 1: the next tile's pixels, which are far apart from one
  // block of channels to the next.
  std::vector<Stmt> prefetch_pixels(const Tile& tile, ExprId row, ExprId block) {
    const Window& window = conv_.window;
    if (!window.flat || !window.is_dense() || conv_.in_block == 1) return {};
    const ExprId first = kernel_.binary(KOp::kMin, kernel_.add(tile.first, tile.pixels),
                                        kernel_.int_const(window.pixels() - tile.pixels));
    std::vector<Stmt> body;
    for (int64_t p = 0; p < tile.pixels; p += std::max<int64_t>(line() / conv_.in_block, 1)) {
      const ExprId next = kernel_.add(first, p);
      const ExprId c =
          kernel_.add(kernel_.mul(group_, conv_.in_channels), kernel_.mul(block, conv_.in_block));
      const ExprId zero = kernel_.int_const(0);
      const Index index = input_index(kernel_, window, n_, c, row, next, zero, zero);
      body.push_back(ir::make_prefetch(
          frame_.arrays.at(conv_.x), layout_offset(kernel_, task_.type(conv_.x).shape,
                                                   task_.schedule.buffer(conv_.x).layout, index)));
    }
    return body;
  }

  // Where the reduction loops stand.
  struct Place {
    ExprId weights;  // of this set of output channels
    ExprId block;    // of input channels
    ExprId taps;     // taps before this one, in this and earlier blocks
    ExprId row, tap_row, tap;
  };

  std::vector<Stmt> tap_body(TileAccumulators& acc, const Tile& tile, const Place& place,
                             int64_t unroll) {
    const int64_t steps = conv_.in_block / conv_.step;
    unroll = std::min(unroll / conv_.step, steps);
    if (unroll < 1 || steps % unroll != 0) unroll = 1;
    return loop(kernel_, "c", steps / unroll, LoopKind::kSerial, [&](ExprId turn) {
      std::vector<Stmt> inside;
      for (int64_t u = 0; u < unroll; ++u) {
        const ExprId step = kernel_.add(kernel_.mul(turn, unroll), u);
        const ExprId at = kernel_.mul(kernel_.add(kernel_.mul(place.taps, steps), step),
                                      acc.vectors() * conv_.lanes);
        const ExprId c =
            kernel_.add(kernel_.mul(place.block, conv_.in_block), kernel_.mul(step, conv_.step));
        append(inside, step_body(acc, tile, kernel_.add(place.weights, at), c, place));
      }
      return inside;
    });
  }

  // One reduction step: input channel `c` of the group, or the pair that it begins, at one tap.
  std::vector<Stmt> step_body(TileAccumulators& acc, const Tile& tile, ExprId weights, ExprId c,
                              const Place& place) {
    const ExprId channel = kernel_.add(kernel_.mul(group_, conv_.in_channels), c);
    std::vector<std::vector<Stmt>> products;
    for (int64_t p = 0; p < tile.pixels; ++p) {
      int64_t tap = 0;
      if (kernel_.is_int_const(place.tap, &tap) &&
          !conv_.window.column_inside(tile.sample + p, tap)) {
        continue;
      }
      const Index index = input_index(kernel_, conv_.window, n_, channel, place.row,
                                      kernel_.add(tile.first, p), place.tap_row, place.tap);
      std::vector<Stmt>& row = products.emplace_back();
      const Pair xs = conv_.reads_pairs() ? pair_of(index, row) : Pair{};
      const ExprId quad = conv_.reads_quads() ? word_of(index) : ir::kNoExpr;
      std::vector<Stmt> seconds;
      for (int64_t v = 0; v < acc.vectors(); ++v) {
        const ExprId w = kernel_.add(weights, v * conv_.lanes);
        if (conv_.reads_quads()) {
          row.push_back(acc.add_dot(p, v, quad, weights_.vector_of_words(kernel_, w, conv_.lanes)));
          continue;
        }
        if (!conv_.reads_pairs()) {
          row.push_back(multiply_add(acc, p, v, index, weights_.vector(kernel_, w, conv_.lanes)));
          continue;
        }
        const Pair ws = weights_.vector_of_pairs(kernel_, w, conv_.lanes);
        row.push_back(acc.multiply_add_vectors(p, v, xs.first, ws.first));
        seconds.push_back(acc.multiply_add_vectors(p, v, xs.second, ws.second));
      }
      append(row, std::move(seconds));
    }
    return in_register_order(std::move(products));
  }

  // acc[pixel][vector] += the input at `index` times w. A byte is a word of which one counts, where
  // that makes the product one instruction.
  Stmt multiply_add(TileAccumulators& acc, int64_t pixel, int64_t vector, const Index& index,
                    ExprId w) {
    const ExprId x = kernel_.cast(evaluator_.value(conv_.x, index), dtype());
    if (!has_byte_dots()) return acc.multiply_add(pixel, vector, x, w);
    const ExprId low_byte = kernel_.splat(0xff, kernel_.expr(w).type);
    return acc.add_dot(pixel, vector, x, kernel_.binary(KOp::kAnd, w, low_byte));
  }

  bool has_byte_dots() const {
    return task_.type(conv_.x).dtype == DType::kUInt8 && dtype() == DType::kInt32 &&
           is_one_instruction(task_.target, static_cast<int32_t>(conv_.lanes));
  }

  // The input's channels from index[1] on.
  ExprId word_of(const Index& index) {
    const ExprId offset = layout_offset(kernel_, task_.type(conv_.x).shape,
                                        task_.schedule.buffer(conv_.x).layout, index);
    return kernel_.load(words_, kernel_.div(offset, conv_.step));
  }
  Pair pair_of(const Index& index, std::vector<Stmt>& body) {
    return broadcast_pair(kernel_, word_of(index), conv_.lanes, body);
  }

  std::vector<Stmt> store(TileAccumulators& acc, const Tile& tile, ExprId set, ExprId row) {
    // Only the very last vector of a group can be partly empty, and then its set is constant.
    const auto used_lanes = [&](int64_t vector) {
      int64_t set_number = 0;
      if (!kernel_.is_int_const(set, &set_number)) return conv_.lanes;
      const int64_t first = (set_number * knobs_.vectors + vector) * conv_.lanes;
      return std::min(conv_.lanes, conv_.out_channels - first);
    };
    return store_tile(
        frame_, evaluator_, acc, used_lanes, along_of(task_, conv_.lanes, conv_.window.pixels()),
        [&](ExprId pixel, int64_t vector, ExprId lane) {
          const ExprId number = kernel_.add(kernel_.mul(set, knobs_.vectors), vector);
          const ExprId in_group = kernel_.add(kernel_.mul(number, conv_.lanes), lane);
          const ExprId c = kernel_.add(kernel_.mul(group_, conv_.out_channels), in_group);
          return output_index(kernel_, conv_.window, n_, c, row, kernel_.add(tile.first, pixel));
        });
  }

  const Task& task_;
  Knobs knobs_;
  Conv conv_;
  Frame frame_;
  Kernel& kernel_;
  Evaluator evaluator_;
  PackedWeights weights_;
  ir::ArrayId words_ = -1;  // of the input, where it is read so
  ir::ArrayId acc_ = -1;
  bool rows_outside_ = true;
  ExprId group_ = ir::kNoExpr;
  ExprId n_ = ir::kNoExpr;
};

}  // namespace

bool matches_conv_direct(const Task& task) {
  if (!task.has_root(Op::kConv) || task.has_images()) return false;
  if (task.region.pooled != ir::kNoNode) return false;
  const ir::Node& node = task.node(task.region.root);
  if (!has_tiles(node.type.dtype)) return false;
  if (node.type.elements() == 0 || task.type(node.inputs[1]).elements() == 0) return false;
  const bool is_readable = task.has_buffer(node.inputs[0]) || !channel_runs(task).empty();
  return is_readable && are_known(task, node.inputs[1]);
}

std::vector<Knobs> knobs_conv_direct(const Task& task) {
  const ir::Shape& w = task.type(task.node(task.region.root).inputs[1]).shape;
  const int64_t groups = task.node(task.region.root).as<ir::ConvAttrs>().groups;
  const Conv conv = make_conv(task, output_lanes(task, w[0] / groups));
  std::vector<Knobs> ranked =
      rank_tiles(task.target, conv.window.strips(), conv.vectors, static_cast<int32_t>(conv.lanes));
  std::erase_if(ranked, [&](const Knobs& knobs) {
    return (conv.reads_pairs() && !pairs_fit(task.target, knobs)) ||
           (conv.reads_quads() && !quads_fit(task.target, knobs));
  });
  return ranked;
}

LoweredKernel emit_conv_direct(const Task& task, const Knobs& knobs) {
  return Emitter(task, knobs).emit();
}

}  // namespace camshaft::lower
