// SPDX-License-Identifier: MIT
// Zip archives as far as .npz files need them: stored and deflated entries, no encryption, no
// parts, less than 4 GiB. Archives may hold anything: what is taken from memory is bounded by their
// size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/status.h"

namespace camshaft::io {

struct ZipEntry {
  std::string name;
  uint16_t method = 0;        // 0 stored, 8 deflated
  uint32_t crc32 = 0;         // of the content
  uint32_t packed_bytes = 0;  // in the archive
  uint32_t content_bytes = 0;
  uint32_t offset = 0;  // of the local header
};

// The entries of the central directory, in its order; names differ. `file` names the archive in
// sentences. Fails with kCorrupt, or kUnsupported for encryption, other methods and zip64.
base::Result<std::vector<ZipEntry>> list_zip(base::Bytes archive, const std::string& file);

// The content of an entry of the same archive, its checksum checked. Fails with kCorrupt.
base::Result<std::vector<std::byte>> extract_zip(base::Bytes archive, const ZipEntry& entry,
                                                 const std::string& file);

struct ZipContent {
  std::string name;
  std::vector<std::byte> bytes;
};
// An archive of stored entries. Deterministic: all dates are the format's first, as numpy's are.
// kInvalidArgument from 4 GiB on.
base::Result<std::vector<std::byte>> make_zip(const std::vector<ZipContent>& contents);

}  // namespace camshaft::io
