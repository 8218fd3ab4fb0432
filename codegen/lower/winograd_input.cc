// SPDX-License-Identifier: MIT
#include <algorithm>

#include "codegen/lower/winograd_emitter.h"

namespace camshaft::lower {

using ir::DType;
using ir::LoopKind;

// The last block may have fewer tiles; it repeats the very last one, so that V is whole.
std::vector<Stmt> WinogradEmitter::input_phase(ExprId first) {
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
std::vector<Stmt> WinogradEmitter::patch_rows(const Place& place, ExprId block) {
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

std::vector<Stmt> WinogradEmitter::patch_row(const Place& place, ExprId block, ExprId row,
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
    const ExprId x = kernel_.load(frame_.arrays.at(conv_.x), at, lanes_);
    line.push_back(ops.let(kernel_.cast(x, DType::kFloat32)));
  }
  const std::vector<ExprId> transformed = transform_input(winograd_, ops, line);
  for (int64_t i = 0; i < n_; ++i) {
    const ExprId at = kernel_.mul(kernel_.add(kernel_.mul(row, n_), i), lanes_);
    body.push_back(ir::make_store(half_, at, transformed[static_cast<size_t>(i)]));
  }
  return body;
}

std::vector<Stmt> WinogradEmitter::patch_columns(ExprId block, ExprId tile) {
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

}  // namespace camshaft::lower
