// SPDX-License-Identifier: MIT
// The metadata section: PlanInfo as a Cap'n Proto message of one segment (plan.capnp). metadata.cc
// is the one file that sees Cap'n Proto and its exceptions.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/status.h"
#include "runtime/plan/plan.h"

namespace camshaft::plan {

// Copies a message out into `info`. `section` is aligned to 8 bytes and may hold anything: a
// message that is not well-formed gives kCorrupt with the reason in the log ring, `file` naming
// where it is from. Allocates at most 64 times the section's size. Numbers are as found: see
// verify.h.
base::Status decode_metadata(base::Bytes section, const std::string& file, PlanInfo& info) noexcept;

// The same bytes for equal `info`.
base::Result<std::vector<std::byte>> encode_metadata(const PlanInfo& info) noexcept;

}  // namespace camshaft::plan
