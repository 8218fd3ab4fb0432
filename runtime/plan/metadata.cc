// SPDX-License-Identifier: MIT
// Built with exceptions: Cap'n Proto throws on malformed messages, from any getter.
//
// A message may alias one object from many pointers, or claim lists of tiny elements that are large
// once copied. Two budgets bound the copy: Cap'n Proto's traversal limit bounds the text, and
// Decoder's the elements, of which a message written by encode_metadata() has at most one a word.
#include "runtime/plan/metadata.h"

#include <capnp/message.h>
#include <capnp/serialize.h>

#include <algorithm>
#include <cstring>
#include <exception>

#include "runtime/plan/damage.h"
#include "runtime/plan/plan.capnp.h"

namespace camshaft::plan {
namespace {

constexpr int kNestingLimit = 16;  // PlanInfo has 7 levels

// --- Reading
// --------------------------------------------------------------------------------------

class Decoder {
 public:
  explicit Decoder(uint64_t words) : elements_left_(words) {}

  void decode(schema::Plan::Reader from, PlanInfo& to) {
    to.model_name = text(from.getModelName());
    to.producer = text(from.getProducer());
    to.model_digest = text(from.getModelDigest());
    decode_list(from.getInputs(), to.inputs);
    decode_list(from.getOutputs(), to.outputs);
    decode_list(from.getTargets(), to.targets);
    decode_list(from.getGoldens(), to.goldens);
    decode_list(from.getFrozen(), to.frozen);
    to.frozen_section = from.getFrozenSection();
    decode_list(from.getBounds(), to.bounds);
    if (from.getHasExceededOutput()) to.exceeded_output = from.getExceededOutput();
    if (const int dtype = from.getFloatDtype(); dtype > 0) {
      to.float_dtype = static_cast<DType>(dtype - 1);
    }
  }

 private:
  static std::string text(capnp::Text::Reader from) { return {from.cStr(), from.size()}; }

  template <typename Reader>
  uint32_t count(const Reader& list) {
    KJ_REQUIRE(list.size() <= elements_left_, "lists have more elements than there are words");
    elements_left_ -= list.size();
    return list.size();
  }

  template <typename Reader, typename T>
  void decode_list(const Reader& from, std::vector<T>& to) {
    to.resize(count(from));
    for (uint32_t i = 0; i < to.size(); ++i) decode(from[i], to[i]);
  }

  void decode_numbers(capnp::List<int64_t>::Reader from, std::vector<int64_t>& to) {
    to.resize(count(from));
    for (uint32_t i = 0; i < to.size(); ++i) to[i] = from[i];
  }

  void decode(capnp::Text::Reader from, std::string& to) { to = text(from); }

  void decode(schema::Tensor::Reader from, TensorInfo& to) {
    to.name = text(from.getName());
    to.dtype = static_cast<DType>(from.getDtype());
    decode_numbers(from.getShape(), to.shape);
    to.unit = text(from.getUnit());
    decode_list(from.getSlices(), to.slices);
    decode_numbers(from.getCountedAxes(), to.counted_axes);
    to.count_output = from.getCountOutput();
  }

  void decode(schema::Bound::Reader from, BoundInfo& to) {
    to.name = text(from.getName());
    to.most = from.getMost();
  }

  void decode(schema::OutputSlice::Reader from, OutputSlice& to) {
    to.name = text(from.getName());
    to.offset = from.getOffset();
    decode_numbers(from.getShape(), to.shape);
    to.unit = text(from.getUnit());
  }

