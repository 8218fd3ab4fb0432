// SPDX-License-Identifier: MIT
// Tensors on their way between files and plans: dense, row-major, little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/dtype.h"

namespace camshaft::io {

struct Tensor {
  base::DType dtype = base::DType::kFloat32;
  std::vector<int64_t> shape;    // extents >= 0; empty for a scalar
  std::vector<std::byte> bytes;  // exactly size_bytes(dtype, shape)
};

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// Bytes of a dense tensor, or nothing where an extent is negative or the size overflows.
std::optional<uint64_t> size_bytes(base::DType dtype, std::span<const int64_t> shape);

// "f32[1x3x224x224]"; a scalar is "f32[]".
std::string type_text(base::DType dtype, std::span<const int64_t> shape);

// Element `index` of `tensor` as a double; u64 and i64 beyond 2^53 lose precision.
double element(base::DType dtype, const std::byte* data, uint64_t index);

// Writes `value` as element `index`, rounded to nearest; integers are clamped to their range, and
// NaN becomes 0 there. bool is `value != 0`.
void set_element(base::DType dtype, std::byte* data, uint64_t index, double value);

}  // namespace camshaft::io
