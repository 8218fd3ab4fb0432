// SPDX-License-Identifier: MIT
// Pictures of 8 bits a channel, and PNG files of them (libpng).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/status.h"

namespace camshaft::io {

struct Picture {
  int32_t width = 0;
  int32_t height = 0;
  int32_t channels = 0;         // 1 gray, 2 gray and alpha, 3 RGB, 4 RGB and alpha
  std::vector<uint8_t> pixels;  // [height][width][channels]
};

// The picture with the values that the file stores: no colour management, no gamma. Palettes become
// RGB, less than 8 bits of gray are stretched to 0..255, of 16 bits the upper 8 are kept (rounded).
// `file` names it in sentences. Fails with kCorrupt; kUnsupported beyond 2^15 pixels a side.
base::Result<Picture> parse_png(base::Bytes bytes, const std::string& file);

// kInvalidArgument where the sizes don't fit together.
base::Result<std::vector<std::byte>> encode_png(const Picture& picture);

// Fails also as base::read_file and base::write_file_atomically do.
base::Result<Picture> read_png(const std::string& path);
base::Status write_png(const std::string& path, const Picture& picture);

}  // namespace camshaft::io
