// SPDX-License-Identifier: MIT
// Recurrent layers: the formulas of a step. The names are those of the ONNX operator list.
#include "codegen/onnx/op_table.h"
#include "codegen/onnx/recurrent.h"

namespace camshaft::onnx {
namespace {

// A step is three kernels: the product, the cell, the output. The clip does not apply to the cell
// before its activation, as in onnxruntime.
RecurrentStep begin_lstm(const RecurrentDirection& direction, bool couples_forget_gate) {
  const Value x = direction.projected(0, 4, true);
  const Value weights = direction.recurrent_weights(0, 4);
  const Value peepholes[] = {direction.peephole(0), direction.peephole(1), direction.peephole(2)};
  return [=](int64_t t, const RecurrentState& before) {
    const Value gates = plus_product(direction.at_step(x, t), before.h, weights);
    const auto gate = [&](int number, Value cell) {
      const Value sum = direction.gate(gates, number);
      const Value peephole = cell ? peepholes[number] : Value();
      return direction.activate(0, peephole ? sum + peephole * cell : sum);
    };
    const Value i = gate(0, before.c);
    const Value cell = direction.activate(1, direction.gate(gates, 3));
    RecurrentState after;
    after.c = i * cell;
    if (before.c) {
      const Value f = couples_forget_gate ? 1.0 - i : gate(2, before.c);
      after.c = f * before.c + after.c;
    }
    after.h = gate(1, after.c) * direction.activate(2, after.c, false);
    return after;
  };
}

Value read_lstm(NodeReader& node) {
  const bool couples_forget_gate = node.flag_attr("input_forget", false);
  return read_recurrent(node, {4, {"Sigmoid", "Tanh", "Tanh"}, true},
                        [&](const RecurrentDirection& direction) {
                          return begin_lstm(direction, couples_forget_gate);
                        });
}

// h from the update gate and the candidate.
Value gru_output(Value z, Value candidate, Value before) {
  const Value fresh = (1.0 - z) * candidate;
  return before ? fresh + z * before : fresh;
}

// A step is three kernels: gates z and r, r * h, and the candidate with all that follows it.
RecurrentStep begin_gru(const RecurrentDirection& direction) {
  const Value x = direction.projected(0, 2, true);
  const Value x_h = direction.projected(2, 1, true);
  const Value weights = direction.recurrent_weights(0, 2);
  const Value weights_h = direction.recurrent_weights(2, 1);
  return [=](int64_t t, const RecurrentState& before) {
    const Value gates =
        direction.activate(0, plus_product(direction.at_step(x, t), before.h, weights));
    const Value z = direction.gate(gates, 0);
    const Value reset = before.h ? direction.gate(gates, 1) * before.h : Value();
    const Value candidate =
        direction.activate(1, plus_product(direction.at_step(x_h, t), reset, weights_h));
    return RecurrentState{gru_output(z, candidate, before.h), {}};
  };
}

// With the reset gate behind the product, one product does for all gates: two kernels a step. Each
// gate has a projection of its own so that its rows of a step are one run.
RecurrentStep begin_gru_linear_before_reset(const RecurrentDirection& direction) {
  const Value x_z = direction.projected(0, 1, true);
  const Value x_r = direction.projected(1, 1, true);
  const Value x_h = direction.projected(2, 1, false);
  const Value weights = direction.recurrent_weights(0, 3);
  const Value bias_h = direction.recurrent_bias(2);
  return [=](int64_t t, const RecurrentState& before) {
    const Value product = plus_product({}, before.h, weights);
    const auto part = [&](int gate, Value more) {
      const Value sum = product ? direction.gate(product, gate) : Value();
      return sum && more ? sum + more : sum ? sum : more;
    };
    const Value z = direction.activate(0, part(0, direction.at_step(x_z, t)));
    const Value r = direction.activate(0, part(1, direction.at_step(x_r, t)));
    const Value h = part(2, bias_h);
    const Value x = direction.at_step(x_h, t);
    const Value candidate = direction.activate(1, h ? x + r * h : x);
    return RecurrentState{gru_output(z, candidate, before.h), {}};
  };
}

Value read_gru(NodeReader& node) {
  const bool linear_before_reset = node.flag_attr("linear_before_reset", false);
  return read_recurrent(node, {3, {"Sigmoid", "Tanh"}, false},
                        linear_before_reset ? begin_gru_linear_before_reset : begin_gru);
}

// A step is one kernel.
RecurrentStep begin_rnn(const RecurrentDirection& direction) {
  const Value x = direction.projected(0, 1, true);
  const Value weights = direction.recurrent_weights(0, 1);
  return [=](int64_t t, const RecurrentState& before) {
    return RecurrentState{
        direction.activate(0, plus_product(direction.at_step(x, t), before.h, weights)), {}};
  };
}

Value read_rnn(NodeReader& node) {
  return read_recurrent(node, {1, {"Tanh"}, false}, begin_rnn);
}

constexpr OpRow kOps[] = {
    {"LSTM", 7, 3, 8, read_lstm},
    {"GRU", 7, 3, 6, read_gru},
    {"RNN", 7, 3, 6, read_rnn},
};

}  // namespace

OpFamily recurrent_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
