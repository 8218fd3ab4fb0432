// SPDX-License-Identifier: MIT
#include "runtime/session/recording.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace camshaft::session {
namespace {

using plan::ArgInfo;

hal::KernelArg convert(const ArgInfo& arg, const Placement& placement) {
  if (arg.size_bytes == 0) return {.buffer = placement.arena};  // is never touched
  if (arg.image.is_image() && arg.space != plan::Space::kInput) {
    return {.image = arg.image, .buffer = placement.images->find(arg)};
  }
  const auto in_buffer = [&](hal::Buffer buffer) {
    return hal::KernelArg{.buffer = buffer, .offset_bytes = arg.offset_bytes};
  };
  const auto in_slot = [&](uint32_t slot, hal::Flow flow) {
    hal::KernelArg converted;
    converted.kind = hal::ArgKind::kSlot;
    converted.slot = slot;
    converted.flow = flow;
    converted.offset_bytes = arg.offset_bytes;
    converted.image = arg.image;
    return converted;
  };
  switch (arg.space) {
    case plan::Space::kArena:
      return in_buffer(placement.arena);
    case plan::Space::kWeights:
      return in_buffer(placement.weights);
    case plan::Space::kInput:
      return in_slot(arg.index, hal::Flow::kIn);
    case plan::Space::kOutput:
      return in_slot(placement.input_count + arg.index, hal::Flow::kOut);
    case plan::Space::kState:
      return in_buffer(placement.states[arg.index].buffer());
  }
  return {};
}

hal::Command convert(const plan::CommandInfo& info, const Placement& placement,
                     std::span<const hal::KernelArg> args) {
  hal::Command command;
  if (info.kind == plan::CommandKind::kCopy) {
    command.kind = hal::CommandKind::kCopy;
    command.source = args[0];
    command.destination = args[1];
    command.size_bytes = info.args[0].size_bytes;
    return command;
  }
  command.program = placement.program;
  command.kernel = info.kernel;
  std::copy(std::begin(info.grid), std::end(info.grid), command.grid);
  std::copy(std::begin(info.group), std::end(info.group), command.group);
  command.parts = info.parts;
  command.args = args;
  return command;
}

hal::Command make_stamp(hal::Buffer stamps, uint64_t index) {
  hal::Command command;
  command.kind = hal::CommandKind::kTimestamp;
  command.destination = {
      .kind = hal::ArgKind::kBuffer, .buffer = stamps, .offset_bytes = index * sizeof(uint64_t)};
  return command;
}

}  // namespace

base::Result<hal::CommandList> record_entry(hal::Device& device, const plan::TargetInfo& target,
                                            const plan::EntryPoint& entry,
                                            const Placement& placement, hal::Buffer stamps) {
  const std::span<const plan::CommandInfo> infos =
      std::span(target.commands).subspan(entry.first_command, entry.command_count);
  std::vector<std::vector<hal::KernelArg>> args(infos.size());  // commands refer to them
  std::vector<hal::Command> commands;
  for (size_t i = 0; i < infos.size(); ++i) {
    for (const ArgInfo& arg : infos[i].args) args[i].push_back(convert(arg, placement));
    if (stamps.id != 0) commands.push_back(make_stamp(stamps, i));
    commands.push_back(convert(infos[i], placement, args[i]));
  }
  if (stamps.id != 0) commands.push_back(make_stamp(stamps, infos.size()));
  return device.record(commands, placement.slot_count);
}

}  // namespace camshaft::session
