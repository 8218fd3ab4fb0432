// SPDX-License-Identifier: MIT
// The rules of verify.h for one target: sections, arena, kernels, commands, entry points.
#include <algorithm>
#include <map>
#include <optional>

#include "runtime/base/bytes.h"
#include "runtime/plan/checker.h"

namespace camshaft::plan {
namespace {

using base::range_fits;

// An arena may be rounded up to whole pages, but not claim more than is used.
constexpr uint64_t kArenaSlackBytes = 4096;

unsigned long long to_ull(uint64_t value) {
  return value;
}

class TargetChecker {
 public:
  TargetChecker(Checker& checker, const PlanInfo& info, std::span<const SectionShape> sections,
                const TargetInfo& target)
      : checker_(checker),
        info_(info),
        sections_(sections),
        target_(target),
        where_("target " + target.target) {}

  bool check() {
    return check_texts() && check_sections() && check_sizes() && check_kernels() &&
           check_states() && check_commands() && check_entry_points() && check_arena_blocks() &&
           check_arena_is_used();
  }

 private:
  bool check_texts() {
    for (const std::string& feature : target_.features) {
      if (!checker_.expect_name("a feature of " + where_, feature, "name")) return false;
    }
    for (const DriverBinaryInfo& binary : target_.driver_binaries) {
      const std::string owner = "a driver's binary of " + where_;
      if (!checker_.expect_name(owner, binary.driver, "driver") ||
          !checker_.expect_name(owner, binary.digest, "digest")) {
        return false;
      }
    }
    return checker_.expect_name(where_, target_.device, "device") &&
           checker_.expect_printable(where_, target_.arch, "architecture") &&
           checker_.expect_printable(where_, target_.toolchain, "toolchain") &&
           checker_.expect_printable(where_, target_.binary_format, "binary format");
  }

  // `index` 0 says that there is none.
  bool check_optional_section(uint32_t index, SectionKind kind) {
    return index == 0 || check_section(checker_, where_, sections_, index, kind);
  }

  bool check_sections() {
    for (const DriverBinaryInfo& binary : target_.driver_binaries) {
      if (!check_section(checker_, where_, sections_, binary.section, SectionKind::kDriverBinary)) {
        return false;
      }
    }
    return checker_.expect(target_.binary_section != 0 || target_.kernels.empty(),
                           "plan.section_index", "%.120s has kernels but no binary",
                           where_.c_str()) &&
           check_optional_section(target_.binary_section, SectionKind::kBinary) &&
           check_optional_section(target_.weights_section, SectionKind::kWeights) &&
           check_optional_section(target_.source_section, SectionKind::kSource);
  }

  bool check_sizes() {
    return checker_.expect(target_.threads >= 1 && target_.threads <= kMaxThreads, "plan.threads",
                           "%.120s wants %u threads", where_.c_str(), target_.threads) &&
           checker_.expect(target_.arena_bytes <= kMaxBufferBytes, "plan.arena",
                           "%.120s wants an arena of %llu bytes", where_.c_str(),
                           to_ull(target_.arena_bytes)) &&
           checker_.expect(target_.arena_lower_bound_bytes <= target_.arena_bytes, "plan.arena",
                           "the arena of %.120s is smaller than its lower bound", where_.c_str());
  }

  bool check_kernels() {
    for (const KernelInfo& kernel : target_.kernels) {
      if (!checker_.expect_name("a kernel of " + where_, kernel.symbol, "symbol") ||
          !checker_.expect_printable("kernel " + kernel.symbol, kernel.strategy, "strategy")) {
        return false;
      }
    }
    return true;
  }

  bool check_states() {
    if (!checker_.expect_names("state of " + where_, target_.states)) return false;
    for (const StateInfo& state : target_.states) {
      if (!checker_.expect(state.size_bytes >= 1 && state.size_bytes <= kMaxBufferBytes,
                           "plan.state", "state %.80s of %.80s has %llu bytes", state.name.c_str(),
                           where_.c_str(), to_ull(state.size_bytes))) {
        return false;
      }
    }
    return true;
  }

  bool check_commands() {
    for (size_t i = 0; i < target_.commands.size(); ++i) {
      const CommandInfo& command = target_.commands[i];
      const std::string owner = "command " + std::to_string(i) + " of " + where_;
      if (!checker_.expect_printable(owner, command.name, "name") ||
          !checker_.expect_printable(owner, command.description, "description") ||
          !check_command(owner, command)) {
        return false;
      }
    }
    return true;
  }

