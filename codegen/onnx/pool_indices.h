// SPDX-License-Identifier: MIT
// Output Indices of MaxPool: where in its input each maximum was found.
#pragma once

#include "codegen/ir/graph.h"
#include "codegen/onnx/value.h"

namespace camshaft::onnx {

// For each element of the pool of x [N, C, spatial...], which has spatial extents `outputs`, the
// number of the first element of its window that is the largest: i64, in x flattened, row-major, or
// with the first spatial axis innermost if `column_major`. Some element of the window if it has a
// NaN.
Value max_pool_indices(Value x, const ir::PoolAttrs& attrs, const Shape& outputs,
                       bool column_major);

}  // namespace camshaft::onnx
