// SPDX-License-Identifier: MIT
// compare --bisect. The oracle computes what every value should be, so that errors don't add up
// from kernel to kernel: the first value that is outside tolerance is computed by the kernel at
// fault.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "codegen/emit/compile.h"
#include "codegen/emit/model_digest.h"
#include "codegen/emit/narrow_storage.h"
#include "codegen/passes/pipeline.h"
#include "codegen/schedule/schedule.h"
#include "tools/command/oracle_run_desktop.h"
#include "tools/command/plan_runner.h"
#include "tools/command/reference.h"
#include "tools/command/text.h"

namespace camshaft::command {
namespace {

using base::Code;
using base::Result;
using base::Status;
using ir::Graph;
using Oracles = std::vector<ir::OracleTensor>;

// Results that are narrow differ from the model's by so many times what the oracle's do, at most:
// sums in another order fall to other sides when they are rounded.
constexpr double kRoundingFactor = 4;

// Of --dtype and --no-fuse.
struct Form {
  ir::DType dtype = ir::DType::kFloat32;
  bool fuse = true;
};

struct Snapshot {
  std::string pass;
  Graph graph;
};

// The graph after each pass that changed it; the first is the model as read.
Result<std::vector<Snapshot>> run_passes(Graph graph) {
  std::vector<Snapshot> snapshots = {{"", graph}};
  passes::PipelineOptions options;
  options.dump = [&](std::string_view pass, const Graph& after) {
    snapshots.push_back({std::string(pass), after});
  };
  CAMSHAFT_TRY_ASSIGN(Graph last, passes::run_pipeline(std::move(graph), options));
  snapshots.back().graph = std::move(last);
  return snapshots;
}

uint64_t total_bytes(const plan::TargetInfo& target) {
  uint64_t bytes = 0;
  for (const plan::CommandInfo& command : target.commands) bytes += command.bytes;
  return bytes;
}

std::vector<double> numbers_of(const io::Tensor& tensor) {
  std::vector<double> numbers(tensor.bytes.size() /
                              static_cast<size_t>(base::dtype_size_bytes(tensor.dtype)));
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = io::element(tensor.dtype, tensor.bytes.data(), i);
  }
  return numbers;
}

uint64_t distance(uint64_t a, uint64_t b) {
  return a < b ? b - a : a - b;
}

class Bisection {
 public:
  Bisection(const BisectOptions& options, const plan::PlanFile& plan,
            std::span<const io::Tensor> inputs, Console& console, Json& body)
      : options_(options),
        plan_(plan),
        info_(plan.info()),
        inputs_(inputs),
        console_(console),
        body_(body) {}

  Status run() {
    console_.progress(1, 4, "bisect: run the model on the oracle");
    onnx::ReaderSources sources;
    CAMSHAFT_TRY_ASSIGN(Graph model, read_model(options_.model, plan_, &sources));
    CAMSHAFT_TRY_ASSIGN(const std::string digest, emit::model_digest(sources.files));
    if (digest != info_.model_digest) return blame_model();
    CAMSHAFT_TRY_ASSIGN(expected_, run_oracle_on(model, info_, inputs_));
    if (is_within(plan_outputs(model))) return blame_reference();
    console_.progress(2, 4, "bisect: check the passes");
    CAMSHAFT_TRY_ASSIGN(const std::vector<Snapshot> snapshots, run_passes(std::move(model)));
    CAMSHAFT_TRY_ASSIGN(const std::optional<ir::DType> dtype, rounding_at_fault(snapshots));
    if (dtype) return blame_rounding(*dtype);
    CAMSHAFT_TRY_ASSIGN(const size_t wrong, first_wrong(snapshots));
    if (wrong < snapshots.size()) {
      return check_pass(snapshots[wrong].pass, snapshots.front().graph);
    }
    console_.progress(3, 4, "bisect: compile with every value as an output");
    return check_values(snapshots.back().graph);
  }

