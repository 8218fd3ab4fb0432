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
  if (info.float_dtype) append(text, "dtype     %s\n", base::dtype_name(*info.float_dtype));
}

std::string unit_text(const std::string& unit) {
  return unit.empty() ? "" : "  in " + unit;
}

// What an output is for that the model doesn't have.
std::string purpose_text(const PlanInfo& info, size_t output) {
  if (info.exceeded_output == output)
    return "  whether a bound was too small, or extents did not fit";
  std::string counted;
  for (const TensorInfo& other : info.outputs) {
    if (other.counted_axes.empty() || other.count_output != output) continue;
    counted += (counted.empty() ? "  how long is " : ", ") + other.name;
  }
  return counted;
}

void dump_tensors(const PlanInfo& info, const char* what, const std::vector<TensorInfo>& tensors,
                  std::string& text) {
  append(text, "\n%ss\n", what);
  for (const TensorInfo& tensor : tensors) {
    const std::string purpose =
        &tensors == &info.outputs
            ? purpose_text(info, static_cast<size_t>(&tensor - tensors.data()))
            : "";
    append(text, "  %-24s %-5s %-24s %12" PRIu64 " bytes%s%s\n", tensor.name.c_str(),
           base::dtype_name(tensor.dtype), shape_text(tensor).c_str(), tensor.size_bytes(),
           unit_text(tensor.unit).c_str(), purpose.c_str());
    for (const OutputSlice& slice : tensor.slices) {
      append(text, "    .%-21s from  %-8" PRIu64 " %s%s\n", slice.name.c_str(), slice.offset,
             to_text(slice.shape).c_str(), unit_text(slice.unit).c_str());
    }
  }
}

void dump_choices(const PlanFile& plan, std::string& text) {
  const std::vector<base::Bytes> values = frozen_values(plan);
  if (!values.empty()) append(text, "\nfrozen inputs\n");
  for (size_t i = 0; i < values.size(); ++i) {
    const TensorInfo& input = plan.info().frozen[i];
    append(text, "  %-24s %-5s %-24s = %s\n", input.name.c_str(), base::dtype_name(input.dtype),
           to_text(input.shape).c_str(), values_text(input.dtype, values[i]).c_str());
  }
  if (!plan.info().bounds.empty()) append(text, "\nbounds\n");
  for (const BoundInfo& bound : plan.info().bounds) {
    append(text, "  %-24s %" PRId64 "\n", bound.name.c_str(), bound.most);
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
  if (const ImageSummary images = summarize_images(target); images.count > 0) {
    append(text,
           "  images       %zu of %" PRIu64 " bytes, up to %u columns and %u rows of texels\n",
           images.count, images.size_bytes, images.width, images.height);
  }
  append(text, "  sections     binary %u, weights %u, source %u\n", target.binary_section,
         target.weights_section, target.source_section);
  for (const EntryPoint& entry : target.entry_points) {
    append(text, "  entry point  %s: %u commands from %u\n", entry.name.c_str(),
           entry.command_count, entry.first_command);
  }
  for (const DriverBinaryInfo& binary : target.driver_binaries) {
    append(text, "  driver       %s: section %u, made from %s\n", binary.driver.c_str(),
           binary.section, binary.digest.c_str());
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

std::string dump_plan(const PlanFile& plan, const TargetInfo* only) {
  const PlanInfo& info = plan.info();
  std::string text;
  dump_head(plan, text);
  dump_tensors(info, "input", info.inputs, text);
  dump_tensors(info, "output", info.outputs, text);
  dump_choices(plan, text);
  for (const TargetInfo& target : info.targets) {
    if (only == nullptr || only == &target) dump_target(target, text);
  }
  dump_goldens(plan.info(), text);
  dump_sections(plan, text);
  return text;
}

}  // namespace camshaft::plan
