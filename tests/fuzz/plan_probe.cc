// SPDX-License-Identifier: MIT
#include "tests/fuzz/plan_probe.h"

#include <optional>

#include "runtime/plan/diff.h"
#include "runtime/plan/dump.h"
#include "runtime/plan/reader.h"
#include "tests/runtime/plan/sample_plan.h"
#include "tests/support/allocation_count.h"
#include "tests/support/last_sentence.h"

namespace camshaft::plan::test {
namespace {

using base::Code;
using Wide = unsigned __int128;  // no sum or product of plan fields overflows it

constexpr Wide kLargestBuffer = Wide{1} << 40;

// Bytes of a tensor, or nothing if there are more than any plan may have.
std::optional<Wide> bytes_of(const TensorInfo& tensor) {
  Wide size = static_cast<Wide>(base::dtype_size_bytes(tensor.dtype));
  for (const int64_t extent : tensor.shape) {
    if (extent < 0 || Wide(extent) > kLargestBuffer) return std::nullopt;
    size *= static_cast<Wide>(extent);
    if (size > kLargestBuffer) return std::nullopt;
  }
  return size;
}

// As a session finds out where an argument is, but written apart from the reader's checks.
bool is_reachable(const PlanFile& plan, const TargetInfo& target, const ArgInfo& arg) {
  Wide extent = 0;
  if (arg.space == Space::kArena) {
    extent = target.arena_bytes;
  } else if (arg.space == Space::kWeights) {
    extent = plan.weights(target).size();
  } else if (arg.space == Space::kInput) {
    extent = bytes_of(plan.info().inputs.at(arg.index)).value();
  } else if (arg.space == Space::kOutput) {
    extent = bytes_of(plan.info().outputs.at(arg.index)).value();
  } else if (arg.space == Space::kState) {
    extent = target.states.at(arg.index).size_bytes;
  } else {
    return false;
  }
  return Wide{arg.offset_bytes} + arg.size_bytes <= extent && arg.offset_bytes % 64 == 0;
}

std::string walk_target(const PlanFile& plan, const TargetInfo& target) {
  if (target.arena_bytes > kLargestBuffer) return "the arena is huge";
  if (!target.kernels.empty() &&
      plan.sections()[target.binary_section].kind != SectionKind::kBinary) {
    return "the binary is none";
  }
  for (const EntryPoint& entry : target.entry_points) {
    for (uint32_t i = 0; i < entry.command_count; ++i) {
      const CommandInfo& command = target.commands.at(size_t{entry.first_command} + i);
      if (command.kind == CommandKind::kLaunch) {
        if (target.kernels.at(command.kernel).symbol.empty()) return "a kernel has no symbol";
        if (command.parts == 0 || command.parts > target.threads) return "parts are impossible";
      } else if (command.args.at(0).size_bytes != command.args.at(1).size_bytes) {
        return "a copy has two sizes";
      }
    }
  }
  for (const CommandInfo& command : target.commands) {
    for (const ArgInfo& arg : command.args) {
      if (!is_reachable(plan, target, arg)) return "an argument is out of reach";
    }
  }
  return "";
}

// What a session reads to tell how long an output is.
std::string walk_counts(const PlanFile& plan, const TensorInfo& output) {
  int64_t last = -1;
  for (const int64_t axis : output.counted_axes) {
    if (axis <= last || axis >= static_cast<int64_t>(output.shape.size())) return "axes are wrong";
    last = axis;
  }
  if (output.counted_axes.empty()) return "";
  const TensorInfo& counts = plan.info().outputs.at(output.count_output);
  if (bytes_of(counts) != Wide{8} * output.counted_axes.size()) return "counts are out of reach";
  return counts.dtype == DType::kInt64 ? "" : "counts are of another dtype";
}

std::string walk_choices(const PlanFile& plan) {
  const PlanInfo& info = plan.info();
  Wide frozen = 0;
  for (const TensorInfo& input : info.frozen) frozen += (bytes_of(input).value() + 63) / 64 * 64;
  if (frozen != plan.frozen_values().size()) return "frozen values are out of reach";
  if (info.exceeded_output && bytes_of(info.outputs.at(*info.exceeded_output)) != Wide{1}) {
    return "what tells of bounds is no bool";
  }
  for (const TensorInfo& output : info.outputs) {
    std::string broken = walk_counts(plan, output);
    if (!broken.empty()) return broken;
  }
  return "";
}

std::string walk_plan(const PlanFile& plan) {
  for (const TensorInfo& input : plan.info().inputs) {
    if (!bytes_of(input)) return "an input is huge";
  }
  for (const TensorInfo& output : plan.info().outputs) {
    if (!bytes_of(output)) return "an output is huge";
  }
  std::string broken_choice = walk_choices(plan);
  if (!broken_choice.empty()) return broken_choice;
  for (const TargetInfo& target : plan.info().targets) {
    std::string broken = walk_target(plan, target);
    if (!broken.empty()) return broken;
  }
  unsigned touched = 0;
  for (const SectionView& section : plan.sections()) {
    for (const std::byte byte : section.bytes) touched += static_cast<unsigned>(byte);
  }
  if (dump_plan(plan).size() + touched == 0) return "a dump is empty";
  if (!diff_plans(plan, plan).empty()) return "a plan differs from itself";
  return "";
}

std::string check_sentence(const std::string& sentence) {
  if (sentence.find("some.plan") == std::string::npos) return "no sentence names the file";
  if (sentence.find('\n') != std::string::npos) return "a sentence has several lines: " + sentence;
  return "";
}

}  // namespace

Probe probe_plan(base::Bytes file) {
  const uint64_t before = camshaft::test::allocated_bytes();
  const auto plan = PlanFile::from_bytes(file, {}, "some.plan");
  const uint64_t allocated = camshaft::test::allocated_bytes() - before;
  Probe probe;
  probe.code = plan.error().code();
  probe.site = plan.error().site();
  if (allocated > 64 * file.size() + 4096) {
    probe.broken_promise = "it allocated " + std::to_string(allocated) + " bytes";
  } else if (plan) {
    probe.broken_promise = walk_plan(*plan);
  } else if (probe.code != Code::kCorrupt && probe.code != Code::kWrongTarget) {
    probe.broken_promise = std::string("it says ") + base::code_name(probe.code);
  } else {
    probe.broken_promise = check_sentence(camshaft::test::last_sentence());
  }
  return probe;
}

}  // namespace camshaft::plan::test
