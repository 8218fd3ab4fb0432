// SPDX-License-Identifier: MIT
#include "codegen/lower/weights.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include "codegen/ir/graph_constants.h"
#include "codegen/ir/literal.h"

namespace camshaft::lower {

bool are_known(const Task& task, NodeId weights) {
  return ir::literal_of(task.graph(), weights) != nullptr ||
         ir::splat_value(task.graph(), weights).has_value();
}

NodeId shared_matrix(const Task& task, NodeId id) {
  if (ir::splat_value(task.graph(), id)) return id;
  const ir::TensorType& type = task.type(id);
  const ir::Shape matrix(type.shape.end() - 2, type.shape.end());
  while (true) {
    const ir::Node& node = task.node(id);
    const ir::Shape& shape = node.type.shape;
    if (shape.size() < 2 || !std::equal(matrix.begin(), matrix.end(), shape.end() - 2)) {
      return ir::kNoNode;
    }
    const int64_t batches = node.type.elements() / std::max<int64_t>(matrix[0] * matrix[1], 1);
    if (node.op == ir::Op::kConstant) return batches == 1 ? id : ir::kNoNode;
    const bool same_matrix =
        node.op == ir::Op::kBroadcast || (node.op == ir::Op::kReshape && batches == 1);
    if (!same_matrix) return ir::kNoNode;
    id = node.inputs[0];
  }
}

namespace {

// Is `id` on the way from the constant to the right side?
bool feeds_only(const Task& task, NodeId id, NodeId right, NodeId constant) {
  for (NodeId at = right; at != constant; at = task.node(at).inputs[0]) {
    if (at == id) return true;
  }
  return false;
}

}  // namespace

std::set<NodeId> matrix_leaves(const Task& task, NodeId node, NodeId known) {
  if (known == ir::kNoNode) return {};
  for (NodeId id : task.region.nodes) {
    const std::vector<NodeId>& inputs = task.node(id).inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool is_right_side = id == node && i == 1;
      if (inputs[i] == known && !is_right_side &&
          !feeds_only(task, id, task.node(node).inputs[1], known)) {
        return {};
      }
    }
  }
  return {known};
}

WeightPacker::WeightPacker(const ir::Literal& literal, int64_t elements)
    : from_(literal.bytes.data()),
      size_(static_cast<size_t>(base::dtype_size_bytes(literal.type.dtype))),
      bytes_(static_cast<size_t>(elements) * size_) {
  CAMSHAFT_CHECK(size_ == 1 || size_ == 2 || size_ == 4 || size_ == 8);
}

void WeightPacker::put(int64_t place) {
  const std::byte* from = from_ + static_cast<size_t>(place) * size_;
  if (size_ == 1) {
    bytes_[at_] = *from;
  } else if (size_ == 2) {
    std::memcpy(bytes_.data() + at_, from, 2);
  } else if (size_ == 4) {
    std::memcpy(bytes_.data() + at_, from, 4);
  } else {
    std::memcpy(bytes_.data() + at_, from, 8);
  }
  at_ += size_;
}

PackedWeights::PackedWeights(Frame& frame, std::string_view name, NodeId weights, int64_t elements,
                             const Pack& pack, int64_t in_word)
    : dtype_(frame.task.type(weights).dtype), in_word_(in_word) {
  const std::optional<double> number = ir::splat_value(frame.task.graph(), weights);
  if (number) {
    number_ = *number;
    return;
  }
  const ir::Literal* literal = ir::literal_of(frame.task.graph(), weights);
  CAMSHAFT_CHECK(literal != nullptr);
  WeightPacker packer(*literal, elements);
  pack(packer);
  array_ = frame.add_constant(name, in_word > 1 ? word_dtype(dtype_) : dtype_, packer.take());
}

PackedWeights::PackedWeights(Frame& frame, std::string_view name, NodeId weights,
                             const WeightTiles& tiles, const Pack& pack)
    : PackedWeights(frame, name, weights, tiles.size(), pack) {
  if (in_memory()) frame.kernel().array(array_).image = tiles.image;
}

