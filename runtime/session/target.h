// SPDX-License-Identifier: MIT
// Which of a plan's targets a device can run.
#pragma once

#include <string_view>

#include "devices/hal/device.h"
#include "runtime/plan/plan.h"

namespace camshaft::session {

// The first of the plan's targets (their order is the compiler's preference) that is for this kind
// of device, this architecture, and no more features than this device has. `wanted` restricts the
// choice to a target's full name ("llvm:znver3") or the part before the colon ("llvm"); empty: any.
// Load time. The result borrows from `plan`. Its `threads` is what a CPU device is best opened
// with.
//
// Fails with kInvalidArgument if the plan has no target of the wanted name, and with kWrongTarget
// if none fits: the sentence says what the plan needs and what the device is and lacks.
base::Result<const plan::TargetInfo*> choose_target(const plan::PlanInfo& plan,
                                                    const hal::DeviceInfo& device,
                                                    std::string_view wanted);

}  // namespace camshaft::session
