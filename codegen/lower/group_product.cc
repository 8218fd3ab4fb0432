// SPDX-License-Identifier: MIT
// Strategy `group_product`, for GPUs: convolutions and matrix products. An item sums a tile of some
// pixels times a vector of channels, straight from memory, which its neighbours read at the same
// time. Where there are too few tiles for a large GPU, several items share one: each takes some of
// the taps and inner elements, and their sums meet in shared memory, from where all items of the
// group finish the results. Known weights are packed as
//   [set][channel tile][tap][block of inner elements][inner element][lane].
#include "codegen/lower/group_product.h"

#include <algorithm>

#include "codegen/lower/frame.h"
#include "codegen/lower/pixel_window.h"
#include "codegen/lower/strategy_list.h"
#include "codegen/lower/tile.h"
#include "codegen/lower/weights.h"

namespace camshaft::lower {
namespace {

using ir::DType;
using ir::KOp;
using ir::LoopKind;

class Emitter {
 public:
  Emitter(const Task& task, const Knobs& knobs)
      : task_(task),
        product_(make_group_product(task)),
        shape_(group_shape(product_, knobs)),
        frame_(task, "group_product", knobs, packed_leaves(task, product_)),
        kernel_(frame_.kernel()),
        evaluator_(kernel_, task, frame_.arrays),
        pixel_window_(kernel_, product_.window, product_.is_bordered) {
    if (is_packed()) pack_weights();
    const int64_t tile = shape_.tile_pixels * product_.lanes;
    acc_ = kernel_.add_local("acc", dtype(), tile);
    x_ = kernel_.add_local("x", dtype(), shape_.tile_pixels * product_.step);
    if (!is_packed()) column_ = kernel_.add_local("column", dtype(), product_.lanes);
    if (is_sliced()) part_ = kernel_.add_shared("part", dtype(), render::kGroupItems * tile);
  }

  LoweredKernel emit() {
    set_thread_loop(kernel_, shape_.groups(product_), [&](ExprId t) {
      const ExprId rest = kernel_.div(t, shape_.pixel_tiles);
      std::vector<Stmt> body;
      pixel_tile_ = let(kernel_, body, "pt", kernel_.mod(t, shape_.pixel_tiles));
      channel_tile_ = let(kernel_, body, "ct", kernel_.mod(rest, shape_.channel_tiles));
      // A constant shows where texels begin.
      set_ = product_.sets == 1
                 ? kernel_.int_const(0)
                 : let(kernel_, body, "set", kernel_.div(rest, shape_.channel_tiles));
      append(body, items([&](ExprId item) { return sum_tile(item); }));
      if (!is_sliced()) return body;
      body.push_back(ir::make_barrier());
      append(body, finish_sums());
      return body;
    });
    return std::move(frame_.lowered);
  }

 private:
  static std::set<NodeId> packed_leaves(const Task& task, const GroupProduct& product) {
    return product.is_conv ? std::set<NodeId>{product.w}
                           : matrix_leaves(task, product.node, product.known);
  }

  DType dtype() const { return compute_dtype(task_.type(product_.node).dtype); }
  bool is_packed() const { return product_.known != ir::kNoNode; }
  bool is_sliced() const { return shape_.slices > 1; }
  // Channel tiles of a set as they are packed: whole groups.
  int64_t packed_tiles() const { return shape_.channel_tiles * shape_.along; }
  int64_t tile_weights() const { return product_.taps * product_.inner * product_.lanes; }
  // The output is an image, and tiles are its texels.
  bool stores_texels() const { return task_.is_image(task_.region.output); }
  bool has_whole_tiles() const { return product_.channels == packed_tiles() * product_.lanes; }

  void pack_weights() {
    tiles_ = weight_tiles(task_, product_.known, product_.sets * packed_tiles(), tile_weights());
    weights_ = PackedWeights(frame_, "w", product_.known, tiles_, [&](WeightPacker& packer) {
      for (int64_t set = 0; set < product_.sets; ++set) {
        for (int64_t tile = 0; tile < packed_tiles(); ++tile) {
          packer.go_to(tiles_.place(set * packed_tiles() + tile));
          pack_tile(set, tile, packer);
        }
      }
    });
  }
  void pack_tile(int64_t set, int64_t tile, WeightPacker& packer) {
    for (int64_t tap = 0; tap < product_.taps; ++tap) {
      for (int64_t k = 0; k < product_.inner; ++k) {
        for (int64_t lane = 0; lane < product_.lanes; ++lane) {
          const int64_t channel = tile * product_.lanes + lane;
          const bool is_there = channel < product_.channels && k < product_.known_inner;
          is_there ? packer.put(product_.weight_place(set, channel, tap, k)) : packer.skip();
        }
      }
    }
  }

