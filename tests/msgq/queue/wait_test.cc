// SPDX-License-Identifier: MIT
// Sleeping and waking: one topic and many, with futex_waitv and with bells.
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "msgq/queue/poller.h"
#include "msgq/queue/publisher.h"
#include "msgq/queue/subscriber.h"
#include "tests/msgq/queue/test_domain.h"
#include "tests/support/allocation_count.h"
#include "tests/support/stall_clock.h"
#include "tests/support/system_calls.h"

namespace camshaft::queue {
namespace {

using base::Code;
using camshaft::test::RunningTime;
using camshaft::test::StallClock;
using test::in_ms;
using test::TestDomain;

// Nobody here looks around by himself before an hour has passed, so a wait that ends within half a
// minute of this process's time was woken, however busy the machine is.
constexpr int64_t kNeverNs = 3'600'000'000'000;
constexpr int64_t kHungMs = 30'000;

template <typename Wait>
bool is_woken(const StallClock& stalls, const Wait& wait) {
  const RunningTime waited(stalls);
  for (;;) {
    const bool has_ended = wait(in_ms(kHungMs)).is_ok();
    const bool hung = waited.elapsed_ns() >= kHungMs * 1'000'000;
    if (has_ended || hung) return has_ended && !hung;
  }
}

std::unique_ptr<Publisher> open_publisher(const TestDomain& domain, const std::string& topic) {
  auto publisher = Publisher::open(topic, {.domain = domain.options()});
  REQUIRE(publisher);
  return std::make_unique<Publisher>(std::move(*publisher));
}

std::unique_ptr<Subscriber> open_subscriber(const TestDomain& domain, const std::string& topic,
                                            SubscriberOptions options = {}) {
  options.domain = domain.options();
  options.look_again_ns = kNeverNs;
  auto subscriber = Subscriber::open(topic, options);
  REQUIRE(subscriber);
  return std::make_unique<Subscriber>(std::move(*subscriber));
}

std::unique_ptr<Poller> make_poller(bool use_bell, const std::vector<Subscriber*>& subscribers) {
  auto poller = Poller::make({.look_again_ns = kNeverNs, .use_bell = use_bell});
  REQUIRE(poller);
  for (Subscriber* s : subscribers) REQUIRE(poller->add(*s).is_ok());
  return std::make_unique<Poller>(std::move(*poller));
}

TEST_CASE("no wake-up is lost between two that answer each other") {
  const TestDomain domain;
  const bool use_bell = GENERATE(false, true);
  const bool polls = GENERATE(false, true);
  const auto ping = open_publisher(domain, "ping");
  const auto pong = open_publisher(domain, "pong");
  const auto on_ping = open_subscriber(domain, "ping");
  const auto on_pong = open_subscriber(domain, "pong");
  const auto ping_poller = make_poller(use_bell, {on_ping.get()});
  const auto pong_poller = make_poller(use_bell, {on_pong.get()});
  const StallClock stalls;
  std::atomic<int> late{0};
  const auto answer = [&](Subscriber& from, Poller& poller, Publisher& to) {
    for (int i = 0; i < 2000 && late == 0; ++i) {
      late += !is_woken(stalls, [&](int64_t deadline_ns) {
        return polls ? poller.wait(deadline_ns) : from.wait(deadline_ns);
      });
      (void)from.borrow();
      (void)to.publish({});
    }
  };
  std::thread other([&] { answer(*on_ping, *ping_poller, *pong); });
  (void)ping->publish({});
  answer(*on_pong, *pong_poller, *ping);
  other.join();
  CHECK(late == 0);
}

TEST_CASE("a poller hears of each of its topics, of new ones and of those that move") {
  const TestDomain domain;
  const bool use_bell = GENERATE(false, true);
  std::vector<std::unique_ptr<Publisher>> publishers;
  std::vector<std::unique_ptr<Subscriber>> subscribers;
  std::vector<Subscriber*> all;
  for (int i = 0; i < 40; ++i) {
    const std::string topic = "topic" + std::to_string(i);
    publishers.push_back(i == 39 ? nullptr : open_publisher(domain, topic));
    subscribers.push_back(open_subscriber(domain, topic));
    all.push_back(subscribers.back().get());
  }
  const auto poller = make_poller(use_bell, all);
  CHECK(poller->wait(in_ms(5)).code() == Code::kDeadlineExceeded);
  const StallClock stalls;
  const auto poller_is_woken = [&] {
    return is_woken(stalls, [&](int64_t deadline_ns) { return poller->wait(deadline_ns); });
  };
  const auto wakes = [&](const auto& act, size_t which) {
    std::thread later([&] {
      ::usleep(3000);
      act();
    });
    const bool woken = poller_is_woken();
    later.join();
    for (size_t i = 0; i < subscribers.size(); ++i) {
      if (subscribers[i]->is_ready() != (i == which)) return false;
    }
    const auto message = subscribers[which]->borrow();
    return woken && message && *message;
  };
  for (const size_t i : {size_t{0}, size_t{17}, size_t{38}}) {
    CHECK(wakes([&] { (void)publishers[i]->publish({}); }, i));
  }
  std::thread later([&] {
    ::usleep(3000);
    auto publisher = Publisher::open("topic39", {.domain = domain.options()});
    if (publisher) publishers[39] = std::make_unique<Publisher>(std::move(*publisher));
  });
  CHECK(poller_is_woken());  // there is a new topic
  later.join();
  for (const auto& s : subscribers) (void)s->borrow();
  CHECK(subscribers[39]->is_connected());
  CHECK(wakes([&] { (void)publishers[39]->publish({}); }, 39));
  const auto move_topic = [&] {
    (void)publishers[5]->resize({.ring_bytes = 1 << 14});
    (void)publishers[5]->publish({});
  };
  CHECK(wakes(move_topic, 5));
  CHECK(poller->wait(in_ms(5)).code() == Code::kDeadlineExceeded);
}

TEST_CASE("spans without an end are no spans that have passed") {
  const TestDomain domain;
  const auto publisher = open_publisher(domain, "topic");
  const bool spins = GENERATE(false, true);
  auto opened = Subscriber::open(
      "topic",
      {.domain = domain.options(), .spin_ns = spins ? INT64_MAX : 0, .look_again_ns = INT64_MAX});
  REQUIRE(opened);
  auto poller = Poller::make({.spin_ns = spins ? INT64_MAX : 0, .look_again_ns = INT64_MAX});
  REQUIRE(poller);
  REQUIRE(poller->add(*opened).is_ok());
  const int64_t deadline_ns = in_ms(5);
  CHECK(opened->wait(deadline_ns).code() == Code::kDeadlineExceeded);
  CHECK(base::mono_time_ns() >= deadline_ns);
  CHECK(poller->wait(in_ms(5)).code() == Code::kDeadlineExceeded);
  (void)publisher->publish({});
  CHECK(opened->wait(INT64_MAX).is_ok());
  CHECK(poller->wait(INT64_MAX).is_ok());
}

TEST_CASE("one message wakes all that sleep") {
  const TestDomain domain;
  const auto publisher = open_publisher(domain, "topic");
  const StallClock stalls;
  std::atomic<int> woken{0};
  std::atomic<int> late{0};
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<Subscriber>> subscribers;
  std::vector<std::unique_ptr<Poller>> pollers;
  for (int i = 0; i < 12; ++i) {
    subscribers.push_back(open_subscriber(domain, "topic"));
    pollers.push_back(make_poller(i % 3 == 0, {subscribers.back().get()}));
  }
  for (size_t i = 0; i < 12; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round) {
        Subscriber& own = *subscribers[i];
        late += !is_woken(stalls, [&](int64_t deadline_ns) {
          return i % 2 == 0 ? pollers[i]->wait(deadline_ns) : own.wait(deadline_ns);
        });
        (void)own.borrow();
        ++woken;
      }
    });
  }
  for (int round = 0; round < 20; ++round) {
    ::usleep(1000);
    (void)publisher->publish({});
    while (woken < 12 * (round + 1) && late == 0) ::usleep(100);
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(late == 0);
  CHECK(woken == 240);
}

