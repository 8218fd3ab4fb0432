// SPDX-License-Identifier: MIT
// The planes of a convolution by matrices (matrix_conv.h): a local array
//   [block of channels][remainder of the row][of the column][row][column][channel]
// and what copies the input rows under a strip there, with the padding, and what a last block has
// too many, as zeros.
#pragma once

#include <vector>

#include "codegen/lower/frame.h"
#include "codegen/lower/matrix_conv.h"

namespace camshaft::lower {

class MatrixPlanes {
 public:
  // Adds the array. All references must outlive the planes.
  MatrixPlanes(const Task& task, const MatrixConv& conv, Frame& frame);

  ir::ArrayId array() const { return array_; }
  // Fills them with what the strip of output rows from `first_row` on of image `n` reads.
  std::vector<Stmt> copy(ExprId n, ExprId first_row) const;
  // Where tap `tap` of the strip's first output pixel is, in elements.
  ExprId at(ExprId block, int64_t tap) const;

 private:
  struct From {
    ExprId n, block, first_row;
    int64_t channels;  // of the block
  };
  ExprId row_at(ExprId block, int64_t row_plane, int64_t column_plane, ExprId row) const;
  std::vector<Stmt> copy_block(const From& from) const;
  std::vector<Stmt> copy_row(const From& from, int64_t row_plane, ExprId row) const;
  std::vector<Stmt> copy_columns(const From& from, ExprId y, int64_t column_plane, ExprId to) const;
  std::vector<Stmt> copy_pixel(const From& from, ExprId y, ExprId x, ExprId to) const;
  std::vector<Stmt> clear(ExprId row, int64_t begin, int64_t end) const;
  Stmt clear_pixel(ExprId to) const;

  const Task& task_;
  const MatrixConv& conv_;
  Kernel& kernel_;
  ir::ArrayId input_;
  ir::ArrayId array_;
};

}  // namespace camshaft::lower
