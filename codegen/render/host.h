// SPDX-License-Identifier: MIT
// What the compiling machine's CPU is. host_llvm.cc asks the LLVM library; a build without it asks
// clang (host_no_llvm.cc), so that both give LLVM's names.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace camshaft::render {

struct HostCpu {
  std::string march;                  // LLVM's CPU name, such as "znver3"
  std::vector<std::string> features;  // LLVM's names without sign, those that the machine has
};

// May run clang, hence block for some tens of milliseconds.
base::Result<HostCpu> detect_host_cpu();

}  // namespace camshaft::render
