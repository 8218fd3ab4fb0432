// SPDX-License-Identifier: MIT
// 60 topics at 100 Hz with one slow reader each: every wait ends within its deadline, no wake-up is
// lost, nothing is read twice or torn, what is lost is counted, memory stays what it is. Some
// seconds in `scons test`, 50 minutes in `scons test-long`, or as many seconds as CAMSHAFT_SOAK_S
// says.
//
// A process that is stopped (SIGSTOP), or gets no CPU, is late through no fault of the queue: such
// stalls are measured in each process and taken off what it waited, and nothing else is.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>

#include "msgq/queue/publisher.h"
#include "msgq/queue/subscriber.h"
#include "runtime/realtime/deadline.h"
#include "tests/msgq/queue/processes.h"
#include "tests/msgq/queue/test_domain.h"
#include "tests/support/stall_clock.h"

namespace camshaft::queue {
namespace {

using camshaft::test::RunningTime;
using camshaft::test::StallClock;
using test::Child;
using test::in_ms;
using test::TestDomain;

constexpr int kTopics = 60;
constexpr int64_t kMs = 1'000'000;
constexpr int64_t kPeriodNs = 10 * kMs;
constexpr int64_t kMostBehindNs = 1'000 * kMs;  // then the publisher begins a new schedule
constexpr int64_t kDeadlineNs = 900 * kMs;  // below the slice after which a sleeper looks anyway
constexpr int64_t kGraceNs = 500 * kMs;     // for a machine that does other work, too

struct Counts {
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> published{0};
  std::atomic<uint64_t> received[kTopics] = {};
  std::atomic<uint64_t> dropped[kTopics] = {};
  std::atomic<uint64_t> missed_deadlines{0};  // waits that went on beyond theirs
  std::atomic<uint64_t> lost_wakeups{0};      // messages that a sleeper did not hear of
  std::atomic<uint64_t> silent_waits{0};      // nothing was published until the deadline
  std::atomic<uint64_t> wrong{0};
  std::atomic<int64_t> longest_wakeup_ns{0};  // from sending a message to its sleeper's return
  std::atomic<int64_t> longest_stall_ns{0};   // of one process, in all
  std::atomic<int64_t> most_growth_bytes{0};
};

void raise_to(std::atomic<int64_t>& most, int64_t value) {
  int64_t before = most;
  while (value > before && !most.compare_exchange_weak(before, value)) {
  }
}

std::string topic_name(int index) {
  return "soak" + std::to_string(index);
}

int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t pages = 0;
  statm >> pages >> pages;
  return pages * ::sysconf(_SC_PAGESIZE);
}

void note_growth(Counts& counts, int64_t before) {
  raise_to(counts.most_growth_bytes, resident_bytes() - before);
}

void publish_all(const TestDomain& domain, Counts& counts) {
  std::vector<Publisher> publishers;
  for (int i = 0; i < kTopics; ++i) {
    auto publisher = Publisher::open(
        topic_name(i),
        {.domain = domain.options(), .size = {.ring_bytes = 1 << 14, .messages = 16}});
    if (publisher) publishers.push_back(std::move(*publisher));
  }
  if (publishers.size() != kTopics) ++counts.wrong;
  std::vector<std::byte> message(700);
  int64_t warm_bytes = 0;
  int64_t next_ns = base::mono_time_ns();
  for (uint64_t n = 1; !counts.stop; ++n) {
    std::memset(message.data(), static_cast<int>(n & 0xff), message.size());
    for (Publisher& publisher : publishers) {
      if (!publisher.publish(message, n).is_ok()) ++counts.wrong;
    }
    counts.published.store(n, std::memory_order_relaxed);
    if (n == 100) warm_bytes = resident_bytes();
    next_ns += kPeriodNs;
    const int64_t now_ns = base::mono_time_ns();
    if (now_ns - next_ns > kMostBehindNs) next_ns = now_ns;
    realtime::sleep_until(next_ns);
  }
  note_growth(counts, warm_bytes);
}

bool is_whole(const Message& message) {
  for (const std::byte b : message.bytes()) {
    if (b != static_cast<std::byte>(message.info().tag)) return false;
  }
  return message.bytes().size() == 700;
}

// Waits for the next message as a reader does who has a deadline. True where there is one.
bool wait_for_one(Subscriber& subscriber, const StallClock& stalls, Counts& counts) {
  const RunningTime waited(stalls);
  const base::Status woken = subscriber.wait(base::mono_time_ns() + kDeadlineNs);
  const int64_t waited_ns = waited.elapsed_ns();
  if (counts.stop) return false;
  if (waited_ns > kDeadlineNs + kGraceNs) ++counts.missed_deadlines;
  if (!woken.is_ok()) ++counts.silent_waits;
  return woken.is_ok();
}

void read_slowly(const TestDomain& domain, Counts& counts, int topic) {
  const StallClock stalls;
  auto subscriber = Subscriber::open(topic_name(topic), {.domain = domain.options()});
  uint64_t last = 0;
  int64_t warm_bytes = 0;
  uint64_t received = 0;
  while (!counts.stop && subscriber) {
    const int64_t start_ns = base::mono_time_ns();
    const int64_t stalled_ns = stalls.stalled_ns();
    if (!wait_for_one(*subscriber, stalls, counts)) continue;
    const int64_t woken_ns = base::mono_time_ns();
    auto message = subscriber->borrow();
    if (!message) ++counts.wrong;
    if (!message || !*message) continue;
    const MessageInfo info = message->info();
    if (info.mono_time_ns > start_ns) {  // it came while this reader slept
      const int64_t stalled_since_ns = stalls.stalled_ns() - stalled_ns;
      const int64_t late_ns = woken_ns - info.mono_time_ns - stalled_since_ns;
      if (late_ns > kGraceNs) ++counts.lost_wakeups;
      raise_to(counts.longest_wakeup_ns, late_ns);
    }
    const bool whole = is_whole(*message);
    if (!message->release() || !whole || (last != 0 && info.sequence != last + 1 + info.dropped)) {
      ++counts.wrong;
    }
    last = info.sequence;
    if (++received == 50) warm_bytes = resident_bytes();
    counts.received[topic].store(received, std::memory_order_relaxed);
    counts.dropped[topic].store(subscriber->dropped(), std::memory_order_relaxed);
    if (received % 64 == static_cast<uint64_t>(topic))
      ::usleep(300'000);  // it has other things to do
  }
  raise_to(counts.longest_stall_ns, stalls.stalled_ns());
  if (warm_bytes != 0) note_growth(counts, warm_bytes);
}

void soak(int64_t seconds) {
  const TestDomain domain;
  test::Shared<Counts> counts;
  std::vector<Child> children;
  children.emplace_back([&] { publish_all(domain, *counts); });
  for (int i = 0; i < kTopics; ++i) {
    children.emplace_back([&, i] { read_slowly(domain, *counts, i); });
  }
  for (int64_t i = 0; i < seconds * 10; ++i) ::usleep(100'000);
  counts->stop = true;
  for (Child& child : children) CHECK(child.wait() == 0);
  CHECK(counts->missed_deadlines == 0);
  CHECK(counts->lost_wakeups == 0);
  CHECK(counts->wrong == 0);
  CHECK(counts->most_growth_bytes <= 512 * 1024);  // the kernel counts in batches
  uint64_t received = 0;
  uint64_t dropped = 0;
  uint64_t fewest = UINT64_MAX;
  for (int i = 0; i < kTopics; ++i) {
    received += counts->received[i];
    dropped += counts->dropped[i];
    fewest = std::min<uint64_t>(fewest, counts->received[i]);
  }
  CHECK(fewest > 0);
  CHECK(dropped > 0);  // the readers are too slow for their rings, and know it
  std::printf(
      "%lld s: %llu rounds of %d messages, %llu received (fewest of a reader %llu), %llu "
      "dropped, %llu waits without a message, longest wake-up %.1f ms, longest stall of a "
      "process %.1f s, most growth %lld KiB\n",
      static_cast<long long>(seconds), static_cast<unsigned long long>(counts->published.load()),
      kTopics, static_cast<unsigned long long>(received), static_cast<unsigned long long>(fewest),
      static_cast<unsigned long long>(dropped),
      static_cast<unsigned long long>(counts->silent_waits.load()),
      static_cast<double>(counts->longest_wakeup_ns) / 1e6,
      static_cast<double>(counts->longest_stall_ns) / 1e9,
      static_cast<long long>(counts->most_growth_bytes / 1024));
}

TEST_CASE("60 topics at 100 Hz with slow readers") {
  soak(8);
}
TEST_CASE("60 topics at 100 Hz with slow readers, for long", "[.][long]") {
  const char* seconds = std::getenv("CAMSHAFT_SOAK_S");
  soak(seconds != nullptr ? std::atoll(seconds) : test::is_long() ? 3000 : 8);
}

}  // namespace
}  // namespace camshaft::queue
