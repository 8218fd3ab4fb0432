// SPDX-License-Identifier: MIT
// Proof that a shared object keeps what compile_shared_object() promises.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/status.h"

namespace camshaft::render {

// Fails with kInternal unless the bytes are a whole 64-bit ELF shared object that has no writable
// segment, no relocation, no undefined symbol, no needed library, and exactly the functions
// `exports` as its dynamic symbols.
base::Status check_shared_object(base::Bytes bytes, const std::vector<std::string>& exports);

}  // namespace camshaft::render
