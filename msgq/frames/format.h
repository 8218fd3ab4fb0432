// SPDX-License-Identifier: MIT
// How pixels lie in memory: a DRM fourcc, and where each plane of it is.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/status.h"

namespace camshaft::frames {

inline constexpr uint32_t kMaxPlanes = 4;

constexpr uint32_t fourcc(const char (&code)[5]) {
  const auto byte = [&](int i) { return static_cast<uint32_t>(static_cast<uint8_t>(code[i])); };
  return byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24;
}
inline constexpr uint32_t kNv12 = fourcc("NV12");  // Y, then U and V side by side
inline constexpr uint32_t kI420 = fourcc("YU12");  // Y, U, V
inline constexpr uint32_t kYuyv = fourcc("YUYV");  // Y0 U Y1 V
inline constexpr uint32_t kGrey8 = fourcc("R8  ");
inline constexpr uint32_t kRgb24 = fourcc("BG24");  // bytes R, G, B: DRM names them from the last
inline constexpr uint32_t kBytes = 0;  // anything: `width` bytes in each of `height` rows

// "NV12"; characters that can't be printed become '?'.
std::string fourcc_text(uint32_t format);

// One plane. Row r begins at offset_bytes + r * stride_bytes and has row_bytes bytes of pixels.
struct Plane {
  uint64_t offset_bytes = 0;
  uint32_t stride_bytes = 0;
  uint32_t rows = 0;
  uint32_t row_bytes = 0;
  uint32_t reserved = 0;
};

struct Geometry {
  uint32_t format = kBytes;
  uint32_t width = 0;  // pixels
  uint32_t height = 0;
  uint32_t plane_count = 0;
  Plane planes[kMaxPlanes] = {};
  uint64_t size_bytes = 0;  // of all planes with their padding
};

// What a camera's or an encoder's hardware wants. Powers of two.
struct Alignments {
  uint32_t stride_bytes = 64;
  uint32_t luma_rows = 1;  // rows that the first plane is padded to
  uint32_t chroma_rows = 1;
};

// Lays planes out one after another. kInvalidArgument for a format that has no row in the table, a
// size of 0 or more than 65,536, and odd sizes where chroma has half of them.
base::Result<Geometry> lay_out(uint32_t format, uint32_t width, uint32_t height,
                               const Alignments& alignments = {});

// Whether every plane lies within `size_bytes`, with a sentence of `whose` where not (kCorrupt).
base::Status check_geometry(const Geometry& geometry, uint64_t size_bytes, const char* whose);

}  // namespace camshaft::frames
