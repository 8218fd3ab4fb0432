// SPDX-License-Identifier: MIT
// Strategy `group_winograd`, for GPUs: 3x3 convolutions of stride 1. A group does some tiles of the
// image and some vectors of output channels. Its items transform the tiles' patches for a chunk of
// input channels into shared memory, multiply what lies there with transformed weights, chunk by
// chunk, and at last transform the sums back:
//   V [place][input channel of the chunk][tile], then M [place][tile][output channel]
// U, the transformed weights, is packed as
//   [vectors of output channels][input channel][place][vector][lane]
// so that neighbouring items read neighbouring vectors. Whether this beats `group_product` is a
// matter of the device: it is a candidate of the tuner's, not what is taken without measuring.
#include <algorithm>
#include <cstring>
#include <tuple>

#include "codegen/lower/frame.h"
#include "codegen/lower/strategy_list.h"
#include "codegen/lower/tile.h"
#include "codegen/lower/winograd_emitter.h"
#include "codegen/lower/winograd_plan.h"

namespace camshaft::lower {
namespace {

using ir::DType;
using ir::KOp;
using ir::LoopKind;

// OpenCL 1.2 promises so much.
constexpr int64_t kMostSharedBytes = 32 << 10;
constexpr int64_t kMostAccumulators = 64;  // of an item
constexpr int32_t kMostOutputs = 4;        // an item has all of a patch in registers
constexpr int64_t kChunks[] = {32, 16, 8};
constexpr int64_t kStepUnroll = 4;

// What the knobs say: `block` tiles and `vectors` vectors of output channels a group, `unroll`
// input channels a chunk; a unit of the products is `pixels` tiles times a vector at one place.
struct Shape {
  int64_t places, tiles, vectors, chunk, unit_tiles, lanes;
  int64_t tile_groups, channel_groups;

  int64_t product_units() const { return places * vectors * (tiles / unit_tiles); }
  int64_t turns() const { return turns_of(product_units()); }
  int64_t sums() const { return turns() * unit_tiles * lanes; }
  int64_t out_channels() const { return vectors * lanes; }
  int64_t shared_elements() const { return places * tiles * std::max(chunk, out_channels()); }
  static int64_t turns_of(int64_t units) {
    return (units + render::kGroupItems - 1) / render::kGroupItems;
  }
};

Shape make_shape(const WinogradConv& conv, const Knobs& knobs) {
  Shape shape = {};
  const int64_t n = knobs.winograd + 2;
  shape.places = n * n;
  shape.tiles = knobs.block;
  shape.vectors = knobs.vectors;
  shape.chunk = knobs.unroll;
  shape.unit_tiles = knobs.pixels;
  shape.lanes = conv.lanes;
  shape.tile_groups = (conv.tiles(knobs.winograd) + shape.tiles - 1) / shape.tiles;
  shape.channel_groups = conv.out_vectors() / shape.vectors;
  return shape;
}

class Emitter {
 public:
  Emitter(const Task& task, const WinogradConv& conv, const Knobs& knobs)
      : task_(task),
        conv_(conv),
        winograd_(make_winograd(knobs.winograd)),
        shape_(make_shape(conv, knobs)),
        n_(winograd_.size()),
        frame_(task, "group_winograd", knobs, {conv.w}),
        kernel_(frame_.kernel()),
        evaluator_(kernel_, task, frame_.arrays) {
    u_ = frame_.add_constant("u", DType::kFloat32, pack());
    acc_ = kernel_.add_local("acc", DType::kFloat32, shape_.sums());
    x_ = kernel_.add_local("x", DType::kFloat32, shape_.unit_tiles);
    shared_ = kernel_.add_shared("part", DType::kFloat32, shape_.shared_elements());
  }

  LoweredKernel emit() {
    set_thread_loop(kernel_, shape_.tile_groups * shape_.channel_groups, [&](ExprId t) {
      std::vector<Stmt> body;
      tile_group_ = let(kernel_, body, "tg", kernel_.mod(t, shape_.tile_groups));
      channel_group_ = let(kernel_, body, "cg", kernel_.div(t, shape_.tile_groups));
      append(body, items([&](ExprId /*item*/) { return accumulators().clear(); }));
      append(body, loop(kernel_, "chunk", conv_.in_channels / shape_.chunk, LoopKind::kSerial,
                        [&](ExprId chunk) { return sum_chunk(chunk); }));
      append(body, units(shape_.product_units(),
                         [&](ExprId unit, int64_t turn) { return share_sums(unit, turn); }));
      body.push_back(ir::make_barrier());
      append(body, units(shape_.tiles * shape_.out_channels(),
                         [&](ExprId unit, int64_t /*turn*/) { return output_tile(unit); }));
      return body;
    });
    return std::move(frame_.lowered);
  }

