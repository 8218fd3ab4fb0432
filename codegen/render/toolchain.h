// SPDX-License-Identifier: MIT
// The programs that the compiler needs: clang for the target "cpu", and the linker for every
// target.
#pragma once

#include <string>

#include "runtime/base/status.h"

namespace camshaft::render {

// The one version of clang, LLVM and lld whose code Camshaft is tested with.
inline constexpr int kToolchainMajor = 19;

// Path of clang 19: CAMSHAFT_CLANG if set, else "clang-19" or "clang" in PATH. Fails with
// kNotFound, or kUnsupported for another version. The first time runs it, so blocks for some tens
// of milliseconds.
base::Result<std::string> find_clang();

// Path of lld 19: CAMSHAFT_LLD if set, else "ld.lld-19" or "ld.lld" in PATH. As above.
base::Result<std::string> find_linker();

// "19.1.7" of a program found by one of the above. A process asks each program once. Any thread.
base::Result<std::string> program_version(const std::string& path);

}  // namespace camshaft::render
