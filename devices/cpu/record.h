// SPDX-License-Identifier: MIT
// Commands of the contract -> the CPU's flat step list.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "devices/cpu/step_list.h"
#include "devices/hal/device.h"
#include "runtime/base/status.h"

namespace camshaft::cpu {

// What handles stand for; the device knows. Null for unknown ones.
class HandleLookup {
 public:
  virtual std::byte* memory_of(hal::Buffer buffer) = 0;
  virtual KernelFunction kernel_of(hal::Program program, uint32_t kernel) = 0;

 protected:
  ~HandleLookup() = default;
};

// Load time. A launch is cut into at most as many parts as it has indices. Fails with kUnsupported
// for grids that are not one-dimensional and for work groups.
base::Result<std::unique_ptr<StepList>> record_steps(std::span<const hal::Command> commands,
                                                     uint32_t slot_count, HandleLookup& handles);

}  // namespace camshaft::cpu
