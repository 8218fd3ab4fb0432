// SPDX-License-Identifier: MIT
#include "codegen/emit/compile.h"

#include <algorithm>

#include "codegen/emit/model_digest.h"
#include "codegen/emit/narrow_storage.h"
#include "codegen/emit/plan_text.h"
#include "codegen/emit/target_builder.h"
#include "codegen/onnx/reader.h"
#include "codegen/passes/pipeline.h"
#include "codegen/render/render.h"
#include "codegen/schedule/schedule.h"
#include "runtime/base/bytes.h"
#include "runtime/base/clock.h"
#include "runtime/base/version.h"

namespace camshaft::emit {
namespace {

// Counts the steps of a compilation for whoever shows progress: read, passes, then each target.
class Progress {
 public:
  explicit Progress(const CompileOptions& options) : options_(options) {}
  void next(const std::string& what) {
    const int steps = 2 + static_cast<int>(options_.targets.size());
    if (options_.progress) options_.progress(++step_, steps, what);
  }

 private:
  const CompileOptions& options_;
  int step_ = 0;
};

std::vector<plan::OutputSlice> plan_slices(const std::vector<ir::OutputSlice>& slices) {
  std::vector<plan::OutputSlice> result;
  for (const ir::OutputSlice& slice : slices) {
    result.push_back({slice.name, static_cast<uint64_t>(slice.offset), slice.shape, slice.unit});
  }
  return result;
}

// Of an output that is there: the reader adds counts and bounds under these names.
uint32_t output_index(const ir::Graph& graph, std::string_view name) {
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    if (graph.outputs[i].name == name) return static_cast<uint32_t>(i);
  }
  CAMSHAFT_CHECK(false);
}

void describe_tensors(const ir::Graph& graph, plan::PlanInfo& info) {
  for (const ir::GraphInput& input : graph.inputs) {
    const ir::TensorType& type = graph.node(input.node).type;
    info.inputs.push_back({input.name, type.dtype, type.shape, input.unit, {}});
  }
  for (const ir::GraphOutput& output : graph.outputs) {
    const ir::TensorType& type = graph.node(output.node).type;
    info.outputs.push_back(
        {output.name, type.dtype, type.shape, output.unit, plan_slices(output.slices)});
    if (output.name == onnx::kBoundExceeded && type == ir::TensorType{ir::DType::kBool, {}}) {
      info.exceeded_output = static_cast<uint32_t>(info.outputs.size() - 1);
    }
    if (output.counted_axes.empty()) continue;
    info.outputs.back().counted_axes = {output.counted_axes.begin(), output.counted_axes.end()};
    info.outputs.back().count_output =
        output_index(graph, output.name + std::string(onnx::kCountSuffix));
  }
}

base::Status check_name(const char* kind, const std::string& name) {
  if (std::none_of(name.begin(), name.end(), is_control)) return base::ok();
  return base::fail(base::Code::kInvalidArgument, "compile.name",
                    "%s '%s' has control characters in its name; rename it", kind,
                    plan_text(name).c_str());
}

// What the caller decided about the model.
base::Status add_choices(const CompileOptions& options, const onnx::ReaderSources& sources,
                         plan::PlanContents& contents) {
  for (const auto& [name, most] : options.bounds) {
    CAMSHAFT_TRY(check_name("bound", name));
    contents.info.bounds.push_back({name, most});
  }
  std::vector<std::byte> values;
  for (const auto& [name, literal] : sources.frozen) {
    CAMSHAFT_TRY(check_name("input", name));
    contents.info.frozen.push_back({name, literal->type.dtype, literal->type.shape, "", {}});
    values.insert(values.end(), literal->bytes.begin(), literal->bytes.end());
    values.resize(base::align_up(values.size(), plan::kBufferAlignment));
  }
  if (!sources.frozen.empty()) {
    contents.info.frozen_section =
        contents.add_section(plan::SectionKind::kFrozenInputs, std::move(values));
  }
  return base::ok();
}

base::Status check_rank(const char* kind, const std::string& name, const ir::TensorType& type) {
  if (type.shape.size() <= plan::kMaxRank) return base::ok();
  return base::fail(base::Code::kUnsupported, "compile.rank",
                    "%s '%s' has %zu dimensions; at most %d are supported", kind, name.c_str(),
                    type.shape.size(), plan::kMaxRank);
}

base::Status check_image_input(const ir::Graph& graph, const std::string& name) {
  std::string names;
  for (const ir::GraphInput& input : graph.inputs) {
    const ir::TensorType& type = graph.node(input.node).type;
    names += (names.empty() ? "'" : ", '") + input.name + "'";
    if (input.name != name) continue;
    if (schedule::input_image(type)) return base::ok();
    return base::fail(
        base::Code::kInvalidArgument, "compile.image_input",
        "input '%s' is %s, which is no image of RGBA texels: one has elements of f32, "
        "f16 or u8 and a last extent that is a multiple of 4, as in [1, height, width, "
        "4]; rows and columns are at most 65535",
        name.c_str(), ir::to_string(type).c_str());
  }
  return base::fail(base::Code::kInvalidArgument, "compile.image_input",
                    "there is no input '%.100s' to take as an image; there is: %s",
                    plan_text(name).c_str(), names.c_str());
}

// What the plan format can't hold, in the user's words rather than the writer's.
base::Status check_tensors(const ir::Graph& graph, const CompileOptions& options) {
  const auto check = [&](const char* kind, const std::string& name, ir::NodeId node) {
    CAMSHAFT_TRY(check_name(kind, name));
    return check_rank(kind, name, graph.node(node).type);
  };
  for (const ir::GraphInput& input : graph.inputs) {
    CAMSHAFT_TRY(check("input", input.name, input.node));
  }
  for (const ir::GraphOutput& output : graph.outputs) {
    CAMSHAFT_TRY(check("output", output.name, output.node));
  }
  for (const std::string& name : options.image_inputs) CAMSHAFT_TRY(check_image_input(graph, name));
  if (graph.outputs.empty()) {
    return base::fail(base::Code::kInvalidArgument, "compile.no_output",
                      "the model has no outputs: there is nothing to compute");
  }
  return base::ok();
}

base::Result<std::vector<render::CpuTarget>> make_targets(const std::vector<std::string>& names) {
  std::vector<render::CpuTarget> targets;
  for (const std::string& name : names) {
    CAMSHAFT_TRY_ASSIGN(render::CpuTarget target, render::make_target(name));
    for (const render::CpuTarget& other : targets) {
      const std::string resolved = render::target_names(target).target;
      if (render::target_names(other).target != resolved) continue;
      return base::fail(base::Code::kInvalidArgument, "compile.twice",
                        "target \"%s\" is given twice: both are %s; leave one out", name.c_str(),
                        resolved.c_str());
    }
    targets.push_back(std::move(target));
  }
  return targets;
}

base::Result<plan::PlanContents> compile(const ir::Graph& graph, const std::string& digest,
                                         const CompileOptions& options, CompileReport* report,
                                         Progress& progress) {
  CAMSHAFT_TRY(check_tensors(graph, options));
  // Names first: a target that doesn't exist should not cost the passes' time.
  CAMSHAFT_TRY_ASSIGN(std::vector<render::CpuTarget> targets, make_targets(options.targets));
  progress.next("simplify the graph");
  int64_t start_ns = base::mono_time_ns();
  passes::PipelineOptions pass_options;
  pass_options.disabled = options.disabled_passes;
  if (options.dump) {
    options.dump("graph", ir::print_graph(graph, false));
    pass_options.dump = [&](std::string_view pass, const ir::Graph& after) {
      options.dump("graph after " + std::string(pass), ir::print_graph(after, false));
    };
  }
  CAMSHAFT_TRY_ASSIGN(ir::Graph simplified, passes::run_pipeline(graph, pass_options));
  if (options.float_dtype != ir::DType::kFloat32) {
    simplified = narrow_storage(simplified, options.float_dtype, options.fuse, targets);
    if (options.dump) options.dump("graph of narrow floats", ir::print_graph(simplified, false));
  }
  if (report != nullptr) {
    report->pass_seconds = base::seconds_since(start_ns);
    report->graph = graph;
    report->compiled = simplified;
  }
  plan::PlanContents contents;
  contents.info.model_name = plan_text(graph.name);
  contents.info.producer = std::string("camshaft ") + base::kVersion;
  contents.info.model_digest = digest;
  contents.info.float_dtype = options.float_dtype;
  describe_tensors(graph, contents.info);
  for (render::CpuTarget& target : targets) {
    progress.next("compile for " + render::target_names(target).target);
    start_ns = base::mono_time_ns();
    TargetReport target_report;
    TargetBuilder builder(simplified, std::move(target), options);
    CAMSHAFT_TRY(builder.build(contents, target_report));
    target_report.seconds = base::seconds_since(start_ns);
    if (report != nullptr) report->targets.push_back(std::move(target_report));
  }
  return contents;
}

}  // namespace

