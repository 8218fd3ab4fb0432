// SPDX-License-Identifier: MIT
// Strategy `conv_matrix_planar`: pointwise convolutions of bf16 by the target's matrix registers
// whose output has its channels one after another. The product is the other way round than in
// conv_matrix: rows of the sums are output channels and columns are pixels, so that a row goes
// through the epilogue and to memory as it is. The right operand needs pairs of input channels that
// lie together; a strip of pixels is packed so first, wherever its channels lie:
//   words [matrix of pixels][pair of channels][pixel]
// Weights are packed at compile time in the order in which they are loaded:
//   [set of matrices of output channels][input block][matrix][output channel][input channel]
#include <algorithm>

#include "codegen/lower/frame.h"
#include "codegen/lower/matrix_conv.h"
#include "codegen/lower/pairs.h"
#include "codegen/lower/strategy_list.h"
#include "codegen/lower/tile.h"
#include "codegen/lower/weights.h"

namespace camshaft::lower {
namespace {

using ir::DType;
using ir::KOp;
using ir::LoopKind;
using ir::MatrixId;

constexpr int64_t kPackedBytes = 96 << 10;  // of a strip, at most: on a worker's stack

struct PlanarConv {
  NodeId x, w;
  int64_t batch;
  int64_t in_channels;
  int64_t out_channels;
  int64_t in_block;  // channels that lie together in the input
  int64_t pixels;    // of an image
  int64_t block;     // input channels of one product; the last one may have fewer
  int64_t strip;     // matrices of pixels that are packed together
  int64_t strips;

  int64_t blocks() const { return ceil_div(in_channels, block); }
  int64_t pairs() const { return blocks() * block / 2; }
  int64_t columns() const { return std::min(kMatrixColumns, pixels); }
  int64_t pixel_matrices() const { return ceil_div(pixels, columns()); }
  int64_t channel_matrices() const { return ceil_div(out_channels, kMatrixRows); }
  int64_t packed_elements() const { return pairs() * columns(); }  // of a matrix of pixels
};

// Strips of about the same size, which stay in the first level of the caches where the weights do,
// too, and otherwise in the second.
void cut_strips(const Task& task, PlanarConv& conv) {
  const int64_t weight_bytes = conv.channel_matrices() * kMatrixRows * conv.pairs() * 4;
  const bool are_little = weight_bytes <= task.target.l1_bytes / 2;
  const int64_t fitting = are_little ? task.target.l1_bytes / 2 : task.target.l2_bytes / 4;
  const int64_t matrix_bytes = conv.packed_elements() * 4;
  const int64_t most = std::min(fitting, kPackedBytes) / matrix_bytes;
  const int64_t by_threads = ceil_div(conv.pixel_matrices(), task.threads);
  conv.strips = ceil_div(conv.pixel_matrices(), std::max<int64_t>(std::min(most, by_threads), 1));
  conv.strip = ceil_div(conv.pixel_matrices(), conv.strips);
}

std::optional<PlanarConv> find_planar_conv(const Task& task) {
  if (!is_matrix_conv(task)) return std::nullopt;
  const ir::Node& node = task.node(task.region.root);
  const Window window = window_of(task);
  if (!window.is_pointwise() || !window.is_dense()) return std::nullopt;
  if (task.schedule.buffer(task.region.output).layout.channel_block > 1) return std::nullopt;
  PlanarConv conv{};
  conv.x = node.inputs[0];
  conv.w = node.inputs[1];
  const ir::TensorType& x = task.type(conv.x);
  conv.batch = x.shape[0];
  conv.in_channels = x.shape[1];
  conv.out_channels = task.type(conv.w).shape[0];
  conv.in_block = task.schedule.buffer(conv.x).layout.channel_block;
  conv.pixels = window.pixels();
  if (std::min(conv.in_channels, conv.out_channels) < kLeastChannels) return std::nullopt;
  conv.block = product_block(conv.in_channels);
  cut_strips(task, conv);
  const bool fits = conv.strip * conv.packed_elements() * 4 <= 2 * kPackedBytes;
  return fits ? std::optional(conv) : std::nullopt;
}

void pack_rows(const PlanarConv& conv, int64_t set_rows, WeightPacker& packer) {
  for (int64_t first = 0; first < conv.channel_matrices(); first += set_rows) {
    const int64_t height = std::min(set_rows, conv.channel_matrices() - first) * kMatrixRows;
    for (int64_t c0 = 0; c0 < conv.in_channels; c0 += conv.block) {
      for (int64_t i = 0; i < height * conv.block; ++i) {
        const int64_t o = first * kMatrixRows + i / conv.block;
        const int64_t c = c0 + i % conv.block;
        const bool is_inside = o < conv.out_channels && c < conv.in_channels;
        is_inside ? packer.put(o * conv.in_channels + c) : packer.skip();
      }
    }
  }
}

class PlanarConvEmitter {
 public:
  PlanarConvEmitter(const Task& task, const PlanarConv& conv, const Knobs& knobs)
      : task_(task),
        knobs_(knobs),
        conv_(conv),
        frame_(task, "conv_matrix_planar", knobs, {conv.w}),
        kernel_(frame_.kernel()),
        evaluator_(kernel_, task, frame_.arrays),
        x_(frame_.arrays.at(conv.x)) {
    weights_ = PackedWeights(frame_, "w", conv.w, conv.channel_matrices() * row_elements(),
                             [&](WeightPacker& packer) { pack_rows(conv, knobs.vectors, packer); });
    packed_ = kernel_.add_local("packed", DType::kUInt32, conv.strip * conv.packed_elements());
    acc_ = kernel_.add_local("acc", DType::kFloat32,
                             knobs.vectors * knobs.pixels * kMatrixRows * conv.columns());
    add_matrices();
  }

