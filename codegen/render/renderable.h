// SPDX-License-Identifier: MIT
// What a CPU renderer refuses, with the sentence that says what to do.
#pragma once

#include <vector>

#include "codegen/ir/kernel.h"
#include "codegen/render/render.h"
#include "runtime/base/status.h"

namespace camshaft::render {

// Fails with kInvalidArgument (names, or kernels that were not prepared) or kUnsupported (what only
// a GPU or another CPU has).
base::Status check_renderable(const std::vector<ir::Kernel>& kernels, const CpuTarget& target);

}  // namespace camshaft::render
