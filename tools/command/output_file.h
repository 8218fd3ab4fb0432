// SPDX-License-Identifier: MIT
// Files that a verb writes.
#pragma once

#include <string>

#include "runtime/base/status.h"

namespace camshaft::command {

// Fails with kInvalidArgument if `output` is the file `input`, also by another path or link:
// writing would destroy what was read.
base::Status check_not_overwritten(const std::string& output, const std::string& input);

}  // namespace camshaft::command
