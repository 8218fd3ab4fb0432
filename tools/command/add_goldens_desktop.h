// SPDX-License-Identifier: MIT
// compile --golden: runs a new plan on the devices here and stores what came out.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/plan/writer.h"
#include "tools/command/console.h"

namespace camshaft::command {

// Adds a golden for each target that a device here can run; for the others a note says why not.
// `files` are as for --input and must give every input.
base::Status add_goldens(const std::vector<std::string>& files, Console& console,
                         plan::PlanContents& contents);

}  // namespace camshaft::command
