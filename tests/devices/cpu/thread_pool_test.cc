// SPDX-License-Identifier: MIT
// The steps' functions are C++ here, so that the thread sanitizer sees what they touch.
#include "devices/cpu/thread_pool.h"

#include <sched.h>
#include <signal.h>
#include <time.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <limits>
#include <string>
#include <vector>

#include "devices/cpu/host_cpu.h"
#include "runtime/base/clock.h"
#include "tests/support/last_sentence.h"

using namespace camshaft;
using cpu::Step;
using cpu::StepList;
using cpu::ThreadPool;

namespace {

std::unique_ptr<ThreadPool> start(uint32_t threads, uint32_t spin_ns = 20'000) {
  auto pool = ThreadPool::start({.threads = threads, .cpus = {}, .spin_ns = spin_ns});
  REQUIRE(pool);
  return std::move(*pool);
}

// A list of steps, each with one parameter.
struct ListBuilder {
  StepList list;

  ListBuilder& add(cpu::KernelFunction function, void* param, uint64_t extent, uint32_t parts) {
    list.steps.push_back(Step{.parts = parts,
                              .extent = extent,
                              .function = function,
                              .first_param = static_cast<uint32_t>(list.params.size())});
    list.params.push_back(param);
    list.most_parts = std::max(list.most_parts, parts);
    return *this;
  }
};

void count_up(void* const* params, int64_t begin, int64_t end) {
  auto* values = static_cast<uint32_t*>(params[0]);
  for (int64_t i = begin; i < end; ++i) ++values[i];
}

// values[i] += values[(i * 7 + 1) % n] of the other half: reads what other threads wrote in the
// step before. The first word says which half is the newer one.
struct Mixer {
  static constexpr int64_t kCount = 64;
  uint64_t halves[2][kCount] = {};
};
template <int kFrom>
void mix(void* const* params, int64_t begin, int64_t end) {
  auto* mixer = static_cast<Mixer*>(params[0]);
  for (int64_t i = begin; i < end; ++i) {
    mixer->halves[1 - kFrom][i] =
        mixer->halves[kFrom][i] * 3 + mixer->halves[kFrom][(i * 7 + 1) % Mixer::kCount] + 1;
  }
}

}  // namespace

TEST_CASE("each index of a step is run once, whatever the threads and parts", "[pool]") {
  for (const uint32_t threads : {1u, 2u, 3u, 7u}) {
    const auto pool = start(threads);
    CHECK(pool->thread_count() == threads);
    for (const uint32_t parts : {1u, 2u, 5u, 16u}) {
      for (const uint64_t extent : {uint64_t{1}, uint64_t{15}, uint64_t{1000}}) {
        std::vector<uint32_t> values(extent + 1);
        ListBuilder builder;
        builder.add(count_up, values.data(), extent, parts);
        pool->run(builder.list);
        CHECK(std::vector<uint32_t>(values.begin(), values.end() - 1) ==
              std::vector<uint32_t>(extent, 1));
        CHECK(values.back() == 0);
      }
    }
  }
}

