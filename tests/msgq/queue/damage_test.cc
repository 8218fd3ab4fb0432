// SPDX-License-Identifier: MIT
// Random bytes written over a topic while processes use it: nobody crashes or hangs, a copy that is
// received is a message that was sent, and all go on once the writing stops.
#include <sys/mman.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <cstring>
#include <string>

#include "msgq/queue/layout.h"
#include "msgq/queue/poller.h"
#include "msgq/queue/publisher.h"
#include "msgq/queue/subscriber.h"
#include "tests/msgq/queue/processes.h"
#include "tests/msgq/queue/test_domain.h"
#include "tests/support/stall_clock.h"

namespace camshaft::queue {
namespace {

using base::Code;
using camshaft::test::RunningTime;
using camshaft::test::StallClock;
using test::Child;
using test::in_ms;
using test::TestDomain;

constexpr TopicSize kSize = {.ring_bytes = 1 << 15, .messages = 64, .reader_slots = 4};

uint64_t size_for(uint64_t seed) {
  return 8 + seed * 7919 % 5000;
}

std::vector<std::byte> message_for(uint64_t seed) {
  std::vector<std::byte> bytes(size_for(seed), static_cast<std::byte>(seed * 131 % 251));
  std::memcpy(bytes.data(), &seed, sizeof seed);
  return bytes;
}

bool is_message(base::Bytes bytes) {
  uint64_t seed = 0;
  if (bytes.size() < sizeof seed) return false;
  std::memcpy(&seed, bytes.data(), sizeof seed);
  const std::vector<std::byte> expected = message_for(seed);
  return bytes.size() == expected.size() &&
         std::memcmp(bytes.data(), expected.data(), bytes.size()) == 0;
}

struct Counts {
  std::atomic<uint64_t> read[3] = {};
  std::atomic<uint64_t> wrong[3] = {};
  std::atomic<uint64_t> corrupt[3] = {};
  std::atomic<uint64_t> odd{0};
};

PublisherOptions publisher_options(const TestDomain& domain) {
  return {.domain = domain.options(), .size = kSize, .check_up_to_bytes = 1 << 20};
}

void publish_for_ever(const TestDomain& domain, Counts& counts) {
  auto publisher = Publisher::open("topic", publisher_options(domain));
  for (uint64_t seed = 1; publisher; ++seed) {
    if (!publisher->publish(message_for(seed)).is_ok()) break;
    if (seed % 16 == 0) ::usleep(100);
  }
  ++counts.odd;
}

void read_for_ever(const TestDomain& domain, Counts& counts, int kind) {
  auto subscriber = Subscriber::open("topic", {.domain = domain.options(), .conflate = kind == 2});
  auto poller = Poller::make({.use_bell = true});
  if (!subscriber || !poller || !poller->add(*subscriber).is_ok()) {
    ++counts.odd;
    return;
  }
  const StallClock stalls;
  std::vector<std::byte> buffer(6000);
  for (;;) {
    const RunningTime waited(stalls);
    const int64_t deadline_ns = in_ms(50);
    (void)(kind == 2 ? poller->wait(deadline_ns) : subscriber->wait(deadline_ns));
    if (waited.elapsed_ns() > 5'000'000'000) ++counts.odd;  // it hung
    if (kind == 0) {
      auto message = subscriber->borrow();
      if (message && *message) {
        ++counts.read[kind];
        if (!is_message(message->bytes())) ++counts.wrong[kind];
      } else if (!message && message.error().code() != Code::kCorrupt) {
        ++counts.odd;
      }
    } else {
      auto info = subscriber->receive(buffer);
      if (info && info->sequence != 0) {
        ++counts.read[kind];
        if (!is_message({buffer.data(), info->size_bytes})) ++counts.wrong[kind];
      } else if (!info && info.error().code() != Code::kCorrupt) {
        ++counts.odd;
      }
    }
    counts.corrupt[kind] = subscriber->corrupt();
  }
}

// The topic's file, to be written to by somebody who should not.
class Vandal {
 public:
  explicit Vandal(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    struct stat info = {};
    REQUIRE(::fstat(fd, &info) == 0);
    size_ = static_cast<size_t>(info.st_size);
    bytes_ =
        static_cast<uint8_t*>(::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    ::close(fd);
    REQUIRE(static_cast<void*>(bytes_) != MAP_FAILED);
  }
  ~Vandal() { ::munmap(bytes_, size_); }
  Vandal(const Vandal&) = delete;
  Vandal& operator=(const Vandal&) = delete;

  void strike(std::mt19937_64& random) {
    uint64_t begin = 0;
    uint64_t end = size_;
    switch (random() % 6) {
      case 0:
        end = sizeof(PublisherArea);
        break;
      case 1:
        begin = offsetof(PublisherArea, reservation);
        end = sizeof(PublisherArea);
        break;
      case 2:
        begin = 4096;
        end = 8192;
        break;  // wake word and reader slots
      case 3:
        begin = 8192;
        end = 12288;
        break;  // entries
      case 4:
        begin = 12288;
        break;  // payloads
      default:
        break;  // everything
    }
    if (random() % 2 == 0) {  // only a part of it
      begin += random() % (end - begin);
      end = begin + 1 + random() % (end - begin);
    }
    const bool sparse = random() % 2 == 0;
    for (uint64_t i = begin; i < end; i += sparse ? 1 + random() % 64 : 1) {
      bytes_[i] = static_cast<uint8_t>(random());
    }
  }

 private:
  size_t size_ = 0;
  uint8_t* bytes_ = nullptr;
};

void write_over_a_topic(int rounds) {
  const TestDomain domain;
  test::Shared<Counts> counts;
  {
    auto publisher = Publisher::open("topic", publisher_options(domain));
  }
  std::vector<Child> children;
  children.emplace_back([&] { publish_for_ever(domain, *counts); });
  for (int kind = 0; kind < 3; ++kind) {
    children.emplace_back([&, kind] { read_for_ever(domain, *counts, kind); });
  }
  const auto all_have_read = [&](uint64_t more, const uint64_t* since) {
    for (int kind = 0; kind < 3; ++kind) {
      if (counts->read[kind] < since[kind] + more) return false;
    }
    return true;
  };
  const uint64_t zero[3] = {};
  for (int i = 0; i < 60'000 && !all_have_read(10, zero); ++i) ::usleep(1000);
  Vandal vandal(domain.path("topic"));
  std::mt19937_64 random(7);
  for (int round = 0; round < rounds; ++round) {
    vandal.strike(random);
    ::usleep(static_cast<useconds_t>(random() % 2000));
  }
  const uint64_t before[3] = {counts->read[0], counts->read[1], counts->read[2]};
  for (int i = 0; i < 60'000 && !all_have_read(200, before); ++i) ::usleep(1000);
  CHECK(all_have_read(200, before));
  CHECK(counts->odd == 0);
  CHECK(counts->wrong[1] == 0);
  CHECK(counts->wrong[2] == 0);
  CHECK(counts->corrupt[0] > 0);
  CHECK(counts->corrupt[1] > 0);
  for (const Child& child : children) CHECK(::kill(child.pid(), 0) == 0);
  int status = 0;
  CHECK(::waitpid(-1, &status, WNOHANG) == 0);  // nobody has died
  // What is right again for those who have it open is right for newcomers, too.
  auto late = Subscriber::open("topic", {.domain = domain.options()});
  for (int i = 0; i < 60'000 && !late; ++i) {
    ::usleep(1000);
    late = Subscriber::open("topic", {.domain = domain.options()});
  }
  CHECK(late);
}

TEST_CASE("random bytes over a topic in use") {
  write_over_a_topic(400);
}
TEST_CASE("random bytes over a topic in use, many times", "[.][long]") {
  write_over_a_topic(test::is_long() ? 20'000 : 400);
}

TEST_CASE("a damaged payload or entry is reported, and the next message is read") {
  const TestDomain domain;
  auto publisher = Publisher::open("topic", publisher_options(domain));
  auto borrower = Subscriber::open("topic", {.domain = domain.options()});
  auto receiver = Subscriber::open("topic", {.domain = domain.options()});
  const uint64_t offset =
      GENERATE(8192 + 64, 8192 + 64 + 8, 8192 + 64 + 16, 8192 + 64 + 24, 8192 + 64 + 32,
               8192 + 64 + 40, 8192 + 64 + 48, 12288, 12288 + 99);
  const std::vector<std::byte> message = message_for(3);
  REQUIRE(publisher->publish(message).is_ok());
  REQUIRE(publisher->publish(message).is_ok());
  const int fd = ::open(domain.path("topic").c_str(), O_RDWR);
  uint8_t byte = 0;
  REQUIRE(::pread(fd, &byte, 1, static_cast<off_t>(offset)) == 1);
  byte ^= 0x10;
  REQUIRE(::pwrite(fd, &byte, 1, static_cast<off_t>(offset)) == 1);
  ::close(fd);
  std::vector<std::byte> buffer(6000);
  CHECK(borrower->borrow().error().code() == Code::kCorrupt);
  CHECK(receiver->receive(buffer).error().code() == Code::kCorrupt);
  auto borrowed = borrower->borrow();
  REQUIRE(borrowed);
  CHECK(borrowed->info().sequence == 2);
  CHECK(is_message(borrowed->bytes()));
  auto received = receiver->receive(buffer);
  REQUIRE(received);
  CHECK(received->sequence == 2);
  CHECK(borrower->corrupt() == 1);
  CHECK(receiver->corrupt() == 1);
}

}  // namespace
}  // namespace camshaft::queue
