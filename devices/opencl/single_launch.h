// SPDX-License-Identifier: MIT
// A list of launches as one. Starting a kernel costs some drivers several microseconds, more than
// many a kernel takes; so where a device runs a known number of groups at once, recording makes a
// kernel that does the work of the whole list: its groups share out each launch's iterations and
// wait for one another before the next. It is built from the plan's text, whose kernels have their
// work in functions, NAME_body (see codegen/render/render_opencl.cc), and from the list's
// arguments.
#pragma once

#include <span>

#include "devices/hal/device.h"
#include "devices/opencl/command_list.h"

namespace camshaft::opencl {

// Whether the list can be one launch, and gains by it: small launches, two or more, of one program
// with bodies, in groups of 256 items or, each iteration by itself, of none.
bool can_be_single(const FoundDevice& device, std::span<const hal::Command> commands,
                   HandleLookup& handles);

// Load time; blocks while the driver compiles. Fills `list`, which is as record_steps() begins
// with. kUnsupported where the driver refuses the kernel, and then `list` is as before.
base::Status record_single(const Api& api, const FoundDevice& device,
                           std::span<const hal::Command> commands, HandleLookup& handles,
                           CommandSteps& list);

}  // namespace camshaft::opencl
