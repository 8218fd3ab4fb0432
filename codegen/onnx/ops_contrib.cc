// SPDX-License-Identifier: MIT
// Operators of onnxruntime's own domain that its optimizer makes of several nodes.
#include "codegen/onnx/formulas.h"
#include "codegen/onnx/op_table.h"

namespace camshaft::onnx {
namespace {

// --- Activations ---------------------------------------------------------------------------------

// x plus a bias along the last axis, input 1, which FastGelu may leave out.
Value with_last_axis_bias(NodeReader& node) {
  const Value x = node.input(0);
  const Value bias = node.input(1);
  if (!bias) return x;
  if (bias.rank() == 1 && x.rank() >= 1 && bias.dim(0) == x.dim(-1)) return x + bias;
  return node.invalid("the bias must be one value for each index of the last axis of %s",
                      shape_text(x.shape()).c_str());
}

Value read_gelu(NodeReader& node) {
  return gelu(node.input(0));
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
    {"Gelu", 1, 1, 1, read_gelu, kMicrosoft},
    {"BiasGelu", 1, 2, 2, read_bias_gelu, kMicrosoft},
    {"FastGelu", 1, 1, 2, read_fast_gelu, kMicrosoft},
    {"QuickGelu", 1, 1, 1, read_quick_gelu, kMicrosoft},
};

}  // namespace

OpFamily contrib_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
