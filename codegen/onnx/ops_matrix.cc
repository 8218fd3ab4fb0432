// SPDX-License-Identifier: MIT
// Matrix products.
#include <algorithm>
#include <numeric>
#include <utility>

#include "codegen/onnx/activations.h"
#include "codegen/onnx/determinant.h"
#include "codegen/onnx/einsum.h"
#include "codegen/onnx/format.h"
#include "codegen/onnx/formulas.h"
#include "codegen/onnx/op_table.h"

namespace camshaft::onnx {
namespace {

Value read_matmul(NodeReader& node) {
  return matrix_product(node.input(0), node.input(1));
}

// alpha and beta of 0 are what they say. As in BLAS, beta 0 keeps NaN in C out of the result.
Value read_gemm(NodeReader& node) {
  Value a = node.input(0);
  Value b = node.input(1);
  const Value c = node.input(2);
  const double alpha = node.float_attr("alpha", 1);
  const double beta = node.float_attr("beta", 1);
  const bool transpose_a = node.flag_attr("transA", false);
  const bool transpose_b = node.flag_attr("transB", false);
  if (a.rank() != 2 || b.rank() != 2) return node.invalid("A and B must be matrices");
  if (!c && node.opset() < 11) return node.corrupt("input 2 (C) is missing");
  if (transpose_a) a = transpose(a, {1, 0});
  if (transpose_b) b = transpose(b, {1, 0});
  Value y = matrix_product(a, b);
  if (!y) return {};
  if (alpha != 1) y = alpha * y;
  if (!c || beta == 0) return y;
  return y + broadcast_to(beta == 1 ? c : beta * c, y.shape());
}

Value read_einsum(NodeReader& node) {
  const std::string equation = node.string_attr("equation", "");
  for (const Value& operand : node.inputs()) {
    if (!operand) return node.corrupt("an operand is missing");
  }
  return einsum(node, equation);
}

Value read_det(NodeReader& node) {
  const Value x = node.input(0);
  const DType exact = x.dtype() == DType::kFloat64 ? x.dtype() : DType::kFloat32;
  return cast(determinant(cast(x, exact)), x.dtype());
}

// --- onnxruntime's own ---------------------------------------------------------------------------

Value read_fused_gemm(NodeReader& node) {
  const std::string name = node.string_attr("activation", "");
  ActivationParameters parameters;
  if (node.has_attr("activation_alpha")) {
    parameters.alpha = node.float_attr("activation_alpha", 0);
  }
  // Of Selu the second parameter has a name of its own.
  const char* second = node.has_attr("activation_gamma") ? "activation_gamma" : "activation_beta";
  if (node.has_attr(second)) parameters.beta = node.float_attr(second, 0);
  const Value product = read_gemm(node);
  if (!product || name.empty()) return product;
  const Value y = activation(name, product, parameters);
  if (y || node.builder().failed()) return y;
  return node.unsupported("activation '%s' is not supported", printable(name).c_str());
}

// An operand with its first axis moved before the last one if `trans_batch`, then the last two
// exchanged if `trans`. Vectors stay.
Value transposed_operand(Value x, bool trans_batch, bool trans) {
  if (x.rank() < 2) return x;
  std::vector<int> perm(static_cast<size_t>(x.rank()));
  std::iota(perm.begin(), perm.end(), 0);
  if (trans_batch) std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  if (trans) std::swap(perm[perm.size() - 2], perm.back());
  return transpose(x, std::move(perm));
}

Value read_fused_matmul(NodeReader& node) {
  const Value a = transposed_operand(node.input(0), node.flag_attr("transBatchA", false),
                                     node.flag_attr("transA", false));
  const Value b = transposed_operand(node.input(1), node.flag_attr("transBatchB", false),
                                     node.flag_attr("transB", false));
  const double alpha = node.float_attr("alpha", 1);
  const Value y = matrix_product(a, b);
  return alpha == 1 ? y : y * alpha;
}

constexpr OpRow kOps[] = {
    {"MatMul", 7, 2, 2, read_matmul},
    {"Gemm", 7, 2, 3, read_gemm},
    {"Einsum", 12, 1, kAnyCount, read_einsum},
    {"Det", 11, 1, 1, read_det},
    {"FusedMatMul", 1, 2, 2, read_fused_matmul, kMicrosoft},
    {"FusedGemm", 1, 2, 3, read_fused_gemm, kMicrosoft},
};

}  // namespace

OpFamily matrix_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
