// SPDX-License-Identifier: MIT
// A backend's hold on imported memory: tells the owner, once, that the device is done with it.
#pragma once

#include <utility>

#include "devices/hal/device.h"

namespace camshaft::hal {

class ForeignLease {
 public:
  ForeignLease() = default;  // nobody to tell
  explicit ForeignLease(const ForeignMemory& memory)
      : on_release_(memory.on_release), context_(memory.release_context) {}
  ForeignLease(ForeignLease&& other) noexcept
      : on_release_(std::exchange(other.on_release_, nullptr)), context_(other.context_) {}
  ForeignLease& operator=(ForeignLease&& other) noexcept {
    std::swap(on_release_, other.on_release_);
    std::swap(context_, other.context_);
    return *this;
  }
  ~ForeignLease() {
    if (on_release_ != nullptr) on_release_(context_);
  }

 private:
  void (*on_release_)(void* context) = nullptr;
  void* context_ = nullptr;
};

}  // namespace camshaft::hal
