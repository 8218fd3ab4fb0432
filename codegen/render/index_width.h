// SPDX-License-Identifier: MIT
// How wide the integers must be that a kernel's indices are computed in.
#pragma once

#include "codegen/ir/kernel.h"

namespace camshaft::render {

// Whether all that a legalised kernel computes in i64 are indices of at most 31 bits and a sign, so
// that 32-bit integers give the same. False also where lanes of 8 bytes are compared or chosen:
// their masks are i64 lanes.
bool fits_32_bits(const ir::Kernel& kernel);

}  // namespace camshaft::render
