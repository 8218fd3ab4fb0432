// SPDX-License-Identifier: MIT
#include "codegen/lower/matrix_planes.h"

#include <utility>

namespace camshaft::lower {

using ir::DType;
using ir::KOp;
using ir::LoopKind;

MatrixPlanes::MatrixPlanes(const Task& task, const MatrixConv& conv, Frame& frame)
    : task_(task),
      conv_(conv),
      kernel_(frame.kernel()),
      input_(frame.arrays.at(conv.x)),
      array_(kernel_.add_local("planes", DType::kBFloat16,
                               conv.blocks() * conv.planes() * conv.plane_elements())) {}

ExprId MatrixPlanes::at(ExprId block, int64_t tap) const {
  const int64_t row_tap = tap / conv_.window.last.kernel;
  const int64_t column_tap = tap % conv_.window.last.kernel;
  const ExprId row = row_at(block, conv_.rows.plane_of(row_tap), conv_.columns.plane_of(column_tap),
                            kernel_.int_const(conv_.rows.shift_of(row_tap)));
  return kernel_.add(row, conv_.columns.shift_of(column_tap) * conv_.block);
}

// First element of a row of a plane.
ExprId MatrixPlanes::row_at(ExprId block, int64_t row_plane, int64_t column_plane,
                            ExprId row) const {
  const auto columns = static_cast<int64_t>(conv_.columns.remainders.size());
  const ExprId plane =
      kernel_.add(kernel_.mul(block, conv_.planes()), row_plane * columns + column_plane);
  return kernel_.add(kernel_.mul(plane, conv_.plane_elements()),
                     kernel_.mul(row, conv_.pitch * conv_.block));
}

std::vector<Stmt> MatrixPlanes::copy(ExprId n, ExprId first_row) const {
  const int64_t whole = conv_.in_channels / conv_.block;
  std::vector<Stmt> body = loop(kernel_, "cb", whole, LoopKind::kSerial, [&](ExprId block) {
    return copy_block({n, block, first_row, conv_.block});
  });
  const int64_t rest = conv_.in_channels % conv_.block;
  if (rest > 0) append(body, copy_block({n, kernel_.int_const(whole), first_row, rest}));
  return body;
}

std::vector<Stmt> MatrixPlanes::copy_block(const From& from) const {
  std::vector<Stmt> body;
  for (size_t r = 0; r < conv_.rows.remainders.size(); ++r) {
    append(body, loop(kernel_, "row", conv_.plane_rows(), LoopKind::kSerial,
                      [&](ExprId row) { return copy_row(from, static_cast<int64_t>(r), row); }));
  }
  return body;
}

// Row `row` of the planes of one remainder, which may be padding.
std::vector<Stmt> MatrixPlanes::copy_row(const From& from, int64_t row_plane, ExprId row) const {
  const WindowAxis& axis = conv_.rows.axis;
  const int64_t offset = conv_.rows.remainders[static_cast<size_t>(row_plane)] - axis.pad;
  std::vector<Stmt> body;
  const ExprId place = kernel_.add(from.first_row, row);
  const ExprId y = let(kernel_, body, "y", kernel_.add(kernel_.mul(place, axis.stride), offset));
  std::vector<Stmt> inside;
  std::vector<Stmt> outside;
  const ExprId line =
      kernel_.binary(KOp::kMax, kernel_.binary(KOp::kMin, y, kernel_.int_const(axis.in - 1)),
                     kernel_.int_const(0));
  for (size_t c = 0; c < conv_.columns.remainders.size(); ++c) {
    const auto column_plane = static_cast<int64_t>(c);
    const ExprId to = row_at(from.block, row_plane, column_plane, row);
    append(inside, copy_columns(from, line, column_plane, to));
    append(outside, clear(to, 0, conv_.pitch));
  }
  if (axis.all_inside()) {
    append(body, std::move(inside));
    return body;
  }
  const ExprId is_inside =
      kernel_.binary(KOp::kAnd, kernel_.binary(KOp::kLe, kernel_.int_const(0), y),
                     kernel_.binary(KOp::kLt, y, kernel_.int_const(axis.in)));
  const ExprId is_outside =
      kernel_.binary(KOp::kXor, is_inside, kernel_.int_const(1, DType::kBool));
  body.push_back(ir::make_if(is_inside, std::move(inside)));
  body.push_back(ir::make_if(is_outside, std::move(outside)));
  return body;
}

std::vector<Stmt> MatrixPlanes::copy_columns(const From& from, ExprId y, int64_t column_plane,
                                             ExprId to) const {
  const WindowAxis& axis = conv_.columns.axis;
  const PlaneAxis::Range inside = conv_.columns.inside(column_plane, conv_.pitch);
  const int64_t offset = conv_.columns.remainders[static_cast<size_t>(column_plane)] - axis.pad;
  std::vector<Stmt> body = clear(to, 0, inside.begin);
  append(body,
         loop(kernel_, "column", inside.end - inside.begin, LoopKind::kSerial, [&](ExprId at) {
           const ExprId column = kernel_.add(at, inside.begin);
           const ExprId x = kernel_.add(kernel_.mul(column, axis.stride), offset);
           return copy_pixel(from, y, x, kernel_.add(to, kernel_.mul(column, conv_.block)));
         }));
  append(body, clear(to, inside.end, conv_.pitch));
  return body;
}

// A block's channels of one pixel, as many at a time as lie together.
std::vector<Stmt> MatrixPlanes::copy_pixel(const From& from, ExprId y, ExprId x, ExprId to) const {
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
std::vector<Stmt> MatrixPlanes::clear(ExprId row, int64_t begin, int64_t end) const {
  return loop(kernel_, "column", end - begin, LoopKind::kSerial,
              [&](ExprId at) -> std::vector<Stmt> {
                const ExprId column = kernel_.add(at, begin);
                return {clear_pixel(kernel_.add(row, kernel_.mul(column, conv_.block)))};
              });
}

Stmt MatrixPlanes::clear_pixel(ExprId to) const {
  const ExprId zeros = kernel_.bitcast(
      kernel_.broadcast(kernel_.int_const(0, DType::kUInt16), static_cast<int32_t>(conv_.block)),
      DType::kBFloat16);
  return ir::make_store(array_, to, zeros);
}

}  // namespace camshaft::lower
