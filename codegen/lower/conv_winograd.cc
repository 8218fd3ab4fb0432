// SPDX-License-Identifier: MIT
// Strategy `conv_winograd`: 3x3 convolutions of stride 1 in three phases for each block of tiles:
//   input:    x -> V [n * n][input block][tile][lane]
//   products: M[place] = V[place] * U[place] for each of the n * n places, by register tiles
//   output:   M [n * n][output vector][tile][lane] -> outputs, with the region's epilogue
// U, the transformed weights, is packed at compile time in the order in which the products read it:
//   [group][place][vectors of output channels][input channel][vector][lane]
// V and M are scratch memory. Patches that reach beyond the image: the columns that are outside are
// known at compile time for each column of tiles, the rows are the bounds of a loop.
#include <algorithm>
#include <cstring>

#include "codegen/lower/frame.h"
#include "codegen/lower/strategy_list.h"
#include "codegen/lower/tile.h"
#include "codegen/lower/winograd_plan.h"

namespace camshaft::lower {
namespace {

using ir::DType;
using ir::KOp;
using ir::LoopKind;

// Weights of at least this size are prefetched; smaller ones come fast enough by themselves.
constexpr int64_t kPrefetchBytes = 256 << 10;

// Floats from one place of V or M to the next: whole cache lines, and an odd number of them, so
// that the n * n places of a tile don't fall into one set of the caches.
int64_t place_stride(int64_t floats) {
  const int64_t line = line_elements(DType::kFloat32);
  const int64_t lines = (floats + line - 1) / line;
  return (lines | 1) * line;
}

// Vector arithmetic for the transforms; every value is a Let of its own.
class VectorOps {
 public:
  using Value = ExprId;
  VectorOps(Kernel& kernel, int32_t lanes, std::vector<Stmt>& body)
      : kernel_(kernel), lanes_(lanes), body_(body) {}

  ExprId let(ExprId value) {
    const ir::VarId var = kernel_.add_let_var("v", value);
    body_.push_back(ir::make_let(var, value));
    return kernel_.var(var);
  }
  ExprId mul(double a, ExprId b) { return let(kernel_.mul(number(a), b)); }
  ExprId add(ExprId a, ExprId b) { return let(kernel_.add(a, b)); }
  ExprId sub(ExprId a, ExprId b) { return let(kernel_.sub(a, b)); }
  ExprId fma(double a, ExprId b, ExprId c) { return let(kernel_.fma(number(a), b, c)); }
  ExprId number(double value) { return kernel_.splat(value, {DType::kFloat32, lanes_}); }

 private:
  Kernel& kernel_;
  int32_t lanes_;
  std::vector<Stmt>& body_;
};

class Emitter {
 public:
  Emitter(const Task& task, const WinogradConv& conv, const Knobs& knobs)
      : task_(task),
        knobs_(knobs),
        conv_(conv),
        winograd_(make_winograd(knobs.winograd)),
        cut_(cut_winograd(conv, knobs, task.threads)),
        lanes_(conv.lanes),
        n_(winograd_.size()),
        places_(n_ * n_),
        group_vectors_(conv.out_vectors() / cut_.groups),
        v_stride_(place_stride(conv.in_channels * cut_.block)),
        m_stride_(place_stride(group_vectors_ * lanes_ * cut_.block)),
        frame_(task, "conv_winograd", knobs, {conv.w}),
        kernel_(frame_.kernel()),
        evaluator_(kernel_, task, frame_.arrays) {
    u_ = frame_.add_constant("u", DType::kFloat32, pack());
    const int64_t items = cut_.chunks * cut_.groups;
    v_ = frame_.add_scratch("v", DType::kFloat32, items * places_ * v_stride_);
    m_ = frame_.add_scratch("m", DType::kFloat32, items * places_ * m_stride_);
    acc_ = kernel_.add_local("acc", DType::kFloat32, knobs.pixels * knobs.vectors * lanes_);
    half_ = kernel_.add_local("half", DType::kFloat32, places_ * lanes_);
    line_ = kernel_.add_local("line", DType::kFloat32, winograd_.outputs * lanes_);
  }