  std::vector<Stmt> items(const Body& body) {
    const ir::VarId var = kernel_.add_loop_var("item", 0, render::kGroupItems - 1);
    std::vector<Stmt> inside = body(kernel_.var(var));
    return {ir::make_for(var, kernel_.int_const(0), kernel_.int_const(render::kGroupItems),
                         LoopKind::kItem, std::move(inside))};
  }

  // --- What an item sums ---

  std::vector<Stmt> sum_tile(ExprId item) {
    std::vector<Stmt> body;
    const ExprId across = let(kernel_, body, "across", kernel_.mod(item, shape_.across));
    const ExprId rest = kernel_.div(item, shape_.across);
    const ExprId along = let(kernel_, body, "along", kernel_.mod(rest, shape_.along));
    const ExprId slice = let(kernel_, body, "slice", kernel_.div(rest, shape_.along));
    tile_ =
        let(kernel_, body, "tile", kernel_.add(kernel_.mul(channel_tile_, shape_.along), along));
    TileAccumulators acc(kernel_, acc_, shape_.tile_pixels, 1, product_.lanes);
    append(body, acc.clear());
    find_pixels(across, body);
    append(body, sliced_loop("tap", product_.taps, shape_.tap_slices,
                             kernel_.div(slice, shape_.block_slices),
                             [&](ExprId tap) { return tap_body(acc, tap, slice); }));
    if (!is_sliced()) {
      append(body, store_tile(acc, across));
      return body;
    }
    const ExprId slots = kernel_.mul(slice, group_slots());
    for (int64_t p = 0; p < shape_.tile_pixels; ++p) {
      const ExprId slot = kernel_.add(slots, slot_of(along, across, p));
      body.push_back(ir::make_store(part_, kernel_.mul(slot, product_.lanes), acc.value(p, 0)));
    }
    return body;
  }

  // Loops over the numbers in [0, extent) that are `slice` modulo `slices`.
  std::vector<Stmt> sliced_loop(const char* name, int64_t extent, int64_t slices, ExprId slice,
                                const Body& body) {
    const int64_t turns = (extent + slices - 1) / slices;
    return loop(kernel_, name, turns, LoopKind::kSerial, [&](ExprId turn) -> std::vector<Stmt> {
      std::vector<Stmt> inside;
      const ExprId number =
          slices == 1 ? turn
                      : let(kernel_, inside, name, kernel_.add(kernel_.mul(turn, slices), slice));
      if (extent % slices == 0) {
        append(inside, body(number));
      } else {
        inside.push_back(
            ir::make_if(kernel_.binary(KOp::kLt, number, kernel_.int_const(extent)), body(number)));
      }
      return inside;
    });
  }

  ExprId pixel_number(ExprId across, int64_t p) {
    return kernel_.add(kernel_.mul(pixel_tile_, shape_.group_pixels()),
                       kernel_.add(across, p * shape_.across));
  }
  // Whether pixels fill all tiles.
  bool has_whole_pixels() const { return product_.pixels % shape_.group_pixels() == 0; }

  // Where the tile's pixels are in the input; the last one again where there are no more.
  void find_pixels(ExprId across, std::vector<Stmt>& body) {
    pixels_.clear();
    numbers_.clear();
    for (int64_t p = 0; p < shape_.tile_pixels; ++p) {
      ExprId number = pixel_number(across, p);
      if (!has_whole_pixels()) {
        number = kernel_.binary(KOp::kMin, number, kernel_.int_const(product_.pixels - 1));
      }
      numbers_.push_back(let(kernel_, body, "pixel", number));
      if (product_.is_conv) pixels_.push_back(pixel_window_.pixel(numbers_.back(), body));
    }
  }

