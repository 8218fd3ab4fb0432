// SPDX-License-Identifier: MIT
#include "codegen/onnx/recurrent_attributes.h"

#include <algorithm>

#include "codegen/onnx/format.h"

namespace camshaft::onnx {
namespace {

// The activations that the operators know, and the parameters that each takes from the lists.
struct Known {
  const char* name;
  bool takes_alpha;
  bool takes_beta;
};
constexpr Known kKnown[] = {
    {"Relu", false, false},     {"Tanh", false, false},      {"Sigmoid", false, false},
    {"Affine", true, true},     {"LeakyRelu", true, false},  {"ThresholdedRelu", true, false},
    {"ScaledTanh", true, true}, {"HardSigmoid", true, true}, {"Elu", true, false},
    {"Softsign", false, false}, {"Softplus", false, false},
};

// Case doesn't count: so does onnxruntime read them.
const Known* find_known(const std::string& name) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  const auto same = [&](const Known& known) {
    const std::string_view other = known.name;
    return std::equal(name.begin(), name.end(), other.begin(), other.end(),
                      [&](char a, char b) { return lower(a) == lower(b); });
  };
  const auto* found = std::find_if(std::begin(kKnown), std::end(kKnown), same);
  return found == std::end(kKnown) ? nullptr : found;
}

// Takes the list's next value, if there is one left.
std::optional<double> take(const std::vector<double>& list, size_t* next) {
  if (*next >= list.size()) return std::nullopt;
  return list[(*next)++];
}

std::optional<std::vector<RecurrentActivation>> read_activations(
    NodeReader& node, const std::vector<std::string>& defaults, size_t directions) {
  std::optional<std::vector<std::string>> names = node.strings_attr("activations");
  const auto alphas = node.floats_attr("activation_alpha").value_or(std::vector<double>());
  const auto betas = node.floats_attr("activation_beta").value_or(std::vector<double>());
  if (!names) {
    names = defaults;
    if (directions == 2) names->insert(names->end(), defaults.begin(), defaults.end());
  }
  if (names->size() != defaults.size() * directions) {
    node.invalid("needs %zu activations, not %zu", defaults.size() * directions, names->size());
    return std::nullopt;
  }
  std::vector<RecurrentActivation> result;
  size_t next_alpha = 0;
  size_t next_beta = 0;
  for (const std::string& name : *names) {
    const Known* known = find_known(name);
    if (known == nullptr) {
      node.unsupported("activation '%s' is not known", printable(name).c_str());
      return std::nullopt;
    }
    RecurrentActivation& each = result.emplace_back();
    each.name = known->name;
    if (known->takes_alpha) each.parameters.alpha = take(alphas, &next_alpha);
    if (known->takes_beta) each.parameters.beta = take(betas, &next_beta);
  }
  return result;
}

}  // namespace

std::optional<RecurrentAttributes> read_recurrent_attributes(
    NodeReader& node, const std::vector<std::string>& activations) {
  RecurrentAttributes result;
  const std::string direction = node.string_attr("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    node.invalid("direction must be forward, reverse or bidirectional");
    return std::nullopt;
  }
  result.directions = direction == "bidirectional" ? 2 : 1;
  result.reverse = direction == "reverse";
  const int64_t layout = node.opset() < 14 ? 0 : node.int_attr("layout", 0);
  if (layout != 0 && layout != 1) {
    node.invalid("layout must be 0 or 1");
    return std::nullopt;
  }
  result.batch_first = layout == 1;
  if (node.has_attr("hidden_size")) result.hidden_size = node.int_attr("hidden_size", 0);
  if (node.has_attr("clip")) {
    result.clip = node.float_attr("clip", 0);
    if (!(*result.clip > 0)) {
      node.invalid("clip must be positive");
      return std::nullopt;
    }
  }
  auto named = read_activations(node, activations, static_cast<size_t>(result.directions));
  if (!named) return std::nullopt;
  result.activations = std::move(*named);
  return result;
}

}  // namespace camshaft::onnx