 private:
  // Whether the oracle gives the model's outputs for a rewritten graph.
  Result<bool> is_right(const Graph& graph) {
    CAMSHAFT_TRY_ASSIGN(const Oracles actual, run_oracle_on(graph, info_, inputs_));
    for (size_t i = 0; i < actual.size(); ++i) {
      Difference difference(options_.tolerance);
      difference.add(to_doubles(actual[i]), to_doubles(expected_[i]));
      if (!difference.is_within()) return false;
    }
    return true;
  }

  // Index of the first snapshot with other results, by halving; their number if the last is right.
  Result<size_t> first_wrong(const std::vector<Snapshot>& snapshots) {
    CAMSHAFT_TRY_ASSIGN(const bool last_right, is_right(snapshots.back().graph));
    if (last_right) return snapshots.size();
    size_t right = 0;
    size_t wrong = snapshots.size() - 1;
    while (wrong - right > 1) {
      const size_t middle = right + (wrong - right) / 2;
      CAMSHAFT_TRY_ASSIGN(const bool middle_right, is_right(snapshots[middle].graph));
      (middle_right ? right : wrong) = middle;
    }
    return wrong;
  }

  Status blame_model() {
    body_ = {{"stage", "model"}};
    console_.print("\nbisect: the plan was compiled from another model than " +
                   printable(options_.model) + "\n");
    return base::ok();
  }

  bool is_within(const std::vector<std::vector<double>>& actual) const {
    for (size_t i = 0; i < actual.size(); ++i) {
      Difference difference(options_.tolerance);
      difference.add(actual[i], to_doubles(expected_[i]));
      if (!difference.is_within()) return false;
    }
    return true;
  }

  Status blame_reference() {
    body_ = {{"stage", "reference"}};
    console_.print(
        "\nbisect: the plan is within tolerance of the model in double precision, so that it is "
        "ONNX Runtime that rounds more; compare with --engine oracle, or with a larger --rtol and "
        "--atol\n");
    return base::ok();
  }

  // What the commands of the model's plan move, as the plan's own commands would say.
  Result<uint64_t> moved_bytes(const Graph& model, Form form) {
    emit::CompileOptions options;
    options.targets = {options_.target};
    options.float_dtype = form.dtype;
    options.fuse = form.fuse;
    CAMSHAFT_TRY_ASSIGN(const plan::PlanContents contents,
                        emit::compile_graph(model, "", options, nullptr));
    return total_bytes(contents.info.targets[0]);
  }

  // The dtypes that the plan may have been compiled with.
  std::vector<ir::DType> likely_dtypes() const {
    if (info_.float_dtype) return {*info_.float_dtype};
    return {ir::DType::kFloat32, ir::DType::kFloat16, ir::DType::kBFloat16};
  }

  // How the plan was compiled: what its commands move tells what it doesn't say. Several where that
  // doesn't tell them apart, f32 first.
  std::vector<Form> likely_forms(const Graph& model) {
    uint64_t moved = 0;
    for (const plan::TargetInfo& target : info_.targets) {
      if (target.target == options_.target) moved = total_bytes(target);
    }
    std::vector<Form> nearest;
    uint64_t least = UINT64_MAX;
    for (const bool fuse : {true, false}) {
      for (const ir::DType dtype : likely_dtypes()) {
        const Result<uint64_t> bytes = moved_bytes(model, {dtype, fuse});
        if (!bytes) continue;  // a dtype that the target doesn't have
        if (distance(*bytes, moved) < least) nearest.clear();
        least = std::min(least, distance(*bytes, moved));
        if (distance(*bytes, moved) == least) nearest.push_back({dtype, fuse});
        if (least == 0 && nearest.front().dtype == ir::DType::kFloat32) return nearest;
      }
      if (least == 0) break;
    }
    return nearest;
  }

  // The root of the mean square, over all outputs, relative to the model's.
  double worst_error(const std::vector<std::vector<double>>& actual) const {
    double worst = 0;
    for (size_t i = 0; i < actual.size(); ++i) {
      Difference difference(options_.tolerance);
      difference.add(actual[i], to_doubles(expected_[i]));
      worst = std::max(worst, difference.relative_rms());
    }
    return worst;
  }