  LoweredKernel emit() {
    const int64_t strips = conv_.batch * conv_.strips;
    const ChannelSets sets(conv_.out_channels, knobs_.vectors, strips, task_.threads);
    set_thread_loop(kernel_, strips * sets.parts, [&](ExprId t) {
      const ExprId part = kernel_.mod(t, sets.parts);
      const ExprId rest = kernel_.div(t, sets.parts);
      n_ = kernel_.div(rest, conv_.strips);
      first_ = kernel_.mul(kernel_.mod(rest, conv_.strips), conv_.strip);
      std::vector<Stmt> body = pack();
      append(body, sets.of_part(kernel_, part, [&](ExprId set, int64_t matrices) {
        return set_body(set, matrices);
      }));
      return body;
    });
    return std::move(frame_.lowered);
  }

 private:
  // A tile: `rows` matrices of output channels of a set times `columns` of pixels from number
  // `first` of the strip on.
  struct PlanarTile {
    ExprId set;
    ExprId first;
    int64_t rows;
    int64_t columns;
  };

  // Elements of weights: of one matrix, and of all that a matrix of output channels needs.
  int64_t matrix_elements() const { return kMatrixRows * conv_.block; }
  int64_t row_elements() const { return conv_.blocks() * matrix_elements(); }
  int64_t sum_elements() const { return kMatrixRows * conv_.columns(); }
  ExprId minimum(ExprId a, int64_t b) { return kernel_.binary(KOp::kMin, a, kernel_.int_const(b)); }

  void add_matrices() {
    const auto rows = static_cast<int32_t>(kMatrixRows);
    const auto columns = static_cast<int32_t>(conv_.columns());
    const auto block = static_cast<int32_t>(conv_.block);
    for (int64_t i = 0; i < knobs_.vectors * knobs_.pixels; ++i) {
      sums_.push_back(kernel_.add_matrix("sum", DType::kFloat32, rows, columns));
    }
    for (int64_t i = 0; i < knobs_.vectors; ++i) {
      ws_.push_back(kernel_.add_matrix("w", DType::kBFloat16, rows, block));
    }
    for (int64_t i = 0; i < knobs_.pixels; ++i) {
      xs_.push_back(kernel_.add_matrix("x", DType::kBFloat16, block / 2, 2 * columns));
    }
  }

  // First pixel of a matrix of the image: the last one begins inside the one before, rather than
  // end outside of the image, and those of a strip that are too many are the last one.
  ExprId place_of(ExprId matrix) {
    return minimum(kernel_.mul(matrix, conv_.columns()), conv_.pixels - conv_.columns());
  }

