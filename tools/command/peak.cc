// SPDX-License-Identifier: MIT
#include "tools/command/peak.h"

#include <algorithm>
#include <cstdint>

#include "devices/cpu/host_cpu.h"
#include "runtime/base/clock.h"

namespace camshaft::command {
namespace {

// Enough independent sums to hide the latency of 4 or 5 cycles at two instructions a cycle, and few
// enough for 16 registers.
constexpr int kChains = 12;
constexpr int kRounds = 2000;  // of all chains: some ten microseconds
constexpr int64_t kBudgetNs = 200'000'000;

volatile float g_factor = 0.999F;  // unknown to the compiler
volatile float g_sink;

// x := x * factor + addend on every chain, in vectors of kLanes floats. Inlined into functions that
// say which instructions it may use; vectors don't pass between functions.
template <int kLanes>
[[gnu::always_inline]] inline void multiply_add_rounds() {
  using Vector = float __attribute__((vector_size(kLanes * sizeof(float))));
  const Vector factor = g_factor - Vector{};
  const Vector addend = 1.0F - factor;
  Vector chains[kChains];
  for (int c = 0; c < kChains; ++c) chains[c] = factor + static_cast<float>(c);
  for (int round = 0; round < kRounds; ++round) {
#pragma clang loop unroll(full)
    for (int c = 0; c < kChains; ++c) chains[c] = chains[c] * factor + addend;
  }
  Vector sum = chains[0];
  for (int c = 1; c < kChains; ++c) sum += chains[c];
  g_sink = sum[0];
}

struct Method {
  const char* feature;  // that it needs; null: none
  const char* name;
  int lanes;
  void (*rounds)();
};

#if defined(__x86_64__)
[[gnu::target("avx512f")]] void rounds_avx512() {
  multiply_add_rounds<16>();
}
[[gnu::target("avx2,fma")]] void rounds_avx2() {
  multiply_add_rounds<8>();
}
#endif
void rounds_baseline() {
  multiply_add_rounds<4>();
}

// The widest first.
constexpr Method kMethods[] = {
#if defined(__x86_64__)
    {"avx512f", "16 lanes of f32 (avx512f)", 16, rounds_avx512},
    {"fma", "8 lanes of f32 (avx2, fma)", 8, rounds_avx2},
#endif
    {nullptr, "4 lanes of f32", 4, rounds_baseline},
};

double best_gflops(const Method& method) {
  constexpr double kFlopsPerLane = 2.0 * kChains * kRounds;
  double best = 0;
  const int64_t start_ns = base::mono_time_ns();
  for (int64_t now_ns = start_ns; now_ns - start_ns < kBudgetNs;) {
    method.rounds();
    const int64_t end_ns = base::mono_time_ns();
    const auto duration_ns = static_cast<double>(std::max<int64_t>(1, end_ns - now_ns));
    best = std::max(best, kFlopsPerLane * method.lanes / duration_ns);
    now_ns = end_ns;
  }
  return best;
}

}  // namespace

Peak measure_peak() {
  Peak peak;
  for (const Method& method : kMethods) {
    if (method.feature != nullptr && !cpu::cpu_has_feature(method.feature)) continue;
    // Narrower vectors may be as fast, where the wide ones are cut in two or lower the clock.
    if (const double gflops = best_gflops(method); gflops > peak.gflops) {
      peak = {gflops, method.name};
    }
  }
  return peak;
}

}  // namespace camshaft::command