  std::vector<Stmt> tap_body(TileAccumulators& acc, ExprId tap, ExprId slice) {
    std::vector<Stmt> body;
    taps_.clear();
    for (const PixelWindow::Pixel& pixel : pixels_) {
      taps_.push_back(pixel_window_.tap(pixel, tap, body));
    }
    append(body, sliced_loop("block", product_.blocks(), shape_.block_slices,
                             kernel_.mod(slice, shape_.block_slices),
                             [&](ExprId block) { return block_body(acc, tap, block); }));
    return body;
  }

  std::vector<Stmt> block_body(TileAccumulators& acc, ExprId tap, ExprId block) {
    std::vector<Stmt> body;
    const ExprId first = kernel_.mul(block, product_.step);
    for (int64_t p = 0; p < shape_.tile_pixels; ++p) append(body, read_inner(p, first));
    const ExprId tiles = kernel_.add(kernel_.mul(set_, packed_tiles()), tile_);
    const ExprId step = kernel_.add(kernel_.mul(tap, product_.inner), first);
    // Not a variable: what it is a multiple of shows how the weights are aligned.
    const ExprId at =
        kernel_.add(is_packed() ? tiles_.place(kernel_, tiles) : kernel_.mul(tiles, tile_weights()),
                    kernel_.mul(step, product_.lanes));
    for (int64_t k = 0; k < product_.step; ++k) {
      const ExprId w = let(kernel_, body, "w", weights(at, first, k, body));
      for (int64_t p = 0; p < shape_.tile_pixels; ++p) {
        const ExprId x = kernel_.load(x_, kernel_.int_const(p * product_.step + k));
        body.push_back(acc.multiply_add(p, 0, x, w));
      }
    }
    return body;
  }

  // x[p] = inner elements [first, first + step) of the tile's pixel p; zeros in the padding.
  std::vector<Stmt> read_inner(int64_t p, ExprId first) {
    return loop(kernel_, "v", product_.step, LoopKind::kVector, [&](ExprId v) -> std::vector<Stmt> {
      const Index index = input_index(p, kernel_.add(first, v));
      ExprId value = product_.is_bordered.empty()
                         ? evaluator_.value(product_.x, index)
                         : bordered_texel(kernel_, frame_.arrays.at(product_.x),
                                          task_.type(product_.x).shape, index);
      const ExprId inside = product_.is_conv ? taps_[static_cast<size_t>(p)].inside : ir::kNoExpr;
      if (inside != ir::kNoExpr) {
        value = kernel_.select(inside, value, kernel_.splat(0, {dtype(), 1}));
      }
      return {ir::make_store(x_, kernel_.add(v, p * product_.step), value)};
    });
  }

  Index input_index(int64_t p, ExprId k) {
    const auto number = static_cast<size_t>(p);
    if (!product_.is_conv) return matrix_index(numbers_[number], k);
    const ExprId channel = kernel_.add(kernel_.mul(set_, product_.inner), k);
    return channel_index(pixels_[number].n, channel, taps_[number].place);
  }

  // Element (row, column) of a side of a matrix product or its result; rows run through all batches
  // where one matrix serves these.
  Index matrix_index(ExprId row, ExprId column) {
    ExprId batch = set_;
    if (is_packed()) {
      batch = kernel_.div(row, product_.rows);
      row = kernel_.mod(row, product_.rows);
    }
    Index index = delinearize(kernel_, product_.batch_shape, batch);
    index.push_back(row);
    index.push_back(column);
    return index;
  }

  // The weights of inner element first + k for the tile's channels.
  ExprId weights(ExprId at, ExprId first, int64_t k, std::vector<Stmt>& body) {
    const auto lanes = static_cast<int32_t>(product_.lanes);
    if (is_packed()) {
      return weights_.vector(kernel_, kernel_.add(at, k * product_.lanes), product_.lanes);
    }
    append(
        body,
        loop(kernel_, "v", product_.lanes, LoopKind::kVector, [&](ExprId v) -> std::vector<Stmt> {
          ExprId channel = kernel_.add(kernel_.mul(tile_, product_.lanes), v);
          if (!has_whole_tiles()) {
            channel = kernel_.binary(KOp::kMin, channel, kernel_.int_const(product_.channels - 1));
          }
          Index index = delinearize(kernel_, product_.batch_shape, set_);
          index.push_back(kernel_.add(first, k));
          index.push_back(channel);
          return {ir::make_store(column_, v, evaluator_.value(product_.w, index))};
        }));
    return kernel_.load(column_, kernel_.int_const(0), lanes);
  }

