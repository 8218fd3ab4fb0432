// SPDX-License-Identifier: MIT
// Keys of bridges in files: a pair as two lines ("public KEY", "secret KEY"), an allow-list as a
// public key a line, with '#' before remarks.
#pragma once

#include <string>
#include <vector>

#include "msgq/bridge/gate.h"
#include "runtime/base/status.h"

namespace camshaft::bridge {

// kInvalidArgument where the file is there already: keys are never overwritten. Readable by the
// user alone.
base::Status write_keys(const std::string& path, const KeyPair& keys);
// kInvalidArgument where others may read the file, or it holds no pair.
base::Result<KeyPair> read_keys(const std::string& path);
base::Result<std::vector<std::string>> read_allowed(const std::string& path);

}  // namespace camshaft::bridge
