// SPDX-License-Identifier: MIT
// The planes of a convolution by matrices (matrix_conv.h): a local array that the input rows under
// a strip are copied to, with the padding, and what a last block has too many channels, as zeros.
#pragma once

#include <memory>
#include <vector>

#include "codegen/lower/frame.h"
#include "codegen/lower/matrix_conv.h"

namespace camshaft::lower {

class MatrixPlanes {
 public:
  virtual ~MatrixPlanes() = default;

  ir::ArrayId array() const { return array_; }
  // Fills them with what the strip of output rows from `first_row` on of image `n` reads.
  virtual std::vector<Stmt> copy(ExprId n, ExprId first_row) const = 0;
  // Where tap `tap` of the strip's first output pixel is, in elements.
  virtual ExprId at(ExprId block, int64_t tap) const = 0;

 protected:
  MatrixPlanes(const Task& task, const MatrixConv& conv, Frame& frame, ir::DType dtype);

  // First element of a row of the planes of remainder `row_plane` of the rows.
  ExprId row_at(ExprId block, int64_t row_plane, int64_t column_plane, ExprId row) const;
  // What is copied to row `row` of the planes of one remainder: from row `y` of the input, which is
  // inside of it, or zeros.
  std::vector<Stmt> copy_row(int64_t row_plane, ExprId first_row, ExprId row, const Body& inside,
                             std::vector<Stmt> outside) const;

  const Task& task_;
  const MatrixConv& conv_;
  Kernel& kernel_;
  ir::ArrayId input_;
  ir::ArrayId array_;
};

// Of blocks of channels, or of pairs. All references must outlive the planes. Before any other
// local array.
std::unique_ptr<MatrixPlanes> make_matrix_planes(const Task& task, const MatrixConv& conv,
                                                 Frame& frame);

}  // namespace camshaft::lower