base::Result<plan::PlanContents> compile_onnx(const std::string& path,
                                              const CompileOptions& options, CompileReport* report,
                                              std::vector<onnx::Problem>* problems) {
  Progress progress(options);
  progress.next("read " + path);
  const int64_t start_ns = base::mono_time_ns();
  const onnx::ReaderOptions reader_options = {options.shapes, options.frozen, options.frozen_text,
                                              options.bounds};
  onnx::ReaderSources sources;
  CAMSHAFT_TRY_ASSIGN(const ir::Graph graph,
                      onnx::read_onnx(path, reader_options, problems, &sources));
  CAMSHAFT_TRY_ASSIGN(const std::string digest, model_digest(sources.files));
  if (report != nullptr) {
    report->nodes = graph.size();
    report->read_seconds = base::seconds_since(start_ns);
  }
  CAMSHAFT_TRY_ASSIGN(plan::PlanContents contents,
                      compile(graph, digest, options, report, progress));
  CAMSHAFT_TRY(add_choices(options, sources, contents));
  return contents;
}

base::Result<plan::PlanContents> compile_graph(const ir::Graph& graph,
                                               const std::string& model_digest_text,
                                               const CompileOptions& options,
                                               CompileReport* report) {
  Progress progress(options);
  progress.next("read the graph");
  return compile(graph, model_digest_text, options, report, progress);
}

}  // namespace camshaft::emit
