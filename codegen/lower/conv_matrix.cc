// SPDX-License-Identifier: MIT
// Strategy `conv_matrix`: convolutions of bf16 with constant weights by the target's matrix
// registers (matrix_conv.h). A tile is a few matrices of output pixels times a few of output
// channels, whose sums stay in registers; they go through memory once, for the epilogue. Weights
// are packed at compile time in the order in which they are loaded:
//   [set of matrices of output channels][input block][tap][matrix][pair of channels][column][2]
#include <algorithm>
#include <memory>
#include <optional>

#include "codegen/lower/frame.h"
#include "codegen/lower/matrix_conv.h"
#include "codegen/lower/matrix_planes.h"
#include "codegen/lower/strategy_list.h"
#include "codegen/lower/tile.h"
#include "codegen/lower/weights.h"

namespace camshaft::lower {
namespace {

using ir::DType;
using ir::KOp;
using ir::LoopKind;
using ir::MatrixId;

// The order is the order of the loads.
void pack_matrices(const MatrixConv& conv, int64_t set_columns, WeightPacker& packer) {
  for (int64_t first = 0; first < conv.column_tiles(); first += set_columns) {
    const int64_t width = std::min(set_columns, conv.column_tiles() - first);
    for (int64_t block = 0; block < conv.blocks(); ++block) {
      for (int64_t tap = 0; tap < conv.taps(); ++tap) {
        for (int64_t i = 0; i < width * conv.block * kMatrixColumns; ++i) {
          const int64_t in_matrix = i % (conv.block * kMatrixColumns);
          const int64_t tile = first + i / (conv.block * kMatrixColumns);
          const int64_t o = tile * kMatrixColumns + in_matrix / 2 % kMatrixColumns;
          const int64_t k = in_matrix / (2 * kMatrixColumns) * 2 + in_matrix % 2;
          const int64_t place = conv.weight_at(o, block, tap, k);
          place >= 0 ? packer.put(place) : packer.skip();
        }
      }
    }
  }
}

class MatrixConvEmitter {
 public:
  MatrixConvEmitter(const Task& task, const MatrixConv& conv, const Knobs& knobs)
      : task_(task),
        knobs_(knobs),
        conv_(conv),
        frame_(task, "conv_matrix", knobs, {conv.w}),
        kernel_(frame_.kernel()),
        evaluator_(kernel_, task, frame_.arrays) {
    weights_ =
        PackedWeights(frame_, "w", conv.w, conv.column_tiles() * column_elements(),
                      [&](WeightPacker& packer) { pack_matrices(conv, knobs.vectors, packer); });
    if (!conv.in_place) planes_ = make_matrix_planes(task, conv_, frame_);
    input_ = planes_ ? planes_->array() : frame_.arrays.at(conv.x);
    const int64_t rows = conv.tile_rows();
    acc_ = kernel_.add_local("acc", DType::kFloat32,
                             knobs.pixels * rows * knobs.vectors * kMatrixColumns);
    add_matrices();
  }

  LoweredKernel emit() {
    const int64_t strips = conv_.batch * conv_.strips;
    const ChannelSets sets(conv_.out_channels, knobs_.vectors, strips, task_.threads);
    set_thread_loop(kernel_, strips * sets.parts, [&](ExprId t) {
      const ExprId part = kernel_.mod(t, sets.parts);
      const ExprId rest = kernel_.div(t, sets.parts);
      const ExprId strip = kernel_.mul(kernel_.mod(rest, conv_.strips), conv_.strip);
      n_ = kernel_.div(rest, conv_.strips);
      first_row_ = minimum(strip, conv_.height - conv_.strip);
      done_ = kernel_.mul(kernel_.sub(strip, first_row_), conv_.pitch);
      std::vector<Stmt> body = planes_ ? planes_->copy(n_, first_row_) : std::vector<Stmt>{};
      append(body, sets.of_part(kernel_, part, [&](ExprId set, int64_t matrices) {
        return set_body(set, matrices);
      }));
      return body;
    });
    return std::move(frame_.lowered);
  }

 private:
  // Elements of weights: of one matrix, and of all that a matrix of output channels needs.
  int64_t matrix_elements() const { return conv_.block * kMatrixColumns; }
  int64_t column_elements() const { return conv_.blocks() * conv_.taps() * matrix_elements(); }
  ExprId minimum(ExprId a, int64_t b) { return kernel_.binary(KOp::kMin, a, kernel_.int_const(b)); }

