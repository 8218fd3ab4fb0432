// SPDX-License-Identifier: MIT
#include "codegen/lower/padded_row.h"

#include <catch2/catch.hpp>
#include <optional>
#include <vector>

namespace camshaft::lower {
namespace {

// A copied row: the input's elements by number, -1 for zeros, nothing where nothing was stored.
std::vector<std::optional<int64_t>> copied(const PaddedRow& row, const WindowAxis& axis,
                                           int64_t block, int64_t lanes) {
  std::vector<std::optional<int64_t>> scratch(static_cast<size_t>(row.elements()));
  for (const PaddedRow::Phase& phase : row.phases()) {
    for (const int64_t place : {phase.begin, phase.copied, phase.zeros, phase.end}) {
      CHECK(place % lanes == 0);
    }
    for (int64_t i = phase.begin; i < phase.copied; ++i) scratch.at(static_cast<size_t>(i)) = -1;
    for (int64_t i = phase.zeros; i < phase.end; ++i) scratch.at(static_cast<size_t>(i)) = -1;
    for (int64_t i = 0; i < phase.columns * block; ++i) {
      const int64_t column = phase.first_column + i / block * axis.stride;
      CHECK((column >= 0 && column < axis.in));
      scratch.at(static_cast<size_t>(phase.copied + i)) = column * block + i % block;
    }
  }
  return scratch;
}

TEST_CASE("each tap reads neighbours, and zeros outside of the input") {
  struct Case {
    WindowAxis axis;
    int64_t block;
    int64_t lanes;
  };
  const Case cases[] = {
      {{28, 28, 3, 1, 1, 1, 1}, 1, 16}, {{56, 28, 3, 2, 1, 1, 1}, 1, 16},
      {{14, 14, 3, 1, 1, 1, 1}, 4, 16}, {{14, 7, 3, 2, 1, 1, 1}, 8, 16},
      {{14, 7, 3, 2, 1, 0, 1}, 8, 8},   {{23, 7, 4, 3, 2, 1, 3}, 1, 8},
      {{3, 8, 5, 1, 1, 4, 5}, 1, 4},    {{3, 8, 5, 1, 1, 40, 5}, 2, 4},
      {{9, 3, 1, 4, 1, 0, 0}, 1, 8},    {{5, 2, 2, 3, 1, 0, 0}, 4, 8},
      {{1, 1, 7, 1, 1, 3, 3}, 16, 16},
  };
  for (const auto& [axis, block, lanes] : cases) {
    CAPTURE(axis.in, axis.out, axis.stride, axis.pad, block);
    const int64_t width = (axis.out * block + lanes - 1) / lanes * lanes;
    const PaddedRow row(axis, width, block, lanes);
    const auto scratch = copied(row, axis, block, lanes);
    for (int64_t tap = 0; tap < axis.kernel; ++tap) {
      for (int64_t e = 0; e < width; ++e) {
        const int64_t column = e / block * axis.stride + tap * axis.dilation - axis.pad;
        const bool is_inside = column >= 0 && column < axis.in;
        const auto& got = scratch.at(static_cast<size_t>(row.place(tap) + e));
        CHECK(got == std::optional<int64_t>(is_inside ? column * block + e % block : -1));
      }
    }
  }
}

TEST_CASE("a row has no more than its phases and a vector at each end of these need") {
  CHECK(PaddedRow({28, 28, 3, 1, 1, 1, 1}, 32, 1, 16).elements() == 64);
  CHECK(PaddedRow({32, 32, 1, 1, 1, 0, 0}, 32, 1, 16).elements() == 32);
  // Columns that no tap reads.
  CHECK(PaddedRow({56, 28, 1, 2, 1, 0, 0}, 32, 1, 16).elements() == 32);
}

}  // namespace
}  // namespace camshaft::lower
