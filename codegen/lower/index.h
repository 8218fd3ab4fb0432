// SPDX-License-Identifier: MIT
// Index arithmetic: where an element lies in a buffer, and how movement nodes map indices.
#pragma once

#include <vector>

#include "codegen/ir/graph.h"
#include "codegen/ir/kernel.h"
#include "codegen/schedule/schedule.h"

namespace camshaft::lower {

// One scalar i64 expression an axis.
using Index = std::vector<ir::ExprId>;

// Offset in elements of element `index` of a tensor of `shape` in `layout`.
ir::ExprId layout_offset(ir::Kernel& kernel, const ir::Shape& shape, schedule::Layout layout,
                         const Index& index);

// Element `index` of an image in the channels' layout (schedule::Layout), as the zeros around it
// where the last axis leaves its extent, or the first spatial one, if the first axis has extent 1.
ir::ExprId bordered_texel(ir::Kernel& kernel, ir::ArrayId image, const ir::Shape& shape,
                          const Index& index);

// Row-major position of `index`, and back.
ir::ExprId linear_index(ir::Kernel& kernel, const ir::Shape& shape, const Index& index);
Index delinearize(ir::Kernel& kernel, const ir::Shape& shape, ir::ExprId linear);
// Element (row, column) of one of a batch of matrices, of which `batch` is the number.
Index matrix_index(ir::Kernel& kernel, const ir::Shape& batch_shape, ir::ExprId batch,
                   ir::ExprId row, ir::ExprId column);

// The index in a tensor of shape `from` of the element that is `index` in its reshape to `to`.
// Works axis group by axis group, so that unchanged axes stay plain.
Index reshape_index(ir::Kernel& kernel, const ir::Shape& from, const ir::Shape& to,
                    const Index& index);

// An i64 expression as a sum: the coefficient of each listed variable if the expression is affine
// in all of them. False if one of them occurs inside anything but a sum of products with constants.
bool affine_coefficients(const ir::Kernel& kernel, ir::ExprId id,
                         const std::vector<ir::VarId>& vars, std::vector<int64_t>& coefficients);

}  // namespace camshaft::lower
