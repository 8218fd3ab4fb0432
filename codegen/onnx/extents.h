// SPDX-License-Identifier: MIT
// Extents that depend on data. A shape is static all the same: such an axis has the most that its
// extent can be, and a *count* says how many of its elements there are in a run. Elements beyond a
// count are there, finite or not, and mean nothing.
//
// Every operation carries counts along: elementwise and movement ops pass them on; what sums over
// an axis with a count masks the rest first; what can't be (a window that slides beyond the count,
// a slice from the end) is refused, unless the operator's function does it itself, with gathers and
// scatters at computed places. So no function gives a wrong result for not thinking of counts.
#pragma once

#include <map>
#include <vector>

#include "codegen/ir/graph.h"
#include "codegen/onnx/value.h"

namespace camshaft::onnx {

// The extent of an axis of x as it is in a run: i64[], constant if it is static.
Value extent_of(Value x, int axis);
// Does the extent depend on data?
bool has_count(Value x, int axis);
bool has_counts(Value x);
// x with this count (i64[], not negative; it is cut to the extent) on the axis. A count that is
// known now slices x instead.
Value with_count(Value x, int axis, Value count);
// x, which an operator made in the shape of `like` and not out of it, with the counts of that.
Value with_counts_of(Value x, Value like);
// x as a plain tensor: all of it.
Value without_counts(Value x);

// Has runs told in which these extents differ, which the model must not have. No work in the plan
// where they can't.
void watch_equal(Value a, int axis_of_a, Value b, int axis_of_b);
// Has runs told in which an index (integers, not negative) is not below `extent` (i64[]).
void watch_indices(Value indices, Value extent);

// Where index i of the axis is below the count: bool, 1 on all other axes; absent without a count.
Value is_counted(Value x, int axis);
// x with `fill` beyond the counts of these axes.
Value filled(Value x, const std::vector<int>& axes, double fill);
// The lowest or highest value that a dtype can hold (infinities of floats).
double lowest(DType dtype);
double highest(DType dtype);

// What Builder::add() does before an operation whose operands have counts: replaces operands where
// elements beyond a count would matter, and gives the counts of the result. False, told, if the
// operation can't be.
bool carry_counts(ir::Op op, const ir::Attrs& attrs, std::vector<Value>* operands,
                  std::map<int, Value>* counts);

// x with the entries of `target` (i64[rank]) that depend on data as the counts of its axes.
Value with_target_counts(Value x, Value target);
// Reshapes, with counts, to a shape whose entries may depend on data: `target` (i64[rank]) in a
// run, `bounds` at most. Where the elements of x and of the result don't lie alike they are
// gathered.
Value reshape_to(Value x, Value target, const Shape& bounds);
// Elements begin, begin + step, ... of an axis, `count` of them in a run and at most `extent`; all
// but extent and step i64[] that may depend on data.
Value slice_counted(Value x, int axis, Value begin, int64_t step, Value count, int64_t extent);
// Pieces one after the other although their extents on the axis depend on data.
Value concat_counted(const std::vector<Value>& pieces, int axis);

}  // namespace camshaft::onnx
