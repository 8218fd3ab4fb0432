// SPDX-License-Identifier: MIT
// Inputs made of random numbers: the same on every machine for the same seed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/plan/plan.h"
#include "tools/io/tensor.h"

namespace camshaft::command {

struct Range {
  double low = 0;
  double high = 0;  // floats: not reached; integers: inclusive
};
using Ranges = std::map<std::string, Range>;  // by input name

// "NAME=LOW:HIGH", which overrides the default of an input's dtype:
//   floats -1:1, u8 0:255, i8 -128:127, bool 0:1, wider integers (often indices) 0:9
// kInvalidArgument for anything else.
base::Status add_range(const std::string& text, Ranges& ranges);

// Whether numbers of the dtype can be so large, and so far apart.
bool is_range_of(base::DType dtype, const Range& range);

// Uniform numbers. Each input has a stream of its own, of seed and name, so that one input's size
// doesn't change another's values.
io::Tensor random_tensor(const plan::TensorInfo& input, const Ranges& ranges, uint64_t seed);

}  // namespace camshaft::command
