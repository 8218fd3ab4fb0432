// SPDX-License-Identifier: MIT
// The context and queue that a device works in: its own, or a caller's. Load time.
#pragma once

#include "devices/hal/registry.h"
#include "devices/opencl/api.h"
#include "devices/opencl/device_list.h"

namespace camshaft::opencl {

struct Connection {
  Object<cl_context> context;
  Object<cl_command_queue> queue;
  bool is_callers = false;
};

// New ones. kWrongTarget where the driver refuses.
base::Result<Connection> connect(const Api& api, const FoundDevice& found);

// The caller's, retained. kInvalidArgument for a queue that is out of order or is not of this
// context and device.
base::Result<Connection> adopt(const Api& api, const hal::CallerQueue& caller);

// kWrongTarget, with what was looked for.
base::Status no_such_device(const Api& api, uint32_t index, size_t present);

}  // namespace camshaft::opencl
