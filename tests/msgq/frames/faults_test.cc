// SPDX-License-Identifier: MIT
// Processes that are killed at any moment, and one that writes where it must not.
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "msgq/frames/pool.h"
#include "msgq/frames/reader.h"
#include "tests/msgq/frames/fixture.h"
#include "tests/support/child.h"

namespace camshaft::frames {
namespace {

using test::Child;

constexpr uint32_t kHolders = 5;

struct Report {
  std::atomic<uint64_t> leased = 0;   // frames that children had a lease of
  std::atomic<uint64_t> changed = 0;  // that changed while they were leased
  std::atomic<uint64_t> taken = 0;    // whose lease was taken away
  std::atomic<bool> holds = false;
};

// Takes and lets go of frames at random, and looks at them twice, until it is killed.
void hold_frames(const queue::DomainOptions& domain, Report& report, uint32_t seed) {
  std::mt19937 random(seed);
  const auto reader = FrameReader::join(
      "road", {.domain = domain, .name = "holder", .deadline_ns = in_seconds(600)});
  if (!reader) ::_exit(1);
  std::vector<FrameLease> held;
  while (true) {
    auto frame =
        (*reader)->receive(random() % 2 == 0 ? Take::kNewest : Take::kNext, in_seconds(600));
    if (!frame) ::_exit(2);
    ++report.leased;
    held.push_back(std::move(*frame));
    for (FrameLease& lease : held) {
      const auto expected = static_cast<int>(lease.descriptor().frame_id % 251);
      if (!is_filled_with(lease, expected)) ++report.changed;
    }
    while (held.size() > random() % 3) {
      const size_t which = random() % held.size();
      std::swap(held[which], held.back());
      if (!held.back().release().is_ok()) ++report.taken;
      held.pop_back();
    }
  }
}

// As Fixture::publish(), where a buffer is free.
bool publish_if_free(FramePool& pool, uint64_t frame_id) {
  auto frame = pool.begin();
  if (!frame) return false;
  auto access = frame->begin_access(Access::kWrite);
  std::memset(access->writable_bytes().data(), static_cast<int>(frame_id % 251),
              access->writable_bytes().size());
  return access->end().is_ok() &&
         pool.publish(std::move(*frame), {.frame_id = frame_id}).has_value();
}

void check_nothing_is_left(FramePool& pool) {
  pool.serve();
  CHECK(pool.stats().holders == 0);
  CHECK(pool.stats().leased_slots == 0);
  const uint64_t starved = pool.stats().starved;
  std::vector<WritableFrame> all;
  for (uint32_t i = 0; i < pool.slot_count(); ++i) {
    auto frame = pool.begin();
    REQUIRE(frame.has_value());
    all.push_back(std::move(*frame));
  }
  CHECK(pool.stats().starved == starved);
  CHECK(pool.begin().error().code() == base::Code::kBusy);  // control: there are no more
}

void kill_holders(int kills) {
  Fixture f(12);
  test::SharedWithChildren<Report> report;
  std::mt19937 random(7);
  const auto start = [&] {
    const uint32_t seed = random();
    return Child([&, seed] { hold_frames(f.domain.options(), *report, seed); });
  };
  std::vector<Child> holders;
  for (uint32_t i = 0; i < kHolders; ++i) holders.push_back(start());
  uint64_t frame_id = 0;
  for (int i = 0; i < kills; ++i) {
    // Also while the newest of them joins.
    for (uint32_t frames = random() % 40; frames > 0; --frames) {
      publish_if_free(*f.pool, ++frame_id);
      if (random() % 4 == 0) ::sched_yield();
    }
    holders[random() % kHolders] = start();  // the one that was there is killed
  }
  holders.clear();
  check_nothing_is_left(*f.pool);
  const PoolStats stats = f.pool->stats();
  CHECK(report->leased > 0);
  CHECK(report->changed == 0);
  CHECK(report->taken == 0);
  CHECK(stats.repaired == 0);
  CHECK(stats.dead_holders > 0);
  CHECK(stats.reclaimed > 0);  // control: some died with leases
  WARN(kills << " kills: " << report->leased << " leases of " << stats.published << " frames, "
             << stats.reclaimed << " taken back from " << stats.dead_holders << " dead holders, "
             << stats.starved << " times starved");
}

void kill_producers(int kills) {
  const test::QueueDomain domain;
  const auto produce = [&] {
    auto pool = FramePool::open(
        {.name = "road", .domain = domain.options(), .geometry = *lay_out(kNv12, 64, 32)});
    if (!pool) ::_exit(1);
    for (uint64_t i = 1;; ++i) publish_if_free(**pool, i);
  };
  Child producer(produce);
  std::mt19937 random(3);
  int intact = 0;
  for (int i = 0; i < kills; ++i) {
    auto joined = FrameReader::join(
        "road", {.domain = domain.options(), .name = "test", .deadline_ns = in_seconds(600)});
    REQUIRE(joined.has_value());
    FrameReader& reader = **joined;
    std::optional<FrameLease> held;
    for (uint32_t frames = 1 + random() % 20; frames > 0; --frames) {
      auto frame = reader.receive(Take::kNewest, in_seconds(600));
      REQUIRE(frame.has_value());
      held = std::move(*frame);
    }
    producer.kill();
    intact += is_filled_with(*held, static_cast<int>(held->descriptor().frame_id % 251)) ? 1 : 0;
    while (reader.try_receive(Take::kNewest)->has_value()) {
    }
    CHECK(reader.receive(Take::kNext, in_seconds(600)).error().code() == base::Code::kNotFound);
    held.reset();
    producer = Child(produce);
  }
  CHECK(intact == kills);
}

}  // namespace

TEST_CASE("a killed holder's lease is given back, in any PID namespace") {
  Fixture f(3);
  test::SharedWithChildren<Report> report;
  const bool in_namespace = GENERATE(false, true);
  Child child([&] {
    // Where this needs rights that the test has not, the child stays in the namespace.
    if (in_namespace) (void)::unshare(CLONE_NEWUSER | CLONE_NEWPID);
    Child inner([&] {
      const auto reader = FrameReader::join(
          "road", {.domain = f.domain.options(), .name = "holder", .deadline_ns = in_seconds(600)});
      if (!reader) ::_exit(1);
      const auto frame = (*reader)->receive(Take::kNewest, in_seconds(600));
      report->holds = frame.has_value();
      ::pause();
    });
    ::pause();
  });
  uint64_t frame_id = 0;
  while (!report->holds) publish_if_free(*f.pool, ++frame_id);
  CHECK(f.pool->stats().leased_slots == 1);
  child.kill();                              // and the inner one by its parent's death
  CHECK(f.pool->stats().leased_slots == 1);  // control: nobody has taken it back yet
  while (f.pool->stats().holders != 0) f.pool->serve();
  CHECK(f.pool->stats().reclaimed == 1);
  check_nothing_is_left(*f.pool);
}

TEST_CASE("killed holders leak no buffer") {
  kill_holders(400);
}

TEST_CASE("ten thousand killed holders leak no buffer", "[.][long]") {
  kill_holders(10000);
}

TEST_CASE("readers survive killed producers, and find the next") {
  kill_producers(60);
}

TEST_CASE("readers survive thousands of killed producers", "[.][long]") {
  kill_producers(3000);
}

TEST_CASE("a lease that nobody took is struck out by the reader it names") {
  Fixture f(4);
  auto reader = f.join("honest");
  f.publish(1);
  FrameLease kept = take(*reader);
  std::atomic<bool> is_done = false;
  base::Result<JoinedPool> joined = base::Status(base::Code::kInternal, "");
  std::thread vandal([&] {
    joined = join_pool("road", f.domain.options(), "vandal", in_seconds(60));
    is_done = true;
  });
  while (!is_done) f.pool->serve();
  vandal.join();
  REQUIRE(joined.has_value());
  const auto leases = Mapping::map(joined->leases, sizeof(PoolLeases), true);
  REQUIRE(leases.has_value());
  // The first holder's bit, which is the honest reader's.
  for (LeaseWord& slot : reinterpret_cast<PoolLeases*>(leases->data())->slots) slot.word |= 1;
  CHECK(f.pool->begin().error().code() == base::Code::kBusy);
  CHECK(f.pool->stats().leased_slots == 4);
  const auto none = reader->try_receive(Take::kNewest);
  REQUIRE(none.has_value());
  CHECK(!none->has_value());
  CHECK(f.pool->stats().leased_slots == 1);  // control: the real one stays
  f.publish(2);
  CHECK(is_filled_with(kept, 1));
  CHECK(kept.release().is_ok());
  reader.reset();
  joined = base::Status(base::Code::kInternal, "");
  check_nothing_is_left(*f.pool);
}

TEST_CASE("random bytes in the leases neither stop nor crash anybody") {
  Fixture f(6);
  auto reader = f.join("honest");
  test::SharedWithChildren<Report> report;
  Child vandal([&] {
    auto joined = join_pool("road", f.domain.options(), "vandal", in_seconds(600));
    if (!joined) ::_exit(1);
    const auto leases = Mapping::map(joined->leases, sizeof(PoolLeases), true);
    if (!leases) ::_exit(2);
    report->holds = true;
    std::mt19937_64 random(5);
    while (true) {
      auto* const word =
          reinterpret_cast<uint64_t*>(leases->data()) + random() % (sizeof(PoolLeases) / 8);
      // Wild values, and likely ones: holders and generations that are near the real ones.
      const uint64_t value = random() % 2 == 0 ? random() : random() & 0x0000'00ff'0000'00ff;
      __atomic_store_n(word, value, __ATOMIC_RELAXED);
    }
  });
  uint64_t frame_id = 0, published = 0, received = 0;
  while (!report->holds) published += publish_if_free(*f.pool, ++frame_id) ? 1 : 0;
  for (int i = 0; i < 20000; ++i) {
    published += publish_if_free(*f.pool, ++frame_id) ? 1 : 0;
    auto frame = reader->try_receive(Take::kNewest);
    if (!frame || !*frame) continue;
    ++received;
    (void)(*frame)->release();
  }
  vandal.kill();
  CHECK(published > 0);
  CHECK(received > 0);
  CHECK(f.pool->stats().repaired > 0);
  // And it is as before, once the reader has looked: its next frames come whole.
  f.pool->serve();
  if (auto frame = reader->try_receive(Take::kNext); frame && *frame) (void)(*frame)->release();
  if (auto frame = f.pool->begin(); !frame) (void)reader->try_receive(Take::kNext);
  for (int i = 0; i < 20; ++i) {
    f.publish(i);
    FrameLease frame = take(*reader, Take::kNewest);
    CHECK(is_filled_with(frame, i));
    CHECK(frame.release().is_ok());
  }
  reader.reset();
  check_nothing_is_left(*f.pool);
}

}  // namespace camshaft::frames