TEST_CASE("a step sees all of the step before", "[pool]") {
  const auto run = [](uint32_t threads, uint32_t spin_ns, int runs) {
    const auto pool = start(threads, spin_ns);
    Mixer mixer;
    ListBuilder builder;
    for (uint32_t step = 0; step < 40; ++step) {
      // Widths grow, shrink and alternate.
      const uint32_t parts = (const uint32_t[]){1, 4, 2, 8, 3, 3, 1, 1, 7}[step % 9];
      builder.add(step % 2 == 0 ? mix<0> : mix<1>, &mixer, Mixer::kCount, parts);
    }
    for (int i = 0; i < runs; ++i) pool->run(builder.list);
    return std::vector<uint64_t>(mixer.halves[0], mixer.halves[0] + Mixer::kCount);
  };
  const std::vector<uint64_t> expected = run(1, 0, 200);
  for (const uint32_t threads : {2u, 3u, 4u}) {
    CHECK(run(threads, 20'000, 200) == expected);
    CHECK(run(threads, 0, 200) == expected);  // asleep at each wait
  }
}

TEST_CASE("lists that need fewer threads leave the others alone", "[pool]") {
  const auto pool = start(4);
  std::vector<uint32_t> values(16);
  ListBuilder narrow;
  narrow.add(count_up, values.data(), 16, 1);
  ListBuilder wide;
  wide.add(count_up, values.data(), 16, 4);
  ListBuilder middle;
  middle.add(count_up, values.data(), 16, 2).add(count_up, values.data(), 16, 3);
  for (int i = 0; i < 100; ++i) {
    pool->run(narrow.list);
    pool->run(wide.list);
    pool->run(middle.list);
  }
  CHECK(values == std::vector<uint32_t>(16, 400));
}

TEST_CASE("a list may go away as soon as it has run", "[pool]") {
  const auto pool = start(4, 0);
  std::vector<uint32_t> values(4);
  for (int i = 0; i < 200; ++i) {
    auto builder = std::make_unique<ListBuilder>();
    for (int step = 0; step < 3; ++step) builder->add(count_up, values.data(), 4, 4 - step);
    pool->run(builder->list);
  }
  CHECK(values == std::vector<uint32_t>(4, 600));
}

TEST_CASE("an empty list runs on any pool", "[pool]") {
  for (const uint32_t threads : {1u, 3u}) {
    const auto pool = start(threads);
    StepList list;
    pool->run(list);
    list.most_parts = 3;
    pool->run(list);
    SUCCEED();
  }
}

// Whether `flag` is set before a time that no working pool takes.
bool comes(const std::atomic<bool>& flag) {
  const int64_t end_ns = base::mono_time_ns() + 20'000'000'000;
  while (!flag.load() && base::mono_time_ns() < end_ns) cpu::relax_cpu();
  return flag.load();
}

// Two threads take part, since each waits for the other one.
class Meeting {
 public:
  void wait_for_both() {
    ++arrived_;
    while (arrived_ % 2 != 0) cpu::relax_cpu();
  }

 private:
  std::atomic<int> arrived_ = 0;
};

TEST_CASE("a thread that is held up in a chunk loses the rest of its share to the others",
          "[pool]") {
  // Shares of eight indices are chunks of four, two, one and one. In each share the first chunk
  // waits for the last index of its share, which some other thread must run.
  static constexpr int64_t kShare = 8;
  struct Ends {
    std::atomic<bool> is_done[4] = {};
    std::atomic<bool> is_late = false;
  };
  static constexpr auto hold_one = [](void* const* params, int64_t begin, int64_t end) {
    auto* ends = static_cast<Ends*>(params[0]);
    const int64_t share = begin / kShare;
    if (share == 1 && begin % kShare == 0 && !comes(ends->is_done[share])) ends->is_late = true;
    if (end % kShare == 0) ends->is_done[share] = true;
  };
  for (const uint32_t threads : {2u, 3u, 4u}) {
    for (const uint32_t spin_ns : {0u, 20'000u}) {
      const auto pool = start(threads, spin_ns);
      for (int run = 0; run < 50; ++run) {
        Ends ends;
        ListBuilder builder;
        builder.add(hold_one, &ends, kShare * threads, threads);
        pool->run(builder.list);
        for (uint32_t share = 0; share < threads; ++share) CHECK(ends.is_done[share]);
        CHECK_FALSE(ends.is_late);
      }
    }
  }
}

TEST_CASE("a thread that is held up takes part again in later steps", "[pool]") {
  // Whoever comes to the first chunk of the second share is held up until the first step's other
  // chunks are done. Sums of all steps show whether any chunk ran twice or in a wrong order.
  struct State {
    std::atomic<int> chunks = 0;
    Mixer mixer;
  };
  static constexpr auto hold = [](void* const* params, int64_t begin, int64_t) {
    auto* state = static_cast<State*>(params[0]);
    if (begin != 32) ++state->chunks;
    while (begin == 32 && state->chunks < 7) cpu::relax_cpu();
  };
  const auto run = [](uint32_t threads) {
    const auto pool = start(threads, 1000);
    State state;
    for (int i = 0; i < 50; ++i) {
      state.chunks = threads == 1 ? 7 : 0;
      ListBuilder builder;
      builder.add(hold, &state, 64, 2);
      for (int step = 0; step < 6; ++step) {
        builder.add(step % 2 == 0 ? mix<0> : mix<1>, &state.mixer, Mixer::kCount, 1 + step % 3);
      }
      pool->run(builder.list);
    }
    return std::vector<uint64_t>(state.mixer.halves[0], state.mixer.halves[0] + Mixer::kCount);
  };
  const std::vector<uint64_t> expected = run(1);
  CHECK(run(2) == expected);
  CHECK(run(3) == expected);
}

TEST_CASE("chunks are halves of what is left of a thread's equal share", "[pool]") {
  struct Ranges {
    std::atomic<int> count = 0;
    std::atomic<int64_t> ends[1004] = {};  // by begin
  };
  static constexpr auto note = [](void* const* params, int64_t begin, int64_t end) {
    auto* ranges = static_cast<Ranges*>(params[0]);
    ++ranges->count;
    ranges->ends[begin] = end;
  };
  const auto check = [](uint32_t threads, uint64_t extent, uint32_t parts,
                        const std::vector<std::pair<int, int>>& expected) {
    CAPTURE(threads, extent, parts);
    const auto pool = start(threads);
    Ranges ranges;
    ListBuilder builder;
    builder.add(note, &ranges, extent, parts);
    builder.list.most_parts = 2;  // so that workers join in
    pool->run(builder.list);
    CHECK(ranges.count == static_cast<int>(expected.size()));
    for (const auto& [begin, end] : expected) CHECK(ranges.ends[begin] == end);
  };
  check(2, 1003, 2,
        {{0, 251},
         {251, 376},
         {376, 439},
         {439, 501},
         {501, 752},
         {752, 878},
         {878, 941},
         {941, 1003}});
  check(2, 7, 9, {{0, 2}, {2, 3}, {3, 5}, {5, 6}, {6, 7}});
  check(2, 3, 2, {{0, 1}, {1, 2}, {2, 3}});
  check(2, 1, 2, {{0, 1}});
  check(2, 1003, 1, {{0, 1003}});
  check(1, 1003, 2, {{0, 1003}});
}

TEST_CASE("the largest launches don't overflow", "[pool]") {
  struct Sum {
    std::atomic<int64_t> indices = 0;
    std::atomic<int64_t> last_end = 0;
  };
  static constexpr auto note = [](void* const* params, int64_t begin, int64_t end) {
    auto* sum = static_cast<Sum*>(params[0]);
    sum->indices += end - begin;
    if (end > sum->last_end) sum->last_end = end;
  };
  const auto pool = start(3);
  Sum sum;
  ListBuilder builder;
  builder.add(note, &sum, UINT32_MAX, UINT32_MAX);
  pool->run(builder.list);
  CHECK(sum.indices == int64_t{UINT32_MAX});
  CHECK(sum.last_end == int64_t{UINT32_MAX});
}

TEST_CASE("denormals are flushed in every thread, and the caller's mode comes back", "[pool]") {
  struct Products {
    Meeting meeting;
    float factor = std::numeric_limits<float>::min();  // the smallest normal number
    float products[2] = {1, 1};
    float sums[2] = {1, 1};
  };
  const auto multiply = [](void* const* params, int64_t begin, int64_t end) {
    auto* p = static_cast<Products*>(params[0]);
    if (end - begin == 1) p->meeting.wait_for_both();
    const volatile float factor = p->factor;
    const volatile float denormal = std::numeric_limits<float>::denorm_min();
    for (int64_t i = begin; i < end; ++i) {
      p->products[i] = factor * 0.5F;       // a denormal result
      p->sums[i] = denormal * 16777216.0F;  // a denormal operand
    }
  };
  for (const uint32_t threads : {1u, 2u}) {
    const auto pool = start(threads);
    Products p;
    ListBuilder builder;
    builder.add(multiply, &p, 2, 2);
    pool->run(builder.list);
    for (int i = 0; i < 2; ++i) {
      CHECK(p.products[i] == 0);
      CHECK(p.sums[i] == 0);
    }
    // Out here the same product is a denormal, as IEEE has it.
    const volatile float factor = p.factor;
    CHECK(factor * 0.5F != 0);
  }
}

TEST_CASE("workers leave signals to the program", "[pool]") {
  struct Mask {
    Meeting meeting;
    std::atomic<int> caller = -1;
    std::atomic<int> worker = -1;
  };
  const auto note = [](void* const* params, int64_t, int64_t) {
    auto* seen = static_cast<Mask*>(params[0]);
    seen->meeting.wait_for_both();
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    (gettid() == getpid() ? seen->caller : seen->worker) = sigismember(&mask, SIGINT);
  };
  const auto pool = start(2);
  Mask mask;
  ListBuilder builder;
  builder.add(note, &mask, 2, 2);
  pool->run(builder.list);
  CHECK(mask.caller == 0);
  CHECK(mask.worker == 1);
}

TEST_CASE("workers can be pinned", "[pool]") {
  cpu_set_t usable;
  REQUIRE(sched_getaffinity(0, sizeof usable, &usable) == 0);
  uint32_t last = 0;
  for (uint32_t i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &usable)) last = i;
  }
  const uint32_t cpus[] = {last, last};
  auto pool = ThreadPool::start({.threads = 2, .cpus = cpus, .spin_ns = 0});
  REQUIRE(pool);
  struct Seen {
    Meeting meeting;
    std::atomic<int> worker = -1;
  };
  Seen seen;
  const auto note = [](void* const* params, int64_t, int64_t) {
    auto* both = static_cast<Seen*>(params[0]);
    both->meeting.wait_for_both();
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    if (gettid() != getpid()) both->worker = CPU_COUNT(&set) == 1 ? sched_getcpu() : -2;
  };
  ListBuilder builder;
  builder.add(note, &seen, 2, 2);
  (*pool)->run(builder.list);
  CHECK(seen.worker == static_cast<int>(last));
}

TEST_CASE("a caller that is pinned already can have workers on other CPUs", "[pool]") {
  cpu_set_t before;
  sched_getaffinity(0, sizeof before, &before);
  if (CPU_COUNT(&before) < 2) return;
  uint32_t cpus[2] = {};
  for (uint32_t cpu = 0, found = 0; found < 2; ++cpu) {
    if (CPU_ISSET(cpu, &before)) cpus[found++] = cpu;
  }
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(cpus[0], &first);
  REQUIRE(sched_setaffinity(0, sizeof first, &first) == 0);
  const auto pool = ThreadPool::start({.threads = 2, .cpus = cpus, .spin_ns = 0});
  sched_setaffinity(0, sizeof before, &before);
  CHECK(pool);
}

TEST_CASE("wrong options are refused", "[pool]") {
  const auto code = [](const ThreadPool::Options& options) {
    return ThreadPool::start(options).error().code();
  };
  CHECK(code({.threads = 0}) == base::Code::kInvalidArgument);
  CHECK(code({.threads = cpu::kMaxThreads + 1}) == base::Code::kInvalidArgument);
  const uint32_t one[] = {0};
  CHECK(code({.threads = 2, .cpus = one}) == base::Code::kInvalidArgument);
  CHECK(test::last_sentence().find("2 threads but 1 CPUs") != std::string::npos);
  const uint32_t absent[] = {0, 1000};
  CHECK(code({.threads = 2, .cpus = absent}) == base::Code::kInvalidArgument);
  CHECK(test::last_sentence().find("can't use CPU 1000") != std::string::npos);
  const uint32_t far[] = {0, 1 << 20};
  CHECK(code({.threads = 2, .cpus = far}) == base::Code::kInvalidArgument);
  CHECK(test::last_sentence().find("can't use CPU 1048576") != std::string::npos);
}

// CPU time, not wall time: it does not depend on what else the machine does.
TEST_CASE("an idle pool uses no processor time", "[pool]") {
  const auto cpu_time_ns = [] {
    timespec time = {};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
  };
  const auto pool = start(4, 50'000);
  std::vector<uint32_t> values(4);
  ListBuilder builder;
  builder.add(count_up, values.data(), 4, 4);
  pool->run(builder.list);
  const timespec moment = {.tv_sec = 0, .tv_nsec = 20'000'000};
  nanosleep(&moment, nullptr);  // the spinning ends
  const int64_t before_ns = cpu_time_ns();
  const timespec pause = {.tv_sec = 0, .tv_nsec = 300'000'000};
  nanosleep(&pause, nullptr);
  // Three workers that spun would use 900 ms, one clock tick is 4 ms.
  CHECK(cpu_time_ns() - before_ns < 10'000'000);
  pool->run(builder.list);  // and it wakes up
  CHECK(values == std::vector<uint32_t>(4, 2));
}

TEST_CASE("pools come and go", "[pool]") {
  std::vector<uint32_t> values(8);
  ListBuilder builder;
  builder.add(count_up, values.data(), 8, 8);
  for (int i = 0; i < 30; ++i) {
    const auto pool = start(3, i % 2 == 0 ? 0 : 10'000);
    if (i % 3 != 0) pool->run(builder.list);
  }
  CHECK(values == std::vector<uint32_t>(8, 20));
}
