// SPDX-License-Identifier: MIT
// Both sides of the protocol on one mapping, in threads of one process: where ThreadSanitizer sees
// all that they share (scons sanitize=thread test-msgq_queue).
#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "msgq/queue/copy.h"
#include "msgq/queue/payload_check.h"
#include "msgq/queue/ring_reader.h"
#include "msgq/queue/ring_writer.h"
#include "msgq/queue/topic_file.h"
#include "tests/msgq/queue/test_domain.h"

namespace camshaft::queue {
namespace {

using test::TestDomain;

constexpr uint64_t kMessages = 20'000;
constexpr int kReaders = 3;

uint64_t size_for(uint64_t seed) {
  return 8 + seed * 7919 % 3000;
}

bool is_whole(base::Bytes bytes, uint64_t seed) {
  if (bytes.size() != size_for(seed)) return false;
  for (const std::byte b : bytes) {
    if (b != static_cast<std::byte>(seed)) return false;
  }
  return true;
}

// One mapping for all threads.
std::unique_ptr<TopicFile> make_file(const TestDomain& domain) {
  std::filesystem::create_directory(domain.folder());
  const auto constants =
      make_constants({.ring_bytes = 1 << 14, .messages = 32, .reader_slots = 4}, 0, 0, 0);
  REQUIRE(constants);
  auto file = TopicFile::make(domain.folder(), "topic", *constants, 0600);
  REQUIRE(file);
  return std::move(*file);
}

// Threads share the file's locks, so nobody counts as dead.
struct AllAlive final : SlotOwners {
  bool is_alive(uint32_t) const noexcept override { return true; }
};

struct Outcome {
  std::atomic<uint64_t> read{0};
  std::atomic<int> readers{0};  // that have read something
  std::atomic<uint64_t> torn{0};
  std::atomic<uint64_t> sent{0};
  std::atomic<uint64_t> refused{0};
  std::atomic<bool> done{false};
};

void write_all(const TopicView& view, Outcome& outcome, bool in_place) {
  const AllAlive owners;
  const auto writer = RingWriter::attach(view, owners);
  std::vector<std::byte> buffer(4000);
  // On a machine with one CPU to spare the readers may come late.
  for (uint64_t seed = 1; seed <= kMessages || outcome.readers < kReaders; ++seed) {
    const uint64_t size = size_for(seed);
    ++outcome.sent;
    std::byte* space = writer->reserve(size, false);
    if (space == nullptr) {
      ++outcome.refused;
      continue;
    }
    if (in_place) {
      std::memset(space, static_cast<int>(seed & 0xff), size);
    } else {
      std::memset(buffer.data(), static_cast<int>(seed & 0xff), size);
      copy_to_shared(space, buffer.data(), size);
    }
    (void)writer->commit(size, 1, seed, 0);
    if (seed % 64 == 0) std::this_thread::yield();
  }
  outcome.done = true;
}

void read_all(const TopicView& view, uint32_t slot, bool conflate, Outcome& outcome) {
  RingReader reader(view, slot, conflate, {});
  reader.start(Start::kOldest);
  bool has_read = false;
  while (!outcome.done) {
    auto message = reader.take(RingReader::Check::kNow);
    if (!message) {
      ++outcome.torn;
    } else if (*message) {
      ++outcome.read;
      if (!std::exchange(has_read, true)) ++outcome.readers;
      // Plain reads: a race with the writer is one that ThreadSanitizer reports.
      if (!is_whole(message->bytes(), message->info().tag)) ++outcome.torn;
    }
  }
}

// A slot's owner that dies, and another reader that takes its slot and the same lease while the
// publisher asks whether the owner lives.
struct ChangingHands final : SlotOwners {
  std::function<void()> take_slot;
  mutable bool is_taken = false;
  bool is_alive(uint32_t) const noexcept override {
    if (!std::exchange(is_taken, true)) {
      take_slot();
      return false;
    }
    return true;
  }
};

TEST_CASE("a reader that takes a dead one's slot keeps the lease that it takes there") {
  const TestDomain domain;
  const auto file = make_file(domain);
  const TopicView& view = file->view();
  ChangingHands owners;
  const auto writer = RingWriter::attach(view, owners);
  const auto send = [&](int value) {
    std::byte* space = writer->reserve(3000, false);
    REQUIRE(space != nullptr);
    std::memset(space, value, 3000);
    (void)writer->commit(3000, 1, 0, 0);
  };
  send('a');
  RingReader dead(view, 0, false, {});
  dead.start(Start::kOldest);
  const auto left = dead.take(RingReader::Check::kNow);
  REQUIRE(left);
  RingReader heir(view, 0, false, {});
  base::Result<Message> kept = Message();
  owners.take_slot = [&] {
    view.slots[0].lease.store(0);
    heir.start(Start::kOldest);
    kept = heir.take(RingReader::Check::kNow);
  };
  for (int i = 0; i < 12; ++i) send('b' + i);
  REQUIRE(owners.is_taken);
  REQUIRE(kept);
  REQUIRE(*kept);
  const std::vector<std::byte> expected(3000, std::byte{'a'});
  CHECK(std::memcmp(kept->bytes().data(), expected.data(), 3000) == 0);
  CHECK(kept->release());
}

TEST_CASE("readers and a writer in one address space don't race") {
  const TestDomain domain;
  const bool in_place = GENERATE(true, false);
  const auto file = make_file(domain);
  Outcome outcome;
  std::vector<std::thread> readers;
  for (uint32_t i = 0; i < kReaders; ++i) {
    readers.emplace_back([&, i] { read_all(file->view(), i, i == 2, outcome); });
  }
  write_all(file->view(), outcome, in_place);
  for (std::thread& reader : readers) reader.join();
  CHECK(outcome.torn == 0);
  CHECK(outcome.read > 0);
  CHECK(outcome.refused < outcome.sent / 2);
}

}  // namespace
}  // namespace camshaft::queue
