// SPDX-License-Identifier: MIT
// Backends as rows of a table. The table itself is devices/registry.cc; whoever has a main function
// passes it on, and tests pass tables of their own.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "devices/hal/device.h"

namespace camshaft::hal {

// Wishes for an opened device. A backend ignores those that mean nothing to it.
struct OpenOptions {
  uint32_t index = 0;  // which of the devices that probe() lists
  uint32_t threads =
      0;  // CPU: threads that share each launch, the caller's among them; 0: all usable
  // CPU: empty, or a CPU number for each thread. Thread 0 is whichever thread calls submit(): it
  // pins itself (realtime::pin_this_thread). Read during open() only.
  std::span<const uint32_t> cpus = {};
  // CPU: how long a waiting thread spins before it sleeps in the kernel. 0: sleeps at once.
  uint32_t spin_ns = 30'000;
  bool huge_pages = true;  // CPU: ask for transparent huge pages behind large buffers
  bool prefault = true;    // CPU: back buffers with pages when they are allocated, not at first use
};

// A queue of the caller's, for a device that shall work in it: in order with the caller's own
// commands, on memory that the caller made in the same context. The handles are those of the
// backend's API; the device holds its own reference to each as long as it lives.
struct CallerQueue {
  void* context = nullptr;  // OpenCL: cl_context
  void* device = nullptr;   // OpenCL: cl_device_id, of the context
  // OpenCL: cl_command_queue, in order; made with CL_QUEUE_PROFILING_ENABLE if a session is to be
  // profiled.
  void* queue = nullptr;
};

struct Backend {
  const char* name;  // DeviceInfo::backend of all its devices
  // The devices there are now; empty on a machine without one. Never fails; may be slow.
  std::vector<DeviceInfo> (*probe)();
  // Opens one of them. Fails with kWrongTarget if it is not there.
  Result<std::unique_ptr<Device>> (*open)(const OpenOptions& options);
  // Opens a device on a caller's queue. Null: the backend has no such thing.
  Result<std::unique_ptr<Device>> (*open_on)(const CallerQueue& caller,
                                             const OpenOptions& options) = nullptr;
};
using Backends = std::span<const Backend>;

// The row with that name, or null.
const Backend* find_backend(Backends backends, std::string_view name);

// Whether `text` has `part` in it, whatever the case of its letters: how devices are named.
bool has_part(std::string_view text, std::string_view part);

// The devices of all backends, in the order of the table: what `camshaft devices` shows.
std::vector<DeviceInfo> list_devices(Backends backends);

// Opens "NAME", "NAME:INDEX" or "NAME:PART", such as "cpu", "opencl:1" or "opencl:nvidia": the
// backend's device number INDEX, or the only one that has PART in its name, whatever the case;
// either overrides `options.index`. Fails with kInvalidArgument for a malformed or unknown name
// (the sentence lists the known ones) and kWrongTarget where the device is absent.
Result<std::unique_ptr<Device>> open_device(Backends backends, std::string_view spec,
                                            const OpenOptions& options);

// Opens a device of the named backend ("opencl") on a caller's queue. The caller must not use the
// queue from another thread while it calls the device; what it enqueues itself before a submit is
// done before the submitted work starts. Fails with kInvalidArgument for an unknown name and for a
// queue that plans can't run in, kUnsupported where the backend works in queues of its own only,
// kWrongTarget for a device that can't run plans.
Result<std::unique_ptr<Device>> open_device_on(Backends backends, std::string_view name,
                                               const CallerQueue& caller,
                                               const OpenOptions& options);

}  // namespace camshaft::hal
