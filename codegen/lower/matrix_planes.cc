// SPDX-License-Identifier: MIT
#include "codegen/lower/matrix_planes.h"

#include <utility>

#include "codegen/lower/pairs.h"

namespace camshaft::lower {
namespace {

using ir::DType;
using ir::KOp;
using ir::LoopKind;

// [block of channels][remainder of the row][of the column][row][column][channel], of bf16.
class BlockPlanes : public MatrixPlanes {
 public:
  BlockPlanes(const Task& task, const MatrixConv& conv, Frame& frame)
      : MatrixPlanes(task, conv, frame, DType::kBFloat16) {}

  std::vector<Stmt> copy(ExprId n, ExprId first_row) const override {
    const int64_t whole = conv_.in_channels / conv_.block;
    std::vector<Stmt> body = loop(kernel_, "cb", whole, LoopKind::kSerial, [&](ExprId block) {
      return copy_block({n, block, first_row, conv_.block});
    });
    const int64_t rest = conv_.in_channels % conv_.block;
    if (rest > 0) append(body, copy_block({n, kernel_.int_const(whole), first_row, rest}));
    return body;
  }

  ExprId at(ExprId block, int64_t tap) const override {
    const int64_t row_tap = tap / conv_.window.last.kernel;
    const int64_t column_tap = tap % conv_.window.last.kernel;
    const ExprId row =
        row_at(block, conv_.rows.plane_of(row_tap), conv_.columns.plane_of(column_tap),
               kernel_.int_const(conv_.rows.shift_of(row_tap)));
    return kernel_.add(row, conv_.columns.shift_of(column_tap) * conv_.block);
  }

 private:
  struct From {
    ExprId n, block, first_row;
    int64_t channels;  // of the block
  };

  std::vector<Stmt> copy_block(const From& from) const {
    std::vector<Stmt> body;
    for (size_t r = 0; r < conv_.rows.remainders.size(); ++r) {
      const auto row_plane = static_cast<int64_t>(r);
      append(body, loop(kernel_, "row", conv_.plane_rows(), LoopKind::kSerial, [&](ExprId row) {
               const auto inside = [&](ExprId y) { return copy_columns(from, y, row_plane, row); };
               std::vector<Stmt> outside;
               for (size_t c = 0; c < conv_.columns.remainders.size(); ++c) {
                 const auto column_plane = static_cast<int64_t>(c);
                 append(outside,
                        clear(row_at(from.block, row_plane, column_plane, row), 0, conv_.pitch));
               }
               return copy_row(row_plane, from.first_row, row, inside, std::move(outside));
             }));
    }
    return body;
  }

  std::vector<Stmt> copy_columns(const From& from, ExprId y, int64_t row_plane, ExprId row) const {
    std::vector<Stmt> body;
    for (size_t c = 0; c < conv_.columns.remainders.size(); ++c) {
      const auto column_plane = static_cast<int64_t>(c);
      const WindowAxis& axis = conv_.columns.axis;
      const PlaneAxis::Range inside = conv_.columns.inside(column_plane, conv_.pitch);
      const int64_t offset = conv_.columns.remainders[c] - axis.pad;
      const ExprId to = row_at(from.block, row_plane, column_plane, row);
      append(body, clear(to, 0, inside.begin));
      append(body,
             loop(kernel_, "column", inside.end - inside.begin, LoopKind::kSerial, [&](ExprId at) {
               const ExprId column = kernel_.add(at, inside.begin);
               const ExprId x = kernel_.add(kernel_.mul(column, axis.stride), offset);
               return copy_pixel(from, y, x, kernel_.add(to, kernel_.mul(column, conv_.block)));
             }));
      append(body, clear(to, inside.end, conv_.pitch));
    }
    return body;
  }

  // A block's channels of one pixel, as many at a time as lie together.
  std::vector<Stmt> copy_pixel(const From& from, ExprId y, ExprId x, ExprId to) const {
    std::vector<Stmt> body;
    if (from.channels < conv_.block) body.push_back(clear_pixel(to));
    for (int64_t c = 0; c < from.channels; c += conv_.in_block) {
      Index index = {from.n, kernel_.add(kernel_.mul(from.block, conv_.block), c), y, x};
      if (conv_.window.outer.empty()) index.erase(index.begin() + 2);
      const ExprId source = layout_offset(kernel_, task_.type(conv_.x).shape,
                                          task_.schedule.buffer(conv_.x).layout, index);
      const ExprId channels = kernel_.load(input_, source, static_cast<int32_t>(conv_.in_block));
      body.push_back(ir::make_store(array_, kernel_.add(to, c), channels));
    }
    return body;
  }

  // Zeros at positions [begin, end) of a row of a plane.
  std::vector<Stmt> clear(ExprId row, int64_t begin, int64_t end) const {
    return loop(kernel_, "column", end - begin, LoopKind::kSerial,
                [&](ExprId at) -> std::vector<Stmt> {
                  const ExprId column = kernel_.add(at, begin);
                  return {clear_pixel(kernel_.add(row, kernel_.mul(column, conv_.block)))};
                });
  }

  Stmt clear_pixel(ExprId to) const {
    const ExprId zeros = kernel_.bitcast(
        kernel_.broadcast(kernel_.int_const(0, DType::kUInt16), static_cast<int32_t>(conv_.block)),
        DType::kBFloat16);
    return ir::make_store(array_, to, zeros);
  }
};

// [pair of channels][remainder of the row][row][column], of words. Columns are the input's, with
// the padding.
class PairPlanes : public MatrixPlanes {
 public:
  PairPlanes(const Task& task, const MatrixConv& conv, Frame& frame)
      : MatrixPlanes(task, conv, frame, DType::kUInt32) {}

