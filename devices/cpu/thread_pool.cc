// SPDX-License-Identifier: MIT
#include "devices/cpu/thread_pool.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>

#include "devices/cpu/float_mode.h"
#include "runtime/base/clock.h"

namespace camshaft::cpu {
namespace {

using base::Code;
using base::Result;
using base::Status;

constexpr uint64_t kJoinedBits = 8;
static_assert(kMaxThreads < 1 << kJoinedBits);
constexpr uint64_t kTakenBits = 16;
constexpr uint32_t kMostChunks = 4;  // of a share

uint64_t joined_of(uint64_t call) {
  return call & ((1 << kJoinedBits) - 1);
}

uint32_t width_of(const Step& step, uint32_t threads) {
  return std::min(step.parts, threads);
}

// Chunk `chunk` of the indices [begin, end): half of them, half of the rest, ..., all of the rest.
struct Range {
  uint64_t begin = 0;
  uint64_t end = 0;
};
uint32_t chunks_of(const Range& share) {
  return std::min<uint32_t>(kMostChunks,
                            static_cast<uint32_t>(std::bit_width(share.end - share.begin)));
}
Range chunk_of(const Range& share, uint32_t chunk) {
  const uint64_t size = share.end - share.begin;
  const bool is_last = chunk + 1 == chunks_of(share);
  return {share.end - (size >> chunk), is_last ? share.end : share.end - (size >> (chunk + 1))};
}
// Below 2^64: the extent and the width are below 2^32.
Range share_of(const Step& step, uint32_t share, uint32_t width) {
  return {step.extent * share / width, step.extent * (uint64_t{share} + 1) / width};
}

// How many looks at a number take `spin_ns`. The cost of a pause differs by a factor of ten between
// processors.
uint32_t spins_in(uint32_t spin_ns) {
  constexpr uint32_t kPauses = 2000;
  int64_t fastest_ns = INT64_MAX;  // of three, since we may be interrupted
  for (int round = 0; round < 3; ++round) {
    const int64_t start_ns = base::mono_time_ns();
    for (uint32_t i = 0; i < kPauses; ++i) relax_cpu();
    fastest_ns = std::min(fastest_ns, base::mono_time_ns() - start_ns);
  }
  const uint64_t spins =
      uint64_t{spin_ns} * kPauses / static_cast<uint64_t>(std::max<int64_t>(fastest_ns, 1));
  return static_cast<uint32_t>(std::min<uint64_t>(spins, UINT32_MAX - 1));
}

Status cant_use(uint32_t cpu) {
  return base::fail(Code::kInvalidArgument, "cpu.pinning",
                    "this process can't use CPU %u: pin threads to CPUs that it may run on", cpu);
}

// Whether the process may use a CPU is known when a thread is started there: the caller's own mask
// says little, since callers pin themselves.
Status check_cpus(const ThreadPool::Options& options) {
  if (options.cpus.empty()) return base::ok();
  if (options.cpus.size() != options.threads) {
    return base::fail(Code::kInvalidArgument, "cpu.pinning",
                      "%u threads but %zu CPUs to pin them to: name one CPU for each thread",
                      options.threads, options.cpus.size());
  }
  for (const uint32_t cpu : options.cpus) {
    if (cpu >= CPU_SETSIZE) return cant_use(cpu);
  }
  return base::ok();
}

// Attributes of a worker thread.
class Attributes {
 public:
  Attributes() {
    pthread_attr_init(&attributes_);
    pthread_attr_setstacksize(&attributes_, kWorkerStackBytes);
  }
  ~Attributes() { pthread_attr_destroy(&attributes_); }
  void pin_to(uint32_t cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    pthread_attr_setaffinity_np(&attributes_, sizeof set, &set);
  }
  const pthread_attr_t* get() const { return &attributes_; }

 private:
  pthread_attr_t attributes_;
};

// Threads started while it lives block all signals, which are the program's business, not ours.
class BlockSignals {
 public:
  BlockSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &saved_);
  }
  ~BlockSignals() { pthread_sigmask(SIG_SETMASK, &saved_, nullptr); }

 private:
  sigset_t saved_;
};

}  // namespace

Result<std::unique_ptr<ThreadPool>> ThreadPool::start(const Options& options) {
  if (options.threads == 0 || options.threads > kMaxThreads) {
    return base::fail(Code::kInvalidArgument, "cpu.threads", "%u threads: use 1 to %u",
                      options.threads, kMaxThreads);
  }
  CAMSHAFT_TRY(check_cpus(options));
  const uint32_t spins = options.threads == 1 ? 0 : spins_in(options.spin_ns);
  std::unique_ptr<ThreadPool> pool(new ThreadPool(options.threads, spins));
  for (uint32_t thread = 1; thread < options.threads; ++thread) {
    CAMSHAFT_TRY(pool->start_worker(thread, options.cpus));
  }
  pool->greet();
  return pool;
}

ThreadPool::ThreadPool(uint32_t threads, uint32_t spins)
    : thread_count_(threads),
      spins_(spins),
      seats_(new Seat[threads]),
      presence_(new Milestone[threads]) {
  workers_.reserve(threads);  // workers keep pointers to their entries
}

Status ThreadPool::start_worker(uint32_t thread, std::span<const uint32_t> cpus) {
  Attributes attributes;
  if (!cpus.empty()) attributes.pin_to(cpus[thread]);
  const BlockSignals blocked;
  workers_.push_back(Worker{.pool = this, .thread = thread});
  const int failed = pthread_create(&workers_.back().handle, attributes.get(),
                                    &ThreadPool::enter_worker, &workers_.back());
  if (failed != 0) {
    workers_.pop_back();
    if (failed == EINVAL && !cpus.empty()) return cant_use(cpus[thread]);
    return base::fail_errno(Code::kIo, "cpu.thread", failed, "worker thread %u can't be started",
                            thread);
  }
  return base::ok();
}

