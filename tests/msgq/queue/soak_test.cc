// SPDX-License-Identifier: MIT
// 60 topics at 100 Hz with one slow reader each: every wait ends within its deadline, nothing is
// read twice or torn, what is lost is counted, memory stays what it is. Some seconds in `scons
// test`, 50 minutes in `scons test-long`, or as many seconds as CAMSHAFT_SOAK_S says.
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

namespace camshaft::queue {
namespace {

using test::Child;
using test::in_ms;
using test::TestDomain;

constexpr int kTopics = 60;
constexpr int64_t kPeriodNs = 10'000'000;
constexpr int64_t kDeadlineMs = 900;  // below the slice after which a sleeper looks anyway
constexpr int64_t kGraceMs = 500;     // for a machine that does other work, too

struct Counts {
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> published{0};
  std::atomic<uint64_t> received[kTopics] = {};
  std::atomic<uint64_t> dropped[kTopics] = {};
  std::atomic<uint64_t> missed_deadlines{0};
  std::atomic<uint64_t> wrong{0};
  std::atomic<int64_t> most_growth_bytes{0};
};

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
  const int64_t growth = resident_bytes() - before;
  int64_t most = counts.most_growth_bytes;
  while (growth > most && !counts.most_growth_bytes.compare_exchange_weak(most, growth)) {
  }
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

void read_slowly(const TestDomain& domain, Counts& counts, int topic) {
  auto subscriber = Subscriber::open(topic_name(topic), {.domain = domain.options()});
  uint64_t last = 0;
  int64_t warm_bytes = 0;
  uint64_t received = 0;
  while (!counts.stop && subscriber) {
    const int64_t deadline_ns = in_ms(kDeadlineMs);
    const base::Status woken = subscriber->wait(deadline_ns);
    const bool in_time = base::mono_time_ns() < deadline_ns + kGraceMs * 1'000'000;
    if (counts.stop) break;
    if (!in_time || (!woken.is_ok() && received > 0)) ++counts.missed_deadlines;
    auto message = subscriber->borrow();
    if (!message) ++counts.wrong;
    if (!message || !*message) continue;
    const MessageInfo info = message->info();
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
  CHECK(counts->wrong == 0);
  CHECK(counts->most_growth_bytes <= 512 * 1024);  // the kernel counts in batches
  uint64_t dropped = 0;
  uint64_t fewest = UINT64_MAX;
  for (int i = 0; i < kTopics; ++i) {
    dropped += counts->dropped[i];
    fewest = std::min<uint64_t>(fewest, counts->received[i]);
  }
  CHECK(fewest > counts->published / 4);
  CHECK(dropped > 0);  // the readers are too slow for their rings, and know it
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
