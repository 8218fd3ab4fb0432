// SPDX-License-Identifier: MIT
#include "tools/command/samples.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/base/check.h"
#include "tools/command/text.h"

namespace camshaft::command {
namespace {

double to_seconds(double duration_ns) {
  return duration_ns * 1e-9;
}

}  // namespace

void Samples::reserve(size_t count) {
  values_ns_.resize(count);
  values_ns_.clear();
}

void Samples::sort() {
  CAMSHAFT_CHECK(!values_ns_.empty());
  std::sort(values_ns_.begin(), values_ns_.end());
}

double Samples::min_s() const {
  return to_seconds(static_cast<double>(values_ns_.front()));
}

double Samples::max_s() const {
  return to_seconds(static_cast<double>(values_ns_.back()));
}

double Samples::mean_s() const {
  const double sum = std::accumulate(values_ns_.begin(), values_ns_.end(), 0.0);
  return to_seconds(sum / static_cast<double>(values_ns_.size()));
}

double Samples::percentile_s(double percent) const {
  CAMSHAFT_CHECK(percent > 0 && percent <= 100);
  const double rank = std::ceil(percent / 100 * static_cast<double>(values_ns_.size()));
  const size_t index = std::max<size_t>(1, static_cast<size_t>(rank)) - 1;
  return to_seconds(static_cast<double>(values_ns_[std::min(index, values_ns_.size() - 1)]));
}

std::string percent_name(double percent) {
  return format_text("%.10g", percent);
}

io::Json samples_json(const Samples& samples, const std::vector<double>& percents) {
  io::Json json = {{"min", samples.min_s() * 1e3}, {"mean", samples.mean_s() * 1e3}};
  for (const double percent : percents) {
    json["p" + percent_name(percent)] = samples.percentile_s(percent) * 1e3;
  }
  json["max"] = samples.max_s() * 1e3;
  return json;
}

}  // namespace camshaft::command