  // The plan's outputs in the order of the graph's, as numbers.
  std::vector<std::vector<double>> plan_outputs(const Graph& graph) const {
    std::vector<std::vector<double>> all;
    for (const ir::GraphOutput& output : graph.outputs) {
      for (size_t k = 0; k < info_.outputs.size(); ++k) {
        if (info_.outputs[k].name == output.name) all.push_back(numbers_of(options_.outputs[k]));
      }
    }
    return all;
  }

  // The error of the model's results where values are rounded as a form does.
  Result<double> rounding_error(const Graph& simplified, Form form) {
    CAMSHAFT_TRY_ASSIGN(const render::CpuTarget target, render::make_target(options_.target));
    const Graph graph = emit::narrow_storage(simplified, form.dtype, form.fuse, {&target, 1});
    CAMSHAFT_TRY_ASSIGN(const Oracles rounded,
                        run_oracle_on(graph, info_, inputs_, ir::OracleRounding::kEveryNode));
    std::vector<std::vector<double>> numbers;
    for (const ir::OracleTensor& tensor : rounded) numbers.push_back(to_doubles(tensor));
    return worst_error(numbers);
  }

  // The dtype that the plan was compiled with, if it is narrow and its rounding is as far from the
  // model's results as the plan is.
  Result<std::optional<ir::DType>> rounding_at_fault(const std::vector<Snapshot>& snapshots) {
    const Graph& model = snapshots.front().graph;
    std::optional<ir::DType> nearest;
    if (info_.float_dtype == ir::DType::kFloat32) return nearest;
    const std::vector<Form> forms = likely_forms(model);
    if (forms.empty() || forms.front().dtype == ir::DType::kFloat32) return nearest;
    const double error = worst_error(plan_outputs(model));
    double least = 0;
    for (const Form form : forms) {
      CAMSHAFT_TRY_ASSIGN(const double rounding, rounding_error(snapshots.back().graph, form));
      if (!(error <= kRoundingFactor * rounding)) continue;
      const double away = std::abs(std::log(error / rounding));
      if (nearest && away >= least) continue;
      nearest = form.dtype;
      least = away;
    }
    return nearest;
  }

  Status blame_rounding(ir::DType dtype) {
    const std::string name = base::dtype_name(dtype);
    body_ = {{"stage", "dtype"}, {"dtype", name}};
    console_.print("\nbisect: the plan was compiled with --dtype " + name +
                   ", and the difference is as large as its rounding makes it; compare with a "
                   "larger --rtol and --atol, or compile with --max-error or --dtype f32\n");
    return base::ok();
  }

  // Whether the plan is right without the pass; else the pass is not what it hangs on.
  Status check_pass(const std::string& pass, const Graph& model) {
    emit::CompileOptions options;
    options.disabled_passes = {pass};
    CAMSHAFT_TRY_ASSIGN(const std::vector<io::Tensor> outputs, run_plan_of(model, options));
    std::vector<std::vector<double>> numbers;
    for (const io::Tensor& tensor : outputs) numbers.push_back(numbers_of(tensor));
    return is_within(numbers) ? blame_pass(pass) : acquit_pass(pass);
  }

  Status blame_pass(const std::string& pass) {
    body_ = {{"stage", "pass"}, {"pass", pass}};
    console_.print("\nbisect: the pass " + pass +
                   " changes the model's results; compile with --disable-pass " + pass + "\n");
    return base::ok();
  }

  Status acquit_pass(const std::string& pass) {
    body_ = {{"stage", "none"}, {"pass", pass}};
    console_.print(
        "\nbisect: the pass " + pass +
        " changes the model's results, but without it they are outside tolerance too: nothing is "
        "found to be at fault. A model that is quantized, or else makes much of rounding errors, "
        "needs a larger --atol and --rtol\n");
    return base::ok();
  }