  // --- What becomes of the sums ---

  // Tiles of pixels of a slice: how many vectors of lanes it has in shared memory, and which is
  // whose.
  int64_t group_slots() const { return shape_.along * shape_.group_pixels(); }
  ExprId slot_of(ExprId along, ExprId across, int64_t p) {
    return kernel_.add(kernel_.mul(along, shape_.group_pixels()),
                       kernel_.add(across, p * shape_.across));
  }

  // Stores `count` channels from `channel` on of a pixel, whose sums are sum_of(lane).
  std::vector<Stmt> store_channels(ExprId pixel, ExprId channel, int64_t count,
                                   const std::function<ExprId(ExprId)>& sum_of) {
    const auto one = [&](ExprId lane) -> std::vector<Stmt> {
      const ExprId sum = sum_of(lane);
      evaluator_.bind(product_.node, [sum](const Index&) { return sum; });
      const Index index = output_index(pixel, kernel_.add(channel, lane));
      Stmt store = evaluator_.store_output(frame_.output, index,
                                           evaluator_.value(task_.region.output, index));
      evaluator_.unbind(product_.node);
      return {std::move(store)};
    };
    std::vector<Stmt> body;
    if (has_whole_tiles()) {
      body = loop(kernel_, "v", count, LoopKind::kVector, one);
    } else if (stores_texels()) {
      body =
          store_texels(pixel, channel, loop(kernel_, "v", count, LoopKind::kVector, one), sum_of);
    } else {
      for (int64_t v = 0; v < count; ++v) {
        const ExprId lane = kernel_.int_const(v);
        body.push_back(ir::make_if(kernel_.binary(KOp::kLt, kernel_.add(channel, lane),
                                                  kernel_.int_const(product_.channels)),
                                   one(lane)));
      }
    }
    if (has_whole_pixels()) return body;
    return {ir::make_if(kernel_.binary(KOp::kLt, pixel, kernel_.int_const(product_.pixels)),
                        std::move(body))};
  }

  // `whole` where all of a texel's channels are there; where some are, zeros in the others' place.
  std::vector<Stmt> store_texels(ExprId pixel, ExprId channel, std::vector<Stmt> whole,
                                 const std::function<ExprId(ExprId)>& sum_of) {
    const int64_t rest = product_.channels % base::kTexelElements;
    const ExprId end = kernel_.int_const(product_.channels - rest);
    std::vector<Stmt> body = {
        ir::make_if(kernel_.binary(KOp::kLt, channel, end), std::move(whole))};
    if (rest == 0 || product_.sets > 1) return body;
    const auto one = [&](ExprId lane) -> std::vector<Stmt> {
      const ExprId there = kernel_.binary(KOp::kMin, lane, kernel_.int_const(rest - 1));
      const ExprId sum = sum_of(lane);
      evaluator_.bind(product_.node, [sum](const Index&) { return sum; });
      const ExprId value =
          evaluator_.value(task_.region.output, output_index(pixel, kernel_.add(end, there)));
      evaluator_.unbind(product_.node);
      const ExprId is_there = kernel_.binary(KOp::kLt, lane, kernel_.int_const(rest));
      const ExprId zero = kernel_.splat(0, {kernel_.expr(value).type.dtype, 1});
      return {evaluator_.store_output(frame_.output, output_index(pixel, kernel_.add(end, lane)),
                                      kernel_.select(is_there, value, zero))};
    };
    body.push_back(ir::make_if(kernel_.binary(KOp::kEq, channel, end),
                               loop(kernel_, "v", base::kTexelElements, LoopKind::kVector, one)));
    return body;
  }

  Index output_index(ExprId pixel, ExprId channel) {
    if (!product_.is_conv) return matrix_index(pixel, channel);
    const ExprId image = kernel_.div(pixel, pixel_window_.pixels());
    const ExprId c = kernel_.add(kernel_.mul(set_, product_.channels), channel);
    return channel_index(image, c, pixel_window_.place(kernel_.mod(pixel, pixel_window_.pixels())));
  }

