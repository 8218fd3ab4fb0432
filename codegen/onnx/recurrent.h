// SPDX-License-Identifier: MIT
// What LSTM, GRU and RNN share: operands, attributes and outputs, and the walk over the steps. The
// steps are unrolled. What needs no state is computed for all of them at once; what a step reads of
// it, and what it hands on, lies in one aligned run of memory, so that all steps share their
// kernels.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "codegen/onnx/node_reader.h"
#include "codegen/onnx/recurrent_attributes.h"

namespace camshaft::onnx {

// How an operator of the family differs from the others.
struct RecurrentKind {
  int gates;
  std::vector<std::string> activations;  // of one direction, if the node names none
  bool has_cell;                         // has a cell state, and peepholes
};

// The state before or after a step: [batch, hidden] each. Absent: zeros, or no such state.
struct RecurrentState {
  Value h;
  Value c;
};

// One direction of a layer. Gates lie one after the other, in the order of the ONNX operator.
struct RecurrentDirection {
  // X * W + Wb of `count` gates, and + Rb if asked for, of all steps: [steps * batch, count *
  // hidden].
  Value projected(int first, int count, bool with_recurrent_bias) const;
  // The rows of one step of a projection: [batch, count * hidden].
  Value at_step(Value projection, int64_t step) const;
  // R of `count` gates, as the right side of a product: [hidden, count * hidden].
  Value recurrent_weights(int first, int count) const;
  // Rb of one gate: [hidden]; absent if there are no biases.
  Value recurrent_bias(int gate) const;
  // A peephole's weights: [hidden]; absent if there are none.
  Value peephole(int number) const;
  // Columns of one of the gates in [batch, gates * hidden].
  Value gate(Value gates, int number) const;
  // The activation of that number; before it the clip, if there is one.
  Value activate(int number, Value x, bool clips = true) const;

  bool reverse = false;
  std::vector<RecurrentActivation> activations;
  std::optional<double> clip;
  int64_t batch = 0;
  int64_t hidden = 0;  // as it is computed: padded so that a step's state is aligned
  Value x;             // [steps * batch, input]
  Value w;             // [gates, hidden, input]
  Value r;             // [gates, hidden, hidden]
  Value b;             // [2, gates, hidden], W's and R's; may be absent
  Value p;             // [3, hidden]; may be absent
  RecurrentState initial;
};

// x + h * weights; just one of them if the other one is absent.
Value plus_product(Value x, Value h, Value weights);

// The state after a step, from the one before it.
using RecurrentStep = std::function<RecurrentState(int64_t step, const RecurrentState& before)>;

// Reads a node of the family; `begin` makes a direction's step. Returns the first output and sets
// the others.
Value read_recurrent(NodeReader& node, const RecurrentKind& kind,
                     const std::function<RecurrentStep(const RecurrentDirection&)>& begin);

}  // namespace camshaft::onnx