  // Runs a plan of which every region's value is an output.
  Status check_values(const Graph& graph) {
    schedule::Schedule schedule = schedule::make_schedule(graph, {});
    Graph exposed = schedule.graph;
    exposed.outputs.clear();
    for (const schedule::Region& region : schedule.regions) {
      if (schedule.type(region.output).elements() == 0) continue;
      exposed.add_output(format_text("%d %s", region.output, printable(region.name).c_str()),
                         region.output);
    }
    CAMSHAFT_TRY_ASSIGN(const Oracles expected, run_oracle_on(exposed, info_, inputs_));
    CAMSHAFT_TRY_ASSIGN(const std::vector<io::Tensor> actual, run_plan_of(exposed, {}));
    console_.progress(4, 4, "bisect: compare every value");
    std::vector<NamedDifference> differences;
    for (size_t i = 0; i < expected.size(); ++i) {
      Difference difference(options_.tolerance);
      difference.add(actual[i].dtype, actual[i].bytes.data(), to_doubles(expected[i]));
      differences.push_back({exposed.outputs[i].name, difference});
    }
    report(exposed, differences);
    return base::ok();
  }

  // Of a graph with the plan's inputs, for the same target.
  Result<std::vector<io::Tensor>> run_plan_of(const Graph& graph, emit::CompileOptions options) {
    options.targets = {options_.target};
    CAMSHAFT_TRY_ASSIGN(const plan::PlanContents contents,
                        emit::compile_graph(graph, "", options, nullptr));
    CAMSHAFT_TRY_ASSIGN(const std::vector<std::byte> bytes, plan::write_plan(contents));
    CAMSHAFT_TRY_ASSIGN(plan::PlanFile file, plan::PlanFile::from_bytes(bytes));
    PlanOptions plan_options;
    plan_options.device = options_.device;
    CAMSHAFT_TRY_ASSIGN(const std::unique_ptr<PlanRunner> runner,
                        PlanRunner::open(std::move(file), plan_options));
    std::vector<io::Tensor> ordered;
    for (const plan::TensorInfo& wanted : runner->info().inputs) {
      for (size_t i = 0; i < inputs_.size(); ++i) {
        if (info_.inputs[i].name == wanted.name) ordered.push_back(inputs_[i]);
      }
    }
    return runner->run(ordered);
  }

  void report(const Graph& exposed, const std::vector<NamedDifference>& differences) {
    const auto first =
        std::find_if(differences.begin(), differences.end(),
                     [](const NamedDifference& named) { return !named.difference.is_within(); });
    body_ = {{"stage", first == differences.end() ? "none" : "kernel"},
             {"values", differences_json(differences)}};
    if (first == differences.end()) {
      console_.print(format_text(
          "\nbisect: each of the %zu values is right when it is made an output, so the fault lies "
          "in "
          "how kernels hand values to one another; compile with --no-fuse to see more\n",
          differences.size()));
      return;
    }
    const ir::GraphOutput& output =
        exposed.outputs[static_cast<size_t>(first - differences.begin())];
    const ir::Node& node = exposed.node(output.node);
    body_["first"] = {{"value", first->name},
                      {"node", node.name},
                      {"op", ir::op_info(node.op).name},
                      {"type", ir::to_string(node.type)}};
    console_.print(format_text(
        "\nbisect: the first wrong value is '%s', %s, of kernel %s; all before it are right\n%s",
        printable(node.name).c_str(), ir::to_string(node.type).c_str(),
        printable(first->name).c_str(), differences_text({*first}).c_str()));
  }

  const BisectOptions& options_;
  const plan::PlanFile& plan_;
  const plan::PlanInfo& info_;
  std::span<const io::Tensor> inputs_;
  Console& console_;
  Json& body_;
  Oracles expected_;
};

}  // namespace

Status bisect(const BisectOptions& options, const plan::PlanFile& plan,
              std::span<const io::Tensor> inputs, Console& console, Json& body) {
  return Bisection(options, plan, inputs, console, body).run();
}

}  // namespace camshaft::command
