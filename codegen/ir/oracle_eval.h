// SPDX-License-Identifier: MIT
// Private to oracle*.cc: one function a class of ops, and the walk over indices that they share.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/ir/oracle.h"

namespace camshaft::ir {

// A node with its operands' values; what each evaluator gets.
struct Evaluation {
  const Node& node;
  const std::vector<const OracleTensor*>& operands;

  const OracleTensor& operand(int i) const { return *operands[static_cast<size_t>(i)]; }
};

// Each fills `result`, whose type is the node's and whose vector has the right size.
void evaluate_elementwise(const Evaluation& eval, OracleTensor& result);
void evaluate_movement(const Evaluation& eval, OracleTensor& result);
void evaluate_reduce(const Evaluation& eval, OracleTensor& result);
void evaluate_arg_reduce(const Evaluation& eval, OracleTensor& result);
void evaluate_scan(const Evaluation& eval, OracleTensor& result);
void evaluate_matmul(const Evaluation& eval, OracleTensor& result);
void evaluate_conv(const Evaluation& eval, OracleTensor& result);
void evaluate_pool(const Evaluation& eval, OracleTensor& result);
base::Status evaluate_gather(const Evaluation& eval, OracleTensor& result);
void evaluate_scatter(const Evaluation& eval, OracleTensor& result);
void evaluate_top_k(const Evaluation& eval, OracleTensor& result);
void evaluate_suppress(const Evaluation& eval, OracleTensor& result);

// The arithmetic of Add, Mul, Min and Max, which reductions and scans repeat.
double combine(ReduceKind kind, double a, double b);
int64_t combine(ReduceKind kind, int64_t a, int64_t b, DType dtype);
// The value that combine() leaves unchanged: of a float dtype, and of an integer one.
double float_identity(ReduceKind kind);
int64_t int_identity(ReduceKind kind, DType dtype);
// Whether a < b as `dtype` orders them (u64 is held by bit pattern).
bool int_less(int64_t a, int64_t b, DType dtype);

// Distance between neighbours along each axis of a dense row-major tensor, in elements.
Shape strides_of(const Shape& shape);
// Product of extents [first, last).
int64_t count_of(const Shape& shape, size_t first, size_t last);

// An axis seen as the middle one of three.
struct AxisView {
  int64_t outer;
  int64_t extent;
  int64_t inner;

  AxisView(const Shape& shape, int axis)
      : outer(count_of(shape, 0, static_cast<size_t>(axis))),
        extent(shape[static_cast<size_t>(axis)]),
        inner(count_of(shape, static_cast<size_t>(axis) + 1, shape.size())) {}

  size_t offset(int64_t o, int64_t i, int64_t n) const {
    return static_cast<size_t>((o * extent + i) * inner + n);
  }
};

// The vector of a tensor that holds its elements.
inline const std::vector<double>& values_of(const OracleTensor& t, double) {
  return t.floats;
}
inline const std::vector<int64_t>& values_of(const OracleTensor& t, int64_t) {
  return t.ints;
}
inline std::vector<double>& values_of(OracleTensor& t, double) {
  return t.floats;
}
inline std::vector<int64_t>& values_of(OracleTensor& t, int64_t) {
  return t.ints;
}

// Calls visit(i, offset) for each element i of `shape` in row-major order, where offset is the sum
// over the axes of offsets[axis][index on that axis].
template <typename Visit>
void for_each_offset(const Shape& shape, const std::vector<Shape>& offsets, Visit&& visit) {
  const size_t rank = shape.size();
  if (rank == 0) return visit(0, 0);
  const int64_t count = count_of(shape, 0, rank);
  Shape index(rank, 0);
  int64_t i = 0;
  while (i < count) {
    int64_t base = 0;
    for (size_t axis = 0; axis + 1 < rank; ++axis) {
      base += offsets[axis][static_cast<size_t>(index[axis])];
    }
    for (const int64_t offset : offsets[rank - 1]) visit(i++, base + offset);
    for (size_t axis = rank - 1; axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

}  // namespace camshaft::ir
