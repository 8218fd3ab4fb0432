// SPDX-License-Identifier: MIT
// The images that a target's commands use: one for each place and shape, made once. Load time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "devices/hal/device.h"
#include "runtime/base/status.h"
#include "runtime/plan/plan.h"
#include "runtime/session/port.h"

namespace camshaft::session {

// Where the bytes are that images show.
struct ImageMemory {
  hal::Buffer arena = {};
  hal::Buffer weights = {};
  std::span<const Port> inputs = {};
};

// Released with this object, which the device must outlive.
class Images {
 public:
  Images() = default;
  static base::Result<Images> make(hal::Device& device, const plan::TargetInfo& target,
                                   const ImageMemory& memory);
  Images(Images&& other) noexcept;
  Images& operator=(Images&& other) noexcept;
  ~Images();

  // The image of an argument that is one, which is there. Of an input: of the session's own buffer.
  hal::Buffer find(const plan::ArgInfo& arg) const;
  // That of an input which the commands take as an image.
  hal::Buffer find_input(uint32_t index) const;

 private:
  struct Image {
    plan::ArgInfo arg;
    hal::Buffer buffer;
  };
  const Image* find_image(const plan::ArgInfo& arg) const;

  hal::Device* device_ = nullptr;
  std::vector<Image> images_;
};

// As what the target's commands take input `index`; no image where they take bytes.
hal::ImageShape input_image(const plan::TargetInfo& target, uint32_t index);

}  // namespace camshaft::session
