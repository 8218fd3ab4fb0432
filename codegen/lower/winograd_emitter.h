// SPDX-License-Identifier: MIT
// What writes the kernels of strategy `conv_winograd`, see conv_winograd.cc: each phase has a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "codegen/lower/frame.h"
#include "codegen/lower/winograd_plan.h"

namespace camshaft::lower {

// Vector arithmetic for the transforms; every value is a Let of its own.
class VectorOps {
 public:
  using Value = ExprId;
  VectorOps(Kernel& kernel, int32_t lanes, std::vector<Stmt>& body)
      : kernel_(kernel), lanes_(lanes), body_(body) {}

  ExprId let(ExprId value) {
    const ir::VarId var = kernel_.add_let_var("v", value);
    body_.push_back(ir::make_let(var, value));
    return kernel_.var(var);
  }
  ExprId mul(double a, ExprId b) { return let(kernel_.mul(number(a), b)); }
  ExprId add(ExprId a, ExprId b) { return let(kernel_.add(a, b)); }
  ExprId sub(ExprId a, ExprId b) { return let(kernel_.sub(a, b)); }
  ExprId fma(double a, ExprId b, ExprId c) { return let(kernel_.fma(number(a), b, c)); }
  ExprId number(double value) { return kernel_.splat(value, {ir::DType::kFloat32, lanes_}); }

 private:
  Kernel& kernel_;
  int32_t lanes_;
  std::vector<Stmt>& body_;
};

// One kernel: `emit` goes over the blocks of tiles, each of which takes the three phases.
class WinogradEmitter {
 public:
  // `task` must outlive the emitter.
  WinogradEmitter(const Task& task, const WinogradConv& conv, const Knobs& knobs);
  LoweredKernel emit();

 private:
  // Where a tile lies.
  struct Place {
    ExprId image, row, column;  // row and column count tiles
  };
  // Columns of tiles [first, last] whose lines have the elements [begin, end): of a patch those
  // inside the image, of a tile those that exist.
  struct Columns {
    int64_t first, last;
    int64_t begin, end;
  };

  // One register tile of products.
  struct Product {
    ExprId place, set, strip;
    ExprId tile;             // the first, in the block
    int64_t tiles, vectors;  // tiles of the image, vectors of output channels
  };

  ExprId minimum(ExprId a, int64_t b) {
    return kernel_.binary(ir::KOp::kMin, a, kernel_.int_const(b));
  }
  ExprId maximum(ExprId a, int64_t b) {
    return kernel_.binary(ir::KOp::kMax, a, kernel_.int_const(b));
  }

  // winograd_input.cc: V of a block of tiles, the first of which is number `first` of the image.
  std::vector<Stmt> input_phase(ExprId first);
  std::vector<Stmt> patch_rows(const Place& place, ExprId block);
  std::vector<Stmt> patch_row(const Place& place, ExprId block, ExprId row, const Columns& columns);
  std::vector<Stmt> patch_columns(ExprId block, ExprId tile);

  // winograd_products.cc: U, and M of a block.
  std::vector<std::byte> pack() const;
  std::vector<Stmt> product_phase();
  std::vector<Stmt> products(ExprId place, ExprId set, int64_t vectors);
  std::vector<Stmt> product_tile(const Product& p);
  std::vector<Stmt> prefetch_next_set(const Product& p, ExprId weights, ExprId block);

  // winograd_output.cc: the outputs of a block.
  std::vector<Stmt> output_phase(ExprId first);
  std::vector<Stmt> output_columns(ExprId vector, ExprId tile);
  std::vector<Stmt> output_rows(const Place& place, ExprId vector);
  std::vector<Stmt> output_row(const Place& place, ExprId vector, ExprId row,
                               const Columns& columns);

  // What the phases share: where a tile lies, code for the columns of tiles that are alike, and
  // lines of vectors `stride` elements apart.
  std::vector<Columns> columns_of(const std::function<Columns(int64_t)>& of_column) const;
  std::vector<Stmt> for_columns(const std::vector<Columns>& all, ExprId column,
                                const std::function<std::vector<Stmt>(const Columns&)>& body);
  Place place_of(VectorOps& ops, ExprId tile);
  std::vector<ExprId> load_line(VectorOps& ops, ir::ArrayId array, ExprId base, int64_t stride,
                                int64_t count);

  // Elements of V and M: place 0 to n * n, block or vector of channels, tile of the block.
  ExprId v_index(ExprId place, ExprId block, ExprId tile) {
    const ExprId base = kernel_.add(kernel_.mul(item_, places_), place);
    const ExprId at = kernel_.add(kernel_.mul(block, cut_.block), tile);
    return kernel_.add(kernel_.mul(base, v_stride_), kernel_.mul(at, lanes_));
  }
  ExprId m_index(ExprId place, ExprId vector, ExprId tile) {
    const ExprId base = kernel_.add(kernel_.mul(item_, places_), place);
    const ExprId at = kernel_.add(kernel_.mul(vector, cut_.block), tile);
    return kernel_.add(kernel_.mul(base, m_stride_), kernel_.mul(at, lanes_));
  }

  const Task& task_;
  Knobs knobs_;
  WinogradConv conv_;
  Winograd winograd_;
  WinogradCut cut_;
  int32_t lanes_;
  int64_t n_;
  int64_t places_;
  int64_t group_vectors_;  // of output channels, in a group
  int64_t v_stride_, m_stride_;
  Frame frame_;
  Kernel& kernel_;
  Evaluator evaluator_;
  ir::ArrayId u_ = -1, v_ = -1, m_ = -1;
  ir::ArrayId acc_ = -1, half_ = -1, line_ = -1;
  ExprId item_ = ir::kNoExpr;
  ExprId group_ = ir::kNoExpr;
};

}  // namespace camshaft::lower
