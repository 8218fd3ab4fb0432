// SPDX-License-Identifier: MIT
// Changing plan files behind the format's back.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "runtime/plan/format.h"

namespace camshaft::plan::test {

// Makes all checksums and the file size right again after any change, so that a reader gets to see
// what was changed. Nothing else is repaired.
void fix_checksums(std::vector<std::byte>& file);

// The same file with another header or table entry, checksums right.
std::vector<std::byte> with_header(std::vector<std::byte> file,
                                   const std::function<void(Header&)>& change);
std::vector<std::byte> with_entry(std::vector<std::byte> file, uint32_t index,
                                  const std::function<void(TableEntry&)>& change);

// The same plan with other metadata, whether or not a reader would take it.
std::vector<std::byte> with_metadata(const std::vector<std::byte>& file, base::Bytes metadata);

}  // namespace camshaft::plan::test
