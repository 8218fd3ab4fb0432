// SPDX-License-Identifier: MIT
// The compiler as a whole: an ONNX file -> the bytes of a plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codegen/ir/graph.h"
#include "codegen/lower/lower.h"
#include "codegen/onnx/problem.h"
#include "codegen/tune/candidates.h"
#include "runtime/base/status.h"
#include "runtime/plan/writer.h"

namespace camshaft::emit {

enum class Images : uint8_t { kAuto, kOn, kOff };

struct CompileOptions {
  std::vector<std::string> targets;  // "llvm", "cpu:znver4": one TargetInfo each, in this order
  std::map<std::string, ir::Shape>
      shapes;  // --shape: for inputs (or symbolic dimensions) without one
  // --freeze: inputs of the model that become constants, by name (onnx::ReaderOptions).
  std::map<std::string, std::shared_ptr<const ir::Literal>> frozen = {};
  std::map<std::string, std::string> frozen_text = {};
  std::map<std::string, int64_t> bounds = {};  // --bound
  int threads = 1;                             // most threads that a kernel may be split among
  // --dtype: what products read and convolutions store: f32, f16 or bf16. Sums are in f32.
  ir::DType float_dtype = ir::DType::kFloat32;
  // --images: whether the kernels of GPUs take values between them and weights as images; auto: on
  // targets that prefer them. They are at most of these texels (--image-limit).
  Images images = Images::kAuto;
  schedule::ImageLimit image_limit = {16384, 16384};
  // --image-input: inputs, by name, that the kernels of GPUs take as images of RGBA texels.
  std::set<std::string> image_inputs = {};
  bool fuse = true;  // false: a kernel a node, to find a bad fusion
  std::set<std::string> disabled_passes;
  bool keep_source = true;  // store the kernels' text, for inspect --source
  // Called for each region in the order of the launches: what to do it with; nothing for the usual
  // choice. May be empty.
  std::function<std::optional<tune::Choice>(const std::string& target, const lower::Task& task)>
      choose = {};
  // Tests: use this strategy wherever it matches ("" for the usual choice).
  std::string force_strategy;
  // Called before each step, for progress: step k of n, what it is. May be empty.
  std::function<void(int step, int steps, const std::string& what)> progress;
  // Called with each representation as text: "graph", "graph after fold_constants", "schedule", ...
  std::function<void(const std::string& title, const std::string& text)> dump;
};

// What people want to know about a compilation, one for each target.
struct TargetReport {
  std::string target;
  int nodes = 0;                          // of the graph after the passes
  int regions = 0;                        // launches
  int kernels = 0;                        // different ones
  std::map<std::string, int> strategies;  // regions by strategy
  int64_t arena_bytes = 0;
  int64_t arena_lower_bound_bytes = 0;
  int64_t weight_bytes = 0;
  int64_t binary_bytes = 0;
  int64_t flops = 0;
  // The largest relative rounding error of a Winograd convolution on random data with its weights
  // (root mean square, against double precision); 0 without any. A direct one has about 3e-7.
  double winograd_error = 0;
  // The dtype that was asked for is narrow, and is only how numbers lie in memory: a CPU that has
  // no registers of matrices of it widens every number that it computes with.
  bool only_stores_dtype = false;
  double seconds = 0;
};
struct CompileReport {
  int nodes = 0;  // of the graph as read
  double read_seconds = 0;
  double pass_seconds = 0;
  std::vector<TargetReport> targets;
  ir::Graph graph;     // as read
  ir::Graph compiled;  // as scheduled: after the passes, of the dtype in memory
};

// Reads and compiles `path`. On failure `problems` lists all that is wrong with the model (each
// with its node); other failures are in the log ring only. Takes seconds; needs about twice the
// weights' memory. The same file and options give the same contents. The caller may add goldens and
// writes them (plan::write_plan).
base::Result<plan::PlanContents> compile_onnx(const std::string& path,
                                              const CompileOptions& options, CompileReport* report,
                                              std::vector<onnx::Problem>* problems);

// The same for a graph (tests). `model_digest` goes into the plan as it is.
base::Result<plan::PlanContents> compile_graph(const ir::Graph& graph,
                                               const std::string& model_digest,
                                               const CompileOptions& options,
                                               CompileReport* report);

}  // namespace camshaft::emit
