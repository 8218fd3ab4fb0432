// SPDX-License-Identifier: MIT
#include "tools/command/report.h"

#include <algorithm>
#include <cmath>

#include "tools/command/text.h"

namespace camshaft::command {

using io::Json;

Json tensor_json(const plan::TensorInfo& tensor) {
  Json json = {{"name", tensor.name},
               {"dtype", base::dtype_name(tensor.dtype)},
               {"shape", tensor.shape},
               {"unit", tensor.unit},
               {"bytes", tensor.size_bytes()}};
  if (!tensor.counted_axes.empty()) json["counted_axes"] = tensor.counted_axes;
  if (tensor.slices.empty()) return json;
  json["slices"] = Json::array();
  for (const plan::OutputSlice& slice : tensor.slices) {
    json["slices"].push_back({{"name", slice.name},
                              {"offset", slice.offset},
                              {"shape", slice.shape},
                              {"unit", slice.unit}});
  }
  return json;
}

Json tensors_json(std::span<const plan::TensorInfo> tensors) {
  Json json = Json::array();
  for (const plan::TensorInfo& tensor : tensors) json.push_back(tensor_json(tensor));
  return json;
}

Json setting_json(const std::string& path, PlanRunner& runner) {
  const plan::TargetInfo& target = runner.session().target();
  Json json = {{"plan", path},
               {"model", runner.info().model_name},
               {"target", target.target},
               {"threads", target.threads},
               {"device", {{"backend", runner.device().backend}, {"name", runner.device().name}}}};
  const std::string form = runner.session().describe(0);
  if (!form.empty()) json["played"] = form;
  return json;
}

std::string setting_text(const std::string& path, PlanRunner& runner) {
  const plan::TargetInfo& target = runner.session().target();
  const std::string form = runner.session().describe(0);
  return printable(format_text("%s: %s for %s, %u thread%s", path.c_str(),
                               runner.info().model_name.c_str(), target.target.c_str(),
                               target.threads, target.threads == 1 ? "" : "s")) +
         "\non " + runner.device().backend + ": " + printable(runner.device().name) +
         (form.empty() ? "" : ": " + form) + "\n";
}

Summary summarize(base::DType dtype, const std::byte* data, uint64_t first, uint64_t count) {
  Summary summary{count, 0, INFINITY, 0, -INFINITY};
  for (uint64_t i = first; i < first + count; ++i) {
    const double value = io::element(dtype, data, i);
    if (!std::isfinite(value)) {
      ++summary.not_finite;
      continue;
    }
    summary.min = std::min(summary.min, value);
    summary.max = std::max(summary.max, value);
    summary.mean += value;
  }
  const uint64_t finite = count - summary.not_finite;
  if (finite == 0) return {count, summary.not_finite, NAN, NAN, NAN};
  summary.mean /= static_cast<double>(finite);
  return summary;
}

Json summary_json(const Summary& summary) {
  return {{"elements", summary.count},
          {"not_finite", summary.not_finite},
          {"min", summary.min},
          {"mean", summary.mean},
          {"max", summary.max}};
}

}  // namespace camshaft::command
