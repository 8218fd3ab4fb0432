// SPDX-License-Identifier: MIT
// A pass of prepare_kernel().
#pragma once

#include "codegen/ir/kernel.h"

namespace camshaft::ir {

// Removes every Let that nothing uses, every loop and If that does nothing, stores of what is
// already there, and stores that a later store in the same statement list overwrites before
// anything can have read them.
Kernel remove_dead_statements(Kernel kernel);

}  // namespace camshaft::ir
