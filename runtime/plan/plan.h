// SPDX-License-Identifier: MIT
// A plan's metadata as plain structs: what plan files hold besides their raw sections. FORMAT.md
// says how they lie in the file; writer.h and reader.h convert. Values, copyable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/image.h"
#include "runtime/base/limits.h"

namespace camshaft::plan {

using base::DType;
using base::ImageShape;

// Bumped when a reader of the old version could misread a file of the new one.
inline constexpr uint32_t kFormatVersion = 2;

// What a raw section holds. The numbers are part of the format: append only.
enum class SectionKind : uint32_t {
  kMetadata = 1,       // this header's structs; always section 0
  kBinary = 2,         // TargetInfo::binary_format
  kWeights = 3,        // packed as the kernels read them
  kSource = 4,         // the kernels' text, zstd-compressed, for people
  kGoldenInputs = 5,   // all inputs in order, each padded to 64 bytes
  kGoldenOutputs = 6,  // all outputs, likewise
  kFrozenInputs = 7,   // PlanInfo::frozen, likewise
  kDriverBinary = 8,   // DriverBinaryInfo
};
inline constexpr uint32_t kSectionRequired =
    1;  // flag: who doesn't know the kind can't use the file

// Offsets of arguments and of tensors in golden sections are multiples of this.
inline constexpr uint64_t kBufferAlignment = 64;

// Limits that every valid plan keeps, far above what models need, so that sums of sizes can't
// overflow and a damaged number doesn't become an allocation.
inline constexpr int kMaxRank = 32;
inline constexpr uint64_t kMaxBufferBytes = base::kMaxTensorBytes;
inline constexpr uint32_t kMaxThreads = 4096;
inline constexpr uint32_t kMaxImageExtent = UINT16_MAX;
inline constexpr size_t kMaxTargets = 256;

struct OutputSlice {
  std::string name;
  uint64_t offset = 0;  // elements from the start of the flattened output
  std::vector<int64_t> shape;
  std::string unit;

  bool operator==(const OutputSlice&) const = default;
};

// An input or output. Dense row-major in memory; size is the product of `shape` times the dtype's.
// An extent may be 0: such a tensor has no elements.
struct TensorInfo {
  std::string name;
  DType dtype = DType::kFloat32;
  std::vector<int64_t> shape;
  std::string unit;
  std::vector<OutputSlice> slices;  // outputs only
  // Outputs only: the axes whose extent depends on data, ascending. There, the shape has the most
  // that it can be, and elements beyond the extent of a run mean nothing.
  std::vector<int64_t> counted_axes = {};
  // If there are such axes, the output that says how long they are in a run: i64, an element each.
  uint32_t count_output = 0;

  // Of plans that passed the reader or the writer, which exclude overflow.
  uint64_t size_bytes() const;

  bool operator==(const TensorInfo&) const = default;
};

// Where an argument's memory is. kWeights is read-only, and so is kInput.
enum class Space : uint8_t { kArena = 0, kWeights = 1, kInput = 2, kOutput = 3, kState = 4 };
struct ArgInfo {
  Space space = Space::kArena;
  uint32_t index = 0;         // kInput, kOutput, kState: which one
  uint64_t offset_bytes = 0;  // from its start, a multiple of kBufferAlignment
  uint64_t size_bytes = 0;    // that the command may touch
  // Of a kernel that takes its argument as an image: kArena, kWeights or kInput, all of the latter.
  // What one command writes as an image, others read as one.
  ImageShape image = {};

  bool operator==(const ArgInfo&) const = default;
};

// Rows of images in an arena or weights begin at a multiple of so many texels, which is what
// devices need that show a buffer as an image; those of inputs follow one another.
inline constexpr uint64_t kImageRowTexels = 64;
uint64_t image_row_pitch_bytes(Space space, DType dtype, uint32_t width);

struct KernelInfo {
  std::string symbol;    // entry point in the binary; several commands may share one kernel
  std::string strategy;  // "conv_direct"

  bool operator==(const KernelInfo&) const = default;
};

// A copy has two arguments of one size: source, then destination.
enum class CommandKind : uint8_t { kLaunch = 0, kCopy = 1 };
struct CommandInfo {
  CommandKind kind = CommandKind::kLaunch;
  std::string name;         // of the graph nodes it computes, for people: "layer1.0.conv1+relu"
  std::string description;  // shapes: "64x56x56 -> 64x56x56 k3x3 s1"
  uint32_t kernel = 0;      // index into kernels; 0 for a copy
  uint32_t grid[3] = {1, 1, 1};
  uint32_t group[3] = {1, 1, 1};
  uint32_t parts = 1;  // CPU threads, decided at compile time
  std::vector<ArgInfo> args;
  uint64_t flops = 0;  // arithmetic of the useful work, a multiply-add counts 2
  uint64_t bytes = 0;  // moved at least: each argument's touched bytes once

