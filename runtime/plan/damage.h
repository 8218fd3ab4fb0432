// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "runtime/base/status.h"

namespace camshaft::plan {

// kCorrupt with "FILE is damaged: WHAT; copy the file again or recompile the model" in the log
// ring.
base::Status damaged(const std::string& file, const char* site, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

}  // namespace camshaft::plan
