// SPDX-License-Identifier: MIT
// The two ways from kernels to ELF objects, and the link that both end in.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "codegen/ir/kernel.h"
#include "codegen/render/render.h"
#include "runtime/base/status.h"

namespace camshaft::render {

using ObjectFile = std::vector<std::byte>;  // ELF, relocatable

// compile_clang.cc: by the program clang, several files at a time.
base::Result<std::vector<ObjectFile>> compile_with_clang(const std::vector<ir::Kernel>& kernels,
                                                         const CpuTarget& target);
base::Result<ObjectFile> compile_c_text(const std::string& text, const CpuTarget& target);
base::Result<std::string> assembly_with_clang(const ir::Kernel& kernel, const CpuTarget& target);

// compile_llvm.cc: by the LLVM library, one object a kernel. A build without LLVM has functions
// that fail with kUnsupported (refuse_no_llvm.cc).
base::Result<std::vector<ObjectFile>> compile_with_llvm(const std::vector<ir::Kernel>& kernels,
                                                        const CpuTarget& target);
base::Result<std::string> assembly_with_llvm(const ir::Kernel& kernel, const CpuTarget& target);
base::Result<std::string> llvm_version();

// link.cc: one shared object with `exports` as its only functions. Fails with kInternal, and names
// the symbol, if the objects call anything that they don't define.
base::Result<std::vector<std::byte>> link_shared_object(const std::vector<ObjectFile>& objects,
                                                        const std::vector<std::string>& exports);

// Runs job(0) ... job(count - 1) on as many threads as the machine has cores; returns the failure
// with the smallest number. Which thread runs what has no influence on any result.
base::Status run_jobs(size_t count, const std::function<base::Status(size_t)>& job);

}  // namespace camshaft::render
