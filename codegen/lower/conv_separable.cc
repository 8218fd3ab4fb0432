// SPDX-License-Identifier: MIT
// Strategy `conv_separable`: a pointwise convolution and what it reads, in one kernel
// (separable_plan.h). For each strip of rows:
//   inner:    x -> strip [block of channels][pixel][channel in block], a local array: a depthwise
//             convolution with its epilogue, or elementwise nodes
//   products: strip -> outputs, by register tiles, with the region's epilogue
// The tensor between the two has no memory but the strip, which stays in the caches. Weights of the
// products are packed in the order in which they are read:
//   [vectors of output channels][channel][vector][lane]
// All sums are taken in the order in which two kernels would, so results are equal bit by bit.
#include <algorithm>
#include <optional>
#include <set>

#include "codegen/lower/channel_window.h"
#include "codegen/lower/frame.h"
#include "codegen/lower/separable_plan.h"
#include "codegen/lower/strategy_list.h"
#include "codegen/lower/tile.h"
#include "codegen/lower/tile_store.h"
#include "codegen/lower/weights.h"

namespace camshaft::lower {
namespace {

using ir::DType;
using ir::KOp;
using ir::LoopKind;

std::set<NodeId> packed_leaves(const Task& task, const SeparableConv& conv) {
  if (conv.depthwise == ir::kNoNode) return {conv.w};
  return {conv.w, task.node(conv.depthwise).inputs[1]};
}

class Emitter {
 public:
  Emitter(const Task& task, const Knobs& knobs)
      : task_(task),
        knobs_(knobs),
        conv_(*find_separable_conv(task)),
        cut_(cut_separable(task, conv_, knobs)),
        pixels_(knobs.rows * conv_.columns),
        frame_(task, "conv_separable", knobs, packed_leaves(task, conv_)),
        kernel_(frame_.kernel()),
        evaluator_(kernel_, task, frame_.arrays) {
    output_.flat = true;
    const Window window = window_of(task);
    output_.outer = window.outer;
    output_.last = window.last;
    if (conv_.depthwise != ir::kNoNode) {
      window_.emplace(frame_, evaluator_, conv_.depthwise,
                      channel_window_knobs(task.target, conv_.block, conv_.columns).front());
    }
    if (window_) window_->channels_are_next();
    weights_ = PackedWeights(frame_, "v", conv_.w, weight_count(),
                             [&](WeightPacker& packer) { pack(packer); });
    if (window_) window_->add_sums();
    strip_ = kernel_.add_local("strip", DType::kFloat32, conv_.channels * pixels_);
    sums_ = kernel_.add_local("sums", DType::kFloat32,
                              static_cast<int64_t>(knobs.pixels) * knobs.vectors * conv_.lanes);
  }

  LoweredKernel emit() {
    const int64_t strips = conv_.batch * cut_.strips;
    set_thread_loop(kernel_, cut_.groups * strips, [&](ExprId t) {
      const ExprId number = kernel_.mod(t, strips);
      group_ = kernel_.div(t, strips);
      n_ = kernel_.div(number, cut_.strips);
      const ExprId strip = kernel_.mod(number, cut_.strips);
      const int64_t rest = conv_.rows - (cut_.strips - 1) * knobs_.rows;
      if (rest == knobs_.rows) return strip_body(strip, rest);
      const ExprId last = kernel_.int_const(cut_.strips - 1);
      if (cut_.strips == 1) return strip_body(last, rest);
      return std::vector<Stmt>{
          ir::make_if(kernel_.binary(KOp::kLt, strip, last), strip_body(strip, knobs_.rows)),
          ir::make_if(kernel_.binary(KOp::kEq, strip, last), strip_body(last, rest))};
    });
    return std::move(frame_.lowered);
  }

 private:
  int64_t set_size(int64_t vectors) const { return conv_.channels * vectors * conv_.lanes; }
  int64_t weight_count() const { return set_size(conv_.out_vectors()); }

