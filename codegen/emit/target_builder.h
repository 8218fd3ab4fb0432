// SPDX-License-Identifier: MIT
// One target of a plan: graph -> schedule -> kernels -> binary -> TargetInfo with its sections.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codegen/emit/compile.h"
#include "codegen/emit/weights.h"
#include "codegen/ir/graph.h"
#include "codegen/lower/lower.h"
#include "codegen/render/render.h"
#include "codegen/schedule/schedule.h"
#include "runtime/base/status.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/writer.h"

namespace camshaft::emit {

class TargetBuilder {
 public:
  TargetBuilder(const ir::Graph& graph, render::CpuTarget target, const CompileOptions& options);

  // Does all of it; the target and its sections are appended to `contents`.
  base::Status build(plan::PlanContents& contents, TargetReport& report);

 private:
  lower::Task task_of(const schedule::Region& region) const;
  lower::LoweredKernel lower(const lower::Task& task) const;
  void lower_regions();
  void add_command(const lower::Task& task, lower::LoweredKernel lowered);
  uint32_t kernel_number(ir::Kernel kernel, const lower::LoweredKernel& lowered);
  std::optional<ir::Kernel> prepare(ir::Kernel kernel) const;
  // Of parameter `number` of `kernel`.
  plan::ArgInfo argument(const lower::Argument& argument, const ir::Kernel& kernel,
                         ir::ArrayId number);
  std::string block_name(const schedule::BufferInfo& buffer) const;
  uint32_t last_command(size_t region) const;
  void add_arena_blocks();
  static uint32_t add_shared_section(plan::PlanContents& contents, plan::SectionKind kind,
                                     std::vector<std::byte> bytes);
  base::Status add_sections(plan::PlanContents& contents);
  void fill_report(TargetReport& report) const;

  render::CpuTarget target_;
  const CompileOptions& options_;
  schedule::Schedule schedule_;
  plan::TargetInfo info_;
  std::vector<ir::Kernel> kernels_;  // prepared, named, all different
  std::map<std::string, uint32_t> kernel_by_text_;
  std::vector<uint32_t> command_of_region_;
  std::vector<int32_t> scratch_buffers_;  // in the order in which arguments ask for them
  size_t next_scratch_ = 0;
  WeightsBuilder weights_;
  double winograd_error_ = 0;
  int64_t weight_bytes_ = 0;
  int64_t binary_bytes_ = 0;
};

}  // namespace camshaft::emit
