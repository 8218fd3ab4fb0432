// SPDX-License-Identifier: MIT
// Processes that fork without exec, as Python's multiprocessing does: a child holds nothing of its
// parent's, and harms nothing of it.
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "msgq/queue/poller.h"
#include "msgq/queue/publisher.h"
#include "msgq/queue/subscriber.h"
#include "tests/msgq/queue/processes.h"
#include "tests/msgq/queue/test_domain.h"
#include "tests/support/last_sentence.h"

namespace camshaft::queue {
namespace {

using base::Code;
using camshaft::test::last_sentence;
using test::Child;
using test::in_ms;
using test::TestDomain;

constexpr int64_t kPatienceMs = 60'000;

template <typename Condition>
bool await(const Condition& is_so) {
  for (const int64_t end_ns = in_ms(kPatienceMs); !is_so() && base::mono_time_ns() < end_ns;) {
    ::usleep(200);
  }
  return is_so();
}

struct Fixture {
  TestDomain domain;
  std::optional<Publisher> publisher;
  std::optional<Subscriber> subscriber;

  Fixture() {
    auto opened = Publisher::open(
        "topic", {.domain = domain.options(), .size = {.ring_bytes = 1 << 14, .messages = 16}});
    REQUIRE(opened);
    publisher.emplace(std::move(*opened));
    auto reading = Subscriber::open("topic", {.domain = domain.options()});
    REQUIRE(reading);
    subscriber.emplace(std::move(*reading));
  }
  void send(std::string_view text) { REQUIRE(publisher->publish(base::as_bytes(text)).is_ok()); }
};

// Runs in a child what returns the number of the first thing that is wrong, or 0.
template <typename Run>
int in_child(const Run& run) {
  Child child([&] { ::_exit(run()); });
  const int status = child.wait();
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string text_of(const Message& message) {
  return std::string(base::as_text(message.bytes()));
}

// A process that takes part in the topic and forks another, which outlives it.
struct Family {
  std::atomic<bool> has_orphan{false};
  std::atomic<bool> stop{false};
};

template <typename Open>
void leave_an_orphan(Family& family, const Open& open) {
  const auto kept = open();
  if (!kept) ::_exit(1);
  if (::fork() == 0) {
    family.has_orphan = true;
    (void)await([&] { return family.stop.load(); });
    ::_exit(0);
  }
  for (;;) ::pause();
}

}  // namespace

TEST_CASE("a publisher that is killed frees its topic, though a child that it forked lives on") {
  const TestDomain domain;
  test::Shared<Family> family;
  const PublisherOptions options = {.domain = domain.options()};
  {
    Child parent(
        [&] { leave_an_orphan(*family, [&] { return Publisher::open("topic", options); }); });
    REQUIRE(await([&] { return family->has_orphan.load(); }));
    CHECK(Publisher::open("topic", options).error().code() == Code::kBusy);  // control
  }
  CHECK(await([&] { return Publisher::open("topic", options).has_value(); }));
  family->stop = true;
}

TEST_CASE("a reader that is killed frees its slot, though a child that it forked lives on") {
  const TestDomain domain;
  test::Shared<Family> family;
  auto publisher =
      Publisher::open("topic", {.domain = domain.options(), .size = {.reader_slots = 1}});
  REQUIRE(publisher);
  const auto open = [&] { return Subscriber::open("topic", {.domain = domain.options()}); };
  {
    Child parent([&] { leave_an_orphan(*family, open); });
    REQUIRE(await([&] { return family->has_orphan.load(); }));
    CHECK(open().error().code() == Code::kBusy);  // control
  }
  CHECK(await([&] { return open().has_value(); }));
  family->stop = true;
}

namespace {

void kill_families(int rounds) {
  const TestDomain domain;
  const PublisherOptions options = {.domain = domain.options()};
  std::mt19937 random(11);
  for (int round = 0; round < rounds; ++round) {
    test::Shared<Family> family;
    Child parent(
        [&] { leave_an_orphan(*family, [&] { return Publisher::open("topic", options); }); });
    ::usleep(static_cast<useconds_t>(random() % 3000));
    parent.kill();
    // An orphan that was forked at this very moment has not let go yet.
    REQUIRE(await([&] { return Publisher::open("topic", options).has_value(); }));
    family->stop = true;
  }
}

}  // namespace

TEST_CASE("publishers may be killed at any moment of their forking") {
  kill_families(100);
}
TEST_CASE("publishers may be killed at any moment of their forking, 10,000 times", "[.][long]") {
  kill_families(test::is_long() ? 10'000 : 100);
}

TEST_CASE("a child can't publish with what it inherited, and says so") {
  Fixture f;
  auto space = f.publisher->reserve(5);
  REQUIRE(space);
  std::memcpy(space->data(), "right", 5);
  const int wrong = in_child([&] {
    if (f.publisher->publish({}).code() != Code::kNotFound) return 1;
    if (last_sentence() !=
        "the topic topic belongs to the process that forked this one: open it again") {
      return 2;
    }
    std::memcpy(space->data(), "wrong", 5);
    if (f.publisher->commit(5).is_ok()) return 3;
    if (f.publisher->resize({}).code() != Code::kNotFound) return 4;
    if (Publisher::open("topic", {.domain = f.domain.options()}).error().code() != Code::kBusy) {
      return 5;
    }
    f.publisher.reset();
    return 0;
  });
  CHECK(wrong == 0);
  REQUIRE(f.publisher->commit(5).is_ok());
  CHECK(text_of(*f.subscriber->borrow()) == "right");
  f.send("more");
  CHECK(text_of(*f.subscriber->borrow()) == "more");
  CHECK(f.publisher->newest_sequence() == 2);
}

TEST_CASE("a child's reader goes on in a place of its own, and leaves its parent's alone") {
  Fixture f;
  f.send("one");
  f.send("two");
  auto held = f.subscriber->borrow();
  REQUIRE(held);
  const bool polls = GENERATE(false, true);
  auto poller = Poller::make({});
  REQUIRE(poller);
  REQUIRE(poller->add(*f.subscriber).is_ok());
  const int wrong = in_child([&] {
    if (text_of(*held) != "one") return 1;
    if (held->still_valid()) return 2;
    if (held->release()) return 3;
    const int64_t deadline_ns = in_ms(kPatienceMs);
    const base::Status status = polls ? poller->wait(deadline_ns) : f.subscriber->wait(deadline_ns);
    if (!status.is_ok()) return 4;
    auto next = f.subscriber->borrow();
    if (!next || text_of(*next) != "two" || !next->still_valid()) return 5;
    const auto info = inspect_topic("topic", f.domain.options());
    if (!info || info->readers.size() != 2) return 6;
    if (!next->release()) return 7;
    f.subscriber.reset();
    return 0;
  });
  CHECK(wrong == 0);
  const auto info = inspect_topic("topic", f.domain.options());
  REQUIRE(info);
  REQUIRE(info->readers.size() == 1);
  CHECK(info->readers[0].holds_message);
  CHECK(info->readers[0].next_sequence == 2);
  for (int i = 0; i < 100; ++i) f.send(std::string(3000, 'x'));
  CHECK(text_of(*held) == "one");
  CHECK(held->release());
}

TEST_CASE("threads may open and close topics while others fork") {
  const TestDomain domain;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      const std::string topic = "topic" + std::to_string(i);
      while (!stop) {
        auto publisher = Publisher::open(topic, {.domain = domain.options()});
        auto subscriber = Subscriber::open(topic, {.domain = domain.options()});
        if (publisher) (void)publisher->publish({});
      }
    });
  }
  int wrong = 0;
  for (int i = 0; i < 200; ++i) wrong += in_child([] { return 0; }) == 0 ? 0 : 1;
  stop = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

}  // namespace camshaft::queue
