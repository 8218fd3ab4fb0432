// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "runtime/plan/reader.h"

namespace camshaft::plan {

// What differs from `before` to `after`, a line each; empty if they say the same:
//   target llvm:znver3: command conv1+relu: parts from 2 to 4
//   - target llvm:znver3: command fc          only in `before`
//   + target opencl                           only in `after`
// In words, since an arrow is how descriptions of commands part what is read from what is written.
// Signatures and the places of sections in the file are not compared.
std::vector<std::string> diff_plans(const PlanFile& before, const PlanFile& after);

}  // namespace camshaft::plan
