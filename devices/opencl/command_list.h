// SPDX-License-Identifier: MIT
// Recorded commands as calls with everything decided: a kernel object a launch, its arguments set.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl_ext.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "devices/hal/device.h"
#include "devices/opencl/api.h"
#include "devices/opencl/device_list.h"
#include "devices/opencl/memory.h"
#include "devices/opencl/program.h"

namespace camshaft::opencl {

// Memory that a command touches: fixed, or what the slot is bound to.
struct Place {
  Memory* memory = nullptr;  // null: a slot
  uint32_t slot = 0;
  uint64_t offset_bytes = 0;
};

struct Step {
  hal::CommandKind kind = hal::CommandKind::kLaunch;
  // kLaunch
  Object<cl_kernel> kernel;
  size_t items[3] = {1, 1, 1};
  size_t group[3] = {1, 1, 1};
  bool has_group = false;  // otherwise the driver chooses
  // kCopy, and the destination of kTimestamp
  Place source;
  Place destination;
  uint64_t size_bytes = 0;
  Object<cl_event> stamp;  // kTimestamp: of the last submit
};

// An argument of a launch that is in a slot.
struct Patch {
  uint32_t slot = 0;
  uint32_t step = 0;
  cl_uint index = 0;  // of the pointer, whose offset is the next argument, or of the image
  uint64_t offset_bytes = 0;
};

struct Slot {
  hal::Flow flow = hal::Flow::kBoth;
  bool is_used = false;      // by an argument
  hal::Binding binding;      // of the last submit
  Memory* memory = nullptr;  // null: unbound
};

// Fixed memory that the host sees, or that is external.
struct SharedMemory {
  Memory* memory = nullptr;
  hal::Flow flow = hal::Flow::kBoth;
};

// cl_recording_qcom
using Recording = struct RecordingHandle*;

// Launches that are started with one call (replay.h), from a step on: one of the two objects.
struct Replay {
  size_t first = 0;
  size_t count = 0;
  Object<cl_command_buffer_khr> buffer;
  Object<Recording> recording;
};

struct CommandSteps {
  Object<cl_program> single;  // where one kernel does the work of all launches (single_launch.h)
  std::string single_digest;  // BuiltProgram::digest
  hal::Program single_of;     // whose text it is made from
  Object<cl_mem> meeting;     // where its groups wait for one another
  std::vector<Step> steps;
  std::vector<Replay> replays;  // of some of the steps, which are there, too; rising
  std::vector<Patch> patches;
  std::vector<Slot> slots;
  std::vector<SharedMemory> shared;  // each once
  std::vector<Memory*> taken;        // of the submit under way; never grows
  bool has_stamps = false;
  hal::Ticket last = 0;     // of the last submit
  hal::Ticket stamped = 0;  // the last submit whose time stamps are not written yet; 0: none
};

// How record_steps() finds what handles stand for. Handles are valid (see hal::ValidatingDevice).
class HandleLookup {
 public:
  virtual Memory* memory_of(hal::Buffer buffer) = 0;  // null for no buffer
  virtual const BuiltProgram& program_of(hal::Program program) = 0;

 protected:
  ~HandleLookup() = default;
};

// Load time. kCorrupt where a kernel has other parameters than the launch has arguments,
// kWrongTarget for a group that is too large for the device.
base::Result<std::unique_ptr<CommandSteps>> record_steps(const Api& api, const FoundDevice& device,
                                                         std::span<const hal::Command> commands,
                                                         uint32_t slot_count,
                                                         HandleLookup& handles);

// Load time. Notes which way data flows through an argument's memory, for all of the list.
void note_flow(CommandSteps& list, const hal::KernelArg& arg, Memory* memory);

// hot path. Sets the arguments that are in slots whose binding has changed.
cl_int bind_slots(const Api& api, CommandSteps& list, std::span<const hal::Binding> bindings,
                  HandleLookup& handles) noexcept;

// hot path. Forgets what the slots are bound to.
void unbind_slots(CommandSteps& list) noexcept;

// hot path. Starts one step on a queue that runs them in order.
cl_int enqueue_step(const Api& api, cl_command_queue queue, const CommandSteps& list,
                    Step& step) noexcept;

// hot path. Writes eight bytes, at once, to a place that no work uses.
cl_int write_word(const Api& api, cl_command_queue queue, const CommandSteps& list,
                  const Place& place, uint64_t word) noexcept;

}  // namespace camshaft::opencl