 private:
  std::vector<std::byte> pack() const {
    const std::vector<float> weights = winograd_weights(task_, conv_);
    const int64_t in = conv_.in_channels;
    const int64_t width = shape_.out_channels();
    std::vector<float> packed(static_cast<size_t>(shape_.places * in * conv_.out_channels));
    for (int64_t o = 0; o < conv_.out_channels; ++o) {
      for (int64_t c = 0; c < in; ++c) {
        const std::vector<double> window =
            transform_weights(winograd_, weights.data() + (o * in + c) * 9);
        for (int64_t place = 0; place < shape_.places; ++place) {
          const int64_t row = (o / width * in + c) * shape_.places + place;
          packed[static_cast<size_t>(row * width + o % width)] =
              static_cast<float>(window[static_cast<size_t>(place)]);
        }
      }
    }
    std::vector<std::byte> bytes(packed.size() * sizeof(float));
    std::memcpy(bytes.data(), packed.data(), bytes.size());
    return bytes;
  }

  TileAccumulators accumulators() {
    return {kernel_, acc_, shape_.turns() * shape_.unit_tiles, 1, shape_.lanes};
  }

  std::vector<Stmt> items(const Body& body) {
    const ir::VarId var = kernel_.add_loop_var("item", 0, render::kGroupItems - 1);
    std::vector<Stmt> inside = body(kernel_.var(var));
    return {ir::make_for(var, kernel_.int_const(0), kernel_.int_const(render::kGroupItems),
                         LoopKind::kItem, std::move(inside))};
  }

  // Deals units [0, count) out to the items: unit turn * items + item.
  std::vector<Stmt> units(int64_t count,
                          const std::function<std::vector<Stmt>(ExprId, int64_t)>& body) {
    return items([&](ExprId item) {
      std::vector<Stmt> all;
      for (int64_t turn = 0; turn < Shape::turns_of(count); ++turn) {
        const ExprId unit =
            let(kernel_, all, "unit", kernel_.add(item, turn * render::kGroupItems));
        std::vector<Stmt> inside = body(unit, turn);
        if ((turn + 1) * render::kGroupItems <= count) {
          append(all, std::move(inside));
        } else {
          all.push_back(ir::make_if(kernel_.binary(KOp::kLt, unit, kernel_.int_const(count)),
                                    std::move(inside)));
        }
      }
      return all;
    });
  }

  std::vector<Stmt> sum_chunk(ExprId chunk) {
    std::vector<Stmt> body = units(shape_.tiles * shape_.chunk, [&](ExprId unit, int64_t /*turn*/) {
      return transform_patch(chunk, unit);
    });
    body.push_back(ir::make_barrier());
    append(body, units(shape_.product_units(),
                       [&](ExprId unit, int64_t turn) { return products(chunk, unit, turn); }));
    body.push_back(ir::make_barrier());
    return body;
  }

  // --- The input ---

  struct Tile {
    ExprId number, image, row, column;  // row and column count tiles
  };
  // A tile of the group.
  Tile tile_of(ExprId in_group, std::vector<Stmt>& body) {
    const int64_t columns = conv_.tile_columns(winograd_.outputs);
    const int64_t rows = conv_.tile_rows(winograd_.outputs);
    Tile tile;
    tile.number =
        let(kernel_, body, "tile", kernel_.add(kernel_.mul(tile_group_, shape_.tiles), in_group));
    ExprId inside = tile.number;
    if (!has_whole_groups()) {
      inside = kernel_.binary(KOp::kMin, inside, kernel_.int_const(tiles() - 1));
    }
    inside = let(kernel_, body, "near", inside);
    tile.image = let(kernel_, body, "n", kernel_.div(inside, rows * columns));
    tile.row = let(kernel_, body, "row", kernel_.mod(kernel_.div(inside, columns), rows));
    tile.column = let(kernel_, body, "column", kernel_.mod(inside, columns));
    return tile;
  }
  int64_t tiles() const { return conv_.tiles(winograd_.outputs); }
  bool has_whole_groups() const { return tiles() % shape_.tiles == 0; }

