// SPDX-License-Identifier: MIT
// The most arithmetic that a core of this machine does, measured: what kernels are held against.
#pragma once

namespace camshaft::command {

struct Peak {
  double gflops = 0;        // f32, one thread, a fused multiply-add counts 2
  const char* method = "";  // "16 lanes of f32 (avx512f)"
};

// Runs chains of independent multiply-adds on vectors of the widest kind that this processor has,
// in the calling thread, for about 0.2 s, and takes the best of many short stretches. That is the
// clock which the core reaches alone and now: with more threads, or hot, it may be lower.
Peak measure_peak();

}  // namespace camshaft::command
