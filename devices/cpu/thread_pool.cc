// SPDX-License-Identifier: MIT
#include "devices/cpu/thread_pool.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
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
    : thread_count_(threads), spins_(spins), progress_(new Milestone[threads]) {
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
    if (thread >= (call & ((1 << kJoinedBits) - 1))) continue;
    const Job job = job_;
    if (job.is_stop) return;
    run_share(job, thread);
    progress_[thread].advance(job.base + job.steps.size());
  }
}

// Thread `thread`'s parts of all steps. A step may begin when the threads that had parts of the
// step before have counted it, since they did not begin that one before the one before it was
// complete.
void ThreadPool::run_share(const Job& job, uint32_t thread) noexcept {
  uint64_t position = job.base;
  uint32_t width_before = 0;
  for (const Step& step : job.steps) {
    const uint32_t width = std::min(step.parts, thread_count_);
    if (thread < width) {
      for (uint32_t other = 0; other < width_before; ++other) {
        if (other != thread) progress_[other].wait(position, spins_);
      }
      for (uint32_t part = thread; part < step.parts; part += thread_count_) {
        run_part(step, job.params, part);
      }
      progress_[thread].advance(position + 1);
    }
    width_before = width;
    ++position;
  }
}

void ThreadPool::run(const StepList& list) noexcept {
  if (list.steps.empty()) return;
  const KernelFloatMode float_mode;
  const uint32_t joined = std::min(thread_count_, list.most_parts);
  if (joined == 1) {
    for (const Step& step : list.steps) {
      for (uint32_t part = 0; part < step.parts; ++part) run_part(step, list.params.data(), part);
    }
    return;
  }
  const Job job = {.steps = list.steps, .params = list.params.data(), .base = steps_done_};
  steps_done_ += list.steps.size();
  publish(job, joined);
  run_share(job, 0);
  for (uint32_t thread = 1; thread < joined; ++thread) {
    progress_[thread].wait(steps_done_, spins_);
  }
}

}  // namespace camshaft::cpu
