// SPDX-License-Identifier: MIT
// Slices that are one run of elements in memory.
#pragma once

#include <optional>

#include "codegen/schedule/schedule.h"

namespace camshaft::schedule {

// Where the first element of a slice of a tensor of shape `from` lies in that tensor's memory,
// counted in elements, if all elements of the slice follow it in the order that the slice would
// have them in a buffer of its own with the same layout.
std::optional<int64_t> first_of_run(const ir::SliceAttrs& slice, Layout layout, ir::Shape from);

}  // namespace camshaft::schedule