// One step for everybody, so that no frame pays for the start of a thread.
void ThreadPool::greet() {
  StepList list;
  list.steps = {Step{.parts = thread_count_,
                     .extent = thread_count_,
                     .function = [](void* const*, int64_t, int64_t) {}}};
  list.params = {nullptr};
  list.most_parts = thread_count_;
  run(list);
}

ThreadPool::~ThreadPool() {
  if (workers_.empty()) return;
  publish(Job{.steps = {}, .is_stop = true}, thread_count_);
  for (const Worker& worker : workers_) pthread_join(worker.handle, nullptr);
}

void* ThreadPool::enter_worker(void* argument) {
  const auto* worker = static_cast<const Worker*>(argument);
  char name[16];
  std::snprintf(name, sizeof name, "camshaft-cpu%u", worker->thread);
  prctl(PR_SET_NAME, name);
  worker->pool->work(worker->thread);
  return nullptr;
}

void ThreadPool::publish(const Job& job, uint32_t joined) noexcept {
  job_ = job;
  call_.advance(++jobs_ << kJoinedBits | joined);
}

void ThreadPool::work(uint32_t thread) noexcept {
  const KernelFloatMode float_mode;
  uint64_t call = 0;
  for (;;) {
    call = call_.wait(call + 1, spins_);
    if (thread >= joined_of(call)) continue;
    Milestone& presence = presence_[thread];
    presence.advance(presence.value() + 1);
    // Either this sees that the call is over, or the caller sees the presence and waits.
    const bool is_on = call_.value() == call;
    const bool is_stop = is_on && job_.is_stop;
    if (is_on && !is_stop) run_steps(job_, thread);
    presence.advance(presence.value() + 1);
    if (is_stop) return;
  }
}

// Chunks of a share, in the step of this number, until all are taken or the others have gone on to
// a later step.
void ThreadPool::run_share(const Step& step, const Job& job, uint64_t number,
                           uint32_t share) noexcept {
  const Range range = share_of(step, share, width_of(step, thread_count_));
  const uint64_t first = number << kTakenBits;
  const uint64_t end = first + chunks_of(range);
  std::atomic<uint64_t>& taken = seats_[share].taken;
  uint64_t before = taken.load(std::memory_order_seq_cst);
  for (uint64_t next = std::max(before, first); next < end; next = std::max(before, first)) {
    if (!taken.compare_exchange_weak(before, next + 1, std::memory_order_seq_cst)) continue;
    const Range chunk = chunk_of(range, static_cast<uint32_t>(next - first));
    run_range(step, job.params, chunk.begin, chunk.end);
    before = taken.load(std::memory_order_seq_cst);
  }
}

// The thread's own share, and then what is left of the others'.
void ThreadPool::run_shares(const Step& step, const Job& job, uint64_t number,
                            uint32_t thread) noexcept {
  const uint32_t width = width_of(step, thread_count_);
  Milestone& progress = seats_[thread].progress;
  progress.advance(2 * number + 1);
  if (width == 1) {
    run_range(step, job.params, 0, step.extent);
  } else {
    for (uint32_t i = 0; i < width; ++i) run_share(step, job, number, (thread + i) % width);
  }
  progress.advance(2 * number + 2);
}

// Until nobody runs a chunk of this step any more, all of which are taken. A thread that says later
// that it may do so finds none: of a share's claims, which are exchanges of one number, who has
// seen the last knows what was said before any of them.
void ThreadPool::wait_for_step(uint64_t number, uint32_t width, uint32_t thread) noexcept {
  // Who had no share hasn't seen that all are taken. The caller has one of every step.
  if (thread >= width) seats_[0].progress.wait(2 * number + 2, spins_);
  for (uint32_t other = 0; other < width; ++other) {
    Milestone& progress = seats_[other].progress;
    if (progress.value() == 2 * number + 1) progress.wait(2 * number + 2, spins_);
  }
}

void ThreadPool::run_steps(const Job& job, uint32_t thread) noexcept {
  uint64_t number = job.base;
  uint32_t width_before = 0;
  for (const Step& step : job.steps) {
    const uint32_t width = width_of(step, thread_count_);
    if (thread < width) {
      if (width_before > 0) wait_for_step(number - 1, width_before, thread);
      run_shares(step, job, number, thread);
    }
    width_before = width;
    ++number;
  }
}

void ThreadPool::run(const StepList& list) noexcept {
  if (list.steps.empty()) return;
  const KernelFloatMode float_mode;
  const uint32_t joined = std::min(thread_count_, list.most_parts);
  if (joined == 1) {
    for (const Step& step : list.steps) run_range(step, list.params.data(), 0, step.extent);
    return;
  }
  const Job job = {.steps = list.steps, .params = list.params.data(), .base = steps_done_};
  steps_done_ += list.steps.size();
  publish(job, joined);
  run_steps(job, 0);
  // All chunks are taken. Over for those who are still on their way; those who have come run what
  // they took, find nothing more to do and leave.
  call_.advance(++jobs_ << kJoinedBits);
  for (uint32_t thread = 1; thread < joined; ++thread) {
    const uint64_t presence = presence_[thread].value();
    if (presence % 2 == 1) presence_[thread].wait(presence + 1, spins_);
  }
}

}  // namespace camshaft::cpu
