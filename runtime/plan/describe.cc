// SPDX-License-Identifier: MIT
#include "runtime/plan/describe.h"

#include <algorithm>
#include <map>

#include "runtime/base/element.h"

namespace camshaft::plan {
namespace {

using base::Bytes;

constexpr size_t kMostValues = 8;  // that values_text() prints

std::string number(uint64_t value) {
  return std::to_string(value);
}

std::string to_text(const uint32_t (&size)[3]) {
  return number(size[0]) + " x " + number(size[1]) + " x " + number(size[2]);
}

std::string content(Bytes bytes) {
  return bytes.empty() ? "none" : number(bytes.size()) + " bytes, " + to_hex(checksum(bytes));
}

class Describer {
 public:
  explicit Describer(const PlanFile& plan) : plan_(plan) {}

  std::vector<Item> describe() {
    const PlanInfo& info = plan_.info();
    add("plan",
        {{"format version", number(plan_.header().format_version)},
         {"model", info.model_name},
         {"producer", info.producer},
         {"model digest", info.model_digest},
         {"dtype", info.float_dtype ? base::dtype_name(*info.float_dtype) : ""},
         {"exceeded output", info.exceeded_output ? output_name(*info.exceeded_output) : ""}});
    for (const TensorInfo& input : info.inputs) add_tensor("input ", input);
    for (const TensorInfo& output : info.outputs) add_tensor("output ", output);
    add_choices();
    for (const TargetInfo& target : info.targets) add_target(target);
    for (const Golden& golden : info.goldens) add_golden(golden);
    for (const SectionView& section : plan_.sections()) {
      if (find_section_kind(section.kind) == nullptr) {
        add("section of " + section_kind_name(section.kind), {{"content", content(section.bytes)}});
      }
    }
    return std::move(items_);
  }

 private:
  // Later items of the same name get a number.
  void add(std::string name, std::vector<std::pair<std::string, std::string>> fields) {
    const int count = ++counts_[name];
    if (count > 1) name += " (" + std::to_string(count) + ")";
    items_.push_back({std::move(name), std::move(fields)});
  }

  void add_tensor(const std::string& what, const TensorInfo& tensor) {
    add(what + tensor.name,
        {{"dtype", base::dtype_name(tensor.dtype)},
         {"shape", shape_text(tensor)},
         {"counts", tensor.counted_axes.empty() ? "" : output_name(tensor.count_output)},
         {"unit", tensor.unit}});
    for (const OutputSlice& slice : tensor.slices) {
      add(what + tensor.name + ": slice " + slice.name, {{"offset", number(slice.offset)},
                                                         {"shape", plan::to_text(slice.shape)},
                                                         {"unit", slice.unit}});
    }
  }

  std::string output_name(uint32_t output) const { return plan_.info().outputs[output].name; }

  // What the caller of the compiler decided about the model.
  void add_choices() {
    const std::vector<Bytes> values = frozen_values(plan_);
    for (size_t i = 0; i < values.size(); ++i) {
      const TensorInfo& input = plan_.info().frozen[i];
      add("frozen input " + input.name, {{"dtype", base::dtype_name(input.dtype)},
                                         {"shape", plan::to_text(input.shape)},
                                         {"values", values_text(input.dtype, values[i])},
                                         {"content", content(values[i])}});
    }
    for (const BoundInfo& bound : plan_.info().bounds) {
      add("bound " + bound.name, {{"most", std::to_string(bound.most)}});
    }
  }

  void add_target(const TargetInfo& target) {
    const std::string prefix = "target " + target.target;
    add(prefix, {{"device", target.device},
                 {"architecture", target.arch},
                 {"features", join(target.features, " ")},
                 {"toolchain", target.toolchain},
                 {"binary format", target.binary_format},
                 {"threads", number(target.threads)},
                 {"arena bytes", number(target.arena_bytes)},
                 {"arena lower bound bytes", number(target.arena_lower_bound_bytes)},
                 {"binary", content(plan_.binary(target))},
                 {"weights", content(plan_.weights(target))},
                 {"source", content(plan_.source(target))}});
    for (const CommandInfo& command : target.commands) add_command(prefix, target, command);
    for (const EntryPoint& entry : target.entry_points) {
      add(prefix + ": entry point " + entry.name, {{"first command", number(entry.first_command)},
                                                   {"commands", number(entry.command_count)}});
    }
    for (const StateInfo& state : target.states) {
      add(prefix + ": state " + state.name, {{"bytes", number(state.size_bytes)}});
    }
    for (const DriverBinaryInfo& binary : target.driver_binaries) {
      add(prefix + ": binary for " + binary.driver,
          {{"digest", binary.digest}, {"content", content(plan_.driver_binary(binary))}});
    }
    for (const ArenaBlock& block : target.arena_blocks) {
      add(prefix + ": arena block " + block.name,
          {{"offset", number(block.offset_bytes)},
           {"bytes", number(block.size_bytes)},
           {"lifetime", number(block.first_command) + " to " + number(block.last_command)}});
    }
  }

