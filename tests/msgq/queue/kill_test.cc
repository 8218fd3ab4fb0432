// SPDX-License-Identifier: MIT
// Publishers and readers that are killed at any moment: no stuck topic, no leaked slot, nothing
// read that was not sent. Some hundred times in `scons test`, 10,000 in `scons test-long`.
#include <cstring>
#include <filesystem>
#include <string>

#include "msgq/queue/publisher.h"
#include "msgq/queue/subscriber.h"
#include "tests/msgq/queue/processes.h"
#include "tests/msgq/queue/test_domain.h"

namespace camshaft::queue {
namespace {

using test::Child;
using test::in_ms;
using test::TestDomain;

constexpr uint32_t kSlots = 4;
constexpr TopicSize kSize = {.ring_bytes = 1 << 15, .messages = 64, .reader_slots = kSlots};
constexpr uint64_t kMostBytes = 6000;

// A message says how long it is and what each of its bytes is: torn ones can be told.
uint64_t size_for(uint64_t seed) {
  return 16 + seed * 7919 % kMostBytes;
}

void fill(std::span<std::byte> bytes, uint64_t seed) {
  std::memset(bytes.data(), static_cast<int>(seed * 131 % 251), bytes.size());
  std::memcpy(bytes.data(), &seed, sizeof seed);
}

bool is_whole(base::Bytes bytes) {
  uint64_t seed = 0;
  if (bytes.size() < sizeof seed) return false;
  std::memcpy(&seed, bytes.data(), sizeof seed);
  if (bytes.size() != size_for(seed)) return false;
  const auto expected = static_cast<std::byte>(seed * 131 % 251);
  for (const std::byte b : bytes.subspan(sizeof seed)) {
    if (b != expected) return false;
  }
  return true;
}

struct Counts {
  std::atomic<uint64_t> published{0};
  std::atomic<uint64_t> read{0};
  std::atomic<uint64_t> torn{0};
  std::atomic<uint64_t> failed{0};
};

void publish_for_ever(const TestDomain& domain, Counts& counts, bool in_place, IfTaken if_taken) {
  auto publisher =
      Publisher::open("topic", {.domain = domain.options(), .size = kSize, .if_taken = if_taken});
  if (!publisher) {
    ++counts.failed;
    return;
  }
  std::vector<std::byte> buffer(kMostBytes + 16);
  for (uint64_t seed = 1;; ++seed) {
    const uint64_t size = size_for(seed);
    if (in_place) {
      auto space = publisher->reserve(size);
      if (!space) return;
      fill(*space, seed);
      if (!publisher->commit(size).is_ok()) return;
    } else {
      fill(std::span(buffer.data(), size), seed);
      if (!publisher->publish({buffer.data(), size}).is_ok()) return;
    }
    counts.published.fetch_add(1, std::memory_order_relaxed);
  }
}

void read_for_ever(const TestDomain& domain, Counts& counts, bool in_place) {
  auto subscriber = Subscriber::open("topic", {.domain = domain.options()});
  if (!subscriber) {
    ++counts.failed;
    return;
  }
  std::vector<std::byte> buffer(kMostBytes + 16);
  for (;;) {
    (void)subscriber->wait(in_ms(1000));
    if (in_place) {
      auto message = subscriber->borrow();
      if (!message) ++counts.failed;
      if (!message || !*message) continue;
      const bool whole = is_whole(message->bytes());
      if (message->release() && !whole) ++counts.torn;
    } else {
      auto info = subscriber->receive(buffer);
      if (!info) ++counts.failed;
      if (!info || info->sequence == 0) continue;
      if (!is_whole({buffer.data(), info->size_bytes})) ++counts.torn;
    }
    counts.read.fetch_add(1, std::memory_order_relaxed);
  }
}

// Much longer than anything here takes on the busiest of machines.
constexpr int64_t kPatienceMs = 60'000;

// Returns when it is so, or patience ends.
template <typename Condition>
void await(const Condition& is_so) {
  for (const int64_t end_ns = in_ms(kPatienceMs); !is_so() && base::mono_time_ns() < end_ns;) {
    ::usleep(500);
  }
}

int rounds(int usual, int many) {
  return test::is_long() ? many : usual;
}

void kill_readers() {
  const TestDomain domain;
  test::Shared<Counts> counts;
  const Child publisher([&] { publish_for_ever(domain, *counts, true, IfTaken::kRefuse); });
  std::mt19937 random(1);
  std::vector<Child> readers;
  for (int round = 0; round < rounds(300, 10'000); ++round) {
    while (readers.size() < kSlots) {
      const bool in_place = random() % 2 == 0;
      readers.emplace_back([&, in_place] { read_for_ever(domain, *counts, in_place); });
    }
    ::usleep(static_cast<useconds_t>(random() % 3000));
    const size_t victim = random() % readers.size();
    readers[victim].kill();
    readers.erase(readers.begin() + static_cast<ptrdiff_t>(victim));
  }
  await([&] { return counts->read > 0; });
  readers.clear();
  CHECK(counts->torn == 0);
  CHECK(counts->failed == 0);  // nobody was refused a slot
  CHECK(counts->read > 0);
  const uint64_t before = counts->published;
  await([&] { return counts->published > before; });
  CHECK(counts->published > before);  // nobody holds the publisher up
  const auto info = inspect_topic("topic", domain.options());
  REQUIRE(info);
  CHECK(info->readers.empty());
  std::vector<Subscriber> all;
  for (uint32_t i = 0; i < kSlots; ++i) {
    auto subscriber = Subscriber::open("topic", {.domain = domain.options()});
    REQUIRE(subscriber);
    all.push_back(std::move(*subscriber));
  }
  CHECK(all[0].wait(in_ms(kPatienceMs)).is_ok());
}

void kill_publishers() {
  const TestDomain domain;
  test::Shared<Counts> counts;
  std::vector<Child> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&, i] { read_for_ever(domain, *counts, i == 0); });
  }
  std::mt19937 random(2);
  uint64_t last = 0;
  for (int round = 0; round < rounds(300, 10'000); ++round) {
    const bool take_over = random() % 4 == 0;
    Child publisher([&] {
      publish_for_ever(domain, *counts, random() % 2 == 0,
                       take_over ? IfTaken::kTakeOver : IfTaken::kRefuse);
    });
    ::usleep(static_cast<useconds_t>(random() % 3000));
    publisher.kill();
    const auto info = inspect_topic("topic", domain.options());
    if (!info) continue;  // killed before it had made the topic
    CHECK(info->newest_sequence >= last);
    last = info->newest_sequence;
  }
  CHECK(counts->torn == 0);
  CHECK(counts->failed == 0);
  // The last one stays, and everybody hears of it.
  const uint64_t read_before = counts->read;
  auto publisher = Publisher::open("topic", {.domain = domain.options(), .size = kSize});
  REQUIRE(publisher);
  std::vector<std::byte> buffer(size_for(1));
  fill(buffer, 1);
  await([&] { return !publisher->publish(buffer).is_ok() || counts->read >= read_before + 100; });
  CHECK(counts->read >= read_before + 100);
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(domain.folder())) {
    (void)entry;
    ++files;
  }
  CHECK(files == 2);  // the topic and .bells: nothing is left of those that died while making one
}