TEST_CASE("a poller refuses what it can't do") {
  const TestDomain domain;
  const TestDomain other;
  const auto subscriber = open_subscriber(domain, "topic");
  const auto foreign = open_subscriber(other, "topic");
  const auto poller = make_poller(false, {});
  CHECK(poller->wait(in_ms(1)).code() == Code::kInvalidArgument);
  for (uint32_t i = 0; i < kMaxPolled; ++i) {
    if (i == 1) CHECK(poller->add(*foreign).code() == Code::kInvalidArgument);
    CHECK(poller->add(*subscriber).is_ok());
  }
  CHECK(poller->add(*subscriber).code() == Code::kInvalidArgument);
  CHECK(poller->wait(in_ms(1)).code() == Code::kDeadlineExceeded);
  poller->remove(*subscriber);
  CHECK(poller->wait(in_ms(1)).code() == Code::kInvalidArgument);
}

#if !__has_feature(thread_sanitizer)  // which makes system calls of its own
TEST_CASE("sending to readers that are awake and reading take no system call and no allocation") {
  const TestDomain domain;
  const int status = camshaft::test::wait_status_of(
      [&]() -> std::function<bool()> {
        auto publisher = std::make_shared<std::unique_ptr<Publisher>>(open_publisher(domain, "t"));
        auto subscriber =
            std::make_shared<std::unique_ptr<Subscriber>>(open_subscriber(domain, "t"));
        return [publisher, subscriber] {
          const std::vector<std::byte> message(1000);
          std::byte buffer[1000];
          const uint64_t before = camshaft::test::allocation_count();
          for (int i = 0; i < 1000; ++i) {
            if (!(*publisher)->publish(message).is_ok()) return false;
            auto space = (*publisher)->reserve(100);
            if (!space || !(*publisher)->commit(100).is_ok()) return false;
            if (!(*subscriber)->wait(in_ms(1)).is_ok()) return false;
            if (!*(*subscriber)->borrow()) return false;
            if (!(*subscriber)->receive(buffer)) return false;
          }
          return camshaft::test::allocation_count() == before;
        };
      },
      camshaft::test::clock_call());
  CHECK_FALSE(camshaft::test::was_killed(status));
  CHECK(camshaft::test::succeeded(status));
}

TEST_CASE("waking a sleeper is a system call: the test above can fail") {
  const TestDomain domain;
  const int status = camshaft::test::wait_status_of([&]() -> std::function<bool()> {
    auto publisher = std::make_shared<std::unique_ptr<Publisher>>(open_publisher(domain, "t"));
    auto subscriber = std::make_shared<std::unique_ptr<Subscriber>>(open_subscriber(domain, "t"));
    (void)(*subscriber)->wait(in_ms(1));  // says that it sleeps
    return [publisher, subscriber] { return (*publisher)->publish({}).is_ok(); };
  });
  CHECK(camshaft::test::was_killed(status));
}
#endif

}  // namespace
}  // namespace camshaft::queue
