// SPDX-License-Identifier: MIT
// Processes that fork without exec: a child keeps neither a pool nor a lease of its parent's.
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <optional>

#include "msgq/frames/pool.h"
#include "msgq/frames/reader.h"
#include "tests/msgq/frames/fixture.h"
#include "tests/support/child.h"
#include "tests/support/last_sentence.h"

namespace camshaft::frames {
namespace {

using base::Code;
using test::Child;

// A process that takes part in a pool and has forked another, which outlives it.
struct Family {
  std::atomic<bool> has_orphan = false;
  std::atomic<bool> stop = false;
};

void leave_an_orphan(Family& family) {
  if (::fork() == 0) {
    family.has_orphan = true;
    for (const int64_t end = in_seconds(60); !family.stop && base::mono_time_ns() < end;) {
      ::usleep(500);
    }
    ::_exit(0);
  }
  for (;;) ::pause();
}

}  // namespace

TEST_CASE("a producer that is killed frees its pool's name, though a child of it lives on") {
  const test::QueueDomain domain;
  const PoolOptions options = {
      .name = "road", .domain = domain.options(), .geometry = *lay_out(kGrey8, 8, 8)};
  test::SharedWithChildren<Family> family;
  Child producer([&] {
    const auto pool = FramePool::open(options);
    if (!pool) ::_exit(1);
    leave_an_orphan(*family);
  });
  while (!family->has_orphan) ::usleep(200);
  CHECK(FramePool::open(options).error().code() == Code::kBusy);  // control
  producer.kill();
  bool is_free = false;  // it may have to begin to run before it lets go
  for (const int64_t end = in_seconds(60); !is_free && base::mono_time_ns() < end;) {
    is_free = FramePool::open(options).has_value();
  }
  CHECK(is_free);
  family->stop = true;
}

TEST_CASE("a reader that is killed gives its leases back, though a child of it lives on") {
  Fixture f(3);
  test::SharedWithChildren<Family> family;
  Child holder([&] {
    const auto reader = FrameReader::join(
        "road", {.domain = f.domain.options(), .name = "holder", .deadline_ns = in_seconds(600)});
    if (!reader) ::_exit(1);
    const auto frame = (*reader)->receive(Take::kNewest, in_seconds(600));
    if (!frame) ::_exit(2);
    leave_an_orphan(*family);
  });
  for (int i = 0; !family->has_orphan; i = (i + 1) % 100) f.publish(i);
  CHECK(f.pool->stats().leased_slots == 1);
  holder.kill();
  for (const int64_t end = in_seconds(60);
       f.pool->stats().holders != 0 && base::mono_time_ns() < end;) {
    f.pool->serve();
  }
  CHECK(f.pool->stats().holders == 0);
  CHECK(f.pool->stats().leased_slots == 0);
  family->stop = true;
}

TEST_CASE("a child can't use what it inherited, and leaves its parent's alone") {
  Fixture f(3);
  auto reader = f.join();
  f.publish(1);
  std::optional<FrameLease> kept(take(*reader));
  Child child([&] {
    if (f.pool->begin().error().code() != Code::kNotFound) ::_exit(1);
    if (test::last_sentence() !=
        "pool 'road' belongs to the process that forked this one: open one of this process's own") {
      ::_exit(2);
    }
    f.pool->serve();
    if (reader->try_receive(Take::kNewest).error().code() != Code::kNotFound) ::_exit(3);
    if (reader->receive(Take::kNext, in_seconds(60)).error().code() != Code::kNotFound) ::_exit(4);
    if (reader->acquire(kept->descriptor().ref()).error().code() != Code::kNotFound) ::_exit(5);
    if (!is_filled_with(*kept, 1)) ::_exit(6);  // it can still be looked at
    if (kept->release().is_ok()) ::_exit(7);    // but is no longer sure
    kept.reset();
    reader.reset();
    f.pool.reset();
  });
  CHECK(child.wait() == 0);
  struct stat info = {};
  CHECK(::stat((f.domain.folder() + "/.frames.road").c_str(), &info) == 0);
  CHECK(f.pool->stats().leased_slots == 1);
  for (int i = 2; i < 20; ++i) f.publish(i);
  CHECK(is_filled_with(*kept, 1));
  CHECK(kept->release().is_ok());
  CHECK(take(*reader, Take::kNewest).descriptor().frame_id == 19);
}

}  // namespace camshaft::frames