  bool operator==(const CommandInfo&) const = default;
};

struct EntryPoint {
  std::string name;  // "run", which every target has, or "prepare"
  uint32_t first_command = 0;
  uint32_t command_count = 0;

  bool operator==(const EntryPoint&) const = default;
};

// For the arena map of `inspect --memory`.
struct ArenaBlock {
  std::string name;
  uint64_t offset_bytes = 0;
  uint64_t size_bytes = 0;
  uint32_t first_command = 0;  // lifetime, inclusive
  uint32_t last_command = 0;

  bool operator==(const ArenaBlock&) const = default;
};

// State that a run hands to the next one: output `next` is copied or swapped into input `state`.
struct StateInfo {
  std::string name;
  uint64_t size_bytes = 0;

  bool operator==(const StateInfo&) const = default;
};

// What the driver of one device made of a target's binary, so that loading it there is quick. Other
// devices, and the same one with another driver, don't use it.
struct DriverBinaryInfo {
  std::string driver;  // hal::DriverBinary::driver, digest
  std::string digest;
  uint32_t section = 0;

  bool operator==(const DriverBinaryInfo&) const = default;
};

// Everything for one target: the same model compiled for one kind of machine.
struct TargetInfo {
  std::string target;                 // "llvm:znver3", as given to compile and resolved
  std::string device;                 // registry name of the backend that runs it: "cpu"
  std::string arch;                   // "x86_64"
  std::vector<std::string> features;  // CPU features that the code needs: "avx2", "fma"
  std::string toolchain;              // "LLVM 19.1.7"
  std::string binary_format;          // ProgramImage::format
  uint32_t binary_section = 0;        // index into the file's section table
  uint32_t weights_section = 0;       // 0: no weights (section 0 is always the metadata)
  uint32_t source_section = 0;        // optional, 0: absent. Text of all kernels, zstd-compressed
  uint32_t threads = 1;               // largest `parts`
  uint64_t arena_bytes = 0;
  uint64_t arena_lower_bound_bytes = 0;  // the most that is live at once: no planner can do better
  std::vector<KernelInfo> kernels;
  std::vector<CommandInfo> commands;
  std::vector<EntryPoint> entry_points;
  std::vector<ArenaBlock> arena_blocks;
  std::vector<StateInfo> states;
  std::vector<DriverBinaryInfo> driver_binaries = {};

  bool operator==(const TargetInfo&) const = default;
};

// Inputs with the hash of the outputs that they must give on the same target, and their tolerance
// for others: a device can test itself (`camshaft verify`).
struct Golden {
  std::string target;
  uint32_t inputs_section = 0;   // inputs in order, each padded to 64 bytes
  uint32_t outputs_section = 0;  // expected outputs, likewise
  uint64_t output_hash_low = 0;  // XXH3-128 of the outputs section as this target computed it
  uint64_t output_hash_high = 0;

  bool operator==(const Golden&) const = default;
};

// The most that a number can be which depends on data, as the caller of the compiler said: by the
// number's name in the model, or its node's.
struct BoundInfo {
  std::string name;
  int64_t most = 0;

  bool operator==(const BoundInfo&) const = default;
};

struct PlanInfo {
  std::string model_name;
  std::string producer;      // "camshaft 0.1.0"
  std::string model_digest;  // hex BLAKE2b-256 of the model file and its external data
  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;
  std::vector<TargetInfo> targets;
  std::vector<Golden> goldens;
  std::vector<TensorInfo> frozen;  // inputs of the model that have had their value since compiling
  uint32_t frozen_section = 0;     // their values; 0: there are none
  std::vector<BoundInfo> bounds;
  // The output, bool[], that says whether a run needed more than `bounds` allow; what the others
  // hold is then not what the model means. Nothing: that can't happen.
  std::optional<uint32_t> exceeded_output;
  // What values of f32 are stored in between kernels, and products computed from (compile --dtype).
  // Nothing: the plan is older than this field.
  std::optional<DType> float_dtype = {};

  bool operator==(const PlanInfo&) const = default;
};

// Memory that a session of a target takes at least, besides the file: values between kernels,
// states, inputs and outputs. 2^64 - 1 for more than that.
uint64_t run_bytes(const PlanInfo& info, const TargetInfo& target);

// The images of a target, each counted once: how many, their bytes, and the most columns and rows,
// which the device must have.
struct ImageSummary {
  size_t count = 0;
  uint64_t size_bytes = 0;
  uint32_t width = 0;
  uint32_t height = 0;
};
ImageSummary summarize_images(const TargetInfo& target);

// Whether an output is the model's; the others say how long axes are, or whether a bound was
// exceeded. `output` must be there.
bool is_model_output(const PlanInfo& info, size_t output);

}  // namespace camshaft::plan
