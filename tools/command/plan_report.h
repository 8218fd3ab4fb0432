// SPDX-License-Identifier: MIT
// What `camshaft inspect` says about a plan file.
#pragma once

#include <string>

#include "runtime/base/status.h"
#include "runtime/plan/reader.h"
#include "tools/io/json.h"

namespace camshaft::command {

// Header, inputs and outputs, targets, goldens and sections.
io::Json plan_json(const plan::PlanFile& file);

// The arena map: blocks by place, with their lifetimes.
std::string memory_text(const plan::PlanFile& file, const plan::TargetInfo& target);
io::Json memory_json(const plan::PlanFile& file, const plan::TargetInfo& target);

// The text of all kernels of a target. kNotFound if the plan holds none, kCorrupt if it can't be
// unpacked.
base::Result<std::string> unpack_source(const plan::PlanFile& file, const plan::TargetInfo& target);

// The functions of one kernel in that text. `kernel` is a symbol, or the name or number of a
// command. kNotFound, with the symbols there are, if there is none.
base::Result<std::string> find_source(const std::string& source, const plan::TargetInfo& target,
                                      const std::string& kernel);

}  // namespace camshaft::command
