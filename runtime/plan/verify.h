// SPDX-License-Identifier: MIT
// The rules between the parts of a plan: every index, range, size and name. What passes can be run
// without further checks. The reader holds files against them, the writer what the compiler made.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "runtime/plan/plan.h"

namespace camshaft::plan {

struct SectionShape {
  SectionKind kind = SectionKind::kMetadata;
  uint64_t size_bytes = 0;
};

struct Problem {
  const char* site = "";  // of base::Status
  std::string text;       // "command 3 (conv1) of target llvm:znver3 uses kernel 9 of 4"
};

// The first broken rule, or nothing. `sections` is the file's table.
std::optional<Problem> find_problem(const PlanInfo& info, std::span<const SectionShape> sections);

}  // namespace camshaft::plan
