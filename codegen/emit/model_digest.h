// SPDX-License-Identifier: MIT
// What identifies a model: one digest over the ONNX file and all files of external data.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace camshaft::emit {

// Hex BLAKE2b-256 over the sizes and contents of `files`, in order. kIo if one can't be read.
base::Result<std::string> model_digest(const std::vector<std::string>& files);

}  // namespace camshaft::emit
