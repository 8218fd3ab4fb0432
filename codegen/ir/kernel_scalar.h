// SPDX-License-Identifier: MIT
// What each kernel op does to one lane: shared by constant folding and the interpreter.
#pragma once

#include <cstdint>

#include "codegen/ir/kernel.h"

namespace camshaft::ir {

// One lane of any dtype in 64 bits. Integers are sign- or zero-extended, bool is 0 or 1, floats are
// their IEEE bits in the low end.
using LaneBits = uint64_t;

LaneBits float_bits(double value, DType dtype);  // rounds; f32 and f64
double float_value(LaneBits bits, DType dtype);  // f32 and f64

// An elementwise op on one lane: arithmetic, comparison, kSelect, math. `dtype` is that of the
// operands (for kSelect, of the values). A zero divisor gives 0. Math is computed by the C library
// in the next wider format.
LaneBits evaluate_op(KOp op, DType dtype, LaneBits a, LaneBits b, LaneBits c);
// The same on `count` lanes; all of `args` point to lanes, used or not.
void evaluate_op(KOp op, DType dtype, const LaneBits* const args[3], LaneBits* result, int count);

// kCast and kBitcast of one lane.
LaneBits evaluate_cast(LaneBits a, DType from, DType to);
LaneBits evaluate_bitcast(LaneBits a, DType from, DType to);

// One element in memory, as a lane.
LaneBits read_element(const void* element, DType dtype);
void write_element(void* element, DType dtype, LaneBits value);

}  // namespace camshaft::ir
