// SPDX-License-Identifier: MIT
// One publisher and its readers, in one thread.
#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "msgq/queue/publisher.h"
#include "msgq/queue/subscriber.h"
#include "tests/msgq/queue/test_domain.h"
#include "tests/support/last_sentence.h"

namespace camshaft::queue {
namespace {

using base::Code;
using test::in_ms;
using test::TestDomain;

std::string text_of(const Message& message) {
  return std::string(base::as_text(message.bytes()));
}

Publisher open_publisher(const TestDomain& domain, PublisherOptions options = {}) {
  options.domain = domain.options();
  auto publisher = Publisher::open("topic", options);
  REQUIRE(publisher);
  return std::move(*publisher);
}

Subscriber open_subscriber(const TestDomain& domain, SubscriberOptions options = {}) {
  options.domain = domain.options();
  auto subscriber = Subscriber::open("topic", options);
  REQUIRE(subscriber);
  return std::move(*subscriber);
}

void send(Publisher& publisher, std::string_view text, uint64_t tag = 0) {
  REQUIRE(publisher.publish(base::as_bytes(text), tag).is_ok());
}

TEST_CASE("a message comes once, with its number, time, size and tag") {
  const TestDomain domain;
  Publisher publisher = open_publisher(domain);
  Subscriber subscriber = open_subscriber(domain);
  CHECK_FALSE(subscriber.is_ready());
  const int64_t before_ns = base::mono_time_ns();
  send(publisher, "hello", 7);
  CHECK(subscriber.is_ready());
  auto message = subscriber.borrow();
  REQUIRE(message);
  REQUIRE(*message);
  CHECK(text_of(*message) == "hello");
  CHECK(reinterpret_cast<uintptr_t>(message->bytes().data()) % 64 == 0);
  CHECK(message->info().sequence == 1);
  CHECK(message->info().tag == 7);
  CHECK(message->info().dropped == 0);
  CHECK(message->info().mono_time_ns >= before_ns);
  CHECK(message->info().mono_time_ns <= base::mono_time_ns());
  CHECK(message->release());
  auto none = subscriber.borrow();
  REQUIRE(none);
  CHECK_FALSE(*none);
}

TEST_CASE("a message is read as it was, whatever its size") {
  const TestDomain domain;
  Publisher publisher = open_publisher(domain, {.size = {.ring_bytes = 1 << 16}});
  Subscriber subscriber = open_subscriber(domain);
  std::vector<std::byte> buffer(publisher.max_message_bytes());
  CHECK(publisher.max_message_bytes() == 1 << 15);
  uint64_t sequence = 0;
  for (const uint64_t size : {0, 1, 7, 8, 9, 63, 64, 65, 1000, 4096, 32767, 32768, 0, 5}) {
    std::string text(size, '\0');
    for (uint64_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 31 + size);
    send(publisher, text);
    auto info = subscriber.receive(buffer);
    REQUIRE(info);
    CHECK(info->sequence == ++sequence);
    REQUIRE(info->size_bytes == size);
    CHECK(std::memcmp(buffer.data(), text.data(), size) == 0);
  }
}

TEST_CASE("a message that is too large is refused where it is sent") {
  const TestDomain domain;
  Publisher publisher = open_publisher(domain, {.size = {.ring_bytes = 1 << 16}});
  const std::string text(40000, 'x');
  CHECK(publisher.publish(base::as_bytes(text)).code() == Code::kInvalidArgument);
  CHECK(camshaft::test::last_sentence().find("40000 bytes is too large for the topic topic, which "
                                             "takes 32768") != std::string::npos);
  CHECK(publisher.reserve(32769).error().code() == Code::kInvalidArgument);
  send(publisher, "small");
  CHECK(publisher.newest_sequence() == 1);
}

TEST_CASE("a reader that is lapped learns how many messages it lost and reads on") {
  const TestDomain domain;
  Publisher publisher = open_publisher(domain, {.size = {.ring_bytes = 1 << 16, .messages = 8}});
  Subscriber subscriber = open_subscriber(domain);
  for (int i = 1; i <= 100; ++i) send(publisher, std::to_string(i), static_cast<uint64_t>(i));
  uint64_t expected = 0;
  uint64_t lost = 0;
  uint64_t count = 0;
  for (;;) {
    auto message = subscriber.borrow();
    REQUIRE(message);
    if (!*message) break;
    expected += message->info().dropped + 1;
    lost += message->info().dropped;
    ++count;
    CHECK(message->info().sequence == expected);
    CHECK(text_of(*message) == std::to_string(expected));
  }
  CHECK(expected == 100);
  CHECK(count >= 6);
  CHECK(lost + count == 100);
  CHECK(subscriber.dropped() == lost);
  CHECK(subscriber.received() == count);
}

TEST_CASE("bytes run out before entries do") {
  const TestDomain domain;
  Publisher publisher = open_publisher(domain, {.size = {.ring_bytes = 1 << 14, .messages = 256}});
  Subscriber subscriber = open_subscriber(domain, {.start = Start::kOldest});
  const std::string filler(1000, 'f');
  for (int i = 1; i <= 50; ++i) send(publisher, filler + std::to_string(i));
  uint64_t last = 0;
  uint64_t count = 0;
  for (;;) {
    auto message = subscriber.borrow();
    REQUIRE(message);
    if (!*message) break;
    CHECK(message->info().sequence == last + message->info().dropped + 1);
    last = message->info().sequence;
    CHECK(text_of(*message) == filler + std::to_string(last));
    ++count;
  }
  CHECK(last == 50);
  CHECK(count >= 10);
  CHECK(count <= 16);
}

TEST_CASE("a held message stays what it is while the ring goes round") {
  const TestDomain domain;
  Publisher publisher = open_publisher(domain, {.size = {.ring_bytes = 1 << 14, .messages = 16}});
  Subscriber holder = open_subscriber(domain);
  Subscriber other = open_subscriber(domain, {.conflate = true});
  send(publisher, std::string(3000, 'a'));
  auto held = holder.borrow();
  REQUIRE(held);
  REQUIRE(*held);
  for (int i = 0; i < 200; ++i) {
    const std::string text(static_cast<size_t>(100 + i * 13), static_cast<char>('b' + i % 20));
    send(publisher, text);
    auto message = other.borrow();
    REQUIRE(message);
    CHECK(text_of(*message) == text);
  }
  CHECK(text_of(*held) == std::string(3000, 'a'));
  CHECK(holder.borrow().error().code() == Code::kInvalidArgument);  // one at a time
  CHECK(held->release());
  auto next = holder.borrow();
  REQUIRE(next);
  CHECK(next->info().dropped > 0);
}

TEST_CASE("where readers hold everything, a message is refused or theirs are revoked") {
  const TestDomain domain;
  const bool revoke = GENERATE(false, true);
  Publisher publisher =
      open_publisher(domain, {.size = {.ring_bytes = 1 << 14, .messages = 16},
                              .if_held = revoke ? IfHeld::kRevoke : IfHeld::kRefuse});
  std::vector<Subscriber> readers;
  for (int i = 0; i < 4; ++i) readers.push_back(open_subscriber(domain));
  std::vector<Message> held;
  const std::string text(4000, 't');
  for (Subscriber& reader : readers) {  // each holds another quarter
    send(publisher, text);
    for (;;) {
      auto message = reader.borrow();
      REQUIRE(message);
      REQUIRE(*message);
      if (message->info().sequence < publisher.newest_sequence()) continue;
      held.push_back(std::move(*message));
      break;
    }
  }
  const base::Status status = publisher.publish(base::as_bytes(text));
  CHECK(status.code() == (revoke ? Code::kOk : Code::kBusy));
  int valid = 0;
  for (Message& message : held) valid += message.release();
  CHECK(valid == (revoke ? 0 : 4));
  send(publisher, text);
  const auto info = inspect_topic("topic", domain.options());
  REQUIRE(info);
  CHECK(info->revoked == (revoke ? 4 : 0));
  CHECK(info->refused == (revoke ? 0 : 1));
}

TEST_CASE("late readers begin where they ask to") {
  const TestDomain domain;
  Publisher publisher = open_publisher(domain);
  for (int i = 1; i <= 5; ++i) send(publisher, std::to_string(i));
  const auto first_of = [&](Start start) {
    Subscriber subscriber = open_subscriber(domain, {.start = start});
    send(publisher, "more");
    auto message = subscriber.borrow();
    REQUIRE(message);
    return message->info().sequence;
  };
  CHECK(first_of(Start::kNext) == 6);
  CHECK(first_of(Start::kNewest) == 6);
  CHECK(first_of(Start::kOldest) == 1);
}

TEST_CASE("a conflating reader gets the newest and counts the others") {
  const TestDomain domain;
  Publisher publisher = open_publisher(domain);
  Subscriber subscriber = open_subscriber(domain, {.conflate = true});
  for (int i = 1; i <= 9; ++i) send(publisher, std::to_string(i));
  auto message = subscriber.borrow();
  REQUIRE(message);
  CHECK(text_of(*message) == "9");
  CHECK(message->info().dropped == 0);
  CHECK(subscriber.conflated() == 8);
  CHECK(message->release());
  CHECK_FALSE(*subscriber.borrow());
}

TEST_CASE("messages are built in place, cut short, and cancelled") {
  const TestDomain domain;
  Publisher publisher = open_publisher(domain);
  Subscriber subscriber = open_subscriber(domain);
  auto space = publisher.reserve(1000);
  REQUIRE(space);
  CHECK(space->size() == 1000);
  std::memset(space->data(), 'q', 1000);
  CHECK_FALSE(subscriber.is_ready());
  publisher.cancel();
  CHECK(publisher.commit(10).code() == Code::kInvalidArgument);
  space = publisher.reserve(1000);
  REQUIRE(space);
  std::memset(space->data(), 'r', 3);
  CHECK(publisher.commit(1001).code() == Code::kInvalidArgument);
  CHECK(publisher.commit(3).is_ok());
  CHECK(text_of(*subscriber.borrow()) == "rrr");
}

TEST_CASE("receive says when the buffer is too small, and the message stays") {
  const TestDomain domain;
  Publisher publisher = open_publisher(domain);
  Subscriber subscriber = open_subscriber(domain);
  send(publisher, "twelve bytes");
  std::byte buffer[12];
  CHECK(subscriber.receive(std::span(buffer, 11)).error().code() == Code::kInvalidArgument);
  CHECK(subscriber.received() == 0);
  auto info = subscriber.receive(buffer);
  REQUIRE(info);
  CHECK(info->sequence == 1);
  CHECK(std::memcmp(buffer, "twelve bytes", 12) == 0);
}

TEST_CASE("wait ends at its deadline, and at once where there is something") {
  const TestDomain domain;
  Publisher publisher = open_publisher(domain);
  Subscriber subscriber = open_subscriber(domain);
  const int64_t deadline_ns = in_ms(5);
  CHECK(subscriber.wait(deadline_ns).code() == Code::kDeadlineExceeded);
  CHECK(base::mono_time_ns() >= deadline_ns);
  CHECK(subscriber.wait(0).code() == Code::kDeadlineExceeded);
  send(publisher, "x");
  CHECK(subscriber.wait(0).is_ok());
}

TEST_CASE("names and sizes that can't be are refused") {
  const TestDomain domain;
  for (const char* name : {"", ".hidden", "a/b", "white space", "../up"}) {
    CHECK(Publisher::open(name, {.domain = domain.options()}).error().code() ==
          Code::kInvalidArgument);
    CHECK(Subscriber::open(name, {.domain = domain.options()}).error().code() ==
          Code::kInvalidArgument);
  }
  for (const TopicSize& size :
       {TopicSize{.ring_bytes = 0}, TopicSize{.messages = 0}, TopicSize{.reader_slots = 65}}) {
    CHECK(Publisher::open("t", {.domain = domain.options(), .size = size}).error().code() ==
          Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace camshaft::queue
