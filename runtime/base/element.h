// SPDX-License-Identifier: MIT
// Single numbers of a dense tensor, whatever its dtype. For people and tools; slow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/base/dtype.h"

namespace camshaft::base {

// Element `index` of the tensor at `data` as a double; u64 and i64 beyond 2^53 lose precision.
double element(DType dtype, const std::byte* data, uint64_t index);

// Writes `value` as element `index`, rounded to nearest; integers are clamped to their range, and
// NaN becomes 0 there. bool is `value != 0`.
void set_element(DType dtype, std::byte* data, uint64_t index, double value);

// Element `index` with all the digits that it takes to tell it from others: "16000", "-1e-05".
std::string element_text(DType dtype, const std::byte* data, uint64_t index);

}  // namespace camshaft::base
