// SPDX-License-Identifier: MIT
// Runs a schedule on the kernel interpreter, region by region, and compares it with the oracle.
#pragma once

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "codegen/ir/kernel_passes.h"
#include "codegen/ir/literal.h"
#include "codegen/ir/oracle.h"
#include "codegen/lower/lower.h"
#include "runtime/base/log_ring.h"

namespace camshaft::lower {

// An AVX2-like target that needs no LLVM.
inline CpuTarget test_target(int32_t vector_bytes = 32) {
  CpuTarget target;
  target.backend = "test";
  target.vector_bytes = vector_bytes;
  target.vector_registers = vector_bytes == 64 ? 32 : 16;
  return target;
}

// The graph that a text is; what is wrong with it is told.
inline ir::Graph parsed(std::string_view text) {
  const uint64_t before = base::log_sequence();
  auto graph = ir::parse_graph(text);
  for (const base::LogLine& line : base::log_lines_after(before)) UNSCOPED_INFO(line.text);
  REQUIRE(graph.has_value());
  return *std::move(graph);
}

inline std::vector<ir::Literal> seeded_inputs(const ir::Graph& graph) {
  std::vector<ir::Literal> inputs;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    inputs.push_back(ir::seeded_literal(graph.node(graph.inputs[i].node).type, 100 + i));
  }
  return inputs;
}

struct ScheduleRun {
  std::vector<ir::Literal> outputs;
  std::vector<std::string> strategies;  // by region
  int64_t local_bytes = 0;              // most that a kernel's local arrays take
};

// The bytes of each value that has a buffer of its own, in the buffer's layout.
using Memory = std::vector<std::vector<std::byte>>;

inline std::byte* data_of(const Schedule& schedule, Memory& memory, NodeId value) {
  const schedule::BufferInfo& buffer = schedule.buffer(value);
  if (buffer.part_of < 0) return memory[static_cast<size_t>(value)].data();
  const NodeId base = schedule.buffers[static_cast<size_t>(buffer.part_of)].value;
  return memory[static_cast<size_t>(base)].data() + buffer.part_offset_bytes;
}

using Lower = std::function<LoweredKernel(const Task&)>;

inline ScheduleRun run_schedule(const Schedule& schedule, const std::vector<ir::Literal>& inputs,
                                const CpuTarget& target, const Lower& lower) {
  INFO(schedule::print_schedule(schedule));
  REQUIRE(schedule::verify_schedule(schedule).is_ok());
  Memory memory(static_cast<size_t>(schedule.graph.size()));
  for (const schedule::BufferInfo& buffer : schedule.buffers) {
    if (buffer.part_of >= 0) continue;
    std::vector<std::byte>& bytes = memory[static_cast<size_t>(buffer.value)];
    bytes.assign(static_cast<size_t>(buffer.size_bytes), std::byte{0xff});  // floats: NaN
    if (buffer.kind == schedule::BufferKind::kInput) {
      bytes = inputs[static_cast<size_t>(buffer.io_index)].bytes;
    } else if (buffer.kind == schedule::BufferKind::kConstant) {
      bytes = schedule.graph.node(buffer.value).as<ir::ConstantAttrs>().literal->bytes;
    }
  }
  ScheduleRun run;
  for (const Region& region : schedule.regions) {
    const Task task{schedule, region, target};
    LoweredKernel lowered = lower(task);
    run.strategies.push_back(lowered.strategy);
    lowered.kernel.name = "k";
    const uint64_t before = base::log_sequence();
    ir::Kernel kernel = ir::prepare_kernel(std::move(lowered.kernel),
                                           target.lanes(ir::DType::kFloat32), target.math);
    if (ir::has_images(kernel)) {
      std::optional<ir::Kernel> texels = ir::access_texels(std::move(kernel));
      REQUIRE(texels.has_value());
      kernel = *std::move(texels);
    }
    int64_t local_bytes = 0;
    for (const ir::Array& array : kernel.arrays()) {
      if (array.kind == ir::ArrayKind::kParam) continue;
      local_bytes += array.elements * base::dtype_size_bytes(array.dtype);
    }
    run.local_bytes = std::max(run.local_bytes, local_bytes);
    const bool valid = ir::verify_kernel(kernel).is_ok();
    for (const base::LogLine& line : base::log_lines_after(before)) UNSCOPED_INFO(line.text);
    if (!valid) UNSCOPED_INFO(ir::print_kernel(kernel));
    REQUIRE(valid);
    std::vector<void*> params;
    std::vector<std::vector<std::byte>> scratch;
    for (Argument& argument : lowered.arguments) {
      if (argument.scratch_bytes > 0) {
        const auto size = static_cast<size_t>(argument.scratch_bytes);
        scratch.emplace_back(size, std::byte{0xcd});
        params.push_back(scratch.back().data());
        continue;
      }
      params.push_back(argument.value == ir::kNoNode ? argument.constant.data()
                                                     : data_of(schedule, memory, argument.value));
    }
    REQUIRE(ir::interpret_kernel(kernel, params.data(), 0, kernel.thread_extent).is_ok());
  }
  for (const ir::GraphOutput& output : schedule.graph.outputs) {
    run.outputs.push_back({schedule.type(output.node), memory[static_cast<size_t>(output.node)]});
  }
  return run;
}

