// SPDX-License-Identifier: MIT
#include "codegen/render/compile.h"

#include "codegen/render/renderable.h"
#include "codegen/render/toolchain.h"

namespace camshaft::render {

namespace {

bool is_llvm(const CpuTarget& target) {
  return target.backend == "llvm";
}

}  // namespace

base::Result<std::vector<std::byte>> compile_shared_object(const std::vector<ir::Kernel>& kernels,
                                                           const CpuTarget& target) {
  if (kernels.empty()) {
    return base::fail(base::Code::kInvalidArgument, "render.no_kernels",
                      "there is no kernel to compile");
  }
  // Across all kernels: the compilers below see some of them at a time.
  CAMSHAFT_TRY(check_renderable(kernels, target));
  CAMSHAFT_TRY_ASSIGN(
      const std::vector<ObjectFile> objects,
      is_llvm(target) ? compile_with_llvm(kernels, target) : compile_with_clang(kernels, target));
  std::vector<std::string> exports;
  for (const ir::Kernel& kernel : kernels) exports.push_back(kernel.name);
  return link_shared_object(objects, exports);
}

base::Result<std::string> toolchain_version(const CpuTarget& target) {
  if (target.backend == "opencl") return std::string("OpenCL C 1.2");
  if (is_llvm(target)) {
    CAMSHAFT_TRY_ASSIGN(const std::string version, llvm_version());
    return "LLVM " + version;
  }
  CAMSHAFT_TRY_ASSIGN(const std::string clang, find_clang());
  CAMSHAFT_TRY_ASSIGN(const std::string version, program_version(clang));
  return "clang " + version;
}

base::Result<std::string> render_assembly(const ir::Kernel& kernel, const CpuTarget& target) {
  return is_llvm(target) ? assembly_with_llvm(kernel, target) : assembly_with_clang(kernel, target);
}

}  // namespace camshaft::render
