// SPDX-License-Identifier: MIT
#include "msgq/frames/matcher.h"

#include <algorithm>
#include <utility>

#include "runtime/base/clock.h"

namespace camshaft::frames {

base::Result<FrameMatcher> FrameMatcher::make(std::span<FrameReader* const> readers,
                                              int64_t tolerance_ns) {
  if (readers.empty() || readers.size() > kMaxCameras || tolerance_ns < 0) {
    return base::fail(
        base::Code::kInvalidArgument, "frames.matcher",
        "can't match %zu cameras within %lld ns: use 1 to %u cameras and at least 0 ns",
        readers.size(), static_cast<long long>(tolerance_ns), kMaxCameras);
  }
  FrameMatcher matcher;
  std::copy(readers.begin(), readers.end(), matcher.readers_.begin());
  matcher.count_ = static_cast<uint32_t>(readers.size());
  matcher.tolerance_ns_ = tolerance_ns;
  return matcher;
}

// The camera whose frame is too old to match any other's, now or later: frames only get newer.
std::optional<uint32_t> FrameMatcher::camera_behind(int64_t& skew_ns) const {
  const auto start = [&](uint32_t i) { return held_[i]->descriptor().exposure_start_ns; };
  uint32_t oldest = 0, newest = 0;
  for (uint32_t i = 1; i < count_; ++i) {
    if (start(i) < start(oldest)) oldest = i;
    if (start(i) > start(newest)) newest = i;
  }
  // Unsigned: what processes write may be far apart.
  const uint64_t skew = static_cast<uint64_t>(start(newest)) - static_cast<uint64_t>(start(oldest));
  if (skew > static_cast<uint64_t>(tolerance_ns_)) return oldest;
  skew_ns = static_cast<int64_t>(skew);
  return std::nullopt;
}

base::Status FrameMatcher::fetch(uint32_t camera, Take take, int64_t deadline_ns) noexcept {
  base::Result<FrameLease> frame = readers_[camera]->receive(take, deadline_ns);
  if (!frame) return late(camera, frame.error());
  last_start_ns_[camera] = frame->descriptor().exposure_start_ns;
  held_[camera] = std::move(*frame);
  return base::ok();
}

base::Status FrameMatcher::late(uint32_t camera, base::Status status) noexcept {
  if (status.code() != base::Code::kDeadlineExceeded) return status;
  const std::string_view pool = readers_[camera]->pool();
  const int length = static_cast<int>(pool.size());
  if (last_start_ns_[camera] == 0) {
    return base::fail(status.code(), "frames.match", "camera '%.*s' has had no frame yet", length,
                      pool.data());
  }
  const int64_t age_ns = base::mono_time_ns() - last_start_ns_[camera];
  return base::fail(status.code(), "frames.match",
                    "camera '%.*s' has no frame to match: its last one is %.1f ms old", length,
                    pool.data(), static_cast<double>(age_ns) * 1e-6);
}

base::Result<MatchedFrames> FrameMatcher::receive(Take take, int64_t deadline_ns) noexcept {
  for (uint32_t i = 0; take == Take::kNewest && i < count_; ++i) {
    if (!held_[i]) continue;  // kept from a call that ended late: something newer may be there
    CAMSHAFT_TRY_ASSIGN(std::optional<FrameLease> newer, readers_[i]->try_receive(take));
    if (!newer) continue;
    ++counters_.unmatched[i];
    last_start_ns_[i] = newer->descriptor().exposure_start_ns;
    held_[i] = std::move(newer);
  }
  while (true) {
    for (uint32_t i = 0; i < count_; ++i) {
      if (!held_[i]) CAMSHAFT_TRY(fetch(i, take, deadline_ns));
    }
    MatchedFrames matched;
    const std::optional<uint32_t> behind = camera_behind(matched.skew_ns);
    if (!behind) {
      matched.count = count_;
      for (uint32_t i = 0; i < count_; ++i) matched.frames[i] = std::exchange(held_[i], {});
      ++counters_.matched;
      return matched;
    }
    ++counters_.unmatched[*behind];
    held_[*behind].reset();
    CAMSHAFT_TRY(fetch(*behind, Take::kNext, deadline_ns));
  }
}

}  // namespace camshaft::frames
