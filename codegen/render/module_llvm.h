// SPDX-License-Identifier: MIT
// Kernels as an LLVM module. Included only by files that are left out of builds without LLVM.
#pragma once

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <memory>
#include <vector>

#include "codegen/ir/kernel.h"
#include "codegen/render/render.h"

namespace camshaft::render {

// A module with two functions a kernel, as in render_c.cc: NAME.body, whose parameters are noalias,
// and the exported NAME. Kernels must have passed check_renderable() and legalize_kernel(). A
// broken module is a bug.
std::unique_ptr<llvm::Module> build_module(const std::vector<const ir::Kernel*>& kernels,
                                           const CpuTarget& target, llvm::LLVMContext& context);

// The features that LLVM must be told: the target's and what they imply.
std::string llvm_features(const CpuTarget& target);

}  // namespace camshaft::render
