// SPDX-License-Identifier: MIT
#include "codegen/onnx/sparse_tensor.h"

#include <cstring>
#include <optional>

#include "codegen/ir/literal.h"
#include "codegen/onnx/tensor_proto.h"
#include "runtime/base/bytes.h"

namespace camshaft::onnx {
namespace {

// The dense shape, if it is one and not too large for elements of this size.
std::optional<ir::Shape> dense_shape(const ::onnx::SparseTensorProto& tensor,
                                     int64_t element_size) {
  ir::Shape shape(tensor.dims().begin(), tensor.dims().end());
  std::optional<int64_t> bytes = element_size;
  for (const int64_t extent : shape) {
    if (bytes) bytes = extent < 0 ? std::nullopt : base::checked_mul(*bytes, extent);
  }
  if (!bytes || *bytes > kMostDenseBytes) return std::nullopt;
  return shape;
}

// The number of the dense element that entry i is; below 0 if there is none such.
int64_t element_number(const ir::Literal& indices, const ir::Shape& shape, int64_t elements,
                       int64_t i) {
  if (indices.type.rank() == 1) {
    const int64_t number = ir::literal_as_int(indices, i);
    return number < elements ? number : -1;
  }
  int64_t number = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const int64_t at =
        ir::literal_as_int(indices, i * indices.type.shape[1] + static_cast<int64_t>(axis));
    if (at < 0 || at >= shape[axis]) return -1;
    number = number * shape[axis] + at;
  }
  return number;
}

}  // namespace

std::shared_ptr<const ir::Literal> to_dense_literal(const ::onnx::SparseTensorProto& tensor,
                                                    ExternalFiles* files, Failure* failure) {
  const auto values = to_literal(tensor.values(), files, failure);
  const auto indices = values == nullptr ? nullptr : to_literal(tensor.indices(), files, failure);
  if (indices == nullptr) return nullptr;
  const int64_t element_size = base::dtype_size_bytes(values->type.dtype);
  const std::optional<ir::Shape> shape = dense_shape(tensor, element_size);
  const int64_t count = values->type.elements();
  const ir::Shape& form = indices->type.shape;
  const bool fits =
      shape && values->type.rank() == 1 && !form.empty() && form[0] == count &&
      base::is_int(indices->type.dtype) &&
      (form.size() == 1 || (form.size() == 2 && form[1] == static_cast<int64_t>(shape->size())));
  if (!fits) {
    *failure = {base::Code::kCorrupt,
                "a sparse tensor's shape, values and indices don't fit each other, or it is larger "
                "than 1 GiB"};
    return nullptr;
  }
  auto dense = std::make_shared<ir::Literal>(ir::zero_literal({values->type.dtype, *shape}));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t number = element_number(*indices, *shape, dense->type.elements(), i);
    if (number < 0) {
      *failure = {base::Code::kCorrupt, "an index of a sparse tensor is outside its shape"};
      return nullptr;
    }
    std::memcpy(dense->bytes.data() + number * element_size,
                values->bytes.data() + i * element_size, static_cast<size_t>(element_size));
  }
  return dense;
}

}  // namespace camshaft::onnx
