// SPDX-License-Identifier: MIT
// Interval arithmetic behind Kernel::bounds.
#pragma once

#include "codegen/ir/kernel.h"

namespace camshaft::ir {

struct Interval {
  int64_t lo = INT64_MIN;
  int64_t hi = INT64_MAX;
};

// All values of an integer dtype; everything for i64, u64 and floats.
Interval range_of(DType dtype);

// The values of a two-operand integer op in `dtype` whose operands lie in `a` and `b`. A result
// that may wrap gives the range of the dtype.
Interval interval_of(KOp op, DType dtype, Interval a, Interval b);

}  // namespace camshaft::ir
