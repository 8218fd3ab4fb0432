// SPDX-License-Identifier: MIT
// Raw 4:2:0 camera frames, and the packing in which networks take them: six channels of half the
// size, so that nothing is interpolated. With r, c row and column of the packed tensor:
//   channel 0: Y[2r    ][2c    ]        channel 2: Y[2r    ][2c + 1]        channel 4: U[r][c]
//   channel 1: Y[2r + 1][2c    ]        channel 3: Y[2r + 1][2c + 1]        channel 5: V[r][c]
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/status.h"

namespace camshaft::io {

enum class Chroma : uint8_t {
  kInterleaved,  // NV12: rows of U V U V ... behind the luma
  kPlanar,       // I420: all of U, then all of V
};

// Where the pixels lie in a file or buffer. Luma comes first; chroma rows have the luma's stride
// (interleaved) or half of it (planar).
struct FrameLayout {
  Chroma chroma = Chroma::kInterleaved;
  int64_t width = 0;         // even
  int64_t height = 0;        // even
  int64_t stride_bytes = 0;  // of a luma row: >= width; even
  int64_t luma_rows = 0;     // >= height: rows up to the chroma
};

// The layout that "WIDTHxHEIGHT", "WIDTHxHEIGHT:STRIDE" or "WIDTHxHEIGHT:STRIDE:LUMA_ROWS" says.
// Fails with kInvalidArgument.
base::Result<FrameLayout> parse_frame_layout(const std::string& text, Chroma chroma);

// Bytes that a frame needs; what follows in a buffer is padding.
uint64_t frame_bytes(const FrameLayout& layout);

// Packs a frame into [6][height / 2][width / 2]. `packed` has exactly that size. kInvalidArgument
// where the frame is too short for the layout; `file` names it.
base::Status pack_frame(base::Bytes frame, const FrameLayout& layout, const std::string& file,
                        std::span<uint8_t> packed);

// The reverse, for tests and for making frames: padding is zero.
std::vector<std::byte> unpack_frame(std::span<const uint8_t> packed, const FrameLayout& layout);

}  // namespace camshaft::io