  // Packs the strip's pixels.
  std::vector<Stmt> pack() {
    std::vector<Stmt> body = conv_.in_block == 1 ? pack_planes() : pack_blocks();
    const int64_t used = ceil_div(conv_.in_channels, 2);
    append(body, each_matrix(conv_.pairs() - used, [&](ExprId matrix, ExprId pair) {
             return pack_row(matrix, kernel_.add(pair, used),
                             [&](ExprId) { return kernel_.int_const(0, DType::kUInt32); });
           }));
    return body;
  }

  // Pairs of planes, row by row of `columns` pixels.
  std::vector<Stmt> pack_planes() {
    const int64_t whole = conv_.in_channels / 2;
    const auto row = [&](ExprId matrix, ExprId pair, bool has_both) {
      const ExprId place = place_of(kernel_.add(first_, matrix));
      return pack_row(matrix, pair, [&](ExprId lane) {
        const ExprId plane = kernel_.add(kernel_.mul(n_, conv_.in_channels), kernel_.mul(pair, 2));
        const ExprId pixel = kernel_.add(place, lane);
        const ExprId at = kernel_.add(kernel_.mul(plane, conv_.pixels), pixel);
        return has_both ? word_of(kernel_, x_, at, kernel_.add(at, conv_.pixels))
                        : half_word(kernel_, x_, at);
      });
    };
    std::vector<Stmt> body =
        each_matrix(whole, [&](ExprId matrix, ExprId pair) { return row(matrix, pair, true); });
    append(body, each_matrix(conv_.in_channels % 2, [&](ExprId matrix, ExprId) {
             return row(matrix, kernel_.int_const(whole), false);
           }));
    return body;
  }

  // `body(matrix, pair)` for `pairs` pairs of each of the strip's matrices.
  std::vector<Stmt> each_matrix(int64_t pairs,
                                const std::function<std::vector<Stmt>(ExprId, ExprId)>& body) {
    return loop(kernel_, "pair", pairs, LoopKind::kSerial, [&](ExprId pair) {
      return loop(kernel_, "matrix", conv_.strip, LoopKind::kSerial,
                  [&](ExprId matrix) { return body(matrix, pair); });
    });
  }

  std::vector<Stmt> pack_row(ExprId matrix, ExprId pair,
                             const std::function<ExprId(ExprId)>& word_at) {
    const ExprId row = kernel_.add(kernel_.mul(matrix, conv_.pairs()), pair);
    return loop(kernel_, "lane", conv_.columns(), LoopKind::kVector,
                [&](ExprId lane) -> std::vector<Stmt> {
                  const ExprId to = kernel_.add(kernel_.mul(row, conv_.columns()), lane);
                  return {ir::make_store(packed_, to, word_at(lane))};
                });
  }

  // Pairs inside blocks are words already: pixel by pixel.
  std::vector<Stmt> pack_blocks() {
    const int64_t in_block = conv_.in_block;
    const auto pixel_body = [&](ExprId block, ExprId matrix, ExprId column) {
      const ExprId plane = kernel_.add(kernel_.mul(n_, conv_.in_channels / in_block), block);
      const ExprId place = kernel_.add(place_of(kernel_.add(first_, matrix)), column);
      const ExprId from =
          kernel_.mul(kernel_.add(kernel_.mul(plane, conv_.pixels), place), in_block);
      const ExprId pair =
          kernel_.add(kernel_.mul(matrix, conv_.pairs()), kernel_.mul(block, in_block / 2));
      const ExprId to = kernel_.add(kernel_.mul(pair, conv_.columns()), column);
      std::vector<Stmt> body;
      for (int64_t i = 0; i < in_block / 2; ++i) {
        const ExprId at = kernel_.add(from, 2 * i);
        body.push_back(ir::make_store(packed_, kernel_.add(to, i * conv_.columns()),
                                      word_of(kernel_, x_, at, kernel_.add(at, 1))));
      }
      return body;
    };
    return loop(
        kernel_, "block", conv_.in_channels / in_block, LoopKind::kSerial, [&](ExprId block) {
          return loop(kernel_, "matrix", conv_.strip, LoopKind::kSerial, [&](ExprId matrix) {
            return loop(kernel_, "pixel", conv_.columns(), LoopKind::kSerial,
                        [&](ExprId column) { return pixel_body(block, matrix, column); });
          });
        });
  }

