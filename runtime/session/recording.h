// SPDX-License-Identifier: MIT
// A plan's commands -> the device contract's, recorded. Inputs and outputs become slots, so that
// the caller's memory can take their place without recording again.
#pragma once

#include <cstdint>
#include <span>

#include "devices/hal/device.h"
#include "runtime/base/status.h"
#include "runtime/plan/plan.h"
#include "runtime/session/device_memory.h"
#include "runtime/session/images.h"

namespace camshaft::session {

// Where the plan's spaces are on the device. Input i is slot i, output i slot input_count + i.
struct Placement {
  hal::Program program = {};
  hal::Buffer arena = {};
  hal::Buffer weights = {};
  std::span<const OwnedBuffer> states = {};
  const Images* images = nullptr;
  uint32_t input_count = 0;
  uint32_t slot_count = 0;
};

// Load time. `stamps`: a buffer for one u64 more than the entry point has commands, to record the
// time before, between and after them; 0: none.
base::Result<hal::CommandList> record_entry(hal::Device& device, const plan::TargetInfo& target,
                                            const plan::EntryPoint& entry,
                                            const Placement& placement, hal::Buffer stamps);

}  // namespace camshaft::session
