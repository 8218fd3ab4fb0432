// SPDX-License-Identifier: MIT
// Random step lists on pools of several sizes, against one thread. Every index counts how often it
// was run and reads what others wrote in the step before, so that a chunk that is run twice, left
// out, or begun too early shows in the sums. The model of the protocol: devices/cpu/model/pool.pml.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <random>
#include <vector>

#include "devices/cpu/thread_pool.h"

using namespace camshaft;
using cpu::Step;
using cpu::StepList;
using cpu::ThreadPool;

namespace {

constexpr uint64_t kCount = 96;

struct Sums {
  uint64_t halves[2][kCount] = {};
};

// One half out of the other one; indices that a step leaves out keep what they had.
template <int kFrom>
void mix(void* const* params, int64_t begin, int64_t end) {
  auto* sums = static_cast<Sums*>(params[0]);
  for (int64_t i = begin; i < end; ++i) {
    const auto other = static_cast<uint64_t>(i * 29 + 7) % kCount;
    sums->halves[1 - kFrom][i] += sums->halves[kFrom][i] * 3 + sums->halves[kFrom][other] + 1;
  }
}

// Of 1 to 8 steps, most of them narrow and short: there a thread is late the soonest.
StepList random_list(std::mt19937& random, Sums& sums) {
  StepList list;
  list.params = {&sums};
  const uint32_t steps = 1 + random() % 8;
  for (uint32_t step = 0; step < steps; ++step) {
    const uint32_t parts = 1 + random() % 6;
    const uint64_t most = random() % 2 == 0 ? 2 * uint64_t{parts} : kCount;
    list.steps.push_back(Step{.parts = parts,
                              .extent = random() % (most + 1),
                              .function = step % 2 == 0 ? mix<0> : mix<1>});
    list.most_parts = std::max(list.most_parts, parts);
  }
  return list;
}

std::unique_ptr<ThreadPool> start(uint32_t threads, uint32_t spin_ns) {
  auto pool = ThreadPool::start({.threads = threads, .cpus = {}, .spin_ns = spin_ns});
  REQUIRE(pool);
  return std::move(*pool);
}

// Compares after each list, which goes away at once.
void check_lists(uint32_t count) {
  for (const uint32_t threads : {2u, 3u, 5u}) {
    for (const uint32_t spin_ns : {0u, 20'000u}) {
      CAPTURE(threads, spin_ns);
      const auto alone = start(1, 0);
      const auto pool = start(threads, spin_ns);
      Sums expected;
      Sums sums;
      std::mt19937 random(threads + spin_ns);
      uint32_t wrong = 0;
      for (uint32_t i = 0; i < count && wrong == 0; ++i) {
        const auto seed = static_cast<uint32_t>(random());
        std::mt19937 first(seed);
        std::mt19937 second(seed);
        alone->run(random_list(first, expected));
        pool->run(random_list(second, sums));
        for (int half = 0; half < 2; ++half) {
          wrong +=
              !std::equal(sums.halves[half], sums.halves[half] + kCount, expected.halves[half]);
        }
      }
      CHECK(wrong == 0);
    }
  }
}

}  // namespace

TEST_CASE("random lists give what one thread gives", "[pool]") {
  check_lists(500);
}

TEST_CASE("random lists give what one thread gives, 120,000 of them", "[.][long]") {
  check_lists(20'000);
}