  void decode(schema::Target::Reader from, TargetInfo& to) {
    to.target = text(from.getTarget());
    to.device = text(from.getDevice());
    to.arch = text(from.getArch());
    decode_list(from.getFeatures(), to.features);
    to.toolchain = text(from.getToolchain());
    to.binary_format = text(from.getBinaryFormat());
    to.binary_section = from.getBinarySection();
    to.weights_section = from.getWeightsSection();
    to.source_section = from.getSourceSection();
    to.threads = from.getThreads();
    to.arena_bytes = from.getArenaBytes();
    to.arena_lower_bound_bytes = from.getArenaLowerBoundBytes();
    decode_list(from.getKernels(), to.kernels);
    decode_list(from.getCommands(), to.commands);
    decode_list(from.getEntryPoints(), to.entry_points);
    decode_list(from.getArenaBlocks(), to.arena_blocks);
    decode_list(from.getStates(), to.states);
    decode_list(from.getDriverBinaries(), to.driver_binaries);
  }

  void decode(schema::Kernel::Reader from, KernelInfo& to) {
    to.symbol = text(from.getSymbol());
    to.strategy = text(from.getStrategy());
  }

  void decode(schema::Command::Reader from, CommandInfo& to) {
    to.kind = static_cast<CommandKind>(from.getKind());
    to.name = text(from.getName());
    to.description = text(from.getDescription());
    to.kernel = from.getKernel();
    to.grid[0] = from.getGridX();
    to.grid[1] = from.getGridY();
    to.grid[2] = from.getGridZ();
    to.group[0] = from.getGroupX();
    to.group[1] = from.getGroupY();
    to.group[2] = from.getGroupZ();
    to.parts = from.getParts();
    decode_list(from.getArgs(), to.args);
    to.flops = from.getFlops();
    to.bytes = from.getBytes();
  }

  void decode(schema::Arg::Reader from, ArgInfo& to) {
    to.space = static_cast<Space>(from.getSpace());
    to.index = from.getIndex();
    to.offset_bytes = from.getOffsetBytes();
    to.size_bytes = from.getSizeBytes();
    to.image = image(from, to);
  }

  // What the file leaves out follows from the rest.
  static ImageShape image(schema::Arg::Reader from, const ArgInfo& arg) {
    ImageShape shape;
    shape.width = from.getImageWidth();
    shape.dtype = static_cast<DType>(from.getImageDtype());
    if (!shape.is_image() || !base::is_image_dtype(shape.dtype)) return shape;
    shape.row_pitch_bytes = image_row_pitch_bytes(arg.space, shape.dtype, shape.width);
    shape.height = static_cast<uint32_t>(
        std::min<uint64_t>(arg.size_bytes / shape.row_pitch_bytes, UINT32_MAX));
    return shape;
  }

  void decode(schema::EntryPoint::Reader from, EntryPoint& to) {
    to.name = text(from.getName());
    to.first_command = from.getFirstCommand();
    to.command_count = from.getCommandCount();
  }

  void decode(schema::ArenaBlock::Reader from, ArenaBlock& to) {
    to.name = text(from.getName());
    to.offset_bytes = from.getOffsetBytes();
    to.size_bytes = from.getSizeBytes();
    to.first_command = from.getFirstCommand();
    to.last_command = from.getLastCommand();
  }

  void decode(schema::State::Reader from, StateInfo& to) {
    to.name = text(from.getName());
    to.size_bytes = from.getSizeBytes();
  }

  void decode(schema::DriverBinary::Reader from, DriverBinaryInfo& to) {
    to.driver = text(from.getDriver());
    to.digest = text(from.getDigest());
    to.section = from.getSection();
  }

  void decode(schema::Golden::Reader from, Golden& to) {
    to.target = text(from.getTarget());
    to.inputs_section = from.getInputsSection();
    to.outputs_section = from.getOutputsSection();
    to.output_hash_low = from.getOutputHashLow();
    to.output_hash_high = from.getOutputHashHigh();
  }

