// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <memory>

#include "tools/command/input_options.h"
#include "tools/command/model_outputs.h"
#include "tools/command/output_file.h"
#include "tools/command/plan_runner.h"
#include "tools/command/report.h"
#include "tools/command/table.h"
#include "tools/command/text.h"
#include "tools/command/verb.h"
#include "tools/io/npz.h"

namespace camshaft::command {
namespace {

// Slices of up to this many elements are printed in full.
constexpr uint64_t kMaxPrinted = 16;

struct Options {
  PlanOptions plan;
  InputOptions inputs;
  std::string output;
};

std::string values_text(const io::Tensor& tensor, uint64_t first, uint64_t count) {
  std::vector<std::string> values;
  for (uint64_t i = first; i < first + count; ++i) {
    values.push_back(format_text("%.6g", io::element(tensor.dtype, tensor.bytes.data(), i)));
  }
  return join(values, " ");
}

void add_row(Table& table, const std::string& name, const io::Tensor& tensor,
             const std::vector<int64_t>& shape, uint64_t first, uint64_t count,
             const std::string& unit) {
  const std::string type = io::type_text(tensor.dtype, shape);
  if (count == 0) return table.add_row({name, type, "", "", "", unit, "empty"});
  const Summary summary = summarize(tensor.dtype, tensor.bytes.data(), first, count);
  table.add_row(
      {name, type, format_text("%.6g", summary.min), format_text("%.6g", summary.mean),
       format_text("%.6g", summary.max), unit,
       summary.not_finite > 0
           ? format_text("%llu not finite", static_cast<unsigned long long>(summary.not_finite))
       : count <= kMaxPrinted ? values_text(tensor, first, count)
                              : ""});
}

uint64_t element_count(const std::vector<int64_t>& shape) {
  uint64_t count = 1;
  for (const int64_t extent : shape) count *= static_cast<uint64_t>(extent);
  return count;
}

std::string outputs_text(const std::vector<plan::TensorInfo>& infos,
                         const std::vector<io::NamedTensor>& tensors) {
  Table table({{"output"},
               {"type"},
               {"min", Align::kRight},
               {"mean", Align::kRight},
               {"max", Align::kRight},
               {"unit"},
               {"values"}});
  for (size_t i = 0; i < infos.size(); ++i) {
    const io::Tensor& tensor = tensors[i].tensor;
    add_row(table, infos[i].name, tensor, tensor.shape, 0, element_count(tensor.shape),
            infos[i].unit);
    for (const plan::OutputSlice& slice : infos[i].slices) {
      add_row(table, "  ." + slice.name, tensor, slice.shape, slice.offset,
              element_count(slice.shape), slice.unit);
    }
  }
  return table.text();
}

Json slice_json(const plan::OutputSlice& slice, const io::Tensor& tensor) {
  const uint64_t count = element_count(slice.shape);
  Json json = {
      {"name", slice.name},
      {"shape", slice.shape},
      {"unit", slice.unit},
      {"summary", summary_json(summarize(tensor.dtype, tensor.bytes.data(), slice.offset, count))}};
  json["values"] = Json::array();
  for (uint64_t i = slice.offset; i < slice.offset + count; ++i) {
    json["values"].push_back(io::element(tensor.dtype, tensor.bytes.data(), i));
  }
  return json;
}

Json outputs_json(const std::vector<plan::TensorInfo>& infos,
                  const std::vector<io::NamedTensor>& tensors) {
  Json json = Json::array();
  for (size_t i = 0; i < infos.size(); ++i) {
    const io::Tensor& tensor = tensors[i].tensor;
    Json output = {{"name", infos[i].name},
                   {"dtype", base::dtype_name(tensor.dtype)},
                   {"shape", tensor.shape},
                   {"unit", infos[i].unit},
                   {"summary", summary_json(summarize(tensor.dtype, tensor.bytes.data(), 0,
                                                      element_count(tensor.shape)))}};
    if (!infos[i].counted_axes.empty()) {
      output["counted_axes"] = infos[i].counted_axes;
      output["bound"] = infos[i].shape;
    }
    output["slices"] = Json::array();
    for (const plan::OutputSlice& slice : infos[i].slices) {
      output["slices"].push_back(slice_json(slice, tensor));
    }
    json.push_back(std::move(output));
  }
  return json;
}

base::Result<Json> run_plan(const Options& options, Console& console) {
  if (!options.output.empty() && !options.output.ends_with(".npz")) {
    return base::fail(base::Code::kInvalidArgument, "run.output",
                      "--output %s: outputs are written as .npz, so the name must end in that",
                      options.output.c_str());
  }
  CAMSHAFT_TRY(check_not_overwritten(options.output, options.plan.path));
  if (!options.output.empty()) CAMSHAFT_TRY(check_writable("--output", options.output));
  CAMSHAFT_TRY_ASSIGN(plan::PlanFile file, open_plan_file(options.plan.path, options.plan.key));
  // Inputs first: their mistakes are told even where no device can run the plan.
  CAMSHAFT_TRY_ASSIGN(const std::vector<io::Tensor> inputs,
                      load_inputs(file.info().inputs, options.inputs));
  CAMSHAFT_TRY_ASSIGN(const std::unique_ptr<PlanRunner> runner,
                      PlanRunner::open(std::move(file), options.plan));
  CAMSHAFT_TRY_ASSIGN(const std::vector<io::Tensor> all, runner->run(inputs));
  const std::vector<plan::TensorInfo> infos = model_outputs(runner->info());
  const std::vector<io::NamedTensor> outputs = model_outputs(runner->info(), all);
  if (!options.output.empty()) CAMSHAFT_TRY(io::write_npz(options.output, outputs));
  console.print(setting_text(options.plan.path, *runner) + "\n" + outputs_text(infos, outputs));
  Json body = setting_json(options.plan.path, *runner);
  body["outputs"] = outputs_json(infos, outputs);
  if (!options.output.empty()) body["output_file"] = options.output;
  return body;
}

}  // namespace

Action declare_run(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_plan_options(app, options->plan, true);
  add_input_options(app, options->inputs, true);
  app.add_option("--output,-o", options->output,
                 "Write all outputs to this .npz file, each as long as it is in this run")
      ->type_name("FILE");
  app.footer("Example: camshaft run roadnet.plan --input image=frame.npy --output out.npz");
  return [options](Console& console) {
    base::Result<Json> body = run_plan(*options, console);
    return body ? console.finish(std::move(body).value()) : console.fail(body.error());
  };
}

}  // namespace camshaft::command
