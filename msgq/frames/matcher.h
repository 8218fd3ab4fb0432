// SPDX-License-Identifier: MIT
// Frames of several cameras that were exposed at the same time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "msgq/frames/reader.h"
#include "runtime/base/status.h"

namespace camshaft::frames {

inline constexpr uint32_t kMaxCameras = 8;

// One frame a camera, in the order of the readers, and how far apart their exposures started.
struct MatchedFrames {
  std::array<std::optional<FrameLease>, kMaxCameras> frames;
  uint32_t count = 0;
  int64_t skew_ns = 0;
};

struct MatcherCounters {
  uint64_t matched = 0;
  uint64_t unmatched[kMaxCameras] = {};  // frames of each camera that no others were near enough to
};

// Goes through the cameras' frames in order and never back, holding at most one lease of each
// camera. One thread at a time. The readers are borrowed, and nothing else may receive from them.
class FrameMatcher {
 public:
  // Frames belong together when all their exposures start within `tolerance_ns`: less than half the
  // time between frames. kInvalidArgument for none or more than kMaxCameras readers.
  static base::Result<FrameMatcher> make(std::span<FrameReader* const> readers,
                                         int64_t tolerance_ns);

  // The next frames that match, or with `newest` the newest that do. kDeadlineExceeded with a
  // sentence that says which camera had no frame and how old its last one is; what the others have
  // is kept for the next call. Fails as FrameReader::receive() does. hot path.
  base::Result<MatchedFrames> receive(Take take, int64_t deadline_ns) noexcept;

  const MatcherCounters& counters() const { return counters_; }

 private:
  base::Status fetch(uint32_t camera, Take take, int64_t deadline_ns) noexcept;
  base::Status late(uint32_t camera, base::Status status) noexcept;
  std::optional<uint32_t> camera_behind(int64_t& skew_ns) const;

  std::array<FrameReader*, kMaxCameras> readers_ = {};
  uint32_t count_ = 0;
  int64_t tolerance_ns_ = 0;
  std::array<std::optional<FrameLease>, kMaxCameras> held_;
  std::array<int64_t, kMaxCameras> last_start_ns_ = {};
  MatcherCounters counters_;
};

}  // namespace camshaft::frames