  bool check_command(const std::string& owner, const CommandInfo& command) {
    for (const ArgInfo& arg : command.args) {
      if (!check_arg(owner, arg) || !check_image(owner, command, arg)) return false;
    }
    switch (command.kind) {
      case CommandKind::kLaunch:
        return check_launch(owner, command);
      case CommandKind::kCopy:
        return check_copy(owner, command);
    }
    return checker_.expect(false, "plan.command", "%.120s is of the unknown kind %d", owner.c_str(),
                           static_cast<int>(command.kind));
  }

  bool check_image(const std::string& owner, const CommandInfo& command, const ArgInfo& arg) {
    const ImageShape& image = arg.image;
    if (arg.space == Space::kInput && !check_input_use(owner, arg)) return false;
    if (image == ImageShape()) return true;
    const bool has_space =
        arg.space == Space::kArena || arg.space == Space::kWeights || arg.space == Space::kInput;
    const bool is_input_whole =
        arg.space != Space::kInput ||
        (arg.offset_bytes == 0 && image.dtype == info_.inputs[arg.index].dtype &&
         arg.size_bytes == info_.inputs[arg.index].size_bytes());
    return checker_.expect(command.kind == CommandKind::kLaunch && has_space, "plan.image",
                           "%.120s uses memory as an image that can't be one", owner.c_str()) &&
           checker_.expect(base::is_image_dtype(image.dtype) && image.is_image() &&
                               image.width <= kMaxImageExtent && image.height >= 1 &&
                               image.height <= kMaxImageExtent &&
                               image.row_pitch_bytes ==
                                   image_row_pitch_bytes(arg.space, image.dtype, image.width) &&
                               image.size_bytes() == arg.size_bytes,
                           "plan.image", "%.120s has an impossible image of %u x %u texels",
                           owner.c_str(), image.width, image.height) &&
           checker_.expect(is_input_whole, "plan.image",
                           "%.120s has an image of something else than the whole input",
                           owner.c_str());
  }

  // All commands see an input in the same way.
  bool check_input_use(const std::string& owner, const ArgInfo& arg) {
    const auto [first, is_new] = input_images_.try_emplace(arg.index, arg.image);
    return checker_.expect(is_new || first->second == arg.image, "plan.image",
                           "%.120s uses input %u in another way than a command before",
                           owner.c_str(), arg.index);
  }

  bool check_launch(const std::string& owner, const CommandInfo& command) {
    std::optional<uint64_t> items = 1;
    for (int axis = 0; axis < 3; ++axis) {
      if (items) items = base::checked_mul(*items, command.grid[axis]);
      if (items) items = base::checked_mul(*items, command.group[axis]);
    }
    return checker_.expect(command.kernel < target_.kernels.size(), "plan.kernel_index",
                           "%.120s uses kernel %u of %zu", owner.c_str(), command.kernel,
                           target_.kernels.size()) &&
           checker_.expect(items && *items >= 1, "plan.grid",
                           "%.120s has an impossible launch size", owner.c_str()) &&
           checker_.expect(command.parts >= 1 && command.parts <= target_.threads, "plan.parts",
                           "%.120s has %u parts for %u threads", owner.c_str(), command.parts,
                           target_.threads);
  }

  bool check_copy(const std::string& owner, const CommandInfo& command) {
    if (!checker_.expect(command.args.size() == 2 && command.kernel == 0, "plan.copy",
                         "%.120s is a copy with %zu arguments and kernel %u", owner.c_str(),
                         command.args.size(), command.kernel)) {
      return false;
    }
    const ArgInfo& source = command.args[0];
    const ArgInfo& destination = command.args[1];
    const bool is_writable =
        destination.space != Space::kWeights && destination.space != Space::kInput;
    const bool is_same_memory =
        source.space == destination.space && source.index == destination.index;
    const bool is_apart = source.offset_bytes + source.size_bytes <= destination.offset_bytes ||
                          destination.offset_bytes + destination.size_bytes <= source.offset_bytes;
    return checker_.expect(source.size_bytes == destination.size_bytes, "plan.copy",
                           "%.120s copies between two sizes", owner.c_str()) &&
           checker_.expect(is_writable, "plan.copy", "%.120s copies into read-only memory",
                           owner.c_str()) &&
           checker_.expect(!is_same_memory || is_apart, "plan.copy",
                           "%.120s copies memory onto itself", owner.c_str());
  }

