// SPDX-License-Identifier: MIT
// Which way from kernels to a program each target takes, and what its plan says of it.
#include <algorithm>

#include "codegen/render/render.h"
#include "codegen/render/target_info.h"

namespace camshaft::render {

namespace {

bool is_opencl(const CpuTarget& target) {
  return target.backend == "opencl";
}

bool uses_double(const ir::Kernel& kernel) {
  for (int i = 0; i < kernel.expr_count(); ++i) {
    if (kernel.expr(static_cast<ir::ExprId>(i)).type.dtype == ir::DType::kFloat64) return true;
  }
  return std::any_of(kernel.arrays().begin(), kernel.arrays().end(),
                     [](const ir::Array& array) { return array.dtype == ir::DType::kFloat64; });
}

bool uses_matrices(const ir::Kernel& kernel) {
  return !kernel.matrices().empty();
}

}  // namespace

TargetNames target_names(const CpuTarget& target) {
  if (is_opencl(target)) {
    return {.target = target.march.empty() ? "opencl" : "opencl:" + target.march,
            .device = "opencl",
            .arch = "opencl-c"};
  }
  return {.target = target.backend + ":" + target.march,
          .device = "cpu",
          .arch = target.triple.substr(0, target.triple.find('-'))};
}

std::vector<std::string> needed_features(const std::vector<ir::Kernel>& kernels,
                                         const CpuTarget& target) {
  std::vector<std::string> result;
  // The system may keep the registers of matrices to itself: only plans that use them ask for them.
  const bool has_matrices = std::any_of(kernels.begin(), kernels.end(), uses_matrices);
  for (const std::string& feature : feature_list(target)) {
    if (feature.starts_with("+amx-") && !has_matrices) continue;
    if (feature.size() > 1 && feature[0] == '+') result.push_back(feature.substr(1));
  }
  if (is_opencl(target) && std::any_of(kernels.begin(), kernels.end(), uses_double)) {
    result.push_back("cl_khr_fp64");
  }
  if (is_opencl(target) && std::any_of(kernels.begin(), kernels.end(), ir::has_images)) {
    result.push_back("images");
  }
  return result;
}

base::Result<Program> compile_program(const std::vector<ir::Kernel>& kernels,
                                      const CpuTarget& target) {
  Program program;
  if (is_opencl(target)) {
    CAMSHAFT_TRY_ASSIGN(const std::string text, render_opencl(kernels, target));
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    program = {.format = "opencl-c", .bytes = {bytes, bytes + text.size()}};
  } else {
    program.format = "elf-shared-object";
    CAMSHAFT_TRY_ASSIGN(program.bytes, compile_shared_object(kernels, target));
  }
  return program;
}

base::Result<std::string> render_source(const std::vector<ir::Kernel>& kernels,
                                        const CpuTarget& target) {
  return is_opencl(target) ? render_opencl(kernels, target) : render_c(kernels, target);
}

}  // namespace camshaft::render
