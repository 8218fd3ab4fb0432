// SPDX-License-Identifier: MIT
// Weights that are known at compile time, as kernels read them: packed in the order in which a
// strategy's loops take them; or, where all are one number, that number, which needs no memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string_view>
#include <vector>

#include "codegen/lower/frame.h"
#include "codegen/lower/pairs.h"
#include "codegen/lower/tile.h"

namespace camshaft::lower {

// Whether weights are known: a constant, or equal elements however they were stretched.
bool are_known(const Task& task, NodeId weights);

// The node of a known [K, N] right side of a matrix product that all batches share: through
// Broadcasts over batch axes and Reshapes that add unit axes; or, where all elements are one
// number, `id` itself. kNoNode if it is anything else.
NodeId shared_matrix(const Task& task, NodeId id);
// The leaves that product `node` needs no parameter for once its right side, whose node above is
// `known`, is packed: none where something else of the region reads it.
std::set<NodeId> matrix_leaves(const Task& task, NodeId node, NodeId known);

// Copies elements of a literal, in an order of the caller's.
class WeightPacker {
 public:
  // `elements` packed ones, zeros at first. `literal` must outlive the packer; its elements have 1,
  // 2, 4 or 8 bytes.
  WeightPacker(const ir::Literal& literal, int64_t elements);
  // The next one is element `place` of the literal. The one after it stays 0.
  void put(int64_t place);
  void skip() { at_ += size_; }
  // The next one is put at element `place` of the packed ones.
  void go_to(int64_t place) { at_ = static_cast<size_t>(place) * size_; }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  const std::byte* from_;
  size_t size_;
  size_t at_ = 0;
  std::vector<std::byte> bytes_;
};

// Tiles of packed weights: one after the other, or, of an image, some a row.
struct WeightTiles {
  int64_t count = 0;
  int64_t elements = 0;  // of a tile
  int64_t per_row = 1;
  ir::ImageShape image = {};  // width 0: they are an array
  int64_t size() const { return image.width > 0 ? image.elements() : count * elements; }
  // Where a tile begins.
  ExprId place(Kernel& kernel, ExprId tile) const;
  int64_t place(int64_t tile) const;
};
// As an image where the schedule has such, the weights are of a dtype that images have, and the
// schedule's limit allows it; a tile must be whole texels then.
WeightTiles weight_tiles(const Task& task, NodeId weights, int64_t count, int64_t elements);

class PackedWeights {
 public:
  using Pack = std::function<void(WeightPacker&)>;

  PackedWeights() = default;
  // Adds a parameter of `elements` elements, in the order of `pack`, to the frame, unless the
  // weights are all one number. They must be known. Before any local array. So many neighbours,
  // which make four bytes, are one word: see pairs.h.
  PackedWeights(Frame& frame, std::string_view name, NodeId weights, int64_t elements,
                const Pack& pack, int64_t in_word = 1);
  // The same of tiles, as an image if they are one. `pack` puts each tile at its place.
  PackedWeights(Frame& frame, std::string_view name, NodeId weights, const WeightTiles& tiles,
                const Pack& pack);
  // The same in the dtype of their products: for weights that are read more often than copied.
  static PackedWeights widened(Frame& frame, std::string_view name, NodeId weights,
                               int64_t elements, const Pack& pack);

  bool in_memory() const { return array_ >= 0; }
  ir::ArrayId array() const { return array_; }  // where they are in memory
  // Of what positions count: elements, or words.
  int64_t element_bytes() const { return base::dtype_size_bytes(dtype_) * in_word_; }
  // Packed elements [at, at + lanes), in the dtype of their products. Only the number of them is
  // looked at where all are equal.
  ExprId vector(Kernel& kernel, ExprId at, int64_t lanes) const;
  // The same of words [at, at + lanes): as they are, of i8, and of bf16.
  ExprId vector_of_words(Kernel& kernel, ExprId at, int64_t lanes) const;
  Pair vector_of_pairs(Kernel& kernel, ExprId at, int64_t lanes) const;
  // As prefetch_lines(). They must be in memory.
  std::vector<Stmt> prefetch(Kernel& kernel, ExprId first, int64_t lines) const {
    return prefetch_lines(kernel, array_, first, lines);
  }

 private:
  ir::ArrayId array_ = -1;
  ir::DType dtype_ = ir::DType::kFloat32;
  int64_t in_word_ = 1;
  double number_ = 0;
};

}  // namespace camshaft::lower
