// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "runtime/plan/reader.h"

namespace camshaft::plan {

// A page for people: header, inputs and outputs, targets, goldens, sections with sizes and hashes.
// Ends with a newline.
// With `only`, one of the plan's, that target alone.
std::string dump_plan(const PlanFile& plan, const TargetInfo* only = nullptr);

}  // namespace camshaft::plan
