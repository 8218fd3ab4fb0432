// SPDX-License-Identifier: MIT
// A recorded command list in the CPU's own form: a flat array of steps over one array of parameter
// pointers. Everything is decided at record(); a submit writes the slots' pointers and walks the
// array.
#pragma once

#include <cstdint>
#include <vector>

#include "devices/cpu/loaded_program.h"
#include "devices/hal/device.h"

namespace camshaft::cpu {

// A launch, a copy or a timestamp; barriers leave no step, since steps run in order anyway.
struct Step {
  hal::CommandKind kind = hal::CommandKind::kLaunch;
  // So many threads may share a launch; the others are for one.
  uint32_t parts = 1;
  uint64_t extent = 0;  // launch: indices; copy: bytes
  KernelFunction function = nullptr;
  // Into StepList::params. Launch: the kernel's; copy: destination, source; timestamp: destination.
  uint32_t first_param = 0;
};

// Parameter `param` is the memory bound to `slot`, plus an offset.
struct Patch {
  uint32_t param = 0;
  uint32_t slot = 0;
  uint64_t offset_bytes = 0;
};

struct StepList {
  std::vector<Step> steps;
  std::vector<void*> params;
  std::vector<Patch> patches;
  std::vector<uint64_t> scalars;  // parameters that are values point here
  std::vector<std::byte*> slots;  // as bound by the current submit
  uint32_t most_parts = 1;        // of any step

  // hot path.
  void apply_patches() noexcept {
    for (const Patch& patch : patches) params[patch.param] = slots[patch.slot] + patch.offset_bytes;
  }
};

// Runs indices [begin, end) of a step that is a launch, or all of another one. hot path; any
// thread.
void run_range(const Step& step, void* const* params, uint64_t begin, uint64_t end) noexcept;

}  // namespace camshaft::cpu