  LoweredKernel emit() {
    set_thread_loop(kernel_, cut_.chunks * cut_.groups, [&](ExprId t) {
      item_ = t;
      group_ = kernel_.mod(t, cut_.groups);
      const ExprId chunk = kernel_.div(t, cut_.groups);
      const int64_t per_chunk = cut_.blocks_per_chunk();
      const ExprId begin = kernel_.mul(chunk, per_chunk);
      const ExprId end = minimum(kernel_.add(begin, per_chunk), cut_.blocks);
      return loop_between(kernel_, "block", begin, end, 0, cut_.blocks - 1, [&](ExprId block) {
        const ExprId first = kernel_.mul(block, cut_.block);
        std::vector<Stmt> body = input_phase(first);
        append(body, product_phase());
        append(body, output_phase(first));
        return body;
      });
    });
    return std::move(frame_.lowered);
  }

 private:
  // Where a tile lies.
  struct Place {
    ExprId image, row, column;  // row and column count tiles
  };
  // Columns of tiles [first, last] whose lines have the elements [begin, end): of a patch those
  // inside the image, of a tile those that exist.
  struct Columns {
    int64_t first, last;
    int64_t begin, end;
  };

  // One register tile of products.
  struct Product {
    ExprId place, set, strip;
    ExprId tile;             // the first, in the block
    int64_t tiles, vectors;  // tiles of the image, vectors of output channels
  };

  ExprId minimum(ExprId a, int64_t b) { return kernel_.binary(KOp::kMin, a, kernel_.int_const(b)); }
  ExprId maximum(ExprId a, int64_t b) { return kernel_.binary(KOp::kMax, a, kernel_.int_const(b)); }

  std::vector<std::byte> pack() const;
  std::vector<Stmt> input_phase(ExprId first);
  std::vector<Stmt> patch_rows(const Place& place, ExprId block);
  std::vector<Stmt> patch_row(const Place& place, ExprId block, ExprId row, const Columns& columns);
  std::vector<Stmt> patch_columns(ExprId block, ExprId tile);
  std::vector<Stmt> product_phase();
  std::vector<Stmt> products(ExprId place, ExprId set, int64_t vectors);
  std::vector<Stmt> product_tile(const Product& p);
  std::vector<Stmt> prefetch_next_set(const Product& p, ExprId weights, ExprId block);
  std::vector<Stmt> output_phase(ExprId first);
  std::vector<Stmt> output_columns(ExprId vector, ExprId tile);
  std::vector<Stmt> output_rows(const Place& place, ExprId vector);
  std::vector<Stmt> output_row(const Place& place, ExprId vector, ExprId row,
                               const Columns& columns);

  std::vector<Columns> columns_of(const std::function<Columns(int64_t)>& of_column) const;
  std::vector<Stmt> for_columns(const std::vector<Columns>& all, ExprId column,
                                const std::function<std::vector<Stmt>(const Columns&)>& body);
  Place place_of(VectorOps& ops, ExprId tile);
  std::vector<ExprId> load_line(VectorOps& ops, ir::ArrayId array, ExprId base, int64_t stride,
                                int64_t count);

  ExprId v_index(ExprId place, ExprId block, ExprId tile) {
    const ExprId base = kernel_.add(kernel_.mul(item_, places_), place);
    const ExprId at = kernel_.add(kernel_.mul(block, cut_.block), tile);
    return kernel_.add(kernel_.mul(base, v_stride_), kernel_.mul(at, lanes_));
  }
  ExprId m_index(ExprId place, ExprId vector, ExprId tile) {
    const ExprId base = kernel_.add(kernel_.mul(item_, places_), place);
    const ExprId at = kernel_.add(kernel_.mul(vector, cut_.block), tile);
    return kernel_.add(kernel_.mul(base, m_stride_), kernel_.mul(at, lanes_));
  }

