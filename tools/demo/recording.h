// SPDX-License-Identifier: MIT
// A rendered drive: the frames that a camera would have given, and the truth of each.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "models/roadnet/camera.h"
#include "models/roadnet/frame.h"
#include "models/roadnet/scene.h"
#include "models/roadnet/truth.h"

namespace camshaft::demo {

struct RecordedFrame {
  std::vector<uint8_t> nv12;  // road_camera_layout()
  roadnet::Scene scene;
  roadnet::CameraPose camera;  // as the frame was taken, the body's motion included
  roadnet::Homography warp{};  // model view -> frame, as calibrated
  roadnet::Truth truth;
};

// Renders `count` frames of the drive `seed`, 1/20 s apart, on all CPUs. `progress` is called from
// the calling thread's frames with the number done. About 4 MB a frame.
std::vector<RecordedFrame> record_drive(uint64_t seed, int count,
                                        const std::function<void(int done)>& progress);

}  // namespace camshaft::demo
