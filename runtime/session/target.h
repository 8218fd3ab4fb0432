// SPDX-License-Identifier: MIT
// Which of a plan's targets a device can run.
#pragma once

#include <string_view>

#include "devices/hal/device.h"
#include "runtime/plan/plan.h"

namespace camshaft::session {

// Whether `wanted` is this target's full name ("llvm:znver3"), the part before the colon ("llvm"),
// or empty, which is any.
bool is_wanted(const plan::TargetInfo& target, std::string_view wanted);

// Fails with kInvalidArgument if no target of the plan is wanted: the sentence lists what it has.
base::Status check_wanted(const plan::PlanInfo& plan, std::string_view wanted);

// The first of the plan's targets (their order is the compiler's preference) that is for this kind
// of device, this architecture, and no more features than this device has. `wanted` restricts the
// choice, as is_wanted() says. Load time. The result borrows from `plan`. Its `threads` is what a
// CPU device is best opened with.
//
// Fails as check_wanted() does, and with kWrongTarget if none fits: the sentence says what the plan
// needs and what the device is and lacks.
base::Result<const plan::TargetInfo*> choose_target(const plan::PlanInfo& plan,
                                                    const hal::DeviceInfo& device,
                                                    std::string_view wanted);

}  // namespace camshaft::session