  void add_command(const std::string& prefix, const TargetInfo& target,
                   const CommandInfo& command) {
    std::vector<std::string> args;
    for (const ArgInfo& arg : command.args) args.push_back(plan::to_text(arg));
    std::vector<std::pair<std::string, std::string>> fields = {{"description", command.description},
                                                               {"arguments", join(args, ", ")}};
    if (command.kind == CommandKind::kLaunch) {
      const KernelInfo& kernel = target.kernels[command.kernel];
      fields.insert(fields.end(), {{"kernel", kernel.symbol},
                                   {"strategy", kernel.strategy},
                                   {"grid", to_text(command.grid)},
                                   {"group", to_text(command.group)},
                                   {"parts", number(command.parts)},
                                   {"flops", number(command.flops)},
                                   {"bytes", number(command.bytes)}});
    }
    const char* kind = command.kind == CommandKind::kCopy ? ": copy " : ": command ";
    add(prefix + kind + command.name, std::move(fields));
  }

  void add_golden(const Golden& golden) {
    add("golden of " + golden.target,
        {{"inputs", content(plan_.golden_inputs(golden))},
         {"outputs", content(plan_.golden_outputs(golden))},
         {"output hash", to_hex(Hash128{golden.output_hash_low, golden.output_hash_high})}});
  }

  const PlanFile& plan_;
  std::vector<Item> items_;
  std::map<std::string, int> counts_;
};

}  // namespace

std::vector<Item> describe_plan(const PlanFile& plan) {
  return Describer(plan).describe();
}

std::string to_text(const std::vector<int64_t>& shape) {
  std::vector<std::string> extents;
  for (const int64_t extent : shape) extents.push_back(std::to_string(extent));
  return "[" + join(extents, ", ") + "]";
}

std::string shape_text(const TensorInfo& tensor) {
  std::vector<std::string> extents;
  for (const int64_t extent : tensor.shape) extents.push_back(std::to_string(extent));
  for (const int64_t axis : tensor.counted_axes) extents[static_cast<size_t>(axis)].insert(0, "<=");
  return "[" + join(extents, ", ") + "]";
}

std::string values_text(DType dtype, Bytes bytes) {
  const auto item_bytes = static_cast<size_t>(base::dtype_size_bytes(dtype));
  const size_t count = bytes.size() / item_bytes;
  std::vector<std::string> values;
  for (size_t i = 0; i < std::min(count, kMostValues); ++i) {
    values.push_back(base::element_text(dtype, bytes.data(), i));
  }
  if (count > kMostValues) values.push_back("...");
  return join(values, ", ");
}

std::vector<Bytes> frozen_values(const PlanFile& plan) {
  std::vector<Bytes> values;
  uint64_t offset = 0;
  for (const TensorInfo& input : plan.info().frozen) {
    values.push_back(base::slice(plan.frozen_values(), offset, input.size_bytes()));
    offset += base::align_up(input.size_bytes(), kBufferAlignment);
  }
  return values;
}

const char* space_name(Space space) {
  switch (space) {
    case Space::kArena:
      return "arena";
    case Space::kWeights:
      return "weights";
    case Space::kInput:
      return "input";
    case Space::kOutput:
      return "output";
    case Space::kState:
      return "state";
  }
  return "?";
}

std::string to_text(const ArgInfo& arg) {
  std::string text = space_name(arg.space);
  if (arg.space != Space::kArena && arg.space != Space::kWeights) text += " " + number(arg.index);
  if (arg.offset_bytes != 0) text += " + " + number(arg.offset_bytes);
  text += ": " + number(arg.size_bytes) + " bytes";
  if (!arg.image.is_image()) return text;
  return text + ", " + base::dtype_name(arg.image.dtype) + " image " + number(arg.image.width) +
         "x" + number(arg.image.height);
}

std::string join(const std::vector<std::string>& words, const char* separator) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) text += (i == 0 ? "" : separator) + words[i];
  return text;
}

}  // namespace camshaft::plan
