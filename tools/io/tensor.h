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
#include "runtime/base/element.h"

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

// The elements whose index is below `shape` on every axis, as a tensor of that shape. No extent is
// above the tensor's, and the ranks are equal.
Tensor leading_part(const Tensor& tensor, std::vector<int64_t> shape);

using base::element;
using base::set_element;

}  // namespace camshaft::io
