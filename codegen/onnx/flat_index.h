// SPDX-License-Identifier: MIT
// Numbers of elements in the flattened tensor, computed from indices along its axes.
#pragma once

#include "codegen/onnx/value.h"

namespace camshaft::onnx {

// The positions 0, 1, ... along one axis, in a tensor of `rank` axes: i64.
Value positions(Builder* builder, int64_t extent, int axis, int rank);

// Indices in [0, extent) from ones that may count from the end: i64.
Value wrapped(Value indices, int64_t extent);
Value wrapped(Value indices, Value extent);  // i64, broadcast to the indices

// What becomes of an index that its axis doesn't have.
enum class Outside : uint8_t {
  kUnspecified,  // any number
  kNegative,     // a negative number
};

// For each of `indices` (the rank of `shape`, no longer on other axes than `axis`) the number of
// the element of a tensor of `shape` that has this index on `axis` and its own place on the others.
Value element_numbers(Value indices, const Shape& shape, int axis, Outside outside);

// The last axis of `indices` holds the first coordinates after `batch` axes, which both have: for
// each such tuple the number of the element, or row of the axes that it leaves open, in a tensor of
// `shape`. The result has the shape of `indices` without its last axis.
Value tuple_numbers(Value indices, const Shape& shape, int batch, Outside outside);

}  // namespace camshaft::onnx
