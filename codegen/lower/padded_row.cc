// SPDX-License-Identifier: MIT
#include "codegen/lower/padded_row.h"

#include <algorithm>

namespace camshaft::lower {
namespace {

int64_t round_up(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

// Columns at phase, phase + stride, ... below `limit`.
int64_t columns_below(int64_t limit, int64_t phase, int64_t stride) {
  return limit <= phase ? 0 : (limit - phase + stride - 1) / stride;
}

}  // namespace

PaddedRow::PaddedRow(const WindowAxis& axis, int64_t width, int64_t block, int64_t lanes)
    : axis_(axis), block_(block) {
  std::vector<int64_t> needed(static_cast<size_t>(axis.stride));  // columns of a phase
  for (int64_t tap = 0; tap < axis.kernel; ++tap) {
    const int64_t at = tap * axis.dilation;
    int64_t& columns = needed[static_cast<size_t>(at % axis.stride)];
    columns = std::max(columns, at / axis.stride + width / block);
  }
  for (int64_t number = 0; number < axis.stride; ++number) {
    const int64_t columns = needed[static_cast<size_t>(number)];
    const int64_t first = std::min(columns_below(axis.pad, number, axis.stride), columns);
    const int64_t last =
        std::clamp(columns_below(axis.pad + axis.in, number, axis.stride), first, columns);
    Phase phase;
    phase.begin = elements_;
    phase.copied = elements_ + round_up(first * block, lanes);
    phase.columns = last - first;
    phase.first_column = first * axis.stride + number - axis.pad;
    origin_.push_back(phase.copied - first * block);
    phase.end = elements_ + round_up(origin_.back() - elements_ + columns * block, lanes);
    phase.zeros = phase.copied + phase.columns * block / lanes * lanes;
    elements_ = phase.end;
    phases_.push_back(phase);
  }
}

int64_t PaddedRow::place(int64_t tap) const {
  const int64_t at = tap * axis_.dilation;
  return origin_[static_cast<size_t>(at % axis_.stride)] + at / axis_.stride * block_;
}

}  // namespace camshaft::lower
