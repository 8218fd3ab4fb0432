// SPDX-License-Identifier: MIT
// A row of an input with zeros on both sides, as it is copied to scratch for windows that move
// along it, so that no edge is special and no vector of outputs partial.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/lower/window.h"

namespace camshaft::lower {

// Where the elements of such a row are. A column is a pixel, or the neighbouring channels of one.
// Where windows step over columns, those that they begin at lie together, then those one behind
// each, and so on (a phase each): what a tap reads for neighbouring outputs lies together always.
// Phases, and what is copied of each, begin at whole vectors.
class PaddedRow {
 public:
  // Columns numbered, in the padded input, phase, phase + stride, ...; elements count from the
  // row's begin on.
  struct Phase {
    int64_t begin = 0;   // vectors that are zeros: [begin, copied)
    int64_t copied = 0;  // what is copied: `columns` columns
    int64_t zeros = 0;   // vectors of which some elements lie behind those columns: [zeros, end)
    int64_t end = 0;
    int64_t first_column = 0;  // of the input, that is copied; then every stride-th
    int64_t columns = 0;       // that are copied
  };

  PaddedRow() = default;
  // Of rows along the window's last axis, for `width` elements of an output row; columns have
  // `block` elements. Width and vectors are whole columns, width is whole vectors of `lanes`.
  PaddedRow(const WindowAxis& axis, int64_t width, int64_t block, int64_t lanes);

  const std::vector<Phase>& phases() const { return phases_; }
  int64_t elements() const { return elements_; }
  // What tap `tap` reads for the first element of an output row; what it reads for the next ones
  // lies behind.
  int64_t place(int64_t tap) const;

 private:
  WindowAxis axis_;
  int64_t block_ = 1;
  std::vector<Phase> phases_;    // one for each column under a stride
  std::vector<int64_t> origin_;  // of a phase: where the column numbered `phase` lies, or would
  int64_t elements_ = 0;
};

}  // namespace camshaft::lower
