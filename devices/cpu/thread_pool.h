// SPDX-License-Identifier: MIT
// Threads that run step lists together. They are started once, wait for work by spinning briefly
// and then sleeping, and stay together for a whole list: between steps they meet at barriers made
// of two numbers a thread, without the kernel's help.
//
// Of every step each thread has a share, an equal range, which it takes in chunks: a half, a
// quarter, and so on. Who has done his share takes chunks of the others', so that a thread that is
// slow, interrupted or still asleep delays the rest by no more than the chunk that it is in, and by
// nothing where it is in none. Cores that run alike take nothing from each other. The protocol is
// checked in model/pool.pml.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "devices/cpu/milestone.h"
#include "devices/cpu/step_list.h"
#include "runtime/base/status.h"

namespace camshaft::cpu {

inline constexpr uint32_t kMaxThreads = 128;
// Kernels keep their local arrays on the stack; this is all that a worker has.
inline constexpr uint64_t kWorkerStackBytes = 1 << 20;

// The caller of run() is thread 0; the pool has the others. Workers inherit the scheduling policy
// and priority of the thread that starts the pool, block all signals, and flush denormals.
class ThreadPool {
 public:
  struct Options {
    uint32_t threads = 1;  // 1 to kMaxThreads, the caller included
    std::span<const uint32_t> cpus =
        {};                // empty, or a CPU for each thread; the first is for the caller
    uint32_t spin_ns = 0;  // before a waiting thread sleeps
  };
  // Load time; returns when all threads run. Fails with kInvalidArgument (a CPU that this process
  // can't use) or kIo (no threads).
  static base::Result<std::unique_ptr<ThreadPool>> start(const Options& options);

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  // Ends the workers. No run() may be under way.
  ~ThreadPool();

  uint32_t thread_count() const { return thread_count_; }

  // Runs all steps in order, each complete before the next begins, and returns when no thread uses
  // the list any more. One caller at a time. With one thread, or one part a step, nothing but the
  // kernels runs: no atomic operation, no system call. hot path.
  void run(const StepList& list) noexcept;

 private:
  // What the workers need of a list.
  struct Job {
    std::span<const Step> steps;
    void* const* params = nullptr;
    uint64_t base = 0;  // steps are numbered over the pool's life: this many before the list
    bool is_stop = false;
  };
  struct Worker {
    ThreadPool* pool = nullptr;
    uint32_t thread = 0;
    pthread_t handle = {};
  };
  // What the others see of a thread. In one cache line, in what alignment leaves of the milestone:
  // who finds a share used up asks for the progress next.
  struct Seat {
    // Twice the number of steps that the thread knows to be used up, and one more while it may be
    // running a chunk of the next one. Nobody but the thread writes it.
    [[no_unique_address]] Milestone progress;
    // The thread's share: the step's number times 2^16, plus how many chunks of it are taken; of an
    // earlier step: none. Who takes a chunk counts it here.
    std::atomic<uint64_t> taken = 0;
  };
  static_assert(sizeof(Seat) == sizeof(Milestone));

  ThreadPool(uint32_t threads, uint32_t spins);
  base::Status start_worker(uint32_t thread, std::span<const uint32_t> cpus);
  void greet();
  static void* enter_worker(void* worker);
  void work(uint32_t thread) noexcept;
  void publish(const Job& job, uint32_t joined) noexcept;
  void run_steps(const Job& job, uint32_t thread) noexcept;
  void run_shares(const Step& step, const Job& job, uint64_t number, uint32_t thread) noexcept;
  void run_share(const Step& step, const Job& job, uint64_t number, uint32_t share) noexcept;
  void wait_for_step(uint64_t number, uint32_t width, uint32_t thread) noexcept;

  uint32_t thread_count_;
  uint32_t spins_;
  std::vector<Worker> workers_;
  std::unique_ptr<Seat[]> seats_;
  // Odd while the worker looks at a job. Nobody but the worker writes it.
  std::unique_ptr<Milestone[]> presence_;
  // Which job is on: its number times 256, plus how many threads may join in. The others ignore it.
  Milestone call_;
  Job job_;  // written while no worker is in a job and none may join
  uint64_t jobs_ = 0;
  uint64_t steps_done_ = 0;
};

}  // namespace camshaft::cpu
