// SPDX-License-Identifier: MIT
// The OpenCL backend: any device with OpenCL 1.2, full profile, behind the ICD loader.
#pragma once

#include <memory>
#include <vector>

#include "devices/hal/registry.h"
#include "devices/opencl/api.h"

namespace camshaft::opencl {

// The devices of all platforms; none where there is no OpenCL library.
std::vector<hal::DeviceInfo> probe();

// Opens one of them with a context and a queue of its own. kWrongTarget, with what was looked for,
// where there is none.
hal::Result<std::unique_ptr<hal::Device>> open(const hal::OpenOptions& options);

// The same by other calls than the machine's, so that tests can make some fail. `api` must live as
// long as the device.
hal::Result<std::unique_ptr<hal::Device>> open_with(const Api& api,
                                                    const hal::OpenOptions& options);

// Opens the device of a caller's queue: plans then run in that queue, in order with the caller's
// own commands, and buffers of its context can be imported (ForeignKind::kClBuffer). Context and
// queue are retained until the device is destroyed; the caller may release its own holds on them
// before. The device makes objects in the context and none outlives it. kInvalidArgument for a
// queue that is out of order or is not of this context and device.
hal::Result<std::unique_ptr<hal::Device>> open_on(const hal::CallerQueue& caller,
                                                  const hal::OpenOptions& options);
hal::Result<std::unique_ptr<hal::Device>> open_on_with(const Api& api,
                                                       const hal::CallerQueue& caller,
                                                       const hal::OpenOptions& options);

}  // namespace camshaft::opencl