  const Task& task_;
  Knobs knobs_;
  WinogradConv conv_;
  Winograd winograd_;
  WinogradCut cut_;
  int32_t lanes_;
  int64_t n_;
  int64_t places_;
  int64_t group_vectors_;  // of output channels, in a group
  int64_t v_stride_, m_stride_;
  Frame frame_;
  Kernel& kernel_;
  Evaluator evaluator_;
  ir::ArrayId u_ = -1, v_ = -1, m_ = -1;
  ir::ArrayId acc_ = -1, half_ = -1, line_ = -1;
  ExprId item_ = ir::kNoExpr;
  ExprId group_ = ir::kNoExpr;
};

std::vector<std::byte> Emitter::pack() const {
  const float* weights = winograd_weights(task_, conv_);
  const int64_t in = conv_.in_channels;
  const int64_t group_channels = group_vectors_ * lanes_;
  const int64_t set_channels = knobs_.vectors * lanes_;
  std::vector<float> packed(static_cast<size_t>(places_ * in * conv_.out_channels));
  for (int64_t o = 0; o < conv_.out_channels; ++o) {
    const int64_t in_group = o % group_channels;
    const int64_t set = in_group / set_channels;
    const int64_t width = std::min(set_channels, group_channels - set * set_channels);
    const int64_t group = o / group_channels * places_ * group_channels * in;
    for (int64_t c = 0; c < in; ++c) {
      const std::vector<double> window = transform_weights(winograd_, weights + (o * in + c) * 9);
      const int64_t at = set * set_channels * in + c * width + in_group % set_channels;
      for (int64_t place = 0; place < places_; ++place) {
        packed[static_cast<size_t>(group + place * group_channels * in + at)] =
            static_cast<float>(window[static_cast<size_t>(place)]);
      }
    }
  }
  std::vector<std::byte> bytes(packed.size() * sizeof(float));
  std::memcpy(bytes.data(), packed.data(), bytes.size());
  return bytes;
}

// Neighbouring columns of tiles that have the same elements are one entry.
std::vector<Emitter::Columns> Emitter::columns_of(
    const std::function<Columns(int64_t)>& of_column) const {
  std::vector<Columns> result;
  for (int64_t column = 0; column < conv_.tile_columns(winograd_.outputs); ++column) {
    const Columns next = of_column(column);
    if (!result.empty() && result.back().begin == next.begin && result.back().end == next.end) {
      result.back().last = column;
    } else {
      result.push_back(next);
    }
  }
  return result;
}

std::vector<Stmt> Emitter::for_columns(
    const std::vector<Columns>& all, ExprId column,
    const std::function<std::vector<Stmt>(const Columns&)>& body) {
  if (all.size() == 1) return body(all[0]);
  std::vector<Stmt> result;
  for (const Columns& columns : all) {
    const ExprId from = kernel_.binary(KOp::kLe, kernel_.int_const(columns.first), column);
    const ExprId to = kernel_.binary(KOp::kLe, column, kernel_.int_const(columns.last));
    result.push_back(ir::make_if(kernel_.binary(KOp::kAnd, from, to), body(columns)));
  }
  return result;
}

Emitter::Place Emitter::place_of(VectorOps& ops, ExprId tile) {
  const int64_t columns = conv_.tile_columns(winograd_.outputs);
  const int64_t rows = conv_.tile_rows(winograd_.outputs);
  const ExprId line = ops.let(kernel_.div(tile, columns));
  const ExprId image = conv_.batch == 1 ? kernel_.int_const(0) : ops.let(kernel_.div(line, rows));
  const ExprId row = conv_.batch == 1 ? line : ops.let(kernel_.mod(line, rows));
  return {image, row, ops.let(kernel_.mod(tile, columns))};
}

std::vector<ExprId> Emitter::load_line(VectorOps& ops, ir::ArrayId array, ExprId base,
                                       int64_t stride, int64_t count) {
  std::vector<ExprId> line;
  for (int64_t i = 0; i < count; ++i) {
    line.push_back(ops.let(kernel_.load(array, kernel_.add(base, i * stride), lanes_)));
  }
  return line;
}

// Phase 1. The last block may have fewer tiles; it repeats the very last one, so that V is whole.
std::vector<Stmt> Emitter::input_phase(ExprId first) {
  return loop(kernel_, "cb", conv_.in_blocks(), LoopKind::kSerial, [&](ExprId block) {
    return loop(kernel_, "tile", cut_.block, LoopKind::kSerial, [&](ExprId tile) {
      std::vector<Stmt> body;
      VectorOps ops(kernel_, lanes_, body);
      ExprId number = kernel_.add(first, tile);
      if (cut_.blocks * cut_.block > cut_.tiles) number = minimum(number, cut_.tiles - 1);
      const Place place = place_of(ops, number);
      append(body, patch_rows(place, block));
      append(body, patch_columns(block, tile));
      return body;
    });
  });
}

// half[row][.] = the transformed rows of the patch; rows outside the image are zeros.
std::vector<Stmt> Emitter::patch_rows(const Place& place, ExprId block) {
  const int64_t m = winograd_.outputs;
  const ExprId top = kernel_.add(kernel_.mul(place.row, m), -conv_.rows.pad);
  const ExprId above = minimum(maximum(kernel_.sub(kernel_.int_const(0), top), 0), n_);
  const ExprId below = minimum(maximum(kernel_.sub(kernel_.int_const(conv_.rows.in), top), 0), n_);
  const auto zeros = [&](ExprId row) {
    std::vector<Stmt> body;
    const ExprId zero = kernel_.splat(0, {DType::kFloat32, lanes_});
    for (int64_t i = 0; i < n_; ++i) {
      const ExprId at = kernel_.mul(kernel_.add(kernel_.mul(row, n_), i), lanes_);
      body.push_back(ir::make_store(half_, at, zero));
    }
    return body;
  };
  const std::vector<Columns> columns = columns_of([&](int64_t column) {
    const int64_t left = column * m - conv_.columns.pad;
    return Columns{column, column, std::clamp<int64_t>(-left, 0, n_),
                   std::clamp<int64_t>(conv_.columns.in - left, 0, n_)};
  });
  std::vector<Stmt> body;
  append(body, loop_between(kernel_, "row", kernel_.int_const(0), above, 0, n_ - 1, zeros));
  append(body, for_columns(columns, place.column, [&](const Columns& these) {
           return loop_between(kernel_, "row", above, below, 0, n_ - 1,
                               [&](ExprId row) { return patch_row(place, block, row, these); });
         }));
  append(body, loop_between(kernel_, "row", below, kernel_.int_const(n_), 0, n_ - 1, zeros));
  return body;
}

std::vector<Stmt> Emitter::patch_row(const Place& place, ExprId block, ExprId row,
                                     const Columns& columns) {
  std::vector<Stmt> body;
  VectorOps ops(kernel_, lanes_, body);
  const int64_t m = winograd_.outputs;
  const ExprId h = kernel_.add(kernel_.add(kernel_.mul(place.row, m), -conv_.rows.pad), row);
  const ExprId left = kernel_.add(kernel_.mul(place.column, m), -conv_.columns.pad);
  std::vector<ExprId> line;
  for (int64_t i = 0; i < n_; ++i) {
    if (i < columns.begin || i >= columns.end) {
      line.push_back(ops.number(0));
      continue;
    }
    const Index index = {place.image, kernel_.mul(block, lanes_), h, kernel_.add(left, i)};
    const ExprId at = layout_offset(kernel_, task_.type(conv_.x).shape,
                                    task_.schedule.buffer(conv_.x).layout, index);
    line.push_back(ops.let(kernel_.load(frame_.arrays.at(conv_.x), at, lanes_)));
  }
  const std::vector<ExprId> transformed = transform_input(winograd_, ops, line);
  for (int64_t i = 0; i < n_; ++i) {
    const ExprId at = kernel_.mul(kernel_.add(kernel_.mul(row, n_), i), lanes_);
    body.push_back(ir::make_store(half_, at, transformed[static_cast<size_t>(i)]));
  }
  return body;
}

std::vector<Stmt> Emitter::patch_columns(ExprId block, ExprId tile) {
  return loop(kernel_, "column", n_, LoopKind::kSerial, [&](ExprId column) {
    std::vector<Stmt> body;
    VectorOps ops(kernel_, lanes_, body);
    const std::vector<ExprId> line =
        load_line(ops, half_, kernel_.mul(column, lanes_), n_ * lanes_, n_);
    const std::vector<ExprId> transformed = transform_input(winograd_, ops, line);
    for (int64_t i = 0; i < n_; ++i) {
      const ExprId place = kernel_.add(column, i * n_);
      body.push_back(
          ir::make_store(v_, v_index(place, block, tile), transformed[static_cast<size_t>(i)]));
    }
    return body;
  });
}

// Phase 2.
std::vector<Stmt> Emitter::product_phase() {
  const int64_t sets = group_vectors_ / knobs_.vectors;
  const int64_t rest = group_vectors_ % knobs_.vectors;
  return loop(kernel_, "place", places_, LoopKind::kSerial, [&](ExprId place) {
    std::vector<Stmt> body = loop(kernel_, "set", sets, LoopKind::kSerial,
                                  [&](ExprId set) { return products(place, set, knobs_.vectors); });
    if (rest > 0) append(body, products(place, kernel_.int_const(sets), rest));
    return body;
  });
}

std::vector<Stmt> Emitter::products(ExprId place, ExprId set, int64_t vectors) {
  std::vector<Stmt> body;
  int64_t tiles = 0;
  int64_t strips = 0;
  for (const TileRun& run : split_evenly(cut_.block, knobs_.pixels)) {
    append(body, loop(kernel_, "strip", run.count, LoopKind::kSerial, [&](ExprId at) {
             const ExprId tile = kernel_.add(kernel_.mul(at, run.rows), tiles);
             return product_tile({place, set, kernel_.add(at, strips), tile, run.rows, vectors});
           }));
    tiles += run.count * run.rows;
    strips += run.count;
  }
  return body;
}

std::vector<Stmt> Emitter::product_tile(const Product& p) {
  TileAccumulators acc(kernel_, acc_, p.tiles, p.vectors, lanes_);
  std::vector<Stmt> body = acc.clear();
  const ExprId of_place = kernel_.mul(kernel_.add(kernel_.mul(group_, places_), p.place),
                                      group_vectors_ * lanes_ * conv_.in_channels);
  const ExprId of_set = kernel_.mul(p.set, knobs_.vectors * lanes_ * conv_.in_channels);
  const ExprId weights = kernel_.add(of_place, of_set);
  append(body, loop(kernel_, "cb", conv_.in_blocks(), LoopKind::kSerial, [&](ExprId block) {
           std::vector<Stmt> inside = prefetch_next_set(p, weights, block);
           for (int64_t c = 0; c < lanes_; ++c) {
             const ExprId k = kernel_.add(kernel_.mul(block, lanes_), c);
             const ExprId at = kernel_.add(weights, kernel_.mul(k, p.vectors * lanes_));
             std::vector<std::vector<Stmt>> by_tile;
             for (int64_t i = 0; i < p.tiles; ++i) {
               const ExprId from = v_index(p.place, block, kernel_.add(p.tile, i));
               const ExprId x = kernel_.load(v_, kernel_.add(from, c));
               std::vector<Stmt>& row = by_tile.emplace_back();
               for (int64_t v = 0; v < p.vectors; ++v) {
                 const ExprId w = kernel_.load(u_, kernel_.add(at, v * lanes_), lanes_);
                 row.push_back(acc.multiply_add(i, v, x, w));
               }
             }
             append(inside, in_register_order(std::move(by_tile)));
           }
           return inside;
         }));
  for (int64_t i = 0; i < p.tiles; ++i) {
    for (int64_t v = 0; v < p.vectors; ++v) {
      const ExprId vector = kernel_.add(kernel_.mul(p.set, knobs_.vectors), v);
      body.push_back(
          ir::make_store(m_, m_index(p.place, vector, kernel_.add(p.tile, i)), acc.value(i, v)));
    }
  }
  return body;
}

// Weights are used once a block and mostly come from memory. While the strips of one set of vectors
// are computed, the next set is fetched: evenly, some cache lines for each block of channels.
std::vector<Stmt> Emitter::prefetch_next_set(const Product& p, ExprId weights, ExprId block) {
  const int64_t all = places_ * conv_.in_channels * conv_.out_channels;
  if (all * static_cast<int64_t>(sizeof(float)) < kPrefetchBytes) return {};
  const int64_t set = p.vectors * lanes_ * conv_.in_channels;
  const int64_t strips = (cut_.block + knobs_.pixels - 1) / knobs_.pixels;
  const int64_t steps = strips * conv_.in_blocks();
  const int64_t line = line_elements(DType::kFloat32);
  const int64_t lines = (set / line + steps - 1) / steps;
  const ExprId step = kernel_.add(kernel_.mul(p.strip, conv_.in_blocks()), block);
  const ExprId first = kernel_.add(kernel_.add(weights, set), kernel_.mul(step, lines * line));
  return prefetch_lines(kernel_, u_, first, lines);
}

// Phase 3.
std::vector<Stmt> Emitter::output_phase(ExprId first) {
  const ExprId count = minimum(kernel_.sub(kernel_.int_const(cut_.tiles), first), cut_.block);
  return loop(kernel_, "vector", group_vectors_, LoopKind::kSerial, [&](ExprId vector) {
    return loop_between(kernel_, "tile", kernel_.int_const(0), count, 0, cut_.block - 1,
                        [&](ExprId tile) {
                          std::vector<Stmt> body;
                          VectorOps ops(kernel_, lanes_, body);
                          const Place place = place_of(ops, kernel_.add(first, tile));
                          append(body, output_columns(vector, tile));
                          append(body, output_rows(place, vector));
                          return body;
                        });
  });
}

// half[row][column], n columns of m rows: the columns of the products, transformed.
std::vector<Stmt> Emitter::output_columns(ExprId vector, ExprId tile) {
  return loop(kernel_, "column", n_, LoopKind::kSerial, [&](ExprId column) {
    std::vector<Stmt> body;
    VectorOps ops(kernel_, lanes_, body);
    const std::vector<ExprId> line =
        load_line(ops, m_, m_index(column, vector, tile), n_ * m_stride_, n_);
    const std::vector<ExprId> transformed = transform_output(winograd_, ops, line);
    for (int64_t i = 0; i < winograd_.outputs; ++i) {
      const ExprId at = kernel_.mul(kernel_.add(column, i * n_), lanes_);
      body.push_back(ir::make_store(half_, at, transformed[static_cast<size_t>(i)]));
    }
    return body;
  });
}

std::vector<Stmt> Emitter::output_rows(const Place& place, ExprId vector) {
  const int64_t m = winograd_.outputs;
  const std::vector<Columns> columns = columns_of([&](int64_t column) {
    return Columns{column, column, 0, std::min(m, conv_.columns.out - column * m)};
  });
  const ExprId rows =
      minimum(kernel_.sub(kernel_.int_const(conv_.rows.out), kernel_.mul(place.row, m)), m);
  return for_columns(columns, place.column, [&](const Columns& these) {
    return loop_between(kernel_, "row", kernel_.int_const(0), rows, 0, m - 1,
                        [&](ExprId row) { return output_row(place, vector, row, these); });
  });
}

std::vector<Stmt> Emitter::output_row(const Place& place, ExprId vector, ExprId row,
                                      const Columns& columns) {
  std::vector<Stmt> body;
  VectorOps ops(kernel_, lanes_, body);
  const ExprId base = kernel_.mul(row, n_ * lanes_);
  const std::vector<ExprId> outputs =
      transform_output(winograd_, ops, load_line(ops, half_, base, lanes_, n_));
  const int64_t m = winograd_.outputs;
  const ExprId number = kernel_.add(kernel_.mul(group_, group_vectors_), vector);
  const ExprId h = kernel_.add(kernel_.mul(place.row, m), row);
  for (int64_t i = 0; i < columns.end; ++i) {
    body.push_back(
        ir::make_store(line_, kernel_.int_const(i * lanes_), outputs[static_cast<size_t>(i)]));
  }
  for (int64_t i = 0; i < columns.end; ++i) {
    const ExprId w = kernel_.add(kernel_.mul(place.column, m), i);
    append(body,
           loop(kernel_, "lane", lanes_, LoopKind::kVector, [&](ExprId lane) -> std::vector<Stmt> {
             const ExprId sum = kernel_.load(line_, kernel_.add(lane, i * lanes_));
             evaluator_.bind(conv_.node, [sum](const Index&) { return sum; });
             const ExprId c = kernel_.add(kernel_.mul(number, lanes_), lane);
             const Index at = {place.image, c, h, w};
             return {evaluator_.store_output(frame_.output, at,
                                             evaluator_.value(task_.region.output, at))};
           }));
    evaluator_.unbind(conv_.node);
  }
  return body;
}

}  // namespace

bool matches_conv_winograd(const Task& task) {
  return find_winograd_conv(task).has_value();
}

std::vector<Knobs> knobs_conv_winograd(const Task& task) {
  return rank_winograd(task, *find_winograd_conv(task));
}

LoweredKernel emit_conv_winograd(const Task& task, const Knobs& knobs) {
  const WinogradConv conv = *find_winograd_conv(task);
  LoweredKernel lowered = Emitter(task, conv, knobs).emit();
  lowered.relative_error =
      winograd_error(make_winograd(knobs.winograd), winograd_weights(task, conv), conv.out_channels,
                     conv.in_channels);
  return lowered;
}

}  // namespace camshaft::lower
