// SPDX-License-Identifier: MIT
// The attributes that LSTM, GRU and RNN share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codegen/onnx/activations.h"
#include "codegen/onnx/node_reader.h"

namespace camshaft::onnx {

struct RecurrentActivation {
  std::string name;
  ActivationParameters parameters;
};

struct RecurrentAttributes {
  int64_t directions = 1;
  bool reverse = false;  // the only direction is from the end
  bool batch_first = false;
  std::optional<int64_t> hidden_size;
  std::optional<double> clip;
  std::vector<RecurrentActivation> activations;  // of all directions
};

// `activations`: those of one direction if the node names none. Nothing, told, if one is wrong.
std::optional<RecurrentAttributes> read_recurrent_attributes(
    NodeReader& node, const std::vector<std::string>& activations);

}  // namespace camshaft::onnx
