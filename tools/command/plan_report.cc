// SPDX-License-Identifier: MIT
#include "tools/command/plan_report.h"

#include <algorithm>
#include <tuple>

#include "runtime/plan/checksum.h"
#include "runtime/plan/describe.h"
#include "runtime/plan/signature.h"
#include "tools/command/report.h"
#include "tools/command/table.h"
#include "tools/command/text.h"

namespace camshaft::command {
namespace {

using io::Json;

Json target_json(const plan::PlanFile& file, const plan::TargetInfo& target) {
  uint64_t flops = 0;
  for (const plan::CommandInfo& command : target.commands) flops += command.flops;
  Json json = {{"target", target.target},
               {"device", target.device},
               {"arch", target.arch},
               {"features", target.features},
               {"toolchain", target.toolchain},
               {"binary_format", target.binary_format},
               {"threads", target.threads},
               {"commands", target.commands.size()},
               {"kernels", target.kernels.size()},
               {"flops", flops},
               {"arena_bytes", target.arena_bytes},
               {"arena_lower_bound_bytes", target.arena_lower_bound_bytes},
               {"weights_bytes", file.weights(target).size()},
               {"binary_bytes", file.binary(target).size()}};
  json["entry_points"] = Json::array();
  for (const plan::EntryPoint& entry : target.entry_points) {
    json["entry_points"].push_back({{"name", entry.name},
                                    {"first_command", entry.first_command},
                                    {"commands", entry.command_count}});
  }
  json["states"] = Json::array();
  for (const plan::StateInfo& state : target.states) {
    json["states"].push_back({{"name", state.name}, {"bytes", state.size_bytes}});
  }
  json["driver_binaries"] = Json::array();
  for (const plan::DriverBinaryInfo& binary : target.driver_binaries) {
    json["driver_binaries"].push_back({{"driver", binary.driver},
                                       {"digest", binary.digest},
                                       {"bytes", file.driver_binary(binary).size()}});
  }
  return json;
}

Json sections_json(const plan::PlanFile& file) {
  Json list = Json::array();
  for (const plan::SectionView& section : file.sections()) {
    list.push_back({{"kind", plan::section_kind_name(section.kind)},
                    {"required", (section.flags & plan::kSectionRequired) != 0},
                    {"offset", section.offset},
                    {"bytes", section.bytes.size()},
                    {"hash", plan::to_hex(section.hash)}});
  }
  return list;
}

Json goldens_json(const plan::PlanInfo& info) {
  Json list = Json::array();
  for (const plan::Golden& golden : info.goldens) {
    list.push_back({{"target", golden.target},
                    {"output_hash", plan::to_hex(plan::Hash128{golden.output_hash_low,
                                                               golden.output_hash_high})}});
  }
  return list;
}

// Up to so many values of a frozen input are listed.
constexpr size_t kMostValues = 64;

Json frozen_json(const plan::PlanFile& file) {
  Json list = Json::array();
  const std::vector<base::Bytes> values = plan::frozen_values(file);
  for (size_t i = 0; i < values.size(); ++i) {
    const plan::TensorInfo& input = file.info().frozen[i];
    Json json = tensor_json(input);
    json["hash"] = plan::to_hex(plan::checksum(values[i]));
    const size_t count =
        values[i].size() / static_cast<size_t>(base::dtype_size_bytes(input.dtype));
    json["values"] = Json::array();
    for (size_t k = 0; k < count && count <= kMostValues; ++k) {
      json["values"].push_back(io::element(input.dtype, values[i].data(), k));
    }
    list.push_back(std::move(json));
  }
  return list;
}

Json bounds_json(const plan::PlanInfo& info) {
  Json json = Json::object();
  for (const plan::BoundInfo& bound : info.bounds) json[bound.name] = bound.most;
  return json;
}

// Blocks by offset, then by time.
std::vector<plan::ArenaBlock> sorted_blocks(const plan::TargetInfo& target) {
  std::vector<plan::ArenaBlock> blocks = target.arena_blocks;
  std::sort(blocks.begin(), blocks.end(), [](const plan::ArenaBlock& a, const plan::ArenaBlock& b) {
    return std::tie(a.offset_bytes, a.first_command) < std::tie(b.offset_bytes, b.first_command);
  });
  return blocks;
}

}  // namespace

Json plan_json(const plan::PlanFile& file) {
  const plan::PlanInfo& info = file.info();
  Json json = {
      {"format_version", file.header().format_version},
      {"file_bytes", file.file_bytes()},
      {"signer",
       file.signer() ? Json(plan::to_hex(std::as_bytes(std::span(*file.signer())))) : Json()},
      {"model", info.model_name},
      {"model_digest", info.model_digest},
      {"producer", info.producer},
      {"dtype", info.float_dtype ? Json(base::dtype_name(*info.float_dtype)) : Json()},
      {"inputs", tensors_json(info.inputs)},
      {"outputs", tensors_json(info.outputs)},
      {"frozen", frozen_json(file)},
      {"bounds", bounds_json(info)},
      {"exceeded_output",
       info.exceeded_output ? Json(info.outputs[*info.exceeded_output].name) : Json()}};
  json["targets"] = Json::array();
  for (const plan::TargetInfo& target : info.targets) {
    json["targets"].push_back(target_json(file, target));
  }
  json["goldens"] = goldens_json(info);
  json["sections"] = sections_json(file);
  return json;
}

std::string memory_text(const plan::PlanFile& file, const plan::TargetInfo& target) {
  Table sums({{""}, {"", Align::kRight}, {""}});
  sums.add_row({"arena", bytes_text(target.arena_bytes),
                format_text("at least %s are live at once",
                            bytes_text(target.arena_lower_bound_bytes).c_str())});
  sums.add_row({"weights", bytes_text(file.weights(target).size()), "mapped from the file"});
  sums.add_row({"binary", bytes_text(file.binary(target).size())});
  uint64_t state_bytes = 0;
  for (const plan::StateInfo& state : target.states) state_bytes += state.size_bytes;
  if (state_bytes > 0) sums.add_row({"states", bytes_text(state_bytes)});
  Table blocks({{"offset", Align::kRight},
                {"bytes", Align::kRight},
                {"written by", Align::kRight},
                {"last read by", Align::kRight},
                {"value"}});
  for (const plan::ArenaBlock& block : sorted_blocks(target)) {
    blocks.add_row({std::to_string(block.offset_bytes), std::to_string(block.size_bytes),
                    "#" + std::to_string(block.first_command),
                    "#" + std::to_string(block.last_command), block.name});
  }
  return sums.text() + (blocks.empty() ? "" : "\n" + blocks.text());
}

Json memory_json(const plan::PlanFile& file, const plan::TargetInfo& target) {
  Json blocks = Json::array();
  for (const plan::ArenaBlock& block : sorted_blocks(target)) {
    blocks.push_back({{"name", block.name},
                      {"offset", block.offset_bytes},
                      {"bytes", block.size_bytes},
                      {"first_command", block.first_command},
                      {"last_command", block.last_command}});
  }
  return {{"arena_bytes", target.arena_bytes},
          {"arena_lower_bound_bytes", target.arena_lower_bound_bytes},
          {"weights_bytes", file.weights(target).size()},
          {"binary_bytes", file.binary(target).size()},
          {"blocks", blocks}};
}

}  // namespace camshaft::command