  void add_matrices() {
    const auto rows = static_cast<int32_t>(conv_.tile_rows());
    const auto block = static_cast<int32_t>(conv_.block);
    constexpr auto kColumns = static_cast<int32_t>(kMatrixColumns);
    for (int32_t i = 0; i < knobs_.pixels * knobs_.vectors; ++i) {
      sums_.push_back(kernel_.add_matrix("sum", DType::kFloat32, rows, kColumns));
    }
    for (int32_t i = 0; i < knobs_.pixels; ++i) {
      xs_.push_back(kernel_.add_matrix("x", DType::kBFloat16, rows, block));
    }
    for (int32_t i = 0; i < knobs_.vectors; ++i) {
      ws_.push_back(kernel_.add_matrix("w", DType::kBFloat16, block / 2, 2 * kColumns));
    }
  }

  std::vector<Stmt> set_body(ExprId set, int64_t columns) {
    const int64_t full = conv_.row_tiles() / knobs_.pixels;
    const int64_t rest = conv_.row_tiles() % knobs_.pixels;
    std::vector<Stmt> body = loop(kernel_, "tile", full, LoopKind::kSerial, [&](ExprId tile) {
      return tile_body({set, tile, kernel_.mul(tile, knobs_.pixels), knobs_.pixels, columns, {}});
    });
    if (rest > 0) {
      append(body, tile_body({set,
                              kernel_.int_const(full),
                              kernel_.int_const(full * knobs_.pixels),
                              rest,
                              columns,
                              {}}));
    }
    return body;
  }

  // A tile: `rows` matrices of pixels from number `first_row` on, times `columns` of a set.
  struct MatrixTile {
    ExprId set;
    ExprId number;
    ExprId first_row;
    int64_t rows;
    int64_t columns;
    std::vector<ExprId> places;  // first pixel of each row of matrices, in the strip
  };

  std::vector<Stmt> tile_body(MatrixTile tile) {
    std::vector<Stmt> body;
    for (int64_t r = 0; r < tile.rows; ++r) {
      // The last one begins inside the one before, rather than end outside of the strip.
      const ExprId place = kernel_.mul(kernel_.add(tile.first_row, r), kMatrixRows);
      tile.places.push_back(
          let(kernel_, body, "place", minimum(place, conv_.places() - conv_.tile_rows())));
    }
    for (int64_t i = 0; i < tile.rows * tile.columns; ++i) {
      body.push_back(ir::make_matrix_clear(sums_[static_cast<size_t>(i)]));
    }
    append(body, products(tile));
    const int64_t pitch = knobs_.vectors * kMatrixColumns;
    for (int64_t r = 0; r < tile.rows; ++r) {
      for (int64_t c = 0; c < tile.columns; ++c) {
        const int64_t at = r * conv_.tile_rows() * pitch + c * kMatrixColumns;
        body.push_back(ir::make_matrix_store(sum(tile, r, c), acc_, kernel_.int_const(at), pitch));
      }
    }
    for (int64_t r = 0; r < tile.rows; ++r) append(body, store_row(tile, r));
    return body;
  }

  MatrixId sum(const MatrixTile& tile, int64_t row, int64_t column) const {
    return sums_[static_cast<size_t>(row * tile.columns + column)];
  }

  std::vector<Stmt> products(const MatrixTile& tile) {
    int64_t unroll = conv_.taps() == 1 ? std::min<int64_t>(knobs_.unroll, conv_.blocks()) : 1;
    while (conv_.blocks() % unroll != 0) --unroll;
    const int64_t turns = conv_.blocks() / unroll;
    return loop(kernel_, "cb", turns, LoopKind::kSerial, [&](ExprId turn) {
      std::vector<Stmt> body = prefetch_next_set(tile, turn, turns);
      for (int64_t u = 0; u < unroll; ++u) {
        const ExprId block = kernel_.add(kernel_.mul(turn, unroll), u);
        for (int64_t tap = 0; tap < conv_.taps(); ++tap) append(body, product(tile, block, tap));
      }
      return body;
    });
  }

