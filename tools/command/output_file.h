// SPDX-License-Identifier: MIT
// Files that a verb writes.
#pragma once

#include <string>

#include "runtime/base/status.h"

namespace camshaft::command {

// Fails with kInvalidArgument if `output` is the file `input`, also by another path or link:
// writing would destroy what was read.
base::Status check_not_overwritten(const std::string& output, const std::string& input);

// Fails with kInvalidArgument, kNotFound or kIo if the file that was given by `option` ("--output")
// can't be made: the folder is not there or not writable, or the name is a folder's. To be asked
// before the work of which it is the result.
base::Status check_writable(const char* option, const std::string& file);

}  // namespace camshaft::command