PackedWeights PackedWeights::widened(Frame& frame, std::string_view name, NodeId weights,
                                     int64_t elements, const Pack& pack) {
  const ir::TensorType& type = frame.task.type(weights);
  PackedWeights packed;
  packed.dtype_ = product_dtype(type.dtype);
  if (const auto number = ir::splat_value(frame.task.graph(), weights)) {
    packed.number_ = *number;
    return packed;
  }
  const ir::Literal* literal = ir::literal_of(frame.task.graph(), weights);
  CAMSHAFT_CHECK(literal != nullptr);
  ir::Literal wide = ir::zero_literal({packed.dtype_, literal->type.shape});
  if (packed.dtype_ == type.dtype) {
    wide.bytes = literal->bytes;
  } else {
    for (int64_t i = 0; i < literal->type.elements(); ++i) {
      ir::set_literal_element(wide, i, ir::literal_as_double(*literal, i));
    }
  }
  WeightPacker packer(wide, elements);
  pack(packer);
  packed.array_ = frame.add_constant(name, packed.dtype_, packer.take());
  return packed;
}

ExprId WeightTiles::place(Kernel& kernel, ExprId tile) const {
  if (image.width == 0) return kernel.mul(tile, elements);
  const int64_t pitch = image.pitch * base::kTexelElements;
  return kernel.add(kernel.mul(kernel.div(tile, per_row), pitch),
                    kernel.mul(kernel.mod(tile, per_row), elements));
}

int64_t WeightTiles::place(int64_t tile) const {
  if (image.width == 0) return tile * elements;
  return tile / per_row * image.pitch * base::kTexelElements + tile % per_row * elements;
}

WeightTiles weight_tiles(const Task& task, NodeId weights, int64_t count, int64_t elements) {
  WeightTiles tiles = {.count = count, .elements = elements};
  const int64_t texels = elements / base::kTexelElements;
  if (!base::is_image_dtype(task.type(weights).dtype) || count < 1 || texels < 1 ||
      elements % base::kTexelElements != 0) {
    return tiles;
  }
  // As many a row as leave no gap behind it, if there are so many and the row is not too long.
  const int64_t dense = schedule::kImageRowTexels / std::gcd(texels, schedule::kImageRowTexels);
  tiles.per_row = std::min(count, dense);
  if (tiles.per_row * texels > task.schedule.image_limit.width) tiles.per_row = 1;
  ir::ImageShape image;
  image.width = tiles.per_row * texels;
  image.pitch = (image.width + schedule::kImageRowTexels - 1) / schedule::kImageRowTexels *
                schedule::kImageRowTexels;
  image.height = (count + tiles.per_row - 1) / tiles.per_row;
  if (task.schedule.image_limit.allows(image)) {
    tiles.image = image;
  } else {
    tiles.per_row = 1;
  }
  return tiles;
}

ExprId PackedWeights::vector(Kernel& kernel, ExprId at, int64_t lanes) const {
  const auto count = static_cast<int32_t>(lanes);
  const ir::DType dtype = product_dtype(dtype_);
  return in_memory() ? kernel.cast(kernel.load(array_, at, count), dtype)
                     : kernel.splat(number_, {dtype, count});
}

ExprId PackedWeights::vector_of_words(Kernel& kernel, ExprId at, int64_t lanes) const {
  const auto count = static_cast<int32_t>(lanes);
  if (in_memory()) return kernel.load(array_, at, count);
  const auto byte = static_cast<uint32_t>(static_cast<uint8_t>(static_cast<int8_t>(number_)));
  const auto word = static_cast<int32_t>(byte * 0x01010101u);
  return kernel.broadcast(kernel.int_const(word, ir::DType::kInt32), count);
}

Pair PackedWeights::vector_of_pairs(Kernel& kernel, ExprId at, int64_t lanes) const {
  const auto count = static_cast<int32_t>(lanes);
  if (in_memory()) return widen_pair(kernel, kernel.load(array_, at, count));
  const ExprId number = kernel.splat(number_, {compute_dtype(dtype_), count});
  return {number, number};
}

}  // namespace camshaft::lower
