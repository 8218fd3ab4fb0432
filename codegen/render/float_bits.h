// SPDX-License-Identifier: MIT
// Float operations spelled out in bit operations and exact arithmetic, for legalize_kernel(). Each
// takes any number of lanes, works with denormals flushed or not, and gives a quiet NaN for NaN.
#pragma once

#include "codegen/ir/kernel.h"

namespace camshaft::render {

ir::ExprId expand_f16_to_f32(ir::Kernel& kernel, ir::ExprId half);
ir::ExprId expand_bf16_to_f32(ir::Kernel& kernel, ir::ExprId half);

// To nearest, ties to even; overflow gives infinity.
ir::ExprId expand_f32_to_f16(ir::Kernel& kernel, ir::ExprId value);
ir::ExprId expand_f32_to_bf16(ir::Kernel& kernel, ir::ExprId value);

// An f64 as f32, rounded to odd: to the neighbour whose last bit is 1 unless it is exact.
ir::ExprId round_to_odd(ir::Kernel& kernel, ir::ExprId value);

// kDot by shifts and products.
ir::ExprId expand_dot(ir::Kernel& kernel, ir::ExprId sum, ir::ExprId a, ir::ExprId b);

// The exact remainder with the sign of `x`, f32 or f64. f64 uses kFma.
ir::ExprId expand_fmod(ir::Kernel& kernel, ir::ExprId x, ir::ExprId y);

}  // namespace camshaft::render