  void pack(WeightPacker& packer) const {
    for (int64_t first = 0; first < conv_.out_vectors(); first += knobs_.vectors) {
      const int64_t width = std::min<int64_t>(knobs_.vectors, conv_.out_vectors() - first);
      for (int64_t c = 0; c < conv_.channels; ++c) {
        for (int64_t i = 0; i < width * conv_.lanes; ++i) {
          const int64_t o = first * conv_.lanes + i;
          o < conv_.out_channels ? packer.put(o * conv_.channels + c) : packer.skip();
        }
      }
    }
  }

  std::vector<Stmt> strip_body(ExprId strip, int64_t rows) {
    first_row_ = kernel_.mul(strip, knobs_.rows);
    std::vector<Stmt> body = window_ ? depthwise(rows) : elementwise(rows);
    append(body, products(rows * conv_.columns));
    return body;
  }

  // Where channel `c` of pixel `pixel` of the strip lies in it.
  ExprId place(ExprId c, ExprId pixel) {
    const ExprId block = kernel_.div(c, conv_.block);
    const ExprId at = kernel_.add(kernel_.mul(block, pixels_), pixel);
    return kernel_.add(kernel_.mul(at, conv_.block), kernel_.mod(c, conv_.block));
  }

  std::vector<Stmt> blocks_and_rows(int64_t rows,
                                    const std::function<std::vector<Stmt>(ExprId, ExprId)>& body) {
    return loop(kernel_, "cb", conv_.channels / conv_.block, LoopKind::kSerial, [&](ExprId block) {
      const ExprId c = kernel_.mul(block, conv_.block);
      return loop(kernel_, "r", rows, LoopKind::kSerial, [&](ExprId row) { return body(c, row); });
    });
  }

  std::vector<Stmt> depthwise(int64_t rows) {
    return blocks_and_rows(rows, [&](ExprId c, ExprId row) {
      const ExprId before = kernel_.mul(row, conv_.columns);
      const ChannelWindow::Sink sink = {
          conv_.inner, [&](const Index& index, ExprId value) {
            const ExprId at = place(index[1], kernel_.add(before, index.back()));
            return std::vector<Stmt>{ir::make_store(strip_, at, value)};
          }};
      return window_->row(n_, c, kernel_.add(first_row_, row), sink);
    });
  }

  std::vector<Stmt> elementwise(int64_t rows) {
    return blocks_and_rows(rows, [&](ExprId c, ExprId row) {
      const ExprId first = kernel_.mul(kernel_.add(first_row_, row), conv_.columns);
      return loop(kernel_, "x", conv_.columns, LoopKind::kSerial, [&](ExprId x) {
        return loop(kernel_, "lane", conv_.block, LoopKind::kVector, [&](ExprId lane) {
          const ExprId channel = kernel_.add(c, lane);
          const ExprId value =
              evaluator_.value(conv_.inner, index_of(channel, kernel_.add(first, x)));
          const ExprId pixel = kernel_.add(kernel_.mul(row, conv_.columns), x);
          return std::vector<Stmt>{ir::make_store(strip_, place(channel, pixel), value)};
        });
      });
    });
  }

  // Of a pixel of the image. `inner` and the output have the same ones.
  Index index_of(ExprId channel, ExprId pixel) {
    return output_index(kernel_, output_, n_, channel, kernel_.int_const(0), pixel);
  }

  // All sets of output vectors of this group have knobs_.vectors vectors, but perhaps the last. A
  // partly filled last vector is stored apart, so the last set's number is a constant then too.
  std::vector<Stmt> products(int64_t pixels) {
    const int64_t rest = conv_.out_vectors() % knobs_.vectors;
    const bool partial = conv_.out_channels % conv_.lanes != 0;
    const bool is_last_apart = rest > 0 || partial;
    const int64_t last_width = rest > 0 ? rest : knobs_.vectors;
    if (cut_.sets == 1) return set_body(kernel_.int_const(0), last_width, pixels);
    return loop(kernel_, "set", cut_.sets_per_group(), LoopKind::kSerial, [&](ExprId at) {
      const ExprId set = kernel_.add(kernel_.mul(group_, cut_.sets_per_group()), at);
      if (!is_last_apart) return set_body(set, knobs_.vectors, pixels);
      const ExprId last = kernel_.int_const(cut_.sets - 1);
      return std::vector<Stmt>{
          ir::make_if(kernel_.binary(KOp::kLt, set, last), set_body(set, knobs_.vectors, pixels)),
          ir::make_if(kernel_.binary(KOp::kEq, set, last), set_body(last, last_width, pixels))};
    });
  }