  std::vector<Stmt> set_body(ExprId set, int64_t rows) {
    const int64_t full = conv_.strip / knobs_.pixels;
    const int64_t rest = conv_.strip % knobs_.pixels;
    std::vector<Stmt> body = loop(kernel_, "tile", full, LoopKind::kSerial, [&](ExprId tile) {
      return tile_body({set, kernel_.mul(tile, knobs_.pixels), rows, knobs_.pixels});
    });
    if (rest > 0) {
      append(body, tile_body({set, kernel_.int_const(full * knobs_.pixels), rows, rest}));
    }
    return body;
  }

  std::vector<Stmt> tile_body(const PlanarTile& tile) {
    std::vector<Stmt> body;
    for (int64_t i = 0; i < tile.rows * tile.columns; ++i) {
      body.push_back(ir::make_matrix_clear(sums_[static_cast<size_t>(i)]));
    }
    append(body, products(tile));
    for (int64_t i = 0; i < tile.rows * tile.columns; ++i) {
      body.push_back(ir::make_matrix_store(sums_[static_cast<size_t>(i)], acc_,
                                           kernel_.int_const(i * sum_elements()), conv_.columns()));
    }
    for (int64_t r = 0; r < tile.rows; ++r) {
      for (int64_t c = 0; c < tile.columns; ++c) append(body, store_matrix(tile, r, c));
    }
    return body;
  }

  std::vector<Stmt> products(const PlanarTile& tile) {
    int64_t unroll = std::min<int64_t>(knobs_.unroll, conv_.blocks());
    while (conv_.blocks() % unroll != 0) --unroll;
    return loop(kernel_, "cb", conv_.blocks() / unroll, LoopKind::kSerial, [&](ExprId turn) {
      std::vector<Stmt> body;
      for (int64_t u = 0; u < unroll; ++u) {
        append(body, product(tile, kernel_.add(kernel_.mul(turn, unroll), u)));
      }
      return body;
    });
  }

  std::vector<Stmt> product(const PlanarTile& tile, ExprId block) {
    std::vector<Stmt> body;
    const ExprId set = kernel_.mul(tile.set, knobs_.vectors * row_elements());
    const ExprId w = kernel_.add(set, kernel_.mul(block, tile.rows * matrix_elements()));
    for (int64_t r = 0; r < tile.rows; ++r) {
      const MatrixId w_matrix = ws_[static_cast<size_t>(r)];
      body.push_back(ir::make_matrix_load(w_matrix, weights_.array(),
                                          kernel_.add(w, r * matrix_elements()), conv_.block));
      for (int64_t c = 0; c < tile.columns; ++c) {
        const MatrixId x_matrix = xs_[static_cast<size_t>(c)];
        if (r == 0) {
          const ExprId first = kernel_.mul(kernel_.add(tile.first, c), conv_.pairs());
          const ExprId row = kernel_.add(first, kernel_.mul(block, conv_.block / 2));
          body.push_back(ir::make_matrix_load(x_matrix, packed_, kernel_.mul(row, conv_.columns()),
                                              conv_.columns()));
        }
        body.push_back(ir::make_matrix_multiply(sums_[static_cast<size_t>(r * tile.columns + c)],
                                                w_matrix, x_matrix));
      }
    }
    return body;
  }

