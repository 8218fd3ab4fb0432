// SPDX-License-Identifier: MIT
// What compilers must be told about a target.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codegen/render/render.h"

namespace camshaft::render {

bool is_x86(const CpuTarget& target);
// `name` is LLVM's, without sign.
bool has_feature(const CpuTarget& target, std::string_view name);
// "+avx2", "+fma", ...
std::vector<std::string> feature_list(const CpuTarget& target);

// The instruction set that the features extend, and the CPU whose timing the compiler plans with:
// the code uses the features listed, whatever else the CPU of that name has.
std::string base_cpu(const CpuTarget& target);
std::string tune_cpu(const CpuTarget& target);

}  // namespace camshaft::render
