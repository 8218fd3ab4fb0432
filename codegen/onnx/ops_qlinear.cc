// SPDX-License-Identifier: MIT
// Products of quantized tensors. They are summed exactly, in i32; only the sum is scaled.
#include <vector>

#include "codegen/onnx/formulas.h"
#include "codegen/onnx/op_table.h"
#include "codegen/onnx/quantized.h"
#include "codegen/onnx/window.h"

namespace camshaft::onnx {
namespace {

// The scaled sum as an integer of the output's dtype, which is that of its zero point, or else of
// the first operand.
Value requantize(Value sum, Value scale, Value y_scale, Value y_zero, DType otherwise) {
  const Value factor = cast(scale, DType::kFloat32) / cast(y_scale, DType::kFloat32);
  return quantize_quotient(cast(sum, DType::kFloat32) * factor, y_zero,
                           y_zero ? y_zero.dtype() : otherwise);
}

// The sum of products of a convolution, with zero points and scales of the weights that may be one
// for each output channel.
Value convolve_integers(NodeReader& node, Value x, Value x_zero, Value w, Value w_zero) {
  return convolve(node, without_zero_point(x, along_axis(x_zero, 0, 1)),
                  without_zero_point(w, along_axis(w_zero, 0, w.rank())));
}

Value read_conv_integer(NodeReader& node) {
  return convolve_integers(node, node.input(0), node.input(2), node.input(1), node.input(3));
}

Value read_qlinear_conv(NodeReader& node) {
  const Value x = node.input(0);
  const Value sum = convolve_integers(node, x, node.input(2), node.input(3), node.input(5));
  const Value scale = along_axis(node.input(1), 0, 1) * along_axis(node.input(4), 1, sum.rank());
  return requantize(add_bias(node, sum, node.input(8)), scale, along_axis(node.input(6), 0, 1),
                    along_axis(node.input(7), 0, 1), x.dtype());
}

Value read_matmul_integer(NodeReader& node) {
  const Value a = node.input(0);
  const Value b = node.input(1);
  return matrix_product(without_zero_point(a, along_rows(node.input(2), a)),
                        without_zero_point(b, along_columns(node.input(3), b)));
}

Value read_qlinear_matmul(NodeReader& node) {
  const Value a = node.input(0);
  const Value b = node.input(3);
  const Value sum = matrix_product(without_zero_point(a, along_rows(node.input(2), a)),
                                   without_zero_point(b, along_columns(node.input(5), b)));
  const Value scale = along_rows(node.input(1), sum) * along_columns(node.input(4), sum);
  return requantize(sum, scale, along_rows(node.input(6), sum), along_rows(node.input(7), sum),
                    a.dtype());
}

// The range of the data, with 0 in it, becomes that of u8.
Value read_dynamic_quantize_linear(NodeReader& node) {
  const Value x = node.input(0);
  const std::vector<int> all = axis_range(0, x.rank());
  const Value high = max(reshape(reduce(ir::ReduceKind::kMax, x, all), {}), 0.0);
  const Value low = min(reshape(reduce(ir::ReduceKind::kMin, x, all), {}), 0.0);
  const Value range = high - low;
  const Value scale = select(equal(range, 0.0), scalar_like(range, 1), range) / 255.0;
  const Value zero = cast(round(0.0 - low / scale), DType::kUInt8);  // saturates
  node.set_output(1, scale);
  node.set_output(2, zero);
  return quantize(x, scale, zero, DType::kUInt8);
}

constexpr OpRow kOps[] = {
    {"ConvInteger", 10, 2, 4, read_conv_integer},
    {"QLinearConv", 10, 8, 9, read_qlinear_conv},
    {"MatMulInteger", 10, 2, 4, read_matmul_integer},
    {"QLinearMatMul", 10, 8, 8, read_qlinear_matmul},
    {"DynamicQuantizeLinear", 11, 1, 1, read_dynamic_quantize_linear},
};

}  // namespace

OpFamily qlinear_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