  std::vector<Stmt> set_body(ExprId set, int64_t vectors, int64_t pixels) {
    std::vector<Stmt> body;
    int64_t first = 0;
    int64_t tiles = 0;
    for (const TileRun& run : split_evenly(pixels, knobs_.pixels)) {
      append(body, loop(kernel_, "tile", run.count, LoopKind::kSerial, [&](ExprId at) {
               const ExprId pixel = kernel_.add(kernel_.mul(at, run.rows), first);
               TileAccumulators acc(kernel_, sums_, run.rows, vectors, conv_.lanes);
               std::vector<Stmt> inside = acc.clear();
               append(inside, accumulate(acc, set, pixel, kernel_.add(at, tiles)));
               append(inside, store(acc, set, pixel));
               return inside;
             }));
      first += run.count * run.rows;
      tiles += run.count;
    }
    return body;
  }

  std::vector<Stmt> accumulate(TileAccumulators& acc, ExprId set, ExprId pixel, ExprId tile) {
    const ExprId weights = kernel_.mul(set, set_size(knobs_.vectors));
    const int64_t unroll = std::min<int64_t>(knobs_.unroll, conv_.block);
    return loop(kernel_, "cb", conv_.channels / conv_.block, LoopKind::kSerial, [&](ExprId block) {
      std::vector<Stmt> body = prefetch_weights(acc, weights, tile, block);
      append(body, prefetch_leaves(set, tile, block));
      append(body, loop(kernel_, "c", conv_.block / unroll, LoopKind::kSerial, [&](ExprId turn) {
               std::vector<Stmt> inside;
               for (int64_t u = 0; u < unroll; ++u) {
                 const ExprId in_block = kernel_.add(kernel_.mul(turn, unroll), u);
                 const ExprId c = kernel_.add(kernel_.mul(block, conv_.block), in_block);
                 append(inside, step(acc, weights, c, pixel));
               }
               return inside;
             }));
      return body;
    });
  }

  std::vector<Stmt> step(TileAccumulators& acc, ExprId weights, ExprId c, ExprId pixel) {
    const ExprId at = kernel_.add(weights, kernel_.mul(c, acc.vectors() * conv_.lanes));
    std::vector<std::vector<Stmt>> products;
    for (int64_t p = 0; p < acc.pixels(); ++p) {
      const ExprId x = kernel_.load(strip_, place(c, kernel_.add(pixel, p)));
      std::vector<Stmt>& row = products.emplace_back();
      for (int64_t v = 0; v < acc.vectors(); ++v) {
        const ExprId w = weights_.vector(kernel_, kernel_.add(at, v * conv_.lanes), conv_.lanes);
        row.push_back(acc.multiply_add(p, v, x, w));
      }
    }
    return in_register_order(std::move(products));
  }

  // Weights that don't stay in the caches are fetched one set ahead: evenly, some lines for each
  // block of channels of each tile.
  std::vector<Stmt> prefetch_weights(const TileAccumulators& acc, ExprId weights, ExprId tile,
                                     ExprId block) {
    const bool are_cached = !weights_.in_memory() ||
                            weight_count() * weights_.element_bytes() <= task_.target.l2_bytes / 2;
    if (are_cached) return {};
    const int64_t blocks = conv_.channels / conv_.block;
    const int64_t steps = (pixels_ + knobs_.pixels - 1) / knobs_.pixels * blocks;
    const int64_t line = line_elements(DType::kFloat32);
    const int64_t lines = (set_size(acc.vectors()) / line + steps - 1) / steps;
    const ExprId number = kernel_.add(kernel_.mul(tile, blocks), block);
    const ExprId first = kernel_.add(kernel_.add(weights, set_size(acc.vectors())),
                                     kernel_.mul(number, lines * line));
    return weights_.prefetch(kernel_, first, lines);
  }