  // One product of all matrices of the tile: an input block at one tap.
  std::vector<Stmt> product(const MatrixTile& tile, ExprId block, int64_t tap) {
    const ExprId first = kernel_.mul(tile.set, knobs_.vectors * column_elements());
    const ExprId step = kernel_.add(kernel_.mul(block, conv_.taps()), tap);
    const ExprId w = kernel_.add(first, kernel_.mul(step, tile.columns * matrix_elements()));
    const ExprId x = input_at(block, tap);
    std::vector<Stmt> body;
    for (int64_t r = 0; r < tile.rows; ++r) {
      const MatrixId x_matrix = xs_[static_cast<size_t>(r)];
      const ExprId place = kernel_.mul(tile.places[static_cast<size_t>(r)], conv_.step());
      body.push_back(ir::make_matrix_load(x_matrix, input_, kernel_.add(x, place), conv_.step()));
      for (int64_t c = 0; c < tile.columns; ++c) {
        const MatrixId w_matrix = ws_[static_cast<size_t>(c)];
        if (r == 0) {
          body.push_back(ir::make_matrix_load(w_matrix, weights_.array(),
                                              kernel_.add(w, c * matrix_elements()),
                                              2 * kMatrixColumns));
        }
        body.push_back(ir::make_matrix_multiply(sum(tile, r, c), x_matrix, w_matrix));
      }
    }
    return body;
  }

  // What tap `tap` of the strip's first output pixel reads.
  ExprId input_at(ExprId block, int64_t tap) {
    if (conv_.in_place) {
      const ExprId plane = kernel_.add(kernel_.mul(n_, conv_.blocks()), block);
      return kernel_.mul(kernel_.add(kernel_.mul(plane, conv_.height), first_row_), conv_.block);
    }
    return planes_->at(block, tap);
  }

  // Weights that don't stay in the caches are fetched one set ahead: evenly, some lines each turn.
  std::vector<Stmt> prefetch_next_set(const MatrixTile& tile, ExprId turn, int64_t turns) {
    const int64_t bytes = conv_.column_tiles() * column_elements() * 2;
    if (bytes <= task_.target.l2_bytes / 2) return {};
    const int64_t line = line_elements(DType::kBFloat16);
    const int64_t tiles = (conv_.row_tiles() + knobs_.pixels - 1) / knobs_.pixels;
    const int64_t set = knobs_.vectors * column_elements();
    const int64_t lines = (set / line + tiles * turns - 1) / (tiles * turns);
    const ExprId step = kernel_.add(kernel_.mul(tile.number, turns), turn);
    const ExprId first = kernel_.mul(kernel_.add(tile.set, 1), set);
    return weights_.prefetch(kernel_, kernel_.add(first, kernel_.mul(step, lines * line)), lines);
  }

  // Pixels of row `r` of the tile's matrices, but those that an earlier tile or strip stored.
  std::vector<Stmt> store_row(const MatrixTile& tile, int64_t r) {
    const ExprId place = tile.places[static_cast<size_t>(r)];
    const ExprId wanted = kernel_.mul(kernel_.add(tile.first_row, r), kMatrixRows);
    const ExprId begin = kernel_.sub(kernel_.binary(KOp::kMax, wanted, done_), place);
    const int64_t rows = conv_.tile_rows();
    if (!conv_.in_place && conv_.pitch >= rows) return store_lines(tile, r, place, begin);
    const auto pixel_body = [&](ExprId row) {
      std::vector<Stmt> body;
      const ExprId pixel = let(kernel_, body, "pixel", kernel_.add(place, row));
      const ExprId column = kernel_.mod(pixel, conv_.pitch);
      std::vector<Stmt> stores =
          store_channels(tile, r, row, kernel_.div(pixel, conv_.pitch), column);
      if (conv_.pitch == conv_.width) {
        append(body, std::move(stores));
      } else {
        body.push_back(ir::make_if(kernel_.binary(KOp::kLt, column, kernel_.int_const(conv_.width)),
                                   std::move(stores)));
      }
      return body;
    };
    if (kernel_.is_int_const(begin)) {
      return loop(kernel_, "row", rows, LoopKind::kSerial, pixel_body);
    }
    return loop_between(kernel_, "row", begin, kernel_.int_const(rows), 0, rows - 1, pixel_body);
  }

