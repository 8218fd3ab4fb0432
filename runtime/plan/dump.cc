// SPDX-License-Identifier: MIT
#include "runtime/plan/dump.h"

#include <cinttypes>
#include <cstdarg>
#include <cstdio>

#include "runtime/plan/describe.h"

namespace camshaft::plan {
namespace {

__attribute__((format(printf, 2, 3))) void append(std::string& text, const char* format, ...) {
  char stack[256];
  va_list args;
  va_list again;
  va_start(args, format);
  va_copy(again, args);
  const int length = std::vsnprintf(stack, sizeof stack, format, args);
  va_end(args);
  if (length < static_cast<int>(sizeof stack)) {
    text += stack;
  } else {
    std::string longer(static_cast<size_t>(length) + 1, '\0');
    std::vsnprintf(longer.data(), longer.size(), format, again);
    longer.pop_back();
    text += longer;
  }
  va_end(again);
}

void dump_head(const PlanFile& plan, std::string& text) {
  const PlanInfo& info = plan.info();
  append(text, "plan      format version %u, %" PRIu64 " bytes, %s\n", plan.header().format_version,
         plan.file_bytes(),
         plan.signer() ? ("signed by " + to_hex(std::as_bytes(std::span(*plan.signer())))).c_str()
                       : "not signed");
  append(text, "model     %s\n", info.model_name.c_str());
  append(text, "digest    %s\n", info.model_digest.c_str());
  append(text, "producer  %s\n", info.producer.c_str());
}

std::string unit_text(const std::string& unit) {
  return unit.empty() ? "" : "  in " + unit;
}

void dump_tensors(const char* what, const std::vector<TensorInfo>& tensors, std::string& text) {
  append(text, "\n%ss\n", what);
  for (const TensorInfo& tensor : tensors) {
    append(text, "  %-24s %-5s %-24s %12" PRIu64 " bytes%s\n", tensor.name.c_str(),
           base::dtype_name(tensor.dtype), to_text(tensor.shape).c_str(), tensor.size_bytes(),
           unit_text(tensor.unit).c_str());
    for (const OutputSlice& slice : tensor.slices) {
      append(text, "    .%-21s from  %-8" PRIu64 " %s%s\n", slice.name.c_str(), slice.offset,
             to_text(slice.shape).c_str(), unit_text(slice.unit).c_str());
    }
  }
}

void dump_target(const TargetInfo& target, std::string& text) {
  uint64_t flops = 0;
  for (const CommandInfo& command : target.commands) flops += command.flops;
  append(text, "\ntarget %s\n", target.target.c_str());
  append(text, "  device       %s, %s %s\n", target.device.c_str(), target.arch.c_str(),
         join(target.features, " ").c_str());
  append(text, "  toolchain    %s, %s\n", target.toolchain.c_str(), target.binary_format.c_str());
  append(text, "  commands     %zu, of %zu kernels, %" PRIu64 " FLOP, threads: %u\n",
         target.commands.size(), target.kernels.size(), flops, target.threads);
  append(text, "  arena        %" PRIu64 " bytes (at least %" PRIu64 " live at once)\n",
         target.arena_bytes, target.arena_lower_bound_bytes);
  append(text, "  sections     binary %u, weights %u, source %u\n", target.binary_section,
         target.weights_section, target.source_section);
  for (const EntryPoint& entry : target.entry_points) {
    append(text, "  entry point  %s: %u commands from %u\n", entry.name.c_str(),
           entry.command_count, entry.first_command);
  }
  for (const StateInfo& state : target.states) {
    append(text, "  state        %s: %" PRIu64 " bytes\n", state.name.c_str(), state.size_bytes);
  }
}

void dump_goldens(const PlanInfo& info, std::string& text) {
  if (info.goldens.empty()) return;
  append(text, "\ngoldens\n");
  for (const Golden& golden : info.goldens) {
    append(text, "  %-24s sections %u and %u, output hash %s\n", golden.target.c_str(),
           golden.inputs_section, golden.outputs_section,
           to_hex(Hash128{golden.output_hash_low, golden.output_hash_high}).c_str());
  }
}

void dump_sections(const PlanFile& plan, std::string& text) {
  append(text, "\nsections\n");
  for (size_t i = 0; i < plan.sections().size(); ++i) {
    const SectionView& section = plan.sections()[i];
    append(text, "  %2zu  %-14s %-8s at %12" PRIu64 " %12zu bytes  %s\n", i,
           section_kind_name(section.kind).c_str(),
           (section.flags & kSectionRequired) != 0 ? "required" : "optional", section.offset,
           section.bytes.size(), to_hex(section.hash).c_str());
  }
}

}  // namespace

std::string dump_plan(const PlanFile& plan) {
  std::string text;
  dump_head(plan, text);
  dump_tensors("input", plan.info().inputs, text);
  dump_tensors("output", plan.info().outputs, text);
  for (const TargetInfo& target : plan.info().targets) dump_target(target, text);
  dump_goldens(plan.info(), text);
  dump_sections(plan, text);
  return text;
}

}  // namespace camshaft::plan