  std::vector<Stmt> copy(ExprId n, ExprId first_row) const override {
    const int64_t whole = conv_.in_channels / 2;
    std::vector<Stmt> body = loop(kernel_, "pair", whole, LoopKind::kSerial,
                                  [&](ExprId pair) { return copy_pair(n, pair, first_row, true); });
    if (conv_.in_channels % 2 == 0) return body;
    append(body, copy_pair(n, kernel_.int_const(whole), first_row, false));
    return body;
  }

  ExprId at(ExprId block, int64_t tap) const override {
    return row_at(block, conv_.rows.plane_of(tap), 0, kernel_.int_const(conv_.rows.shift_of(tap)));
  }

 private:
  std::vector<Stmt> copy_pair(ExprId n, ExprId pair, ExprId first_row, bool has_both) const {
    const int64_t words = conv_.pitch * conv_.step();
    std::vector<Stmt> body;
    for (size_t r = 0; r < conv_.rows.remainders.size(); ++r) {
      const auto row_plane = static_cast<int64_t>(r);
      append(body, loop(kernel_, "row", conv_.plane_rows(), LoopKind::kSerial, [&](ExprId row) {
               const ExprId to = row_at(pair, row_plane, 0, row);
               const auto inside = [&](ExprId y) {
                 return copy_columns({n, pair, y}, has_both, to);
               };
               return copy_row(row_plane, first_row, row, inside, clear(to, 0, words));
             }));
    }
    return body;
  }

  struct From {
    ExprId n, pair, y;
  };
  std::vector<Stmt> copy_columns(const From& from, bool has_both, ExprId to) const {
    const WindowAxis& axis = conv_.columns.axis;
    const int64_t words = conv_.pitch * conv_.step();
    const int64_t begin = std::min(axis.pad, words);
    const int64_t end = std::min(axis.pad + axis.in, words);
    std::vector<Stmt> body = clear(to, 0, begin);
    append(body, loop(kernel_, "column", end - begin, LoopKind::kVector,
                      [&](ExprId x) -> std::vector<Stmt> {
                        const ExprId low = source(from, 0, x);
                        const ExprId word = has_both
                                                ? word_of(kernel_, input_, low, source(from, 1, x))
                                                : half_word(kernel_, input_, low);
                        const ExprId place = kernel_.add(to, kernel_.add(x, begin));
                        return {ir::make_store(array_, place, word)};
                      }));
    append(body, clear(to, end, words));
    return body;
  }

  ExprId source(const From& from, int64_t channel, ExprId x) const {
    Index index = {from.n, kernel_.add(kernel_.mul(from.pair, 2), channel), from.y, x};
    if (conv_.window.outer.empty()) index.erase(index.begin() + 2);
    return linear_index(kernel_, task_.type(conv_.x).shape, index);
  }

  std::vector<Stmt> clear(ExprId row, int64_t begin, int64_t end) const {
    return loop(kernel_, "column", end - begin, LoopKind::kVector,
                [&](ExprId at) -> std::vector<Stmt> {
                  const ExprId place = kernel_.add(row, kernel_.add(at, begin));
                  return {ir::make_store(array_, place, kernel_.int_const(0, DType::kUInt32))};
                });
  }
};

}  // namespace

MatrixPlanes::MatrixPlanes(const Task& task, const MatrixConv& conv, Frame& frame, DType dtype)
    : task_(task),
      conv_(conv),
      kernel_(frame.kernel()),
      input_(frame.arrays.at(conv.x)),
      array_(kernel_.add_local("planes", dtype, conv.all_elements())) {}

ExprId MatrixPlanes::row_at(ExprId block, int64_t row_plane, int64_t column_plane,
                            ExprId row) const {
  const auto row_planes = static_cast<int64_t>(conv_.rows.remainders.size());
  const int64_t column_planes = conv_.planes() / row_planes;
  const ExprId plane =
      kernel_.add(kernel_.mul(block, conv_.planes()), row_plane * column_planes + column_plane);
  return kernel_.add(kernel_.mul(plane, conv_.plane_elements()),
                     kernel_.mul(row, conv_.pitch * conv_.step()));
}

std::vector<Stmt> MatrixPlanes::copy_row(int64_t row_plane, ExprId first_row, ExprId row,
                                         const Body& inside, std::vector<Stmt> outside) const {
  const WindowAxis& axis = conv_.rows.axis;
  const int64_t offset = conv_.rows.remainders[static_cast<size_t>(row_plane)] - axis.pad;
  std::vector<Stmt> body;
  const ExprId place = kernel_.add(first_row, row);
  const ExprId y = let(kernel_, body, "y", kernel_.add(kernel_.mul(place, axis.stride), offset));
  const ExprId line =
      kernel_.binary(KOp::kMax, kernel_.binary(KOp::kMin, y, kernel_.int_const(axis.in - 1)),
                     kernel_.int_const(0));
  if (axis.all_inside()) {
    append(body, inside(line));
    return body;
  }
  const ExprId is_inside =
      kernel_.binary(KOp::kAnd, kernel_.binary(KOp::kLe, kernel_.int_const(0), y),
                     kernel_.binary(KOp::kLt, y, kernel_.int_const(axis.in)));
  const ExprId is_outside =
      kernel_.binary(KOp::kXor, is_inside, kernel_.int_const(1, DType::kBool));
  body.push_back(ir::make_if(is_inside, inside(line)));
  body.push_back(ir::make_if(is_outside, std::move(outside)));
  return body;
}

std::unique_ptr<MatrixPlanes> make_matrix_planes(const Task& task, const MatrixConv& conv,
                                                 Frame& frame) {
  if (conv.in_pairs) return std::make_unique<PairPlanes>(task, conv, frame);
  return std::make_unique<BlockPlanes>(task, conv, frame);
}

}  // namespace camshaft::lower
