// SPDX-License-Identifier: MIT
#include "tools/demo/recording.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "models/roadnet/drive.h"
#include "models/roadnet/renderer.h"

namespace camshaft::demo {
namespace {

constexpr double kStart_s = 20;  // the drive is under way

RecordedFrame record_frame(const roadnet::Drive& drive, int number) {
  const roadnet::Renderer renderer(drive.scene(kStart_s + number / roadnet::kFrameRate_hz));
  RecordedFrame frame;
  frame.nv12 = roadnet::render_frame(renderer);
  frame.scene = renderer.scene();
  frame.camera = renderer.camera();
  frame.warp = frame.scene.warp();
  frame.truth = roadnet::compute_truth(frame.scene);
  return frame;
}

}  // namespace

std::vector<RecordedFrame> record_drive(uint64_t seed, int count,
                                        const std::function<void(int done)>& progress) {
  const roadnet::Drive drive(seed);
  std::vector<RecordedFrame> frames(static_cast<size_t>(count));
  std::atomic<int> next{0};
  std::atomic<int> done{0};
  const auto work = [&](bool reports) {
    for (int number = next++; number < count; number = next++) {
      frames[static_cast<size_t>(number)] = record_frame(drive, number);
      ++done;
      if (reports) progress(done);
    }
  };
  std::vector<std::thread> helpers;
  for (unsigned i = 1; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
    helpers.emplace_back(work, false);
  }
  work(true);
  for (std::thread& helper : helpers) helper.join();
  progress(count);
  return frames;
}

}  // namespace camshaft::demo