  // A place on an axis of the input, moved inside, and whether it was.
  struct Place {
    ExprId at, inside;
  };
  std::vector<Place> patch_places(const WindowAxis& axis, ExprId tile, std::vector<Stmt>& body) {
    std::vector<Place> places;
    const ExprId last = kernel_.int_const(axis.in - 1);
    for (int64_t i = 0; i < n_; ++i) {
      const ExprId at =
          let(kernel_, body, "at", kernel_.add(kernel_.mul(tile, winograd_.outputs), i - axis.pad));
      const ExprId inside =
          kernel_.binary(KOp::kAnd, kernel_.binary(KOp::kLe, kernel_.int_const(0), at),
                         kernel_.binary(KOp::kLe, at, last));
      const ExprId near =
          kernel_.binary(KOp::kMin, kernel_.binary(KOp::kMax, at, kernel_.int_const(0)), last);
      places.push_back({let(kernel_, body, "near", near), let(kernel_, body, "inside", inside)});
    }
    return places;
  }

  std::vector<Stmt> transform_patch(ExprId chunk, ExprId unit) {
    std::vector<Stmt> body;
    const ExprId in_chunk = let(kernel_, body, "c", kernel_.mod(unit, shape_.chunk));
    const ExprId in_group = let(kernel_, body, "tile", kernel_.div(unit, shape_.chunk));
    const ExprId channel = kernel_.add(kernel_.mul(chunk, shape_.chunk), in_chunk);
    const Tile tile = tile_of(in_group, body);
    const std::vector<Place> rows = patch_places(conv_.rows, tile.row, body);
    const std::vector<Place> columns = patch_places(conv_.columns, tile.column, body);
    VectorOps ops(kernel_, 1, body);
    std::vector<std::vector<ExprId>> half;  // rows, transformed
    for (const Place& row : rows) {
      std::vector<ExprId> line;
      for (const Place& column : columns) {
        const ExprId x = evaluator_.value(conv_.x, {tile.image, channel, row.at, column.at});
        const ExprId inside = kernel_.binary(KOp::kAnd, row.inside, column.inside);
        line.push_back(ops.let(kernel_.select(inside, x, ops.number(0))));
      }
      half.push_back(transform_input(winograd_, ops, line));
    }
    for (int64_t j = 0; j < n_; ++j) {
      const std::vector<ExprId> column = transform_input(winograd_, ops, column_of(half, j));
      for (int64_t i = 0; i < n_; ++i) {
        const ExprId at = v_index(kernel_.int_const(i * n_ + j), in_chunk, in_group);
        body.push_back(ir::make_store(shared_, at, column[static_cast<size_t>(i)]));
      }
    }
    return body;
  }

  static std::vector<ExprId> column_of(const std::vector<std::vector<ExprId>>& rows, int64_t j) {
    std::vector<ExprId> column;
    for (const std::vector<ExprId>& row : rows) column.push_back(row[static_cast<size_t>(j)]);
    return column;
  }

  ExprId v_index(ExprId place, ExprId channel, ExprId tile) {
    const ExprId line = kernel_.add(kernel_.mul(place, shape_.chunk), channel);
    return kernel_.add(kernel_.mul(line, shape_.tiles), tile);
  }

  // --- The products ---

  struct Unit {
    ExprId vector, tile, place;  // the first tile
  };
  Unit product_unit(ExprId unit, std::vector<Stmt>& body) {
    const int64_t parts = shape_.tiles / shape_.unit_tiles;
    const ExprId rest = kernel_.div(unit, shape_.vectors);
    // Not variables: what they are multiples of shows how memory is aligned.
    return {kernel_.mod(unit, shape_.vectors),
            kernel_.mul(kernel_.mod(rest, parts), shape_.unit_tiles),
            let(kernel_, body, "place", kernel_.div(rest, parts))};
  }

  std::vector<Stmt> products(ExprId chunk, ExprId number, int64_t turn) {
    std::vector<Stmt> body;
    const Unit unit = product_unit(number, body);
    append(body,
           loop(kernel_, "step", shape_.chunk / kStepUnroll, LoopKind::kSerial, [&](ExprId step) {
             std::vector<Stmt> inside;
             for (int64_t k = 0; k < kStepUnroll; ++k) {
               const ExprId channel = kernel_.add(kernel_.mul(step, kStepUnroll), k);
               append(inside, product_step(chunk, channel, unit, turn));
             }
             return inside;
           }));
    return body;
  }