  // A matrix of sums, but for pixels that an earlier one stores: all of them or the last ones.
  std::vector<Stmt> store_matrix(const PlanarTile& tile, int64_t r, int64_t c) {
    std::vector<Stmt> body;
    const ExprId matrix = kernel_.add(first_, kernel_.add(tile.first, c));
    const ExprId place = let(kernel_, body, "place", place_of(matrix));
    const int64_t columns = conv_.columns();
    const int64_t whole = conv_.pixels / columns;
    const int64_t rest = conv_.pixels % columns;
    std::vector<Stmt> stores = store_pixels(tile, r, c, place, 0, columns);
    if (rest == 0 && conv_.strips * conv_.strip == whole) {
      append(body, std::move(stores));
      return body;
    }
    const auto is_number = [&](KOp op, int64_t number) {
      return kernel_.binary(op, matrix, kernel_.int_const(number));
    };
    body.push_back(ir::make_if(is_number(KOp::kLt, whole), std::move(stores)));
    if (rest == 0) return body;
    std::vector<Stmt> last;
    for (int64_t begin = columns - rest; begin < columns;) {
      int64_t count = 1;  // as many as a vector has
      while (2 * count <= columns - begin) count *= 2;
      append(last, store_pixels(tile, r, c, place, begin, count));
      begin += count;
    }
    body.push_back(ir::make_if(is_number(KOp::kEq, whole), std::move(last)));
    return body;
  }

  // Columns [begin, begin + count) of a matrix of sums: a row of each output channel.
  std::vector<Stmt> store_pixels(const PlanarTile& tile, int64_t r, int64_t c, ExprId place,
                                 int64_t begin, int64_t count) {
    const int64_t acc = (r * tile.columns + c) * sum_elements() + begin;
    const ExprId first_channel =
        kernel_.mul(kernel_.add(kernel_.mul(tile.set, knobs_.vectors), r), kMatrixRows);
    return loop(kernel_, "row", channels_of(tile, r), LoopKind::kSerial, [&](ExprId row) {
      return loop(kernel_, "lane", count, LoopKind::kVector, [&](ExprId lane) -> std::vector<Stmt> {
        const ExprId acc_row = kernel_.add(kernel_.mul(row, conv_.columns()), acc);
        const ExprId sum = kernel_.load(acc_, kernel_.add(acc_row, lane));
        evaluator_.bind(task_.region.root, [sum](const Index&) { return sum; });
        const ExprId pixel = kernel_.add(kernel_.add(place, begin), lane);
        const Index at = output_at(kernel_.add(first_channel, row), pixel);
        const ExprId value = evaluator_.value(task_.region.output, at);
        evaluator_.unbind(task_.region.root);
        return {evaluator_.store_output(frame_.output, at, value)};
      });
    });
  }

  // Output channels of a matrix of a tile; the last one may have fewer.
  int64_t channels_of(const PlanarTile& tile, int64_t r) const {
    int64_t set = 0;
    if (!kernel_.is_int_const(tile.set, &set)) return kMatrixRows;
    return std::min(kMatrixRows, conv_.out_channels - (set * knobs_.vectors + r) * kMatrixRows);
  }

  Index output_at(ExprId channel, ExprId pixel) {
    const ir::Shape& shape = task_.type(task_.region.root).shape;
    Index index = {n_, channel};
    const Index at = delinearize(kernel_, {shape.begin() + 2, shape.end()}, pixel);
    index.insert(index.end(), at.begin(), at.end());
    return index;
  }

  const Task& task_;
  const Knobs knobs_;
  const PlanarConv conv_;
  Frame frame_;
  Kernel& kernel_;
  Evaluator evaluator_;
  ir::ArrayId x_;
  PackedWeights weights_;
  ir::ArrayId packed_ = -1;  // the strip's pixels
  ir::ArrayId acc_ = -1;     // [matrix of the tile][output channel][pixel]
  std::vector<MatrixId> sums_, ws_, xs_;
  ExprId n_ = ir::kNoExpr;
  ExprId first_ = ir::kNoExpr;  // matrix of the strip, in the image
};

}  // namespace

bool matches_conv_matrix_planar(const Task& task) {
  return find_planar_conv(task).has_value();
}

std::vector<Knobs> knobs_conv_matrix_planar(const Task& task) {
  const PlanarConv conv = *find_planar_conv(task);
  return rank_matrix_tiles(conv.strip, conv.channel_matrices(), kMatrixRows);
}

LoweredKernel emit_conv_matrix_planar(const Task& task, const Knobs& knobs) {
  return PlanarConvEmitter(task, *find_planar_conv(task), knobs).emit();
}

}  // namespace camshaft::lower
