// SPDX-License-Identifier: MIT
// What `camshaft compile` says of a compilation: a page for people and a document.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/emit/compile.h"
#include "codegen/onnx/problem.h"
#include "tools/command/accuracy_desktop.h"
#include "tools/command/dump_files_desktop.h"
#include "tools/io/json.h"

namespace camshaft::command {

struct CompileStep {
  std::string what;
  int64_t start_ns = 0;
};

// What a compilation leaves besides the plan's contents.
struct CompileTrail {
  emit::CompileReport report;
  std::vector<onnx::Problem> problems;
  std::vector<CompileStep> steps;
  int64_t end_ns = 0;
  std::vector<Representation> representations;
  std::vector<TargetAccuracy> accuracy;  // where it was measured
};

// The file that was written.
struct WrittenPlan {
  std::string model;
  std::string path;
  size_t file_bytes = 0;
  std::string hash;
};

std::string compile_text(const CompileTrail& trail, const WrittenPlan& plan);
io::Json compile_json(const CompileTrail& trail, const WrittenPlan& plan);
// [{"kind", "node", "op_type", "sentence"}, ...]
io::Json problems_json(const std::vector<onnx::Problem>& problems);

}  // namespace camshaft::command
