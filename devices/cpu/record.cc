// SPDX-License-Identifier: MIT
#include "devices/cpu/record.h"

#include <algorithm>

namespace camshaft::cpu {
namespace {

using base::Code;
using base::Status;

class Recorder {
 public:
  Recorder(StepList& list, HandleLookup& handles) : list_(list), handles_(handles) {}

  Status add(const hal::Command& command) {
    switch (command.kind) {
      case hal::CommandKind::kLaunch:
        return add_launch(command);
      case hal::CommandKind::kCopy:
        add_step(Step{.kind = command.kind, .extent = command.size_bytes});
        add_param(command.destination);
        add_param(command.source);
        return base::ok();
      case hal::CommandKind::kTimestamp:
        add_step(Step{.kind = command.kind});
        add_param(command.destination);
        return base::ok();
      case hal::CommandKind::kBarrier:
        return base::ok();
    }
    return base::ok();
  }

 private:
  Status add_launch(const hal::Command& command) {
    if (command.grid[1] != 1 || command.grid[2] != 1 || command.group[0] != 1 ||
        command.group[1] != 1 || command.group[2] != 1) {
      return base::fail(
          Code::kUnsupported, "cpu.grid",
          "the CPU device launches over one dimension without groups, not over a grid "
          "of %ux%ux%u in groups of %ux%ux%u: the plan is for another kind of device",
          command.grid[0], command.grid[1], command.grid[2], command.group[0], command.group[1],
          command.group[2]);
    }
    add_step(Step{.kind = command.kind,
                  .parts = std::clamp(command.parts, 1u, std::max(command.grid[0], 1u)),
                  .extent = command.grid[0],
                  .function = handles_.kernel_of(command.program, command.kernel)});
    for (const hal::KernelArg& arg : command.args) add_param(arg);
    return base::ok();
  }

  void add_step(Step step) {
    step.first_param = static_cast<uint32_t>(list_.params.size());
    list_.most_parts = std::max(list_.most_parts, step.parts);
    list_.steps.push_back(step);
  }

  void add_param(const hal::KernelArg& arg) {
    const auto param = static_cast<uint32_t>(list_.params.size());
    list_.params.push_back(nullptr);
    switch (arg.kind) {
      case hal::ArgKind::kBuffer:
        list_.params.back() = handles_.memory_of(arg.buffer) + arg.offset_bytes;
        return;
      case hal::ArgKind::kSlot:
        list_.patches.push_back(
            Patch{.param = param, .slot = arg.slot, .offset_bytes = arg.offset_bytes});
        return;
      case hal::ArgKind::kScalar:
        list_.scalars.push_back(arg.scalar);  // reserved: never moves
        list_.params.back() = &list_.scalars.back();
        return;
    }
  }

  StepList& list_;
  HandleLookup& handles_;
};

size_t count_scalars(std::span<const hal::Command> commands) {
  size_t count = 0;
  for (const hal::Command& command : commands) {
    for (const hal::KernelArg& arg : command.args) {
      count += arg.kind == hal::ArgKind::kScalar ? 1 : 0;
    }
  }
  return count;
}

}  // namespace

base::Result<std::unique_ptr<StepList>> record_steps(std::span<const hal::Command> commands,
                                                     uint32_t slot_count, HandleLookup& handles) {
  auto list = std::make_unique<StepList>();
  list->slots.resize(slot_count);
  list->scalars.reserve(count_scalars(commands));
  Recorder recorder(*list, handles);
  for (const hal::Command& command : commands) CAMSHAFT_TRY(recorder.add(command));
  return list;
}

}  // namespace camshaft::cpu
