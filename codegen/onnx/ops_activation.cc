// SPDX-License-Identifier: MIT
// Activations. Formulas are those of the ONNX operator list.
#include "codegen/onnx/activations.h"
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
  return leaky_relu(node.input(0), node.float_attr("alpha", 0.01));
}

Value read_prelu(NodeReader& node) {
  const Value x = node.input(0);
  return select(less(x, 0.0), x * broadcast_to(node.input(1), x.shape()), x);
}

Value read_elu(NodeReader& node) {
  return elu(node.input(0), node.float_attr("alpha", 1));
}

Value read_selu(NodeReader& node) {
  const double alpha = node.float_attr("alpha", kSeluAlpha);
  return selu(node.input(0), alpha, node.float_attr("gamma", kSeluGamma));
}

Value read_celu(NodeReader& node) {
  return celu(node.input(0), node.float_attr("alpha", 1));
}

Value read_thresholded_relu(NodeReader& node) {
  return thresholded_relu(node.input(0), node.float_attr("alpha", 1));
}

Value read_hard_sigmoid(NodeReader& node) {
  return hard_sigmoid(node.input(0), node.float_attr("alpha", 0.2), node.float_attr("beta", 0.5));
}

Value read_hard_swish(NodeReader& node) {
  return node.input(0) * hard_sigmoid(node.input(0), 1.0 / 6, 0.5);
}

Value read_softplus(NodeReader& node) {
  return softplus(node.input(0));
}
Value read_softsign(NodeReader& node) {
  return softsign(node.input(0));
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

// --- onnxruntime's own ---------------------------------------------------------------------------

Value read_microsoft_gelu(NodeReader& node) {
  return gelu(node.input(0));
}

// x plus a bias along the last axis, input 1, which FastGelu may leave out.
Value with_last_axis_bias(NodeReader& node) {
  const Value x = node.input(0);
  const Value bias = node.input(1);
  if (!bias) return x;
  if (bias.rank() == 1 && x.rank() >= 1 && bias.dim(0) == x.dim(-1)) return x + bias;
  return node.invalid("the bias must be one value for each index of the last axis of %s",
                      shape_text(x.shape()).c_str());
}

Value read_bias_gelu(NodeReader& node) {
  return gelu(with_last_axis_bias(node));
}
Value read_fast_gelu(NodeReader& node) {
  return tanh_gelu(with_last_axis_bias(node));
}
Value read_quick_gelu(NodeReader& node) {
  return swish(node.input(0), node.float_attr("alpha", 1.702f));
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
    {"Gelu", 1, 1, 1, read_microsoft_gelu, kMicrosoft},
    {"BiasGelu", 1, 2, 2, read_bias_gelu, kMicrosoft},
    {"FastGelu", 1, 1, 2, read_fast_gelu, kMicrosoft},
    {"QuickGelu", 1, 1, 1, read_quick_gelu, kMicrosoft},
};

}  // namespace

OpFamily activation_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
