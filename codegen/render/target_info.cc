// SPDX-License-Identifier: MIT
#include "codegen/render/target_info.h"

#include <algorithm>

namespace camshaft::render {

bool is_x86(const CpuTarget& target) {
  return target.triple.starts_with("x86_64");
}

std::vector<std::string> feature_list(const CpuTarget& target) {
  std::vector<std::string> result;
  std::string_view rest = target.features;
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    result.emplace_back(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
  }
  return result;
}

bool has_feature(const CpuTarget& target, std::string_view name) {
  const std::vector<std::string> features = feature_list(target);
  return std::find(features.begin(), features.end(), "+" + std::string(name)) != features.end();
}

std::string base_cpu(const CpuTarget& target) {
  return is_x86(target) ? "x86-64" : "generic";
}

// The levels x86-64-vN are sets of features, not CPUs.
std::string tune_cpu(const CpuTarget& target) {
  return target.march.starts_with("x86-64") ? "generic" : target.march;
}

}  // namespace camshaft::render
