// SPDX-License-Identifier: MIT
// Pools and readers of one process.
#pragma once

#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <thread>

#include "msgq/frames/pool.h"
#include "msgq/frames/reader.h"
#include "runtime/base/clock.h"
#include "tests/support/queue_domain.h"

namespace camshaft::frames {

inline int64_t in_seconds(double seconds) {
  return base::mono_time_ns() + static_cast<int64_t>(seconds * 1e9);
}

struct Fixture {
  test::QueueDomain domain;
  std::unique_ptr<FramePool> pool;

  explicit Fixture(uint32_t slots = 4, const DmaCalls* calls = nullptr,
                   MemoryKind memory = MemoryKind::kMemfd) {
    auto opened = FramePool::open({.name = "road",
                                   .domain = domain.options(),
                                   .geometry = *lay_out(kNv12, 64, 32),
                                   .slots = slots,
                                   .memory = memory,
                                   .dma_calls = calls});
    REQUIRE(opened.has_value());
    pool = std::move(*opened);
  }

  base::Result<std::unique_ptr<FrameReader>> try_join(const char* name, const DmaCalls* calls) {
    std::atomic<bool> is_done = false;
    base::Result<std::unique_ptr<FrameReader>> joined = base::Status(base::Code::kInternal, "");
    std::thread thread([&] {
      joined = FrameReader::join("road", {.domain = domain.options(),
                                          .name = name,
                                          .deadline_ns = in_seconds(60),
                                          .dma_calls = calls});
      is_done = true;
    });
    while (!is_done) pool->serve();
    thread.join();
    return joined;
  }
  std::unique_ptr<FrameReader> join(const char* name = "test", const DmaCalls* calls = nullptr) {
    auto joined = try_join(name, calls);
    REQUIRE(joined.has_value());
    return std::move(*joined);
  }

  // Publishes a frame whose bytes are all `value`.
  FrameRef publish(int value, int64_t start_ns = 1) {
    auto frame = pool->begin();
    REQUIRE(frame.has_value());
    auto access = frame->begin_access(Access::kWrite);
    REQUIRE(access.has_value());
    std::memset(access->writable_bytes().data(), value, access->writable_bytes().size());
    REQUIRE(access->end().is_ok());
    const auto ref = pool->publish(std::move(*frame), {.frame_id = static_cast<uint64_t>(value),
                                                       .exposure_start_ns = start_ns,
                                                       .exposure_end_ns = start_ns + 1});
    REQUIRE(ref.has_value());
    return *ref;
  }
};

// The frame that a reader gets next, and that its bytes are all the same.
inline FrameLease take(FrameReader& reader, Take how = Take::kNext) {
  auto frame = reader.try_receive(how);
  REQUIRE(frame.has_value());
  REQUIRE(frame->has_value());
  return std::move(**frame);
}

inline bool is_filled_with(FrameLease& frame, int value) {
  const auto access = frame.begin_access();
  if (!access || access->bytes().empty()) return false;
  for (const std::byte byte : access->bytes()) {
    if (byte != static_cast<std::byte>(value)) return false;
  }
  return true;
}

}  // namespace camshaft::frames
