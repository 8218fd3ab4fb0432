// SPDX-License-Identifier: MIT
// Intel's AMX, in which kernels' matrices are tile registers: matrix i is TMMi.
#pragma once

#include <array>
#include <cstdint>

#include "codegen/ir/kernel.h"

namespace camshaft::render {

// The operand of LDTILECFG, by Intel's manual: palette 1 in byte 0; from byte 16 on the bytes of a
// row of each register, two each; from byte 48 on its rows.
std::array<uint8_t, 64> amx_configuration(const ir::Kernel& kernel);

}  // namespace camshaft::render