  // While products are computed, memory is idle: what the next strip's elementwise nodes read is
  // fetched, evenly, some lines of a block of channels for each tile that reads that block.
  std::vector<Stmt> prefetch_leaves(ExprId set, ExprId tile, ExprId block) {
    if (window_ || cut_.strips == 1) return {};
    const int64_t tiles = (pixels_ + knobs_.pixels - 1) / knobs_.pixels;
    const ExprId in_group = kernel_.sub(set, kernel_.mul(group_, cut_.sets_per_group()));
    const ExprId part = kernel_.add(kernel_.mul(in_group, tiles), tile);
    const ExprId next = kernel_.mul(kernel_.add(first_row_, knobs_.rows), conv_.columns);
    const Index index = index_of(kernel_.mul(block, conv_.block), next);
    std::vector<Stmt> body;
    for (const NodeId leaf : conv_.full_leaves) {
      const ir::TensorType& x = task_.type(leaf);
      if (x.size_bytes() <= task_.target.l2_bytes / 2) continue;
      const int64_t line = line_elements(x.dtype);
      const int64_t parts = cut_.sets_per_group() * tiles;
      const int64_t lines = (pixels_ * conv_.block / line + parts - 1) / parts;
      const ExprId first =
          layout_offset(kernel_, x.shape, task_.schedule.buffer(leaf).layout, index);
      append(body, prefetch_lines(kernel_, frame_.arrays.at(leaf),
                                  kernel_.add(first, kernel_.mul(part, lines * line)), lines));
    }
    return body;
  }

  std::vector<Stmt> store(TileAccumulators& acc, ExprId set, ExprId pixel) {
    const auto used_lanes = [&](int64_t vector) -> int64_t {
      int64_t number = 0;
      if (!kernel_.is_int_const(set, &number)) return conv_.lanes;
      const int64_t first = (number * knobs_.vectors + vector) * conv_.lanes;
      return std::min<int64_t>(conv_.lanes, conv_.out_channels - first);
    };
    const ExprId first = kernel_.add(kernel_.mul(first_row_, conv_.columns), pixel);
    const Along along = along_of(task_, conv_.lanes, conv_.rows * conv_.columns);
    return store_tile(frame_, evaluator_, acc, used_lanes, along,
                      [&](ExprId p, int64_t vector, ExprId lane) {
                        const ExprId number = kernel_.add(kernel_.mul(set, knobs_.vectors), vector);
                        const ExprId c = kernel_.add(kernel_.mul(number, conv_.lanes), lane);
                        return index_of(c, kernel_.add(first, p));
                      });
  }

  const Task& task_;
  Knobs knobs_;
  SeparableConv conv_;
  SeparableCut cut_;
  int64_t pixels_;  // of a whole strip
  Frame frame_;
  Kernel& kernel_;
  Evaluator evaluator_;
  Window output_;  // of the region: all pixels of an image in one row
  std::optional<DepthwiseWindow> window_;
  PackedWeights weights_;
  ir::ArrayId strip_ = -1, sums_ = -1;
  ExprId n_ = ir::kNoExpr, group_ = ir::kNoExpr, first_row_ = ir::kNoExpr;
};

}  // namespace

bool matches_conv_separable(const Task& task) {
  const std::optional<SeparableConv> conv = find_separable_conv(task);
  return conv && !rank_separable(task, *conv).empty();
}

std::vector<Knobs> knobs_conv_separable(const Task& task) {
  return rank_separable(task, *find_separable_conv(task));
}

LoweredKernel emit_conv_separable(const Task& task, const Knobs& knobs) {
  return Emitter(task, knobs).emit();
}

}  // namespace camshaft::lower