  uint64_t elements_left_;
};

// --- Writing
// --------------------------------------------------------------------------------------

template <typename T, typename Builder>
void encode_list(const std::vector<T>& from, Builder to);

void encode_numbers(const std::vector<int64_t>& from, capnp::List<int64_t>::Builder to) {
  for (uint32_t i = 0; i < from.size(); ++i) to.set(i, from[i]);
}

void encode(const OutputSlice& from, schema::OutputSlice::Builder to) {
  to.setName(from.name);
  to.setOffset(from.offset);
  encode_numbers(from.shape, to.initShape(from.shape.size()));
  to.setUnit(from.unit);
}

void encode(const TensorInfo& from, schema::Tensor::Builder to) {
  to.setName(from.name);
  to.setDtype(static_cast<uint8_t>(from.dtype));
  encode_numbers(from.shape, to.initShape(from.shape.size()));
  to.setUnit(from.unit);
  encode_list(from.slices, to.initSlices(from.slices.size()));
  encode_numbers(from.counted_axes, to.initCountedAxes(from.counted_axes.size()));
  to.setCountOutput(from.count_output);
}

void encode(const BoundInfo& from, schema::Bound::Builder to) {
  to.setName(from.name);
  to.setMost(from.most);
}

void encode(const KernelInfo& from, schema::Kernel::Builder to) {
  to.setSymbol(from.symbol);
  to.setStrategy(from.strategy);
}

void encode(const ArgInfo& from, schema::Arg::Builder to) {
  to.setSpace(static_cast<uint8_t>(from.space));
  to.setIndex(from.index);
  to.setOffsetBytes(from.offset_bytes);
  to.setSizeBytes(from.size_bytes);
  to.setImageWidth(static_cast<uint16_t>(from.image.width));
  to.setImageDtype(static_cast<uint8_t>(from.image.dtype));
}

void encode(const CommandInfo& from, schema::Command::Builder to) {
  to.setKind(static_cast<uint8_t>(from.kind));
  to.setName(from.name);
  to.setDescription(from.description);
  to.setKernel(from.kernel);
  to.setGridX(from.grid[0]);
  to.setGridY(from.grid[1]);
  to.setGridZ(from.grid[2]);
  to.setGroupX(from.group[0]);
  to.setGroupY(from.group[1]);
  to.setGroupZ(from.group[2]);
  to.setParts(from.parts);
  encode_list(from.args, to.initArgs(from.args.size()));
  to.setFlops(from.flops);
  to.setBytes(from.bytes);
}

void encode(const EntryPoint& from, schema::EntryPoint::Builder to) {
  to.setName(from.name);
  to.setFirstCommand(from.first_command);
  to.setCommandCount(from.command_count);
}

void encode(const ArenaBlock& from, schema::ArenaBlock::Builder to) {
  to.setName(from.name);
  to.setOffsetBytes(from.offset_bytes);
  to.setSizeBytes(from.size_bytes);
  to.setFirstCommand(from.first_command);
  to.setLastCommand(from.last_command);
}

void encode(const StateInfo& from, schema::State::Builder to) {
  to.setName(from.name);
  to.setSizeBytes(from.size_bytes);
}

void encode(const DriverBinaryInfo& from, schema::DriverBinary::Builder to) {
  to.setDriver(from.driver);
  to.setDigest(from.digest);
  to.setSection(from.section);
}

void encode(const TargetInfo& from, schema::Target::Builder to) {
  to.setTarget(from.target);
  to.setDevice(from.device);
  to.setArch(from.arch);
  capnp::List<capnp::Text>::Builder features = to.initFeatures(from.features.size());
  for (uint32_t i = 0; i < from.features.size(); ++i) features.set(i, from.features[i]);
  to.setToolchain(from.toolchain);
  to.setBinaryFormat(from.binary_format);
  to.setBinarySection(from.binary_section);
  to.setWeightsSection(from.weights_section);
  to.setSourceSection(from.source_section);
  to.setThreads(from.threads);
  to.setArenaBytes(from.arena_bytes);
  to.setArenaLowerBoundBytes(from.arena_lower_bound_bytes);
  encode_list(from.kernels, to.initKernels(from.kernels.size()));
  encode_list(from.commands, to.initCommands(from.commands.size()));
  encode_list(from.entry_points, to.initEntryPoints(from.entry_points.size()));
  encode_list(from.arena_blocks, to.initArenaBlocks(from.arena_blocks.size()));
  encode_list(from.states, to.initStates(from.states.size()));
  encode_list(from.driver_binaries, to.initDriverBinaries(from.driver_binaries.size()));
}

void encode(const Golden& from, schema::Golden::Builder to) {
  to.setTarget(from.target);
  to.setInputsSection(from.inputs_section);
  to.setOutputsSection(from.outputs_section);
  to.setOutputHashLow(from.output_hash_low);
  to.setOutputHashHigh(from.output_hash_high);
}

void encode(const PlanInfo& from, schema::Plan::Builder to) {
  to.setModelName(from.model_name);
  to.setProducer(from.producer);
  to.setModelDigest(from.model_digest);
  encode_list(from.inputs, to.initInputs(from.inputs.size()));
  encode_list(from.outputs, to.initOutputs(from.outputs.size()));
  encode_list(from.targets, to.initTargets(from.targets.size()));
  encode_list(from.goldens, to.initGoldens(from.goldens.size()));
  encode_list(from.frozen, to.initFrozen(from.frozen.size()));
  to.setFrozenSection(from.frozen_section);
  encode_list(from.bounds, to.initBounds(from.bounds.size()));
  to.setHasExceededOutput(from.exceeded_output.has_value());
  to.setExceededOutput(from.exceeded_output.value_or(0));
  if (from.float_dtype) to.setFloatDtype(static_cast<uint8_t>(*from.float_dtype) + 1);
}

template <typename T, typename Builder>
void encode_list(const std::vector<T>& from, Builder to) {
  for (uint32_t i = 0; i < from.size(); ++i) encode(from[i], to[i]);
}

// Builds the message in a first segment of `words`, and again in a larger one if it took more: one
// segment keeps readers simple and needs no far pointers.
std::vector<std::byte> build_message(const PlanInfo& info, uint32_t words) {
  capnp::MallocMessageBuilder message(words);
  encode(info, message.initRoot<schema::Plan>());
  const size_t size_words = capnp::computeSerializedSizeInWords(message);
  if (message.getSegmentsForOutput().size() > 1) {
    return build_message(info, static_cast<uint32_t>(size_words));
  }
  const kj::Array<capnp::word> flat = capnp::messageToFlatArray(message);
  std::vector<std::byte> bytes(flat.asBytes().size());
  std::memcpy(bytes.data(), flat.asBytes().begin(), bytes.size());
  return bytes;
}

}  // namespace

base::Status decode_metadata(base::Bytes section, const std::string& file,
                             PlanInfo& info) noexcept {
  const kj::ArrayPtr<const capnp::word> words(reinterpret_cast<const capnp::word*>(section.data()),
                                              section.size() / sizeof(capnp::word));
  try {
    KJ_REQUIRE(words.asBytes().size() == section.size(), "not whole words");
    capnp::ReaderOptions limits;
    limits.traversalLimitInWords = words.size();
    limits.nestingLimit = kNestingLimit;
    capnp::FlatArrayMessageReader message(words, limits);
    Decoder(words.size()).decode(message.getRoot<schema::Plan>(), info);
    return base::ok();
  } catch (...) {
    // What kj's exceptions say quotes bytes of the message, which may be anything.
    return damaged(file, "plan.metadata", "section 0 (metadata) is not a well-formed message");
  }
}

base::Result<std::vector<std::byte>> encode_metadata(const PlanInfo& info) noexcept {
  try {
    return build_message(info, 1024);
  } catch (const kj::Exception& e) {
    return base::fail(base::Code::kInternal, "plan.encode", "can't encode the plan's metadata: %s",
                      e.getDescription().cStr());
  } catch (...) {
    return base::fail(base::Code::kInternal, "plan.encode", "can't encode the plan's metadata");
  }
}

}  // namespace camshaft::plan
