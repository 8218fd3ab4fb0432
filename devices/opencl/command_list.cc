// SPDX-License-Identifier: MIT
#include "devices/opencl/command_list.h"

#include <algorithm>
#include <cstring>

#include "devices/opencl/single_launch.h"

namespace camshaft::opencl {
namespace {

using base::Code;
using base::Status;

cl_int set_memory(const Api& api, cl_kernel kernel, cl_uint index, const Memory& memory,
                  uint64_t offset_bytes) noexcept {
  const cl_mem object = memory.object.get();
  if (memory.image.is_image()) return api.clSetKernelArg(kernel, index, sizeof object, &object);
  const cl_ulong offset = memory.offset_bytes + offset_bytes;
  const cl_int error = api.clSetKernelArg(kernel, index, sizeof object, &object);
  return error != CL_SUCCESS ? error
                             : api.clSetKernelArg(kernel, index + 1, sizeof offset, &offset);
}

// A pointer and an offset, unless it is an image or a scalar.
cl_uint parameters_of(const hal::KernelArg& arg) {
  return arg.kind == hal::ArgKind::kScalar || arg.image.is_image() ? 1 : 2;
}

class Recorder {
 public:
  Recorder(const Api& api, const FoundDevice& device, CommandSteps& list, HandleLookup& handles)
      : api_(api), device_(device), list_(list), handles_(handles) {}

  Status add(const hal::Command& command) {
    switch (command.kind) {
      case hal::CommandKind::kLaunch:
        return add_launch(command);
      case hal::CommandKind::kCopy:
        list_.steps.emplace_back();
        list_.steps.back().source = place(command.source);
        list_.steps.back().destination = place(command.destination);
        list_.steps.back().size_bytes = command.size_bytes;
        break;
      case hal::CommandKind::kTimestamp:
        list_.steps.emplace_back();
        list_.steps.back().destination = place(command.destination);
        list_.has_stamps = true;
        break;
      case hal::CommandKind::kBarrier:  // the queue is in order
        return base::ok();
    }
    list_.steps.back().kind = command.kind;
    return base::ok();
  }

 private:
  Status add_launch(const hal::Command& command) {
    const BuiltProgram& program = handles_.program_of(command.program);
    const char* name = program.kernels[command.kernel].c_str();
    list_.steps.emplace_back();
    Step& step = list_.steps.back();
    CAMSHAFT_TRY_ASSIGN(step.kernel, make_kernel(api_, program, command.kernel));
    for (int axis = 0; axis < 3; ++axis) {
      step.items[axis] = size_t{command.grid[axis]} * command.group[axis];
      step.group[axis] = command.group[axis];
      step.has_group |= command.group[axis] != 1;
    }
    CAMSHAFT_TRY(check_group(step, name));
    CAMSHAFT_TRY(check_parameters(step, command.args, name));
    return set_arguments(step, command.args, name);
  }

  Status check_group(const Step& step, const char* name) const {
    size_t most = 0;
    const cl_int error = api_.clGetKernelWorkGroupInfo(
        step.kernel.get(), device_.device, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, nullptr);
    const size_t wanted = step.group[0] * step.group[1] * step.group[2];
    if (error == CL_SUCCESS && wanted <= most) return base::ok();
    return base::fail(Code::kWrongTarget, "opencl.group",
                      "kernel '%s' runs in groups of %zu; %s takes %zu at most: compile the plan "
                      "for this device",
                      name, wanted, device_.info.name, most);
  }

  Status check_parameters(const Step& step, std::span<const hal::KernelArg> args,
                          const char* name) const {
    cl_uint wanted = 0;
    for (const hal::KernelArg& arg : args) wanted += parameters_of(arg);
    cl_uint parameters = 0;
    const cl_int error = api_.clGetKernelInfo(step.kernel.get(), CL_KERNEL_NUM_ARGS,
                                              sizeof parameters, &parameters, nullptr);
    if (error == CL_SUCCESS && parameters == wanted) return base::ok();
    return base::fail(Code::kCorrupt, "opencl.parameters",
                      "kernel '%s' of the plan's program has %u parameters, but the plan passes %u",
                      name, parameters, wanted);
  }

  Status set_arguments(const Step& step, std::span<const hal::KernelArg> args, const char* name) {
    const auto step_number = static_cast<uint32_t>(list_.steps.size() - 1);
    cl_uint index = 0;
    for (const hal::KernelArg& arg : args) {
      cl_int error = CL_SUCCESS;
      if (arg.kind == hal::ArgKind::kScalar) {
        const cl_ulong value = arg.scalar;
        error = api_.clSetKernelArg(step.kernel.get(), index++, sizeof value, &value);
      } else {
        const Place at = place(arg);
        if (at.memory == nullptr) {
          list_.patches.push_back({.slot = at.slot,
                                   .step = step_number,
                                   .index = index,
                                   .offset_bytes = at.offset_bytes});
        } else {
          error = set_memory(api_, step.kernel.get(), index, *at.memory, at.offset_bytes);
        }
        index += parameters_of(arg);
      }
      if (error != CL_SUCCESS) {
        return base::fail(Code::kCorrupt, "opencl.argument",
                          "argument %u of kernel '%s' is not what the plan passes: %s", index, name,
                          error_name(error));
      }
    }
    return base::ok();
  }

