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

// What a caller already works with: plans then run in its queue, in order with its own commands,
// and its buffers can be imported (ForeignKind::kClBuffer). All three are the caller's cl_ handles
// and are retained by the device.
struct CallerQueue {
  cl_context context = nullptr;
  cl_device_id device = nullptr;     // of the context
  cl_command_queue queue = nullptr;  // in order; with profiling, if a session is to be profiled
};
// kInvalidArgument for a queue that is out of order or is not of this context and device.
hal::Result<std::unique_ptr<hal::Device>> open_on(const CallerQueue& caller);

}  // namespace camshaft::opencl
