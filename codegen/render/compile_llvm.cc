// SPDX-License-Identifier: MIT
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/raw_ostream.h>

#include <optional>
#include <string>

#include "codegen/render/compile.h"
#include "codegen/render/legalize.h"
#include "codegen/render/machine_llvm.h"
#include "codegen/render/module_llvm.h"
#include "codegen/render/renderable.h"

namespace camshaft::render {

base::Result<std::string> render_llvm(const std::vector<ir::Kernel>& kernels,
                                      const CpuTarget& target) {
  CAMSHAFT_TRY(check_renderable(kernels, target));
  std::vector<ir::Kernel> legal;
  for (const ir::Kernel& kernel : kernels) legal.push_back(legalize_kernel(kernel, target));
  std::vector<const ir::Kernel*> pointers;
  for (const ir::Kernel& kernel : legal) pointers.push_back(&kernel);
  llvm::LLVMContext context;
  const std::unique_ptr<llvm::Module> module = build_module(pointers, target, context);
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, nullptr);
  return text;
}

// Each kernel is a module, so that what it becomes depends on nothing else.
base::Result<std::vector<ObjectFile>> compile_with_llvm(const std::vector<ir::Kernel>& kernels,
                                                        const CpuTarget& target) {
  std::vector<ObjectFile> objects(kernels.size());
  CAMSHAFT_TRY(run_jobs(kernels.size(), [&](size_t i) -> base::Status {
    thread_local std::optional<std::pair<std::string, LlvmMachine>> kept;
    const std::string key = target.triple + " " + target.march + " " + target.features;
    if (!kept || kept->first != key) {
      CAMSHAFT_TRY_ASSIGN(LlvmMachine machine, LlvmMachine::make(target));
      kept.emplace(key, std::move(machine));
    }
    const ir::Kernel legal = legalize_kernel(kernels[i], target);
    llvm::LLVMContext context;
    const std::unique_ptr<llvm::Module> module = build_module({&legal}, target, context);
    kept->second.optimize(*module);
    CAMSHAFT_TRY_ASSIGN(objects[i], kept->second.object(*module));
    return base::ok();
  }));
  return objects;
}

base::Result<std::string> assembly_with_llvm(const ir::Kernel& kernel, const CpuTarget& target) {
  CAMSHAFT_TRY(check_renderable({kernel}, target));
  CAMSHAFT_TRY_ASSIGN(const LlvmMachine machine, LlvmMachine::make(target));
  const ir::Kernel legal = legalize_kernel(kernel, target);
  llvm::LLVMContext context;
  const std::unique_ptr<llvm::Module> module = build_module({&legal}, target, context);
  machine.optimize(*module);
  return machine.assembly(*module);
}

base::Result<std::string> llvm_version() {
  return std::string(LLVM_VERSION_STRING);
}

}  // namespace camshaft::render