  Place place(const hal::KernelArg& arg) {
    note_flow(list_, arg, handles_.memory_of(arg.buffer));
    if (arg.kind == hal::ArgKind::kSlot) {
      return {.memory = nullptr, .slot = arg.slot, .offset_bytes = arg.offset_bytes};
    }
    Memory* memory = handles_.memory_of(arg.buffer);
    return {.memory = memory, .slot = 0, .offset_bytes = arg.offset_bytes};
  }

  const Api& api_;
  const FoundDevice& device_;
  CommandSteps& list_;
  HandleLookup& handles_;
};

const Memory& memory_at(const CommandSteps& list, const Place& place) noexcept {
  return place.memory != nullptr ? *place.memory : *list.slots[place.slot].memory;
}

size_t offset_at(const CommandSteps& list, const Place& place) noexcept {
  const uint64_t bound = place.memory != nullptr ? 0 : list.slots[place.slot].binding.offset_bytes;
  return memory_at(list, place).offset_bytes + bound + place.offset_bytes;
}

}  // namespace

base::Result<std::unique_ptr<CommandSteps>> record_steps(const Api& api, const FoundDevice& device,
                                                         std::span<const hal::Command> commands,
                                                         uint32_t slot_count,
                                                         HandleLookup& handles) {
  auto list = std::make_unique<CommandSteps>();
  list->slots.resize(slot_count);
  Recorder recorder(api, device, *list, handles);
  for (const hal::Command& command : commands) CAMSHAFT_TRY(recorder.add(command));
  if (can_be_single(device, commands, handles)) {
    // Where the driver won't have it, the launches are there.
    (void)record_single(api, device, commands, handles, *list).is_ok();
  }
  list->taken.reserve(list->shared.size() + slot_count);
  return list;
}

void note_flow(CommandSteps& list, const hal::KernelArg& arg, Memory* memory) {
  const auto merge = [&](hal::Flow& flow, bool is_new) {
    flow = is_new || flow == arg.flow ? arg.flow : hal::Flow::kBoth;
  };
  if (arg.kind == hal::ArgKind::kSlot) {
    Slot& slot = list.slots[arg.slot];
    merge(slot.flow, !slot.is_used);
    slot.is_used = true;
    return;
  }
  if (memory == nullptr || !memory->changes_hands()) return;
  const auto found =
      std::find_if(list.shared.begin(), list.shared.end(),
                   [&](const SharedMemory& shared) { return shared.memory == memory; });
  if (found == list.shared.end()) {
    list.shared.push_back({.memory = memory, .flow = arg.flow});
  } else {
    merge(found->flow, false);
  }
}

void unbind_slots(CommandSteps& list) noexcept {
  for (Slot& slot : list.slots) {
    slot.binding = {};
    slot.memory = nullptr;
  }
}

cl_int bind_slots(const Api& api, CommandSteps& list, std::span<const hal::Binding> bindings,
                  HandleLookup& handles) noexcept {
  for (size_t i = 0; i < bindings.size(); ++i) {
    Slot& slot = list.slots[i];
    const hal::Binding& binding = bindings[i];
    if (slot.binding.buffer == binding.buffer &&
        slot.binding.offset_bytes == binding.offset_bytes) {
      continue;
    }
    slot.binding = binding;
    slot.memory = handles.memory_of(binding.buffer);
    for (const Patch& patch : list.patches) {
      if (patch.slot != i || slot.memory == nullptr) continue;
      const cl_int error = set_memory(api, list.steps[patch.step].kernel.get(), patch.index,
                                      *slot.memory, binding.offset_bytes + patch.offset_bytes);
      if (error == CL_SUCCESS) continue;
      slot.binding = {};
      slot.memory = nullptr;
      return error;
    }
  }
  return CL_SUCCESS;
}

cl_int enqueue_step(const Api& api, cl_command_queue queue, const CommandSteps& list,
                    Step& step) noexcept {
  switch (step.kind) {
    case hal::CommandKind::kLaunch:
      return api.clEnqueueNDRangeKernel(queue, step.kernel.get(), 3, nullptr, step.items,
                                        step.has_group ? step.group : nullptr, 0, nullptr, nullptr);
    case hal::CommandKind::kCopy:
      return api.clEnqueueCopyBuffer(
          queue, memory_at(list, step.source).object.get(),
          memory_at(list, step.destination).object.get(), offset_at(list, step.source),
          offset_at(list, step.destination), step.size_bytes, 0, nullptr, nullptr);
    case hal::CommandKind::kTimestamp: {
      cl_event event = nullptr;
      const cl_int error = api.clEnqueueMarkerWithWaitList(queue, 0, nullptr, &event);
      if (error == CL_SUCCESS) step.stamp = Object<cl_event>(event, api.clReleaseEvent);
      return error;
    }
    case hal::CommandKind::kBarrier:
      return CL_SUCCESS;
  }
  return CL_SUCCESS;
}

cl_int write_word(const Api& api, cl_command_queue queue, const CommandSteps& list,
                  const Place& place, uint64_t word) noexcept {
  const Memory& memory = memory_at(list, place);
  if (memory.is_mapped || memory.has_copy) {
    const size_t at = offset_at(list, place) - memory.offset_bytes;
    std::memcpy(memory.host + at, &word, sizeof word);
    return CL_SUCCESS;
  }
  return api.clEnqueueWriteBuffer(queue, memory.object.get(), CL_TRUE, offset_at(list, place),
                                  sizeof word, &word, 0, nullptr, nullptr);
}

}  // namespace camshaft::opencl
