// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "runtime/plan/reader.h"

namespace camshaft::plan {

// A page for people: header, inputs and outputs, targets, goldens, sections with sizes and hashes.
// Ends with a newline.
std::string dump_plan(const PlanFile& plan);

}  // namespace camshaft::plan