  std::vector<Stmt> product_step(ExprId chunk, ExprId in_chunk, const Unit& unit, int64_t turn) {
    std::vector<Stmt> body;
    const ExprId channel = kernel_.add(kernel_.mul(chunk, shape_.chunk), in_chunk);
    const ExprId line = kernel_.add(kernel_.mul(channel_group_, conv_.in_channels), channel);
    const ExprId row = kernel_.add(kernel_.mul(line, shape_.places), unit.place);
    const ExprId at = kernel_.add(kernel_.mul(row, shape_.out_channels()),
                                  kernel_.mul(unit.vector, shape_.lanes));
    const ExprId w =
        let(kernel_, body, "w", kernel_.load(u_, at, static_cast<int32_t>(shape_.lanes)));
    append(body, loop(kernel_, "v", shape_.unit_tiles, LoopKind::kVector,
                      [&](ExprId v) -> std::vector<Stmt> {
                        const ExprId from =
                            kernel_.add(v_index(unit.place, in_chunk, unit.tile), v);
                        return {ir::make_store(x_, v, kernel_.load(shared_, from))};
                      }));
    TileAccumulators acc = accumulators();
    for (int64_t tile = 0; tile < shape_.unit_tiles; ++tile) {
      const ExprId x = kernel_.load(x_, kernel_.int_const(tile));
      body.push_back(acc.multiply_add(turn * shape_.unit_tiles + tile, 0, x, w));
    }
    return body;
  }

  ExprId m_index(ExprId place, ExprId tile, ExprId channel) {
    const ExprId line = kernel_.add(kernel_.mul(place, shape_.tiles), tile);
    return kernel_.add(kernel_.mul(line, shape_.out_channels()), channel);
  }

  std::vector<Stmt> share_sums(ExprId number, int64_t turn) {
    std::vector<Stmt> body;
    const Unit unit = product_unit(number, body);
    TileAccumulators acc = accumulators();
    for (int64_t tile = 0; tile < shape_.unit_tiles; ++tile) {
      const ExprId at =
          m_index(unit.place, kernel_.add(unit.tile, tile), kernel_.mul(unit.vector, shape_.lanes));
      body.push_back(ir::make_store(shared_, at, acc.value(turn * shape_.unit_tiles + tile, 0)));
    }
    return body;
  }

  // --- The output ---

  std::vector<Stmt> output_tile(ExprId unit) {
    std::vector<Stmt> body;
    const ExprId in_set = let(kernel_, body, "c", kernel_.mod(unit, shape_.out_channels()));
    const ExprId in_group = let(kernel_, body, "tile", kernel_.div(unit, shape_.out_channels()));
    const Tile tile = tile_of(in_group, body);
    const ExprId channel = kernel_.add(kernel_.mul(channel_group_, shape_.out_channels()), in_set);
    std::vector<Stmt> inside;
    VectorOps ops(kernel_, 1, inside);
    std::vector<std::vector<ExprId>> columns;  // transformed
    for (int64_t j = 0; j < n_; ++j) {
      std::vector<ExprId> column;
      for (int64_t i = 0; i < n_; ++i) {
        const ExprId at = m_index(kernel_.int_const(i * n_ + j), in_group, in_set);
        column.push_back(ops.let(kernel_.load(shared_, at)));
      }
      columns.push_back(transform_output(winograd_, ops, column));
    }
    for (int64_t i = 0; i < winograd_.outputs; ++i) {
      const std::vector<ExprId> row = transform_output(winograd_, ops, column_of(columns, i));
      for (int64_t j = 0; j < winograd_.outputs; ++j) {
        append(inside, store(tile, channel, i, j, row[static_cast<size_t>(j)]));
      }
    }
    if (has_whole_groups()) {
      append(body, std::move(inside));
    } else {
      body.push_back(ir::make_if(kernel_.binary(KOp::kLt, tile.number, kernel_.int_const(tiles())),
                                 std::move(inside)));
    }
    return body;
  }

  // Element (i, j) of a tile's outputs, where there is one.
  std::vector<Stmt> store(const Tile& tile, ExprId channel, int64_t i, int64_t j, ExprId sum) {
    const ExprId h = kernel_.add(kernel_.mul(tile.row, winograd_.outputs), i);
    const ExprId w = kernel_.add(kernel_.mul(tile.column, winograd_.outputs), j);
    const Index at = {tile.image, channel, h, w};
    evaluator_.bind(conv_.node, [sum](const Index&) { return sum; });
    std::vector<Stmt> body = {
        evaluator_.store_output(frame_.output, at, evaluator_.value(task_.region.output, at))};
    evaluator_.unbind(conv_.node);
    const auto guard = [&](const WindowAxis& axis, ExprId place) {
      if (axis.out % winograd_.outputs == 0) return;
      body = {ir::make_if(kernel_.binary(KOp::kLt, place, kernel_.int_const(axis.out)),
                          std::move(body))};
    };
    guard(conv_.columns, w);
    guard(conv_.rows, h);
    return body;
  }

