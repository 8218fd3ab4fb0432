// SPDX-License-Identifier: MIT
// Files that a verb writes.
#pragma once

#include <string>

#include "runtime/base/status.h"

namespace camshaft::command {

// Fails with kInvalidArgument if `output` is the file `input`, also by another path or link:
// writing would destroy what was read.
base::Status check_not_overwritten(const std::string& output, const std::string& input);

// Fails with kInvalidArgument or kIo if a file of this name can't be made: the folder is not there
// or not writable, or the name is a folder's. To be asked before the work of which it is the
// result.
base::Status check_writable(const std::string& output);

}  // namespace camshaft::command
