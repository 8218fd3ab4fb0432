// SPDX-License-Identifier: MIT
#include "tools/command/accuracy_desktop.h"

#include <cmath>

#include "runtime/base/log_ring.h"
#include "tools/command/input_options.h"
#include "tools/command/oracle_run_desktop.h"
#include "tools/command/plan_runner.h"
#include "tools/command/table.h"
#include "tools/command/text.h"

namespace camshaft::command {
namespace {

using base::Code;
using base::Result;
using base::Status;
using io::Json;
using Outputs = std::vector<std::vector<double>>;

Result<std::vector<io::Tensor>> accuracy_inputs(const plan::PlanInfo& info,
                                                const std::vector<std::string>& golden) {
  InputOptions options;
  options.option = "--golden";
  options.files = golden;
  options.fill_missing = golden.empty();
  return load_inputs(info.inputs, options);
}

Result<Outputs> oracle_outputs(const ir::Graph& graph, const plan::PlanInfo& info,
                               const std::vector<io::Tensor>& inputs, ir::OracleRounding rounding) {
  CAMSHAFT_TRY_ASSIGN(const std::vector<ir::OracleTensor> tensors,
                      run_oracle_on(graph, info, inputs, rounding));
  Outputs outputs;
  for (const ir::OracleTensor& tensor : tensors) outputs.push_back(to_doubles(tensor));
  return outputs;
}

Outputs doubles_of(const std::vector<io::Tensor>& tensors) {
  Outputs outputs;
  for (const io::Tensor& tensor : tensors) {
    const auto count = tensor.bytes.size() / static_cast<size_t>(dtype_size_bytes(tensor.dtype));
    std::vector<double>& numbers = outputs.emplace_back();
    for (uint64_t i = 0; i < count; ++i) {
      numbers.push_back(io::element(tensor.dtype, tensor.bytes.data(), i));
    }
  }
  return outputs;
}

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

}  // namespace

Result<std::vector<TargetAccuracy>> measure_accuracy(const plan::PlanContents& contents,
                                                     const emit::CompileReport& report,
                                                     const std::vector<std::string>& golden) {
  const plan::PlanInfo& info = contents.info;
  CAMSHAFT_TRY_ASSIGN(const std::vector<io::Tensor> inputs, accuracy_inputs(info, golden));
  CAMSHAFT_TRY_ASSIGN(const Outputs expected,
                      oracle_outputs(report.graph, info, inputs, ir::OracleRounding::kNone));
  CAMSHAFT_TRY_ASSIGN(const std::vector<std::byte> bytes, plan::write_plan(contents));
  std::vector<TargetAccuracy> all;
  for (const plan::TargetInfo& target : info.targets) {
    TargetAccuracy& accuracy = all.emplace_back();
    accuracy.target = target.target;
    const Result<std::vector<io::Tensor>> ran = run_once(bytes, target.target, inputs);
    if (!ran && ran.error().code() != Code::kWrongTarget) return ran.error();
    accuracy.ran = ran.has_value();
    Outputs actual;
    if (ran) {
      actual = doubles_of(*ran);
    } else {
      CAMSHAFT_TRY_ASSIGN(
          actual, oracle_outputs(report.compiled, info, inputs, ir::OracleRounding::kEveryNode));
    }
    for (size_t i = 0; i < expected.size(); ++i) {
      NamedDifference named{info.outputs[i].name, Difference({})};
      named.difference.add(actual[i], expected[i]);
      accuracy.outputs.push_back(std::move(named));
    }
  }
  return all;
}

Status check_accuracy(const std::vector<TargetAccuracy>& accuracy, double max_error,
                      const std::string& dtype) {
  const char* advice = dtype == "f32" ? "" : ", or compile with --dtype f32";
  Status failure;
  for (const TargetAccuracy& target : accuracy) {
    for (const NamedDifference& output : target.outputs) {
      const double error = output.difference.relative_rms();
      if (error <= max_error) continue;
      failure = base::fail(Code::kOutOfTolerance, "compile.max_error",
                           "%s: the relative RMS error of output '%s' is %.3g, above --max-error "
                           "%g; no plan is written: allow more%s",
                           target.target.c_str(), output.name.c_str(), error, max_error, advice);
    }
  }
  return failure;
}

std::vector<std::string> overflow_notes(const std::vector<TargetAccuracy>& accuracy,
                                        const std::string& dtype) {
  std::vector<std::string> notes;
  for (const TargetAccuracy& target : accuracy) {
    for (const NamedDifference& output : target.outputs) {
      const uint64_t count = output.difference.not_finite_alone();
      if (count == 0) continue;
      notes.push_back(
          format_text("%s: %llu of %llu values of output '%s' are not finite in %s, "
                      "but are in the model",
                      target.target.c_str(), static_cast<unsigned long long>(count),
                      static_cast<unsigned long long>(output.difference.elements()),
                      output.name.c_str(), dtype.c_str()));
      if (dtype == "f16") notes.back() += "; bf16 has the range of f32";
    }
  }
  return notes;
}

std::string accuracy_text(const std::vector<TargetAccuracy>& accuracy) {
  if (accuracy.empty()) return "";
  Table table({{"accuracy"},
               {"output"},
               {"max abs", Align::kRight},
               {"max rel", Align::kRight},
               {"relative rms", Align::kRight},
               {"SNR dB", Align::kRight},
               {"by"}});
  for (const TargetAccuracy& target : accuracy) {
    for (const NamedDifference& output : target.outputs) {
      const Difference& difference = output.difference;
      table.add_row({target.target, output.name, format_text("%.3g", difference.max_abs()),
                     format_text("%.3g", difference.max_rel()),
                     format_text("%.3g", difference.relative_rms()),
                     format_text("%.1f", difference.snr_db()),
                     target.ran ? "a run here" : "the oracle"});
    }
  }
  return "\n" + table.text();
}

Json accuracy_json(const std::vector<TargetAccuracy>& accuracy) {
  Json list = Json::array();
  for (const TargetAccuracy& target : accuracy) {
    Json outputs = Json::array();
    for (const NamedDifference& output : target.outputs) {
      const Difference& difference = output.difference;
      outputs.push_back({{"name", output.name},
                         {"not_finite_alone", difference.not_finite_alone()},
                         {"max_abs", number(difference.max_abs())},
                         {"max_rel", number(difference.max_rel())},
                         {"relative_rms", number(difference.relative_rms())},
                         {"snr_db", number(difference.snr_db())}});
    }
    list.push_back({{"target", target.target}, {"ran", target.ran}, {"outputs", outputs}});
  }
  return list;
}

}  // namespace camshaft::command