  // The same where they are of two lines of the output at most, and no pixel is divided.
  std::vector<Stmt> store_lines(const MatrixTile& tile, int64_t r, ExprId place, ExprId begin) {
    const int64_t rows = conv_.tile_rows();
    std::vector<Stmt> body;
    const ExprId line = let(kernel_, body, "line", kernel_.div(place, conv_.pitch));
    const ExprId column =
        let(kernel_, body, "column", kernel_.sub(place, kernel_.mul(line, conv_.pitch)));
    for (int64_t i = 0; i < 2; ++i) {
      // Row of the matrix where the line begins; negative in it.
      const ExprId first = kernel_.sub(kernel_.int_const(i * conv_.pitch), column);
      const ExprId from = i == 0 ? begin : kernel_.binary(KOp::kMax, begin, first);
      std::vector<Stmt> pixels = loop_between(
          kernel_, "row", from, minimum(kernel_.add(first, conv_.width), rows), 0, rows - 1,
          [&](ExprId row) {
            return store_channels(tile, r, row, kernel_.add(line, i), kernel_.sub(row, first));
          });
      const ExprId is_there = kernel_.binary(KOp::kLt, i == 0 ? column : first,
                                             kernel_.int_const(i == 0 ? conv_.width : rows));
      body.push_back(ir::make_if(is_there, std::move(pixels)));
    }
    return body;
  }

  // Output channels of a tile; a last set may have fewer.
  int64_t channels_of(const MatrixTile& tile) const {
    const int64_t all = tile.columns * kMatrixColumns;
    int64_t set = 0;
    if (!kernel_.is_int_const(tile.set, &set)) return all;
    return std::min(all, conv_.out_channels - set * knobs_.vectors * kMatrixColumns);
  }

  // A pixel: row `row` of the matrices, at a line of the strip and a column.
  std::vector<Stmt> store_channels(const MatrixTile& tile, int64_t r, ExprId row, ExprId line,
                                   ExprId column) {
    const int64_t out_block = task_.schedule.buffer(task_.region.output).layout.channel_block;
    const int64_t width = out_block > 1 ? std::min(out_block, kMatrixColumns) : kMatrixColumns;
    const ExprId first_channel = kernel_.mul(tile.set, knobs_.vectors * kMatrixColumns);
    const ExprId acc_row =
        kernel_.mul(kernel_.add(row, r * conv_.tile_rows()), knobs_.vectors * kMatrixColumns);
    std::vector<Stmt> body;
    for (int64_t c = 0; c < channels_of(tile); c += width) {
      const int64_t used = std::min(width, channels_of(tile) - c);
      append(body,
             loop(kernel_, "lane", used, LoopKind::kVector, [&](ExprId lane) -> std::vector<Stmt> {
               const ExprId from_set = kernel_.add(lane, c);
               const ExprId sum = kernel_.load(acc_, kernel_.add(acc_row, from_set));
               evaluator_.bind(task_.region.root, [sum](const Index&) { return sum; });
               const Index at = output_at(kernel_.add(first_channel, from_set), line, column);
               return {evaluator_.store_output(frame_.output, at,
                                               evaluator_.value(task_.region.output, at))};
             }));
      evaluator_.unbind(task_.region.root);
    }
    return body;
  }

  Index output_at(ExprId channel, ExprId line, ExprId column) {
    Index index = {n_, channel};
    const ExprId row = kernel_.add(first_row_, line);
    if (conv_.in_place) {
      const ir::Shape& shape = task_.type(task_.region.root).shape;
      const Index at = delinearize(kernel_, {shape.begin() + 2, shape.end()}, row);
      index.insert(index.end(), at.begin(), at.end());
      return index;
    }
    if (!conv_.window.outer.empty()) index.push_back(row);
    index.push_back(column);
    return index;
  }

  const Task& task_;
  Knobs knobs_;
  const MatrixConv conv_;
  Frame frame_;
  Kernel& kernel_;
  Evaluator evaluator_;
  PackedWeights weights_;
  std::unique_ptr<MatrixPlanes> planes_;  // unless matrices are loaded from the input in place
  ir::ArrayId input_ = -1;                // that they are loaded from
  ir::ArrayId acc_ = -1;                  // [row of matrices][row][column]
  std::vector<MatrixId> sums_, xs_, ws_;
  ExprId n_ = ir::kNoExpr;
  ExprId first_row_ = ir::kNoExpr;  // of the strip
  ExprId done_ = ir::kNoExpr;       // pixels of the strip that the one before stores
};

}  // namespace

bool matches_conv_matrix(const Task& task) {
  return find_matrix_conv(task).has_value();
}

std::vector<Knobs> knobs_conv_matrix(const Task& task) {
  const MatrixConv conv = *find_matrix_conv(task);
  return rank_matrix_tiles(conv.row_tiles(), conv.column_tiles(), conv.tile_rows());
}

LoweredKernel emit_conv_matrix(const Task& task, const Knobs& knobs) {
  return MatrixConvEmitter(task, *find_matrix_conv(task), knobs).emit();
}

}  // namespace camshaft::lower
