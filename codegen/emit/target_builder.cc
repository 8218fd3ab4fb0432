// SPDX-License-Identifier: MIT
#include "codegen/emit/target_builder.h"

#include <zstd.h>

#include <algorithm>
#include <utility>

#include "codegen/emit/plan_text.h"
#include "codegen/ir/kernel_passes.h"
#include "codegen/passes/passes.h"

namespace camshaft::emit {
namespace {

using schedule::BufferKind;

// Work below which a launch is not split: waking a thread costs about as much.
constexpr int64_t kFlopsPerPart = 100'000;
constexpr int64_t kBytesPerPart = 64 << 10;
constexpr int kSourceCompression = 9;

uint32_t choose_parts(int threads, int64_t extent, int64_t flops, int64_t bytes) {
  const int64_t by_work = std::max(flops / kFlopsPerPart, bytes / kBytesPerPart);
  return static_cast<uint32_t>(
      std::max<int64_t>(1, std::min({static_cast<int64_t>(threads), extent, by_work})));
}

schedule::ScheduleOptions schedule_options(const ir::Graph& graph, const render::CpuTarget& target,
                                           const CompileOptions& options) {
  schedule::ScheduleOptions result;
  result.max_channel_block = target.lanes(ir::DType::kFloat32);
  // Rows of a matrix of bf16 are twice as wide.
  if (target.matrices && options.float_dtype == ir::DType::kBFloat16) result.max_channel_block *= 2;
  result.fuse = options.fuse;
  if (options.fuse) {
    result.joins = [&](const schedule::Schedule& schedule, const schedule::Region& joined) {
      return lower::pays_to_join({schedule, joined, target, options.threads});
    };
  }
  const bool has_images =
      options.images == Images::kOn || (options.images == Images::kAuto && target.prefers_images);
  if (target.is_gpu && has_images) {
    result.image_limit = options.image_limit;
    result.max_channel_block = base::kTexelElements;
  }
  for (size_t i = 0; i < graph.inputs.size() && target.is_gpu; ++i) {
    if (options.image_inputs.contains(graph.inputs[i].name)) {
      result.image_inputs.insert(static_cast<int32_t>(i));
    }
  }
  return result;
}

// As the target computes it.
ir::Graph target_graph(const ir::Graph& graph, const render::CpuTarget& target) {
  const int32_t lanes = target.lanes(ir::DType::kInt32);
  const render::DotForm form = render::dot_form(target, lanes);
  if (form == render::DotForm::kNone) return graph;
  // Several instructions a product are no faster than floats.
  const bool is_fast = form == render::DotForm::kVnni || form == render::DotForm::kUsdot;
  const ir::Graph integers = is_fast ? passes::quantized_products(graph) : graph;
  return passes::merge_common_subexpressions(passes::byte_products(integers));
}

base::Status check_arena(const plan::TargetInfo& info) {
  if (info.arena_bytes <= plan::kMaxBufferBytes) return base::ok();
  constexpr uint64_t kGib = uint64_t{1} << 30;
  return base::fail(base::Code::kUnsupported, "emit.arena",
                    "the values between the kernels of %s take %llu GiB at once, and a plan can "
                    "have %llu; compile for smaller inputs (--shape) or bounds (--bound)",
                    info.target.c_str(), static_cast<unsigned long long>(info.arena_bytes / kGib),
                    static_cast<unsigned long long>(plan::kMaxBufferBytes / kGib));
}

base::Result<std::vector<std::byte>> compress(const std::string& text) {
  std::vector<std::byte> bytes(ZSTD_compressBound(text.size()));
  const size_t size =
      ZSTD_compress(bytes.data(), bytes.size(), text.data(), text.size(), kSourceCompression);
  if (ZSTD_isError(size)) {
    return base::fail(base::Code::kInternal, "emit.compress", "zstd: %s", ZSTD_getErrorName(size));
  }
  bytes.resize(size);
  return bytes;
}

plan::ImageShape plan_image(const ir::ImageShape& image, ir::DType dtype) {
  if (image.width == 0) return {};
  plan::ImageShape result = {.dtype = dtype,
                             .width = static_cast<uint32_t>(image.width),
                             .height = static_cast<uint32_t>(image.height)};
  result.row_pitch_bytes = static_cast<uint64_t>(image.pitch) * result.texel_bytes();
  return result;
}

}  // namespace

TargetBuilder::TargetBuilder(const ir::Graph& graph, render::CpuTarget target,
                             const CompileOptions& options)
    : target_(std::move(target)),
      options_(options),
      schedule_(schedule::make_schedule(target_graph(graph, target_),
                                        schedule_options(graph, target_, options))) {
  // Whatever such a plan computes may be as exact as its dtype.
  if (options.float_dtype == ir::DType::kBFloat16) target_.math.rounds_wide = false;
}

base::Status TargetBuilder::build(plan::PlanContents& contents, TargetReport& report) {
  CAMSHAFT_TRY(schedule::verify_schedule(schedule_));
  if (options_.dump) options_.dump("schedule", schedule::print_schedule(schedule_));
  const render::TargetNames names = render::target_names(target_);
  info_.target = names.target;
  info_.device = names.device;
  info_.arch = names.arch;
  CAMSHAFT_TRY_ASSIGN(info_.toolchain, render::toolchain_version(target_));
  lower_regions();
  CAMSHAFT_TRY(check_arena(info_));
  info_.features = render::needed_features(kernels_, target_);
  CAMSHAFT_TRY(schedule::verify_schedule(schedule_));
  add_arena_blocks();
  info_.entry_points.push_back({"run", 0, static_cast<uint32_t>(info_.commands.size())});
  CAMSHAFT_TRY(add_sections(contents));
  fill_report(report);
  contents.info.targets.push_back(std::move(info_));
  return base::ok();
}

lower::LoweredKernel TargetBuilder::lower(const lower::Task& task) const {
  if (options_.choose) {
    const std::optional<tune::Choice> choice = options_.choose(info_.target, task);
    if (choice) return lower::find_strategy(choice->strategy)->emit(task, choice->knobs);
  }
  const lower::Strategy* forced = lower::find_strategy(options_.force_strategy);
  if (forced == nullptr || !forced->matches(task)) return lower::lower_region(task);
  return forced->emit(task, forced->knobs(task).front());
}

// As it is rendered; nothing where it can't store its output as an image.
std::optional<ir::Kernel> TargetBuilder::prepare(ir::Kernel kernel) const {
  kernel = ir::prepare_kernel(std::move(kernel), target_.lanes(ir::DType::kFloat32), target_.math);
  if (!ir::has_images(kernel)) return kernel;
  return ir::access_texels(std::move(kernel));
}

// Memory is planned again once it is known which kernels need scratch.
void TargetBuilder::lower_regions() {
  std::vector<lower::LoweredKernel> lowered(schedule_.regions.size());
  for (size_t r = 0; r < lowered.size(); ++r) {
    const lower::Task task = task_of(schedule_.regions[r]);
    if (task.type(task.region.output).elements() == 0) continue;  // nothing to compute
    lowered[r] = lower(task);
    if (task.is_image(task.region.output) && !prepare(lowered[r].kernel)) {
      schedule::take_as_buffer(schedule_, task.region.output);
      lowered[r] = lower(task);
    }
    for (const lower::Argument& argument : lowered[r].arguments) {
      if (argument.scratch_bytes == 0) continue;
      scratch_buffers_.push_back(
          schedule::add_scratch(schedule_, static_cast<int32_t>(r), argument.scratch_bytes));
    }
  }
  schedule::plan_memory(schedule_);
  info_.arena_bytes = static_cast<uint64_t>(schedule_.arena_bytes);
  info_.arena_lower_bound_bytes = static_cast<uint64_t>(schedule_.arena_lower_bound_bytes);
  for (size_t r = 0; r < lowered.size(); ++r) {
    command_of_region_.push_back(static_cast<uint32_t>(info_.commands.size()));
    if (lowered[r].arguments.empty()) continue;
    add_command(task_of(schedule_.regions[r]), std::move(lowered[r]));
  }
}

lower::Task TargetBuilder::task_of(const schedule::Region& region) const {
  return {schedule_, region, target_, options_.threads};
}

void TargetBuilder::add_command(const lower::Task& task, lower::LoweredKernel lowered) {
  plan::CommandInfo command;
  command.name = plan_text(task.region.name);
  command.description = plan_text(lower::region_description(task));
  command.flops = static_cast<uint64_t>(lower::region_flops(task));
  command.bytes = static_cast<uint64_t>(lower::region_bytes(task));
  for (const lower::Argument& parameter : lowered.arguments) {
    const auto number = static_cast<ir::ArrayId>(command.args.size());
    command.args.push_back(argument(parameter, lowered.kernel, number));
  }
  winograd_error_ = std::max(winograd_error_, lowered.relative_error);
  const int64_t extent = std::max<int64_t>(lowered.kernel.thread_extent, 1);
  command.grid[0] = static_cast<uint32_t>(extent);
  command.group[0] = static_cast<uint32_t>(std::max<int64_t>(ir::group_items(lowered.kernel), 1));
  command.parts =
      choose_parts(target_.is_gpu ? 1 : options_.threads, extent,
                   static_cast<int64_t>(command.flops), static_cast<int64_t>(command.bytes));
  info_.threads = std::max(info_.threads, command.parts);
  std::optional<ir::Kernel> kernel = prepare(std::move(lowered.kernel));
  CAMSHAFT_CHECK(kernel.has_value());
  command.kernel = kernel_number(*std::move(kernel), lowered);
  info_.commands.push_back(std::move(command));
}

// Regions that lower to the same text share one kernel.
uint32_t TargetBuilder::kernel_number(ir::Kernel kernel, const lower::LoweredKernel& lowered) {
  kernel.name.clear();
  const std::string text = ir::print_kernel(kernel);
  const auto number = static_cast<uint32_t>(kernels_.size());
  const auto [found, is_new] = kernel_by_text_.insert({text, number});
  if (!is_new) return found->second;
  char name[96];
  std::snprintf(name, sizeof name, "k%03u_%s_f32_%s", number, lowered.strategy.c_str(),
                lower::to_string(lowered.knobs).c_str());
  kernel.name = name;
  info_.kernels.push_back({name, lowered.strategy});
  kernels_.push_back(std::move(kernel));
  return number;
}

plan::ArgInfo TargetBuilder::argument(const lower::Argument& parameter, const ir::Kernel& kernel,
                                      ir::ArrayId array_number) {
  plan::ArgInfo info;
  if (parameter.scratch_bytes > 0) {
    const int32_t number = scratch_buffers_[next_scratch_++];
    const schedule::BufferInfo& buffer = schedule_.buffers[static_cast<size_t>(number)];
    info.space = plan::Space::kArena;
    info.offset_bytes = static_cast<uint64_t>(buffer.offset_bytes);
    info.size_bytes = static_cast<uint64_t>(buffer.size_bytes);
    return info;
  }
  if (parameter.value == ir::kNoNode) {
    info.space = plan::Space::kWeights;
    const ir::Array& array = kernel.array(array_number);
    info.offset_bytes = weights_.add(
        parameter.constant, array.is_image() ? schedule::kImageAlignment : plan::kBufferAlignment);
    info.size_bytes = parameter.constant.size();
    info.image = plan_image(array.image, array.dtype);
    return info;
  }
  const schedule::BufferInfo& buffer = schedule_.buffer(parameter.value);
  info.offset_bytes = static_cast<uint64_t>(buffer.offset_bytes);
  info.size_bytes = static_cast<uint64_t>(buffer.size_bytes);
  info.image = plan_image(buffer.image, schedule_.type(parameter.value).dtype);
  if (info.size_bytes == 0) {  // never touched: any place will do
    info.space = plan::Space::kWeights;
    info.offset_bytes = weights_.add(std::vector<std::byte>(plan::kBufferAlignment));
    return info;
  }
  switch (buffer.kind) {
    case BufferKind::kInput:
      info.space = plan::Space::kInput;
      info.index = static_cast<uint32_t>(buffer.io_index);
      break;
    case BufferKind::kOutput:
      info.space = plan::Space::kOutput;
      info.index = static_cast<uint32_t>(buffer.io_index);
      break;
    case BufferKind::kConstant: {
      info.space = plan::Space::kWeights;
      const ir::Node& node = schedule_.graph.node(parameter.value);
      info.offset_bytes += weights_.add(node.as<ir::ConstantAttrs>().literal->bytes);
      break;
    }
    case BufferKind::kArena:
      info.space = plan::Space::kArena;
      break;
  }
  return info;
}

std::string TargetBuilder::block_name(const schedule::BufferInfo& buffer) const {
  if (buffer.value == ir::kNoNode) {
    const schedule::Region& region = schedule_.regions[static_cast<size_t>(buffer.first_region)];
    return "scratch of " + plan_text(region.name);
  }
  const std::string& name = schedule_.graph.node(buffer.value).name;
  return name.empty() ? "%" + std::to_string(buffer.value) : plan_text(name);
}

// A region without elements has no command: what it would read is needed up to the one before.
uint32_t TargetBuilder::last_command(size_t region) const {
  const uint32_t command = command_of_region_[region];
  const uint32_t next = region + 1 < command_of_region_.size()
                            ? command_of_region_[region + 1]
                            : static_cast<uint32_t>(info_.commands.size());
  return command < next || command == 0 ? command : command - 1;
}

void TargetBuilder::add_arena_blocks() {
  for (const schedule::BufferInfo& buffer : schedule_.buffers) {
    if (buffer.kind != BufferKind::kArena || buffer.part_of >= 0 || buffer.size_bytes == 0) {
      continue;
    }
    plan::ArenaBlock block;
    block.name = block_name(buffer);
    block.offset_bytes = static_cast<uint64_t>(buffer.offset_bytes);
    block.size_bytes = static_cast<uint64_t>(buffer.size_bytes);
    block.first_command = command_of_region_[static_cast<size_t>(buffer.first_region)];
    block.last_command = last_command(static_cast<size_t>(buffer.last_region));
    info_.arena_blocks.push_back(block);
  }
}

// Targets of one kind of layout have the same weights: they share the section.
uint32_t TargetBuilder::add_shared_section(plan::PlanContents& contents, plan::SectionKind kind,
                                           std::vector<std::byte> bytes) {
  for (size_t i = 0; i < contents.sections.size(); ++i) {
    const plan::SectionContents& section = contents.sections[i];
    if (section.kind == kind && section.bytes == bytes) return static_cast<uint32_t>(i + 1);
  }
  return contents.add_section(kind, std::move(bytes));
}

base::Status TargetBuilder::add_sections(plan::PlanContents& contents) {
  if (!kernels_.empty()) {
    CAMSHAFT_TRY_ASSIGN(render::Program program, render::compile_program(kernels_, target_));
    binary_bytes_ = static_cast<int64_t>(program.bytes.size());
    info_.binary_format = program.format;
    info_.binary_section =
        contents.add_section(plan::SectionKind::kBinary, std::move(program.bytes));
  }
  weight_bytes_ = weights_.size_bytes();
  if (weight_bytes_ > 0) {
    info_.weights_section =
        add_shared_section(contents, plan::SectionKind::kWeights, weights_.take());
  }
  if (options_.keep_source) {
    CAMSHAFT_TRY_ASSIGN(const std::string source, render::render_source(kernels_, target_));
    CAMSHAFT_TRY_ASSIGN(std::vector<std::byte> compressed, compress(source));
    info_.source_section =
        add_shared_section(contents, plan::SectionKind::kSource, std::move(compressed));
  }
  return base::ok();
}

void TargetBuilder::fill_report(TargetReport& report) const {
  report.target = info_.target;
  report.nodes = schedule_.graph.size();
  report.regions = static_cast<int>(info_.commands.size());
  report.kernels = static_cast<int>(kernels_.size());
  for (const plan::CommandInfo& command : info_.commands) {
    ++report.strategies[info_.kernels[command.kernel].strategy];
    report.flops += static_cast<int64_t>(command.flops);
  }
  report.arena_bytes = schedule_.arena_bytes;
  report.arena_lower_bound_bytes = schedule_.arena_lower_bound_bytes;
  report.weight_bytes = weight_bytes_;
  report.binary_bytes = binary_bytes_;
  report.winograd_error = winograd_error_;
  const bool has_matrices = target_.matrices && options_.float_dtype == ir::DType::kBFloat16;
  report.only_stores_dtype =
      options_.float_dtype != ir::DType::kFloat32 && !target_.is_gpu && !has_matrices;
}

}  // namespace camshaft::emit
