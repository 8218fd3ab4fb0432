// SPDX-License-Identifier: MIT
// A video file of pictures, by FFmpeg's libraries: H.264 where there is an encoder for it, else
// MPEG-4 part 2.
#pragma once

#include <memory>
#include <string>

#include "models/roadnet/overlay.h"
#include "runtime/base/status.h"

namespace camshaft::demo {

class VideoWriter {
 public:
  // Both sides must be even. kIo where the file can't be made, kUnsupported without an encoder.
  static base::Result<std::unique_ptr<VideoWriter>> open(const std::string& path, int width,
                                                         int height, int frames_per_second);
  VideoWriter(const VideoWriter&) = delete;
  VideoWriter& operator=(const VideoWriter&) = delete;
  ~VideoWriter();

  // Appends a picture of the video's size.
  base::Status add(const roadnet::Picture& picture);
  // Ends the file; without it the file is not playable.
  base::Status finish();

 private:
  struct State;
  explicit VideoWriter(std::unique_ptr<State> state);
  base::Status drain();

  std::unique_ptr<State> state_;
};

}  // namespace camshaft::demo
