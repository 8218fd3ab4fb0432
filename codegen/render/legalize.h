// SPDX-License-Identifier: MIT
// The last rewrite before printing, shared by the renderers so that C and LLVM IR compute the same
// bits: kernel-IR operations whose meaning differs from C's and LLVM's are spelled out.
#pragma once

#include "codegen/ir/kernel.h"
#include "codegen/render/render.h"

namespace camshaft::render {

// Returns the kernel in the form that renderers print. Afterwards:
// - a cast from float to integer is only made of values in the integer's range, hence is a plain
//   conversion; saturation and NaN have become comparisons and selects;
// - f16 is cast only to and from f32, and only where the target has that conversion; elsewhere, and
//   for bf16, the bits are moved with integer operations (round to nearest, ties to even);
// - integer kDiv and kRem never trap: MIN / -1 wraps to MIN, a divisor of 0 gives 0;
// - kRem is on integers only: fmod has become exact steps of divide and subtract;
// - kDot is where dot_form() says that the target has it;
// - the index of a gather whose lanes are known distances apart has one scalar in it;
// - bool operands occur only in kAnd, kOr, kXor, kSelect, kBroadcast and kCast.
ir::Kernel legalize_kernel(ir::Kernel kernel, const CpuTarget& target);

// Whether the target converts between f16 and f32 by an instruction.
bool has_half_conversion(const CpuTarget& target);

}  // namespace camshaft::render
