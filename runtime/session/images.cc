// SPDX-License-Identifier: MIT
#include "runtime/session/images.h"

#include <algorithm>
#include <utility>

namespace camshaft::session {
namespace {

using base::Result;
using plan::ArgInfo;
using plan::Space;

hal::Buffer memory_of(const ArgInfo& arg, const ImageMemory& memory) {
  if (arg.space == Space::kArena) return memory.arena;
  if (arg.space == Space::kWeights) return memory.weights;
  return memory.inputs[arg.index].own.buffer();
}

}  // namespace

Result<Images> Images::make(hal::Device& device, const plan::TargetInfo& target,
                            const ImageMemory& memory) {
  Images images;
  images.device_ = &device;
  for (const plan::CommandInfo& command : target.commands) {
    for (const ArgInfo& arg : command.args) {
      if (!arg.image.is_image() || images.find_image(arg) != nullptr) continue;
      CAMSHAFT_TRY_ASSIGN(const hal::Buffer buffer,
                          device.make_image({.shape = arg.image,
                                             .buffer = memory_of(arg, memory),
                                             .offset_bytes = arg.offset_bytes,
                                             .has_content = arg.space != Space::kArena}));
      images.images_.push_back({arg, buffer});
    }
  }
  return images;
}

Images::Images(Images&& other) noexcept
    : device_(other.device_), images_(std::exchange(other.images_, {})) {}

Images& Images::operator=(Images&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(images_, other.images_);
  return *this;
}

Images::~Images() {
  for (const Image& image : images_) device_->release(image.buffer);
}

const Images::Image* Images::find_image(const ArgInfo& arg) const {
  const auto found = std::find_if(images_.begin(), images_.end(),
                                  [&](const Image& image) { return image.arg == arg; });
  return found == images_.end() ? nullptr : &*found;
}

hal::Buffer Images::find(const ArgInfo& arg) const {
  const Image* image = find_image(arg);
  return image == nullptr ? hal::Buffer() : image->buffer;
}

hal::Buffer Images::find_input(uint32_t index) const {
  const auto found = std::find_if(images_.begin(), images_.end(), [&](const Image& image) {
    return image.arg.space == Space::kInput && image.arg.index == index;
  });
  return found == images_.end() ? hal::Buffer() : found->buffer;
}

hal::ImageShape input_image(const plan::TargetInfo& target, uint32_t index) {
  for (const plan::CommandInfo& command : target.commands) {
    for (const ArgInfo& arg : command.args) {
      if (arg.space == Space::kInput && arg.index == index) return arg.image;
    }
  }
  return {};
}

}  // namespace camshaft::session
