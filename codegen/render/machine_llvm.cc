// SPDX-License-Identifier: MIT
#include "codegen/render/machine_llvm.h"

#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>

#include <cstring>
#include <mutex>

#include "codegen/render/module_llvm.h"
#include "codegen/render/target_info.h"

namespace camshaft::render {

namespace {

void register_targets() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
  });
}

llvm::TargetOptions target_options() {
  llvm::TargetOptions options;
  // A multiply and an add stay two instructions: fused ones are asked for.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return options;
}

// Kernels are vectorised and unrolled when they come, so the passes that would guess at it are off.
llvm::PipelineTuningOptions pipeline_options() {
  llvm::PipelineTuningOptions options;
  options.LoopVectorization = false;
  options.LoopInterleaving = false;
  options.SLPVectorization = false;
  options.LoopUnrolling = false;
  return options;
}

// Of no function of the C library may be assumed that it exists.
llvm::TargetLibraryInfoImpl no_library(const llvm::Module& module) {
  llvm::TargetLibraryInfoImpl library((llvm::Triple(module.getTargetTriple())));
  library.disableAllFunctions();
  return library;
}

// Keeps the first error that the back end reports, instead of ending the process.
class ErrorKeeper : public llvm::DiagnosticHandler {
 public:
  explicit ErrorKeeper(std::string* error) : error_(*error) {}

  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() == llvm::DS_Error && error_.empty()) {
      llvm::raw_string_ostream stream(error_);
      llvm::DiagnosticPrinterRawOStream printer(stream);
      info.print(printer);
    }
    return true;
  }

 private:
  std::string& error_;
};

}  // namespace

base::Result<LlvmMachine> LlvmMachine::make(const CpuTarget& target) {
  register_targets();
  std::string error;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(target.triple, error);
  if (found == nullptr) {
    return base::fail(base::Code::kUnsupported, "render.llvm_target",
                      "this LLVM library can't compile for %s: %s", target.triple.c_str(),
                      error.c_str());
  }
  std::unique_ptr<llvm::TargetMachine> machine(found->createTargetMachine(
      target.triple, base_cpu(target), llvm_features(target), target_options(), llvm::Reloc::PIC_,
      llvm::CodeModel::Small, llvm::CodeGenOptLevel::Aggressive));
  CAMSHAFT_CHECK(machine != nullptr);
  return LlvmMachine(std::move(machine));
}

void LlvmMachine::optimize(llvm::Module& module) const {
  module.setDataLayout(machine_->createDataLayout());
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager call_graph;
  llvm::ModuleAnalysisManager modules;
  const llvm::TargetLibraryInfoImpl library = no_library(module);
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  llvm::PassBuilder passes(machine_.get(), pipeline_options());
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(call_graph);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, call_graph, modules);
  passes.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
}

base::Result<std::string> LlvmMachine::emit(llvm::Module& module,
                                            llvm::CodeGenFileType type) const {
  std::string error;
  module.getContext().setDiagnosticHandler(std::make_unique<ErrorKeeper>(&error));
  llvm::SmallString<0> output;
  {
    llvm::raw_svector_ostream stream(output);
    llvm::legacy::PassManager passes;
    passes.add(new llvm::TargetLibraryInfoWrapperPass(no_library(module)));
    const bool is_refused = machine_->addPassesToEmitFile(passes, stream, nullptr, type);
    CAMSHAFT_CHECK(!is_refused);
    passes.run(module);
  }
  if (!error.empty()) {
    return base::fail(base::Code::kUnsupported, "render.llvm_emit", "LLVM can't compile: %s",
                      error.c_str());
  }
  return std::string(output.str());
}

base::Result<std::vector<std::byte>> LlvmMachine::object(llvm::Module& module) const {
  CAMSHAFT_TRY_ASSIGN(const std::string text, emit(module, llvm::CodeGenFileType::ObjectFile));
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

base::Result<std::string> LlvmMachine::assembly(llvm::Module& module) const {
  return emit(module, llvm::CodeGenFileType::AssemblyFile);
}

}  // namespace camshaft::render