// The same with a named strategy wherever it can do a region; "" for the usual choice.
inline ScheduleRun run_schedule(const Schedule& schedule, const std::vector<ir::Literal>& inputs,
                                const CpuTarget& target, std::string_view strategy = "") {
  return run_schedule(schedule, inputs, target, [&](const Task& task) {
    auto forced = strategy.empty() ? base::Result<LoweredKernel>(lower_region(task))
                                   : lower_region_with(task, strategy, nullptr);
    return forced.has_value() ? std::move(forced).value() : lower_region(task);
  });
}

// Fails the test unless every element is within `tolerance`, relative to the output's largest, of
// the oracle.
inline void check_against_oracle(const ir::Graph& graph, const std::vector<ir::Literal>& inputs,
                                 const std::vector<ir::Literal>& outputs, double tolerance) {
  std::vector<ir::OracleTensor> oracle_inputs;
  for (const ir::Literal& input : inputs) oracle_inputs.push_back(ir::to_oracle(input));
  const auto expected = ir::run_oracle(graph, oracle_inputs);
  REQUIRE(expected.has_value());
  REQUIRE(expected->size() == outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ir::OracleTensor got = ir::to_oracle(outputs[i]);
    const ir::OracleTensor& want = (*expected)[i];
    REQUIRE(got.type == want.type);
    CHECK(got.ints == want.ints);
    double worst = 0;
    double scale = 1;
    for (double value : want.floats) {
      if (std::isfinite(value)) scale = std::max(scale, std::abs(value));
    }
    for (size_t e = 0; e < want.floats.size(); ++e) {
      const double a = got.floats[e];
      const double b = want.floats[e];
      if (std::isnan(a) && std::isnan(b)) continue;
      if (a == b) continue;
      const double error = std::abs(a - b) / scale;
      worst = std::isnan(error) ? INFINITY : std::max(worst, error);
    }
    CHECK(worst <= tolerance);
  }
}

// Parses, schedules, runs and compares; returns the run for further checks.
inline ScheduleRun check_graph(std::string_view text, double tolerance = 2e-5,
                               int32_t channel_block = 8, std::string_view strategy = "",
                               bool fuse = true) {
  const ir::Graph graph = parsed(text);
  const std::vector<ir::Literal> inputs = seeded_inputs(graph);
  const Schedule schedule = schedule::make_schedule(graph, {channel_block, fuse});
  ScheduleRun run =
      run_schedule(schedule, inputs, test_target(channel_block == 16 ? 64 : 32), strategy);
  check_against_oracle(graph, inputs, run.outputs, tolerance);
  return run;
}

}  // namespace camshaft::lower
