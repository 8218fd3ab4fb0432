// SPDX-License-Identifier: MIT
// Activations. Formulas are those of the ONNX operator list.
#include "codegen/onnx/formulas.h"
#include "codegen/onnx/op_table.h"

namespace camshaft::onnx {
namespace {

Value read_relu(NodeReader& node) {
  return max(node.input(0), 0.0);
}
Value read_sigmoid(NodeReader& node) {
  return sigmoid(node.input(0));
}

Value read_leaky_relu(NodeReader& node) {
  const Value x = node.input(0);
  return select(less(x, 0.0), x * node.float_attr("alpha", 0.01), x);
}

Value read_prelu(NodeReader& node) {
  const Value x = node.input(0);
  return select(less(x, 0.0), x * broadcast_to(node.input(1), x.shape()), x);
}

Value read_elu(NodeReader& node) {
  const Value x = node.input(0);
  return select(less(x, 0.0), node.float_attr("alpha", 1) * (exp(x) - 1.0), x);
}

Value read_selu(NodeReader& node) {
  const Value x = node.input(0);
  const double alpha = node.float_attr("alpha", 1.67326319217681884765625);
  const double gamma = node.float_attr("gamma", 1.05070102214813232421875);
  return gamma * select(less_equal(x, splat_like(x, 0)), alpha * exp(x) - alpha, x);
}

Value read_celu(NodeReader& node) {
  const Value x = node.input(0);
  const double alpha = node.float_attr("alpha", 1);
  return max(x, 0.0) + min(alpha * (exp(x / alpha) - 1.0), 0.0);
}

Value read_thresholded_relu(NodeReader& node) {
  const Value x = node.input(0);
  const Value alpha = splat_like(x, node.float_attr("alpha", 1));
  return select(less(alpha, x), x, scalar_like(x, 0));
}

Value hard_sigmoid(Value x, double alpha, double beta) {
  return max(min(alpha * x + beta, 1.0), 0.0);
}

Value read_hard_sigmoid(NodeReader& node) {
  return hard_sigmoid(node.input(0), node.float_attr("alpha", 0.2), node.float_attr("beta", 0.5));
}

Value read_hard_swish(NodeReader& node) {
  return node.input(0) * hard_sigmoid(node.input(0), 1.0 / 6, 0.5);
}

// log(1 + e^x) without overflow.
Value softplus(Value x) {
  return max(x, 0.0) + log(1.0 + exp(-abs(x)));
}

Value read_softplus(NodeReader& node) {
  return softplus(node.input(0));
}
Value read_softsign(NodeReader& node) {
  return node.input(0) / (1.0 + abs(node.input(0)));
}
Value read_mish(NodeReader& node) {
  return node.input(0) * tanh(softplus(node.input(0)));
}

Value read_swish(NodeReader& node) {
  return swish(node.input(0), node.float_attr("alpha", 1));
}

Value read_gelu(NodeReader& node) {
  const std::string approximate = node.string_attr("approximate", "none");
  if (approximate == "none") return gelu(node.input(0));
  if (approximate == "tanh") return tanh_gelu(node.input(0));
  return node.unsupported("approximate must be 'none' or 'tanh'");
}

Value read_shrink(NodeReader& node) {
  const Value x = node.input(0);
  const double lambda = node.float_attr("lambd", 0.5);
  const double bias = node.float_attr("bias", 0);
  const Value above = select(less(splat_like(x, lambda), x), x - bias, scalar_like(x, 0));
  return select(less(x, -lambda), x + bias, above);
}

constexpr OpRow kOps[] = {
    {"Relu", 7, 1, 1, read_relu},
    {"LeakyRelu", 7, 1, 1, read_leaky_relu},
    {"PRelu", 7, 2, 2, read_prelu},
    {"Elu", 7, 1, 1, read_elu},
    {"Selu", 7, 1, 1, read_selu},
    {"Celu", 12, 1, 1, read_celu},
    {"ThresholdedRelu", 10, 1, 1, read_thresholded_relu},
    {"Sigmoid", 7, 1, 1, read_sigmoid},
    {"HardSigmoid", 7, 1, 1, read_hard_sigmoid},
    {"HardSwish", 14, 1, 1, read_hard_swish},
    {"Softplus", 7, 1, 1, read_softplus},
    {"Softsign", 7, 1, 1, read_softsign},
    {"Mish", 18, 1, 1, read_mish},
    {"Swish", 24, 1, 1, read_swish},
    {"Gelu", 20, 1, 1, read_gelu},
    {"Shrink", 9, 1, 1, read_shrink},
};

}  // namespace

OpFamily activation_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
