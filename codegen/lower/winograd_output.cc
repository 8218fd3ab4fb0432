// SPDX-License-Identifier: MIT
#include <algorithm>

#include "codegen/lower/winograd_emitter.h"

namespace camshaft::lower {

using ir::LoopKind;

std::vector<Stmt> WinogradEmitter::output_phase(ExprId first) {
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
std::vector<Stmt> WinogradEmitter::output_columns(ExprId vector, ExprId tile) {
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

std::vector<Stmt> WinogradEmitter::output_rows(const Place& place, ExprId vector) {
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

std::vector<Stmt> WinogradEmitter::output_row(const Place& place, ExprId vector, ExprId row,
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

}  // namespace camshaft::lower
