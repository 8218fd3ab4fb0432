// SPDX-License-Identifier: MIT
// Making plan files. Deterministic: equal contents give equal bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/plan/plan.h"

namespace camshaft::plan {

struct SectionContents {
  SectionKind kind = SectionKind::kBinary;
  uint32_t flags = 0;
  std::vector<std::byte> bytes;
};

// What goes into a file. The metadata is section 0 there, so `sections[i]` is section i + 1.
struct PlanContents {
  PlanInfo info;
  std::vector<SectionContents> sections;

  // Appends a section with the flags of its kind and returns the index by which `info` refers to
  // it.
  uint32_t add_section(SectionKind kind, std::vector<std::byte> bytes);
};

// The file's bytes. Holds the contents against the reader's rules: kInternal, with the broken rule
// in the log ring, means a bug in what made them.
base::Result<std::vector<std::byte>> write_plan(const PlanContents& contents);

}  // namespace camshaft::plan
