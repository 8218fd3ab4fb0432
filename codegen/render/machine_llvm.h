// SPDX-License-Identifier: MIT
// LLVM's back end for one target. Included only by files that are left out of builds without LLVM.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "codegen/render/render.h"
#include "runtime/base/status.h"

namespace camshaft::render {

// Compiles modules for one target. For one thread at a time; making one is dear, so a thread makes
// one and keeps it.
class LlvmMachine {
 public:
  static base::Result<LlvmMachine> make(const CpuTarget& target);

  // Runs the optimiser on the module.
  void optimize(llvm::Module& module) const;
  // An ELF relocatable object, or assembly text, of an optimised module. The module is used up.
  base::Result<std::vector<std::byte>> object(llvm::Module& module) const;
  base::Result<std::string> assembly(llvm::Module& module) const;

 private:
  explicit LlvmMachine(std::unique_ptr<llvm::TargetMachine> machine)
      : machine_(std::move(machine)) {}
  base::Result<std::string> emit(llvm::Module& module, llvm::CodeGenFileType type) const;

  std::unique_ptr<llvm::TargetMachine> machine_;
};

}  // namespace camshaft::render
