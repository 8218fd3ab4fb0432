// SPDX-License-Identifier: MIT
// What fuzzers of plan files do with each file: open it as an untrusting runtime would, and hold
// the reader to its promises.
#pragma once

#include <string>

#include "runtime/base/bytes.h"
#include "runtime/base/status.h"

namespace camshaft::plan::test {

struct Probe {
  base::Code code = base::Code::kOk;
  std::string site;
  std::string broken_promise;  // empty: none. A sentence about what the reader got wrong
};

// Opens `file`. Promises: the code is kOk, kCorrupt or kWrongTarget; a refusal comes with one
// sentence that names the file; what it allocates is at most 64 times the file's size; what it
// accepts can be walked command by command, dumped and compared without leaving any buffer.
Probe probe_plan(base::Bytes file);

}  // namespace camshaft::plan::test
