// SPDX-License-Identifier: MIT
#include "codegen/ir/kernel_passes.h"

namespace camshaft::ir {

Kernel decompose_math(Kernel kernel, const MathSupport&) {
  return kernel;
}

}  // namespace camshaft::ir
