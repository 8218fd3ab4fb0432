// SPDX-License-Identifier: MIT
// Topics that change their size again and again while readers hold messages or sleep: nothing is
// torn, and what a reader did not get is counted.
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "msgq/queue/publisher.h"
#include "msgq/queue/subscriber.h"
#include "tests/msgq/queue/test_domain.h"

namespace camshaft::queue {
namespace {

using test::in_ms;
using test::TestDomain;

constexpr uint64_t kRounds = 20;
constexpr uint64_t kPerRound = 100;

struct Outcome {
  std::atomic<bool> stop{false};
  std::atomic<int> begun{0};
  std::atomic<uint64_t> torn{0};
  std::atomic<uint64_t> uncounted{0};
  std::atomic<uint64_t> failed{0};
  std::atomic<uint64_t> received{0};
};

bool is_whole(const Message& message) {
  for (const std::byte b : message.bytes()) {
    if (b != static_cast<std::byte>(message.info().tag)) return false;
  }
  return true;
}

void read_all(const TestDomain& domain, Outcome& outcome) {
  auto subscriber = Subscriber::open("topic", {.domain = domain.options()});
  uint64_t last = 0;
  bool has_begun = false;
  while (!outcome.stop && subscriber) {
    if (!subscriber->wait(in_ms(100)).is_ok()) continue;
    auto message = subscriber->borrow();
    if (!message) ++outcome.failed;
    if (!message || !*message) continue;
    const MessageInfo info = message->info();
    const bool whole = is_whole(*message);
    if (message->release() && !whole) ++outcome.torn;
    if (last != 0 && info.sequence != last + 1 + info.dropped) ++outcome.uncounted;
    last = info.sequence;
    ++outcome.received;
    if (!std::exchange(has_begun, true)) ++outcome.begun;
  }
}

TEST_CASE("a topic is resized under twelve readers that borrow") {
  const TestDomain domain;
  auto publisher = Publisher::open("topic", {.domain = domain.options()});
  REQUIRE(publisher);
  Outcome outcome;
  std::vector<std::thread> readers;
  for (int i = 0; i < 12; ++i) readers.emplace_back([&] { read_all(domain, outcome); });
  std::mt19937 random(3);
  for (uint64_t i = 0; i < kRounds * kPerRound || outcome.begun < 12; ++i) {
    if (i % kPerRound == 0) {
      const TopicSize size = {.ring_bytes = uint64_t{1} << (14 + random() % 4),
                              .messages = 16u << random() % 3};
      if (!publisher->resize(size).is_ok()) ++outcome.failed;
    }
    const std::vector<std::byte> message(random() % 4000, static_cast<std::byte>(i & 0xff));
    if (!publisher->publish(message, i & 0xff).is_ok()) ++outcome.failed;
    if (i % 20 == 0) ::usleep(200);
  }
  outcome.stop = true;
  for (std::thread& reader : readers) reader.join();
  CHECK(outcome.torn == 0);
  CHECK(outcome.uncounted == 0);
  CHECK(outcome.failed == 0);
  CHECK(outcome.received > 0);
}

struct Missed {
  bool takes_over;
  bool conflate;
};

TEST_CASE("messages of a size that a reader never saw are counted") {
  const TestDomain domain;
  const Missed trial =
      GENERATE(Missed{false, false}, Missed{false, true}, Missed{true, false}, Missed{true, true});
  INFO((trial.takes_over ? "taken over" : "resized"));
  auto publisher = Publisher::open("topic", {.domain = domain.options()});
  REQUIRE(publisher);
  auto subscriber =
      Subscriber::open("topic", {.domain = domain.options(), .conflate = trial.conflate});
  REQUIRE(subscriber);
  const auto send = [&](int count) {
    for (int i = 0; i < count; ++i) REQUIRE(publisher->publish({}).is_ok());
  };
  const auto change = [&] {
    if (trial.takes_over) {
      publisher =
          Publisher::open("topic", {.domain = domain.options(), .if_taken = IfTaken::kTakeOver});
      REQUIRE(publisher);
    } else {
      REQUIRE(publisher->resize({.ring_bytes = 1 << 14}).is_ok());
    }
  };
  send(2);
  const bool reads_first = GENERATE(true, false);
  for (int i = 0; reads_first && i < (trial.conflate ? 1 : 2); ++i) {
    REQUIRE(*subscriber->borrow());
  }
  change();
  send(7);
  change();
  send(1);
  uint64_t dropped = 0;
  uint64_t received = 0;
  uint64_t last = 0;
  for (;;) {
    auto message = subscriber->borrow();
    REQUIRE(message);
    if (!*message) {
      if (!subscriber->is_ready()) break;
      continue;
    }
    dropped += message->info().dropped;
    last = message->info().sequence;
    ++received;
  }
  CHECK(last == publisher->newest_sequence());
  CHECK(dropped == (trial.conflate ? 0 : 7));  // what was left in the first file is still read
  CHECK(subscriber->dropped() == dropped);
  CHECK(subscriber->received() + dropped + subscriber->conflated() == 10);
  CHECK(received > 0);
}

}  // namespace
}  // namespace camshaft::queue
