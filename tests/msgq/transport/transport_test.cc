// SPDX-License-Identifier: MIT
// What every transport does alike.
#include "msgq/transport/transport.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <string>
#include <thread>

#include "msgq/transport/in_process.h"
#include "msgq/transport/shared_memory.h"
#include "msgq/transport/stepped.h"
#include "runtime/base/clock.h"
#include "tests/support/queue_domain.h"

namespace camshaft::transport {
namespace {

using base::Code;

struct Kind {
  const char* name;
  std::unique_ptr<Transport> (*make)(const test::QueueDomain& domain);
  bool waits_alone;  // without a driver
};

constexpr Kind kKinds[] = {
    {"shared memory",
     [](const test::QueueDomain& domain) -> std::unique_ptr<Transport> {
       return std::make_unique<SharedMemory>(domain.options());
     },
     true},
    {"in process",
     [](const test::QueueDomain&) -> std::unique_ptr<Transport> {
       return std::make_unique<InProcess>();
     },
     true},
    {"stepped",
     [](const test::QueueDomain&) -> std::unique_ptr<Transport> {
       return std::make_unique<Stepped>();
     },
     false},
};

// Runs a test on every transport.
void on_each(const std::function<void(Transport&)>& run, bool only_waiting = false) {
  for (const Kind& kind : kKinds) {
    if (only_waiting && !kind.waits_alone) continue;
    INFO(kind.name);
    const test::QueueDomain domain;
    run(*kind.make(domain));
  }
}

std::unique_ptr<Sender> sender(Transport& transport, const SenderOptions& options = {}) {
  auto opened = transport.open_sender("topic", options);
  REQUIRE(opened.has_value());
  return std::move(*opened);
}

std::unique_ptr<Receiver> receiver(Transport& transport, const ReceiverOptions& options = {}) {
  auto opened = transport.open_receiver("topic", options);
  REQUIRE(opened.has_value());
  return std::move(*opened);
}

base::Bytes text(std::string_view message) {
  return base::as_bytes(message);
}

std::string receive(Receiver& receiver) {
  const auto received = receiver.receive();
  REQUIRE(received.has_value());
  return *received ? std::string(base::as_text(received->bytes)) : "(none)";
}

}  // namespace

TEST_CASE("messages come in order, whole, with numbers and times") {
  on_each([](Transport& transport) {
    const auto out = sender(transport);
    const auto in = receiver(transport);
    CHECK(receive(*in) == "(none)");
    REQUIRE(out->send(text("one")).is_ok());
    REQUIRE(out->send(text("two")).is_ok());
    REQUIRE(out->send({}).is_ok());
    const auto first = in->receive();
    REQUIRE(first.has_value());
    CHECK(base::as_text(first->bytes) == "one");
    CHECK(first->sequence == 1);
    CHECK(first->dropped == 0);
    CHECK(first->mono_time_ns <= transport.now_ns());
    CHECK(reinterpret_cast<uintptr_t>(first->bytes.data()) % 8 == 0);
    CHECK(receive(*in) == "two");
    const auto third = in->receive();
    CHECK(third->sequence == 3);
    CHECK(third->bytes.empty());
    CHECK(receive(*in) == "(none)");
  });
}

TEST_CASE("a conflating receiver gets the newest only") {
  on_each([](Transport& transport) {
    const auto out = sender(transport);
    const auto all = receiver(transport);
    const auto newest = receiver(transport, {.conflate = true});
    for (const char* message : {"one", "two", "three"}) {
      REQUIRE(out->send(text(message)).is_ok());
    }
    CHECK(receive(*newest) == "three");
    CHECK(receive(*newest) == "(none)");
    CHECK(receive(*all) == "one");  // control
  });
}

TEST_CASE("a receiver that comes too late is told how many it lost") {
  on_each([](Transport& transport) {
    const auto out = sender(transport, {.queue_bytes = 8192});
    const auto in = receiver(transport);
    const std::string large(2000, 'x');
    for (int i = 0; i < 50; ++i) REQUIRE(out->send(text(large)).is_ok());
    const auto received = in->receive();
    REQUIRE(received.has_value());
    CHECK(received->dropped > 0);
    CHECK(received->sequence == received->dropped + 1);
  });
}

TEST_CASE("messages of any size that a topic can take") {
  on_each([](Transport& transport) {
    const auto out = sender(transport, {.queue_bytes = 1 << 20});
    const auto in = receiver(transport);
    for (const size_t size : {1, 7, 4096, 5000, 300000, 3}) {
      const std::string message(size, static_cast<char>('a' + size % 20));
      REQUIRE(out->send(text(message)).is_ok());
      CHECK(receive(*in) == message);
    }
    const std::string huge(2 << 20, 'x');
    CHECK(out->send(text(huge)).code() == Code::kInvalidArgument);
    CHECK(receive(*in) == "(none)");
  });
}

TEST_CASE("a topic has one sender") {
  on_each([](Transport& transport) {
    auto out = sender(transport);
    CHECK(transport.open_sender("topic", {}).error().code() == Code::kBusy);
    CHECK(transport.open_sender("another", {}).has_value());
    out.reset();
    CHECK(transport.open_sender("topic", {}).has_value());
  });
}

TEST_CASE("messages of another schema are not handed out") {
  on_each([](Transport& transport) {
    const auto out = sender(transport, {.schema_hash = 5});
    const auto right = receiver(transport, {.schema_hash = 5});
    const auto any = receiver(transport);
    const auto opened = transport.open_receiver("topic", {.schema_hash = 6});
    REQUIRE(out->send(text("one")).is_ok());
    CHECK(receive(*right) == "one");
    CHECK(receive(*any) == "one");
    // At once, or where the message would come.
    const Code code = opened ? (*opened)->receive().error().code() : opened.error().code();
    CHECK(code == Code::kUnsupported);
  });
}

TEST_CASE("a wait ends with a message, or at its deadline") {
  on_each(
      [](Transport& transport) {
        const auto in = receiver(transport);
        auto other = transport.open_receiver("other", {});
        Receiver* const both[] = {in.get(), other->get()};
        auto waiter = transport.make_waiter(both);
        REQUIRE(waiter.has_value());
        for (const int64_t more_ns : {0, 1'000'000}) {
          // It may be asked to look before it is told that there is nothing.
          const int64_t deadline_ns = transport.now_ns() + more_ns;
          Status status;
          for (int looks = 0; looks < 5 && status.is_ok(); ++looks) {
            status = (*waiter)->wait(deadline_ns);
            CHECK(receive(*in) == "(none)");
            CHECK_FALSE((*other)->receive()->sequence);
          }
          CHECK(status.code() == Code::kDeadlineExceeded);
        }
        const auto out = sender(transport);
        std::thread thread([&] {
          for (int i = 0; i < 100; ++i) {
            if (!out->send(text("message")).is_ok()) return;
            std::this_thread::yield();
          }
        });
        int received = 0;
        while (received < 100) {
          REQUIRE((*waiter)->wait(transport.now_ns() + 60'000'000'000).is_ok());
          CHECK_FALSE((*other)->receive()->sequence);
          while (receive(*in) != "(none)") ++received;
        }
        thread.join();
        CHECK(received == 100);
      },
      true);
}

TEST_CASE("whether somebody sends") {
  on_each(
      [](Transport& transport) {
        const auto in = receiver(transport);
        CHECK_FALSE(in->has_sender());
        auto out = sender(transport);
        REQUIRE(out->send(text("one")).is_ok());
        CHECK(receive(*in) == "one");
        CHECK(in->has_sender());
        out.reset();
        CHECK_FALSE(in->has_sender());
      },
      true);
}

}  // namespace camshaft::transport
