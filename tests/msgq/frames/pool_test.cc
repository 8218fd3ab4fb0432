// SPDX-License-Identifier: MIT
#include "msgq/frames/pool.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <thread>

#include <sys/stat.h>

#include "msgq/frames/reader.h"
#include "tests/msgq/frames/fixture.h"
#include "tests/support/allocation_count.h"
#include "tests/support/last_sentence.h"

namespace camshaft::frames {

using base::Code;
using test::last_sentence;

TEST_CASE("a reader gets frames with what there is to know of them") {
  Fixture f;
  auto reader = f.join();
  CHECK(*reader->try_receive(Take::kNext) == std::nullopt);
  const FrameRef ref = f.publish(7, 1000);
  FrameLease frame = take(*reader);
  const FrameDescriptor& descriptor = frame.descriptor();
  CHECK(descriptor.ref() == ref);
  CHECK(descriptor.sequence == 1);
  CHECK(descriptor.frame_id == 7);
  CHECK(descriptor.exposure_start_ns == 1000);
  CHECK(descriptor.exposure_end_ns == 1001);
  CHECK(descriptor.published_ns <= base::mono_time_ns());
  CHECK(descriptor.geometry.format == kNv12);
  CHECK(is_filled_with(frame, 7));
  const auto access = frame.begin_access();
  CHECK(frame.plane(access->bytes(), 1).size() == 64 * 16);
  CHECK(frame.plane(access->bytes(), 1).data() == access->bytes().data() + 64 * 32);
  CHECK(frame.begin_access(Access::kWrite).error().code() == Code::kInvalidArgument);
  CHECK(frame.release().is_ok());
}

TEST_CASE("a leased frame stays while others come and go") {
  Fixture f(3);
  auto reader = f.join();
  f.publish(1);
  FrameLease kept = take(*reader);
  for (int i = 2; i < 20; ++i) f.publish(i);
  CHECK(is_filled_with(kept, 1));
  CHECK(f.pool->stats().skipped_leased > 0);
  CHECK(f.pool->stats().leased_slots == 1);

  // Control: without the lease the buffer is used again.
  const std::byte* const bytes = kept.memory().host_ptr;
  CHECK(kept.release().is_ok());
  for (int i = 20; i < 23; ++i) f.publish(i);
  CHECK(bytes[0] != std::byte{1});
}

TEST_CASE("a producer without a free buffer says who has them, and goes on when one is free") {
  Fixture f(3);
  auto modeld = f.join("modeld");
  auto loggerd = f.join("loggerd");
  f.publish(1);
  FrameLease one = take(*modeld);
  f.publish(2);
  FrameLease two = take(*modeld);
  FrameLease shared = take(*loggerd);
  f.publish(3);
  FrameLease three = take(*loggerd);
  const auto frame = f.pool->begin();
  CHECK(frame.error().code() == Code::kBusy);
  CHECK(last_sentence() ==
        "all 3 buffers of pool 'road' are in use, so a frame is skipped: modeld holds 2, loggerd "
        "holds 2");
  CHECK(f.pool->stats().starved == 1);
  CHECK(two.release().is_ok());
  CHECK(f.pool->begin().error().code() == Code::kBusy);  // loggerd has it too
  CHECK(shared.release().is_ok());
  f.publish(4);
  CHECK(is_filled_with(one, 1));
  CHECK(is_filled_with(three, 3));
}

TEST_CASE("readers take the newest frame, or every one") {
  Fixture f(8);
  auto reader = f.join();
  for (int i = 1; i <= 3; ++i) f.publish(i);
  CHECK(take(*reader, Take::kNext).descriptor().frame_id == 3);  // who begins, begins now
  CHECK(reader->missed() == 0);
  for (int i = 4; i <= 6; ++i) f.publish(i);
  CHECK(take(*reader, Take::kNext).descriptor().frame_id == 4);
  CHECK(take(*reader, Take::kNewest).descriptor().frame_id == 6);
  CHECK(reader->missed() == 1);
  for (int i = 7; i <= 20; ++i) f.publish(i);
  CHECK(take(*reader, Take::kNext).descriptor().frame_id == 13);  // eight buffers: 13 to 20
  CHECK(reader->missed() == 7);
}

TEST_CASE("a message's reference finds its frame, and no other") {
  Fixture f(3);
  auto reader = f.join();
  const FrameRef ref = f.publish(1);
  auto frame = reader->acquire(ref);
  REQUIRE(frame.has_value());
  CHECK(is_filled_with(*frame, 1));
  auto again = reader->acquire(ref);  // the same reader may hold it twice
  REQUIRE(again.has_value());
  CHECK(frame->release().is_ok());
  for (int i = 2; i < 9; ++i) f.publish(i);
  CHECK(is_filled_with(*again, 1));
  CHECK(again->release().is_ok());
  for (int i = 2; i < 9; ++i) f.publish(i);
  CHECK(reader->acquire(ref).error().code() == Code::kNotFound);
  CHECK(reader->acquire({ref.pool_id + 1, ref.sequence, ref.slot}).error().code() ==
        Code::kNotFound);
  CHECK(reader->acquire({ref.pool_id, ref.sequence, 1000}).error().code() == Code::kNotFound);
  CHECK(reader->acquire({ref.pool_id, 0, 0}).error().code() == Code::kNotFound);
}

TEST_CASE("a frame that is not finished is seen by nobody") {
  Fixture f(2);
  auto reader = f.join();
  {
    auto frame = f.pool->begin();
    REQUIRE(frame.has_value());
    auto access = frame->begin_access(Access::kWrite);
    CHECK(f.pool->publish(std::move(*frame), {}).error().code() == Code::kInvalidArgument);
    CHECK(last_sentence().find("end the CPU's access first") != std::string::npos);
  }
  CHECK(f.pool->publish(std::move(*f.pool->begin()), {.exposure_start_ns = 2, .exposure_end_ns = 1})
            .error()
            .code() == Code::kInvalidArgument);
  {
    auto frame = f.pool->begin();
  }
  CHECK(*reader->try_receive(Take::kNewest) == std::nullopt);
  for (int i = 1; i < 5; ++i) f.publish(i);  // and the buffers are not lost
  CHECK(take(*reader, Take::kNewest).descriptor().frame_id == 4);
}

TEST_CASE("a reader sleeps until the next frame") {
  Fixture f;
  auto reader = f.join();
  std::atomic<bool> stop = false;
  int received = 0;
  std::thread thread([&] {
    for (int i = 0; i < 200; ++i) {
      received += reader->receive(Take::kNext, in_seconds(60)).has_value() ? 1 : 0;
    }
    stop = true;
  });
  for (int i = 0; !stop; i = (i + 1) % 100) {
    f.publish(i);
    std::this_thread::yield();
  }
  thread.join();
  CHECK(received == 200);
  const auto late = reader->receive(Take::kNewest, base::mono_time_ns());
  if (!late) CHECK(late.error().code() == Code::kDeadlineExceeded);
  while (reader->try_receive(Take::kNewest)->has_value()) {
  }
  CHECK(reader->receive(Take::kNext, in_seconds(0.01)).error().code() == Code::kDeadlineExceeded);
}

TEST_CASE("readers outlive a producer, and see that it is gone") {
  Fixture f;
  auto reader = f.join();
  f.publish(1);
  f.publish(2);
  FrameLease kept = take(*reader);
  const FrameRef old_ref = kept.descriptor().ref();
  CHECK(reader->has_producer());
  f.pool.reset();
  CHECK_FALSE(reader->has_producer());
  CHECK(is_filled_with(kept, 2));
  CHECK(reader->receive(Take::kNext, in_seconds(60)).error().code() == Code::kNotFound);
  CHECK(kept.release().is_ok());
  // The next producer of the name has another pool.
  auto pool = FramePool::open(
      {.name = "road", .domain = f.domain.options(), .geometry = *lay_out(kGrey8, 8, 8)});
  REQUIRE(pool.has_value());
  f.pool = std::move(*pool);
  auto next = f.join();
  f.publish(9);
  CHECK(next->acquire(old_ref).error().code() == Code::kNotFound);
  CHECK(take(*next).descriptor().frame_id == 9);
}

TEST_CASE("readers that go leave nothing behind") {
  Fixture f(3);
  for (int i = 0; i < 100; ++i) {
    auto reader = f.join("short");
    f.publish(i);
    FrameLease frame = take(*reader);
    CHECK(frame.descriptor().frame_id == static_cast<uint64_t>(i));
  }
  f.pool->serve();
  CHECK(f.pool->stats().holders == 0);
  CHECK(f.pool->stats().leased_slots == 0);
  CHECK(f.pool->stats().dead_holders == 100);
}

TEST_CASE("one reader too many gets a clear refusal") {
  Fixture f;
  std::vector<std::unique_ptr<FrameReader>> readers;
  for (uint32_t i = 0; i < kMaxHolders; ++i) readers.push_back(f.join());
  CHECK(f.try_join("last", nullptr).error().code() == Code::kBusy);
  CHECK(last_sentence() == "pool 'road' has 32 readers, which is all that it can have");
  for (int i = 0; i < 20; ++i) {  // whether or not the producer sees both in one look
    readers.pop_back();
    readers.push_back(f.join("last"));
  }
  CHECK(f.pool->stats().holders == ~0u);
}

TEST_CASE("what can't be opened or joined says why") {
  Fixture f;
  PoolOptions options = {
      .name = "road", .domain = f.domain.options(), .geometry = *lay_out(kGrey8, 8, 8)};
  CHECK(FramePool::open(options).error().code() == Code::kBusy);
  CHECK(last_sentence().find("pool 'road' has a producer already") == 0);
  options.name = "a/b";
  CHECK(FramePool::open(options).error().code() == Code::kInvalidArgument);
  options.name = "wide";
  options.slots = 1;
  CHECK(FramePool::open(options).error().code() == Code::kInvalidArgument);
  options.slots = 65;
  CHECK(FramePool::open(options).error().code() == Code::kInvalidArgument);
  options.slots = 2;
  options.geometry = {};
  CHECK(FramePool::open(options).error().code() == Code::kInvalidArgument);
  CHECK(FrameReader::join("no-such", {.domain = f.domain.options()}).error().code() ==
        Code::kNotFound);
  CHECK(last_sentence() ==
        "there is no pool 'no-such': is its camera process running, with this prefix?");
  // Nobody serves.
  CHECK(FrameReader::join("road", {.domain = f.domain.options(), .deadline_ns = in_seconds(0.01)})
            .error()
            .code() == Code::kDeadlineExceeded);
}

TEST_CASE("only the user who made a pool may join it") {
  const Fixture f;
  struct stat info = {};
  REQUIRE(::stat((f.domain.folder() + "/.frames.road").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
  REQUIRE(::stat(f.domain.folder().c_str(), &info) == 0);
  CHECK((info.st_mode & 0077) == 0);
}

TEST_CASE("frames cost no allocation") {
  Fixture f;
  auto reader = f.join();
  uint64_t wrong = 0;
  const auto pass_frame = [&] {
    auto frame = f.pool->begin();
    wrong += frame->begin_access(Access::kWrite).has_value() ? 0 : 1;
    wrong += f.pool->publish(std::move(*frame), {}).has_value() ? 0 : 1;
    auto lease = reader->receive(Take::kNewest, INT64_MAX);
    wrong += lease->begin_access().has_value() ? 0 : 1;
    wrong += lease->release().is_ok() ? 0 : 1;
  };
  pass_frame();
  const uint64_t before = test::allocation_count();
  for (int i = 0; i < 1000; ++i) pass_frame();
  CHECK(test::allocation_count() == before);
  CHECK(wrong == 0);
}

}  // namespace camshaft::frames
