// SPDX-License-Identifier: MIT
#include "codegen/lower/weights.h"

#include <cstring>
#include <optional>

#include "codegen/ir/graph_constants.h"

namespace camshaft::lower {

bool are_known(const Task& task, NodeId weights) {
  return ir::literal_of(task.graph(), weights) != nullptr ||
         ir::splat_value(task.graph(), weights).has_value();
}

WeightPacker::WeightPacker(const ir::Literal& literal, int64_t elements)
    : from_(literal.bytes.data()),
      size_(static_cast<size_t>(base::dtype_size_bytes(literal.type.dtype))),
      bytes_(static_cast<size_t>(elements) * size_) {
  CAMSHAFT_CHECK(size_ == 2 || size_ == 4 || size_ == 8);
}

void WeightPacker::put(int64_t place) {
  const std::byte* from = from_ + static_cast<size_t>(place) * size_;
  if (size_ == 2) {
    std::memcpy(bytes_.data() + at_, from, 2);
  } else if (size_ == 4) {
    std::memcpy(bytes_.data() + at_, from, 4);
  } else {
    std::memcpy(bytes_.data() + at_, from, 8);
  }
  at_ += size_;
}

PackedWeights::PackedWeights(Frame& frame, std::string_view name, NodeId weights, int64_t elements,
                             const Pack& pack, bool pairs)
    : dtype_(frame.task.type(weights).dtype), pairs_(pairs) {
  const std::optional<double> number = ir::splat_value(frame.task.graph(), weights);
  if (number) {
    number_ = *number;
    return;
  }
  const ir::Literal* literal = ir::literal_of(frame.task.graph(), weights);
  CAMSHAFT_CHECK(literal != nullptr);
  WeightPacker packer(*literal, elements);
  pack(packer);
  array_ = frame.add_constant(name, pairs ? ir::DType::kUInt32 : dtype_, packer.take());
}

ExprId PackedWeights::vector(Kernel& kernel, ExprId at, int64_t lanes) const {
  const auto count = static_cast<int32_t>(lanes);
  const ir::DType dtype = compute_dtype(dtype_);
  return in_memory() ? kernel.cast(kernel.load(array_, at, count), dtype)
                     : kernel.splat(number_, {dtype, count});
}

Pair PackedWeights::vector_of_pairs(Kernel& kernel, ExprId at, int64_t lanes) const {
  const auto count = static_cast<int32_t>(lanes);
  if (in_memory()) return widen_pair(kernel, kernel.load(array_, at, count));
  const ExprId number = kernel.splat(number_, {compute_dtype(dtype_), count});
  return {number, number};
}

}  // namespace camshaft::lower
