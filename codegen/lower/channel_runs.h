// SPDX-License-Identifier: MIT
// Pointwise convolutions whose input's channels lie in runs in several values: what a channel
// shuffle has left (schedule::gather_channels()). Its sums run over one run after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/lower/lower.h"

namespace camshaft::lower {

// How many channels each run has, in the order of the input's channels. Empty where the region's
// root is no pointwise convolution of floats that reads a concatenation of leaves and of slices of
// such, which has no memory.
std::vector<int64_t> channel_runs(const Task& task);

// Whether a convolution that such a concatenation would be joined into is better than the two.
bool pays_to_gather(const Task& joined);

}  // namespace camshaft::lower