  std::vector<Stmt> store_tile(TileAccumulators& acc, ExprId across) {
    std::vector<Stmt> body;
    for (int64_t p = 0; p < shape_.tile_pixels; ++p) {
      const ExprId pixel = let(kernel_, body, "pixel", pixel_number(across, p));
      append(body, store_channels(
                       pixel, kernel_.mul(tile_, product_.lanes), product_.lanes,
                       [&](ExprId lane) { return acc.element(kernel_.int_const(p), 0, lane); }));
    }
    return body;
  }

  // All items add up the slices' sums, of neighbouring channels and then pixels.
  std::vector<Stmt> finish_sums() {
    const int64_t sums = group_slots() * product_.lanes;
    int64_t width = product_.lanes;
    while (width > 1 && !stores_texels() &&
           (sums / width < render::kGroupItems || !has_whole_tiles()))
      width /= 2;
    const int64_t units = sums / width;
    const int64_t turns = (units + render::kGroupItems - 1) / render::kGroupItems;
    return items([&](ExprId item) {
      return loop(kernel_, "turn", turns, LoopKind::kUnrolled, [&](ExprId turn) {
        std::vector<Stmt> body;
        const ExprId unit =
            let(kernel_, body, "unit", kernel_.add(kernel_.mul(turn, render::kGroupItems), item));
        std::vector<Stmt> inside = finish_unit(unit, width);
        if (units % render::kGroupItems == 0) {
          append(body, std::move(inside));
        } else {
          body.push_back(ir::make_if(kernel_.binary(KOp::kLt, unit, kernel_.int_const(units)),
                                     std::move(inside)));
        }
        return body;
      });
    });
  }

  std::vector<Stmt> finish_unit(ExprId unit, int64_t width) {
    const int64_t per_slot = product_.lanes / width;
    const int64_t sums = group_slots() * product_.lanes;
    std::vector<Stmt> body;
    const ExprId slot = let(kernel_, body, "slot", kernel_.div(unit, per_slot));
    // Not variables, so that it shows which channels lie together.
    const ExprId lane = kernel_.mul(kernel_.mod(unit, per_slot), width);
    const ExprId tile = kernel_.add(kernel_.mul(channel_tile_, shape_.along),
                                    kernel_.div(slot, shape_.group_pixels()));
    const ExprId channel = kernel_.add(kernel_.mul(tile, product_.lanes), lane);
    const ExprId pixel = let(kernel_, body, "pixel",
                             kernel_.add(kernel_.mul(pixel_tile_, shape_.group_pixels()),
                                         kernel_.mod(slot, shape_.group_pixels())));
    append(body, store_channels(pixel, channel, width, [&](ExprId v) {
             const ExprId at = kernel_.add(kernel_.mul(unit, width), v);
             ExprId sum = kernel_.load(part_, at);
             for (int64_t slice = 1; slice < shape_.slices; ++slice) {
               sum = kernel_.add(sum, kernel_.load(part_, kernel_.add(at, slice * sums)));
             }
             return sum;
           }));
    return body;
  }

  const Task& task_;
  const GroupProduct product_;
  const GroupShape shape_;
  Frame frame_;
  Kernel& kernel_;
  Evaluator evaluator_;
  const PixelWindow pixel_window_;  // of a convolution
  WeightTiles tiles_;
  PackedWeights weights_;
  ir::ArrayId acc_ = -1;
  ir::ArrayId x_ = -1;
  ir::ArrayId column_ = -1;  // of weights that are not packed
  ir::ArrayId part_ = -1;    // sums of slices
  ExprId set_ = ir::kNoExpr;
  ExprId pixel_tile_ = ir::kNoExpr;
  ExprId channel_tile_ = ir::kNoExpr;
  ExprId tile_ = ir::kNoExpr;    // of channels, the item's
  std::vector<ExprId> numbers_;  // of the tile's pixels
  std::vector<PixelWindow::Pixel> pixels_;
  std::vector<PixelWindow::Tap> taps_;
};

}  // namespace

LoweredKernel emit_group_product(const Task& task, const Knobs& knobs) {
  return Emitter(task, knobs).emit();
}

}  // namespace camshaft::lower
