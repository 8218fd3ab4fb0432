// SPDX-License-Identifier: MIT
// The least that can be done with a futex, and a ring that wakes its readers by signals.
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "runtime/base/clock.h"
#include "tests/perf/queue/channel.h"

namespace camshaft::perf {
namespace {

// A word and the last stamps, so that who wakes late is late for each of them: nothing is sent but
// the news that something could be.
class FutexChannel : public Channel {
 public:
  explicit FutexChannel(const Setup& setup)
      : setup_(setup),
        shared_(new(shared_memory(sizeof(Shared))) Shared),
        buffer_(setup.size_bytes) {}
  ~FutexChannel() override { ::munmap(shared_, sizeof(Shared)); }

  std::byte* space() override { return buffer_.data(); }
  void send() override {
    const uint32_t next = shared_->word.load(std::memory_order_relaxed) + 1;
    std::memcpy(&shared_->stamps[next % kStamps], buffer_.data(), sizeof(Stamp));
    shared_->word.store(next, std::memory_order_release);
    if (!setup_.spin)
      ::syscall(SYS_futex, &shared_->word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }
  void begin_receiving(uint32_t) override {}
  bool receive(int64_t deadline_ns, Stamp* stamp) override {
    for (;;) {
      if (shared_->word.load(std::memory_order_acquire) != seen_) {
        *stamp = shared_->stamps[++seen_ % kStamps];
        return true;
      }
      if (setup_.spin) {
        if (++looks_ % 1024 == 0 && base::mono_time_ns() > deadline_ns) return false;
        continue;
      }
      if (base::mono_time_ns() > deadline_ns) return false;
      const timespec until = {deadline_ns / 1'000'000'000, deadline_ns % 1'000'000'000};
      ::syscall(SYS_futex, &shared_->word, FUTEX_WAIT_BITSET, seen_, &until, nullptr,
                FUTEX_BITSET_MATCH_ANY);
    }
  }

 private:
  static constexpr uint32_t kStamps = 64;
  struct Shared {
    std::atomic<uint32_t> word{0};
    Stamp stamps[kStamps];
  };
  Setup setup_;
  Shared* shared_;
  std::vector<std::byte> buffer_;
  uint32_t seen_ = 0;
  uint64_t looks_ = 0;
};

// A ring of copies; after each message a signal to every reader, which sleeps up to 100 ms at a
// time.
class SignalRing : public Channel {
 public:
  explicit SignalRing(const Setup& setup) : setup_(setup), buffer_(setup.size_bytes) {
    memory_bytes_ = sizeof(Shared) + kMessages * setup.size_bytes;
    shared_ = new (shared_memory(memory_bytes_)) Shared;
    ring_ = reinterpret_cast<std::byte*>(shared_ + 1);
  }
  ~SignalRing() override { ::munmap(static_cast<void*>(shared_), memory_bytes_); }

  std::byte* space() override { return buffer_.data(); }
  void send() override {
    const uint64_t next = shared_->written.load(std::memory_order_relaxed);
    std::memcpy(ring_ + next % kMessages * setup_.size_bytes, buffer_.data(), setup_.size_bytes);
    shared_->written.store(next + 1, std::memory_order_seq_cst);
    for (uint32_t i = 0; i < setup_.receivers; ++i) {
      const int thread = shared_->threads[i].load();
      if (thread != 0) ::syscall(SYS_tkill, thread, SIGUSR2);
    }
  }
  void begin_receiving(uint32_t index) override {
    struct sigaction action = {};
    action.sa_handler = [](int) {};
    ::sigaction(SIGUSR2, &action, nullptr);
    read_ = shared_->written.load();
    shared_->threads[index].store(static_cast<int>(::syscall(SYS_gettid)));
  }
  bool receive(int64_t deadline_ns, Stamp* stamp) override {
    while (shared_->written.load(std::memory_order_seq_cst) == read_) {
      if (base::mono_time_ns() > deadline_ns) return false;
      const timespec slice = {0, 100'000'000};
      ::nanosleep(&slice, nullptr);
    }
    std::memcpy(buffer_.data(), ring_ + read_ % kMessages * setup_.size_bytes, setup_.size_bytes);
    ++read_;
    std::memcpy(stamp, buffer_.data(), sizeof *stamp);
    return true;
  }

 private:
  static constexpr uint64_t kMessages = 8;
  struct Shared {
    std::atomic<uint64_t> written{0};
    std::atomic<int> threads[64]{};
  };
  Setup setup_;
  size_t memory_bytes_ = 0;
  Shared* shared_ = nullptr;
  std::byte* ring_ = nullptr;
  uint64_t read_ = 0;
  std::vector<std::byte> buffer_;
};

}  // namespace

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "queue_bench: %s failed\n", what);
  std::perror("queue_bench");
  std::exit(1);
}

void* shared_memory(size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  require(memory != MAP_FAILED, "mmap");
  return memory;
}

std::unique_ptr<Channel> make_futex(const Setup& setup) {
  return std::make_unique<FutexChannel>(setup);
}
std::unique_ptr<Channel> make_signal_ring(const Setup& setup) {
  return std::make_unique<SignalRing>(setup);
}

}  // namespace camshaft::perf