  const Task& task_;
  const WinogradConv conv_;
  const Winograd winograd_;
  const Shape shape_;
  const int64_t n_;
  Frame frame_;
  Kernel& kernel_;
  Evaluator evaluator_;
  ir::ArrayId u_ = -1, acc_ = -1, x_ = -1;
  ir::ArrayId shared_ = -1;  // V, and then M
  ExprId tile_group_ = ir::kNoExpr;
  ExprId channel_group_ = ir::kNoExpr;
};

bool fits(const WinogradConv& conv, const Shape& shape) {
  const auto bytes = shape.shared_elements() * static_cast<int64_t>(sizeof(float));
  return conv.in_channels % shape.chunk == 0 && bytes <= kMostSharedBytes &&
         shape.sums() <= kMostAccumulators;
}

// Cycles of a large GPU by a rough model: it only decides what the tuner looks at first.
double cost(const WinogradConv& conv, const Shape& shape) {
  constexpr double kGroupsAtOnce = 132;
  constexpr double kWait = 60;  // of a step for what it reads
  const auto turns = static_cast<double>(shape.turns());
  const double step = turns * static_cast<double>(shape.unit_tiles * shape.lanes + 12) + kWait;
  const double transforms = static_cast<double>(Shape::turns_of(shape.tiles * shape.chunk) *
                                                conv.in_channels / shape.chunk * shape.places * 8);
  const double groups = static_cast<double>(shape.tile_groups * shape.channel_groups);
  return std::max(1.0, groups / kGroupsAtOnce) *
         (static_cast<double>(conv.in_channels) * step + transforms);
}

}  // namespace

bool matches_group_winograd(const Task& task) {
  if (!task.target.is_gpu || task.has_images() || task.schedule.image_limit.width > 0) return false;
  const auto conv = find_winograd_conv(task);
  // The smallest chunk of the smallest tiles always fits.
  return conv && conv->in_channels % kChunks[2] == 0 &&
         task.type(task.region.output).shape == task.node(conv->node).type.shape;
}

std::vector<Knobs> knobs_group_winograd(const Task& task) {
  const WinogradConv conv = *find_winograd_conv(task);
  std::vector<std::pair<double, Knobs>> ranked;
  const auto add = [&](const Knobs& knobs) {
    const Shape shape = make_shape(conv, knobs);
    if (fits(conv, shape)) ranked.emplace_back(cost(conv, shape), knobs);
  };
  for (const int32_t outputs : accurate_winograds(task, conv)) {
    if (outputs > kMostOutputs) continue;
    for (const int32_t tiles : {1, 2, 4, 8, 16}) {
      for (const int32_t unit_tiles : {1, 2, 4, 8}) {
        for (const int32_t vectors : {1, 2, 4, 8, 16}) {
          if (tiles % unit_tiles != 0 || conv.out_vectors() % vectors != 0) continue;
          Knobs knobs;
          knobs.lanes = conv.lanes;
          knobs.pixels = unit_tiles;
          knobs.vectors = vectors;
          knobs.winograd = outputs;
          knobs.block = tiles;
          for (const int64_t chunk : kChunks) {
            knobs.unroll = static_cast<int32_t>(chunk);
            if (fits(conv, make_shape(conv, knobs))) break;
          }
          add(knobs);
        }
      }
    }
  }
  std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
    const auto order = [](const auto& entry) {
      const Knobs& knobs = entry.second;
      return std::tuple(entry.first, knobs.winograd, knobs.block, knobs.pixels, knobs.vectors);
    };
    return order(a) < order(b);
  });
  std::vector<Knobs> result;
  for (const auto& [cycles, knobs] : ranked) result.push_back(knobs);
  return result;
}

LoweredKernel emit_group_winograd(const Task& task, const Knobs& knobs) {
  const WinogradConv conv = *find_winograd_conv(task);
  LoweredKernel lowered = Emitter(task, conv, knobs).emit();
  lowered.relative_error =
      winograd_error(make_winograd(knobs.winograd), winograd_weights(task, conv).data(),
                     conv.out_channels, conv.in_channels);
  return lowered;
}

}  // namespace camshaft::lower
