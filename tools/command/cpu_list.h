// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace camshaft::command {

// CPU numbers as people list them: "2", "4-7", "0,2,4-6". In the order of the text; no number
// twice, none above 4095. kInvalidArgument otherwise.
base::Result<std::vector<uint32_t>> parse_cpu_list(const std::string& text);

}  // namespace camshaft::command
