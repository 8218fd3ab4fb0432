// SPDX-License-Identifier: MIT
// What a build without LLVM (llvm=0) has in the place of compile_llvm.cc.
#include "codegen/render/compile.h"

namespace camshaft::render {

namespace {

base::Status refuse() {
  return base::fail(base::Code::kUnsupported, "render.no_llvm",
                    "this build has no llvm target (llvm=0): use the target cpu, or build with "
                    "llvm=1");
}

}  // namespace

base::Result<std::string> render_llvm(const std::vector<ir::Kernel>&, const CpuTarget&) {
  return refuse();
}

base::Result<std::vector<ObjectFile>> compile_with_llvm(const std::vector<ir::Kernel>&,
                                                        const CpuTarget&) {
  return refuse();
}

base::Result<std::string> assembly_with_llvm(const ir::Kernel&, const CpuTarget&) {
  return refuse();
}

base::Result<std::string> llvm_version() {
  return refuse();
}

}  // namespace camshaft::render
