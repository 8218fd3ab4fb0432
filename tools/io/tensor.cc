// SPDX-License-Identifier: MIT
#include "tools/io/tensor.h"

#include <cstring>

#include "runtime/base/bytes.h"
#include "runtime/base/check.h"

namespace camshaft::io {

using base::DType;

std::optional<uint64_t> size_bytes(DType dtype, std::span<const int64_t> shape) {
  std::optional<uint64_t> size = static_cast<uint64_t>(base::dtype_size_bytes(dtype));
  for (const int64_t extent : shape) {
    if (extent < 0 || !size) return std::nullopt;
    size = base::checked_mul(*size, static_cast<uint64_t>(extent));
  }
  return size;
}

std::string type_text(DType dtype, std::span<const int64_t> shape) {
  std::string text = std::string(base::dtype_name(dtype)) + "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : "x") + std::to_string(shape[i]);
  return text + "]";
}

Tensor leading_part(const Tensor& tensor, std::vector<int64_t> shape) {
  CAMSHAFT_CHECK(shape.size() == tensor.shape.size());
  if (shape == tensor.shape) return tensor;
  const auto item_bytes = static_cast<size_t>(base::dtype_size_bytes(tensor.dtype));
  const int rank = static_cast<int>(shape.size());
  Tensor part{tensor.dtype, std::move(shape), {}};
  part.bytes.resize(*size_bytes(part.dtype, part.shape));
  std::vector<int64_t> index(part.shape.size(), 0);
  for (size_t at = 0; at < part.bytes.size(); at += item_bytes) {
    size_t from = 0;
    for (size_t axis = 0; axis < index.size(); ++axis) {
      from = from * static_cast<size_t>(tensor.shape[axis]) + static_cast<size_t>(index[axis]);
    }
    std::memcpy(part.bytes.data() + at, tensor.bytes.data() + from * item_bytes, item_bytes);
    for (int axis = rank - 1; axis >= 0; --axis) {
      const auto a = static_cast<size_t>(axis);
      if (++index[a] < part.shape[a]) break;
      index[a] = 0;
    }
  }
  return part;
}

}  // namespace camshaft::io