TEST_CASE("readers may be killed at any moment") {
  kill_readers();
}
TEST_CASE("publishers may be killed at any moment") {
  kill_publishers();
}
TEST_CASE("10,000 killed readers", "[.][long]") {
  kill_readers();
}
TEST_CASE("10,000 killed publishers", "[.][long]") {
  kill_publishers();
}

TEST_CASE("a reader that is killed while it holds a message frees its place in the ring") {
  const TestDomain domain;
  auto publisher =
      Publisher::open("topic", {.domain = domain.options(),
                                .size = {.ring_bytes = 1 << 14, .messages = 16, .reader_slots = 2},
                                .if_held = IfHeld::kRefuse});
  REQUIRE(publisher);
  test::Shared<std::atomic<int>> holding;
  std::vector<Child> holders;
  const std::vector<std::byte> large(publisher->max_message_bytes());
  const std::vector<std::byte> half(4096);
  for (int i = 0; i < 2; ++i) {  // together they hold the first and the third quarter
    REQUIRE(publisher->publish(half).is_ok());
    holders.emplace_back([&] {
      auto subscriber =
          Subscriber::open("topic", {.domain = domain.options(), .start = Start::kNewest});
      const auto message = subscriber->borrow();
      if (*message) ++*holding;
      for (;;) ::pause();
    });
    await([&] { return *holding > i; });
    REQUIRE(*holding == i + 1);
    REQUIRE(publisher->publish(half).is_ok());
  }
  CHECK(publisher->publish(large).code() == base::Code::kBusy);
  holders[0].kill();
  CHECK(publisher->publish(large).is_ok());
}

#if !__has_feature(thread_sanitizer)  // whose own thread forbids a new user namespace
TEST_CASE("a topic works across PID namespaces") {
  const TestDomain domain;
  test::Shared<Counts> counts;
  auto publisher = Publisher::open("topic", {.domain = domain.options(), .size = kSize});
  REQUIRE(publisher);
  Child outer([&] {
    // In a changed root only root can, and needs no namespace of users.
    if (::unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0 && ::unshare(CLONE_NEWPID) != 0) ::_exit(7);
    Child inner([&] {  // process 1 of its namespace
      if (::getpid() != 1) ::_exit(8);
      auto subscriber = Subscriber::open("topic", {.domain = domain.options()});
      if (!subscriber) ::_exit(9);
      ++counts->read;
      if (!subscriber->wait(in_ms(kPatienceMs)).is_ok()) ::_exit(10);
      const auto message = subscriber->borrow();
      if (!message || !*message) ::_exit(11);
      ++counts->read;
      for (;;) ::pause();
    });
    while (counts->read < 100) ::usleep(1000);
    inner.kill();
  });
  await([&] { return counts->read >= 1; });
  CHECK(publisher->publish(std::vector<std::byte>(100)).is_ok());
  await([&] { return counts->read >= 2; });
  REQUIRE(counts->read == 2);
  auto info = inspect_topic("topic", domain.options());
  REQUIRE(info);
  REQUIRE(info->readers.size() == 1);
  CHECK(info->readers[0].pid == 1);
  CHECK(info->readers[0].holds_message);
  counts->read = 100;
  CHECK(outer.wait() == 0);
  info = inspect_topic("topic", domain.options());
  REQUIRE(info);
  CHECK(info->readers.empty());  // though a process 1 still lives
}
#endif

}  // namespace
}  // namespace camshaft::queue
