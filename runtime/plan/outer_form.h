// SPDX-License-Identifier: MIT
// Reading the outer form of a plan file: is it a plan, whole, and of a version that we know?
#pragma once

#include <string>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/status.h"
#include "runtime/plan/format.h"

namespace camshaft::plan {

// What the outer form says, every byte of the file accounted for: by a checksum that matches, or by
// being padding and zero.
struct OuterForm {
  Header header;
  std::vector<TableEntry> sections;  // at least one; the first is the metadata
  uint64_t content_bytes = 0;        // of the file without the trailer of a signed one
};

// `file` names the file in sentences. Fails as PlanFile::open() does.
base::Result<OuterForm> read_outer_form(base::Bytes bytes, const std::string& file);

}  // namespace camshaft::plan