  // Size of the memory that an argument is in, or nothing if there is none such.
  std::optional<uint64_t> find_extent(const ArgInfo& arg) const {
    const uint32_t weights = target_.weights_section;
    switch (arg.space) {
      case Space::kArena:
        if (arg.index == 0) return target_.arena_bytes;
        break;
      case Space::kWeights:
        if (arg.index == 0) return weights == 0 ? 0 : sections_[weights].size_bytes;
        break;
      case Space::kInput:
        if (arg.index < info_.inputs.size()) return info_.inputs[arg.index].size_bytes();
        break;
      case Space::kOutput:
        if (arg.index < info_.outputs.size()) return info_.outputs[arg.index].size_bytes();
        break;
      case Space::kState:
        if (arg.index < target_.states.size()) return target_.states[arg.index].size_bytes;
        break;
    }
    return std::nullopt;
  }

  bool check_arg(const std::string& owner, const ArgInfo& arg) {
    const std::optional<uint64_t> extent = find_extent(arg);
    if (!checker_.expect(extent.has_value(), "plan.arg",
                         "%.120s has an argument in space %d, index %u", owner.c_str(),
                         static_cast<int>(arg.space), arg.index) ||
        !checker_.expect(range_fits(arg.offset_bytes, arg.size_bytes, *extent), "plan.arg",
                         "%.120s reaches %llu + %llu bytes into %llu", owner.c_str(),
                         to_ull(arg.offset_bytes), to_ull(arg.size_bytes), to_ull(*extent)) ||
        !checker_.expect(base::is_aligned(arg.offset_bytes, kBufferAlignment), "plan.arg",
                         "%.120s has an argument at the unaligned offset %llu", owner.c_str(),
                         to_ull(arg.offset_bytes))) {
      return false;
    }
    if (arg.space == Space::kArena) {
      arena_used_ = std::max(arena_used_, arg.offset_bytes + arg.size_bytes);
    }
    return true;
  }

  bool check_entry_points() {
    if (!checker_.expect_names("entry point of " + where_, target_.entry_points)) return false;
    bool has_run = false;
    for (const EntryPoint& entry : target_.entry_points) {
      has_run = has_run || entry.name == "run";
      if (!checker_.expect(
              range_fits(entry.first_command, entry.command_count, target_.commands.size()),
              "plan.entry_point", "entry point %.80s of %.80s has commands %u + %u of %zu",
              entry.name.c_str(), where_.c_str(), entry.first_command, entry.command_count,
              target_.commands.size())) {
        return false;
      }
    }
    return checker_.expect(has_run, "plan.entry_point", "%.120s has no entry point named run",
                           where_.c_str());
  }

  bool check_arena_blocks() {
    for (const ArenaBlock& block : target_.arena_blocks) {
      const std::string owner = "arena block " + block.name + " of " + where_;
      if (!checker_.expect_printable("an arena block of " + where_, block.name, "name") ||
          !checker_.expect(range_fits(block.offset_bytes, block.size_bytes, target_.arena_bytes),
                           "plan.arena_block", "%.120s is outside the arena", owner.c_str()) ||
          !checker_.expect(block.first_command <= block.last_command &&
                               block.last_command < target_.commands.size(),
                           "plan.arena_block", "%.120s lives from command %u to %u of %zu",
                           owner.c_str(), block.first_command, block.last_command,
                           target_.commands.size())) {
        return false;
      }
      arena_used_ = std::max(arena_used_, block.offset_bytes + block.size_bytes);
    }
    return true;
  }

  bool check_arena_is_used() {
    return checker_.expect(target_.arena_bytes <= base::align_up(arena_used_, kArenaSlackBytes),
                           "plan.arena", "%.120s wants an arena of %llu bytes and uses %llu",
                           where_.c_str(), to_ull(target_.arena_bytes), to_ull(arena_used_));
  }

  Checker& checker_;
  const PlanInfo& info_;
  std::span<const SectionShape> sections_;
  const TargetInfo& target_;
  std::string where_;
  std::map<uint32_t, ImageShape> input_images_;  // as the commands so far use them
  uint64_t arena_used_ = 0;                      // by the arguments and blocks seen so far
};

}  // namespace

bool check_target(Checker& checker, const PlanInfo& info, std::span<const SectionShape> sections,
                  const TargetInfo& target) {
  return TargetChecker(checker, info, sections, target).check();
}

}  // namespace camshaft::plan
