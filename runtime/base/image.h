// SPDX-License-Identifier: MIT
// Images: memory that texture units read. Rows of texels, of four elements each (RGBA).
#pragma once

#include <cstdint>

#include "runtime/base/dtype.h"

namespace camshaft::base {

inline constexpr int64_t kTexelElements = 4;

struct ImageShape {
  DType dtype = DType::kFloat32;  // of an element: f32, f16 or u8
  uint32_t width = 0;             // texels; 0: no image
  uint32_t height = 0;
  uint64_t row_pitch_bytes = 0;  // from one row's start to the next one's

  bool is_image() const { return width != 0; }
  uint64_t texel_bytes() const {
    return static_cast<uint64_t>(dtype_size_bytes(dtype) * kTexelElements);
  }
  uint64_t size_bytes() const { return height * row_pitch_bytes; }
  // Whether kernels that take the one can take the other: all but how rows lie in memory.
  bool has_texels_of(const ImageShape& other) const {
    return dtype == other.dtype && width == other.width && height == other.height;
  }
  bool operator==(const ImageShape&) const = default;
};

constexpr bool is_image_dtype(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kUInt8;
}

}  // namespace camshaft::base
