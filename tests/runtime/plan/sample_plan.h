// SPDX-License-Identifier: MIT
// A small plan that uses every part of the format: two targets, two commands and a copy each,
// slices, a state, goldens, sources.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/plan/writer.h"

namespace camshaft::plan::test {

PlanContents make_sample();
std::vector<std::byte> write_sample();

}  // namespace camshaft::plan::test
