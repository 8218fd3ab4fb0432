// SPDX-License-Identifier: MIT
// onnxruntime's own operators on quantized tensors: what its quantization tool writes. Each
// computes with the numbers that the integers stand for, in f32, and rounds once.
#include <vector>

#include "codegen/onnx/format.h"
#include "codegen/onnx/formulas.h"
#include "codegen/onnx/op_table.h"
#include "codegen/onnx/quantized.h"

namespace camshaft::onnx {
namespace {

Value scalar_input(NodeReader& node, int i) {
  const Value x = node.input(i);
  if (x && x.elements() != 1) return node.invalid("input %d must be a scalar", i);
  return reshape(x, {});
}

Value scale_input(NodeReader& node, int i) {
  return node.input(i) ? scalar_input(node, i) : node.corrupt("input %d is missing", i);
}

// The numbers of the tensor at input `i`, whose scale and zero point follow it.
Value numbers(NodeReader& node, int i) {
  return dequantize(node.input(i), scale_input(node, i + 1), scalar_input(node, i + 2));
}

// Numbers as the node's output: scale and zero point are inputs `i` and `i` + 1.
Value quantized(NodeReader& node, Value x, int i) {
  return quantize(x, scale_input(node, i), scalar_input(node, i + 1), node.input(0).dtype());
}

Value read_add(NodeReader& node) {
  return quantized(node, numbers(node, 0) + numbers(node, 3), 6);
}
Value read_mul(NodeReader& node) {
  return quantized(node, numbers(node, 0) * numbers(node, 3), 6);
}
Value read_sigmoid(NodeReader& node) {
  return quantized(node, sigmoid(numbers(node, 0)), 3);
}

Value read_leaky_relu(NodeReader& node) {
  const Value x = numbers(node, 0);
  const Value negative = x * node.float_attr("alpha", 0.01);
  return quantized(node, select(less(x, 0.0), negative, x), 3);
}

Value read_softmax(NodeReader& node) {
  const Value x = numbers(node, 0);
  const bool is_flat = node.int_attr("opset", 13) < 13;  // of the Softmax that it was
  const int axis = node.axis(node.int_attr("axis", is_flat ? 1 : -1), x.rank());
  if (!x || x.rank() == 0) return x ? node.invalid("a scalar has no axis") : x;
  const std::vector<int> axes = axis_range(axis, is_flat ? x.rank() : axis + 1);
  return quantized(node, softmax(x, axes), 3);
}

Value read_global_average_pool(NodeReader& node) {
  const Value x = numbers(node, 0);
  if (!x) return {};
  if (x.rank() < 3) return node.invalid("needs [N, C, spatial...]");
  const bool channels_last = node.flag_attr("channels_last", false);
  const int first = channels_last ? 1 : 2;
  return quantized(node, mean(x, axis_range(first, channels_last ? x.rank() - 1 : x.rank())), 3);
}

// Inputs: scale and zero point of the output, then tensor, scale and zero point of each part.
Value read_concat(NodeReader& node) {
  const Value first = node.input(2);
  const int axis = node.axis(node.required_int("axis"), first.rank());
  if (node.input_count() % 3 != 2) return node.corrupt("has %d inputs", node.input_count());
  std::vector<Value> parts;
  for (int i = 2; i < node.input_count(); i += 3) {
    for (int j = i; j < i + 3; ++j) {
      if (!node.input(j)) return node.corrupt("input %d is missing", j);
    }
    parts.push_back(numbers(node, i));
    if (!parts.back()) return {};
  }
  return quantize(concat(parts, axis), scalar_input(node, 0), scalar_input(node, 1), first.dtype());
}

// A [M, K] and B [K, N] with scales of one element or, of B, one a column. Without a scale of the
// output it is a float.
Value read_gemm(NodeReader& node) {
  const auto matrix = [&](int i, const char* transposed, int columns) {
    const Value x = without_zero_point(node.input(i), along_axis(node.input(i + 2), columns, 2));
    if (x && x.rank() != 2) return node.invalid("A and B must be matrices");
    return node.flag_attr(transposed, false) ? transpose(x, {1, 0}) : x;
  };
  const int b_columns = node.flag_attr("transB", false) ? 0 : 1;
  const Value a = matrix(0, "transA", 1);
  const Value b = matrix(3, "transB", b_columns);
  const double alpha = node.float_attr("alpha", 1);
  if (!a || !b) return {};
  Value sum = matmul(a, b);
  if (node.input(6)) sum = sum + broadcast_to(node.input(6), sum.shape());
  const Value scale = scalar_input(node, 1) * along_axis(node.input(4), 1, 2);
  const Value y = cast(sum, DType::kFloat32) * (alpha == 1 ? scale : scale * alpha);
  return node.input(7) ? quantized(node, y, 7) : y;
}

// A in u8 or i8 times B, both with scales, plus a bias in float.
Value read_matmul_integer_to_float(NodeReader& node) {
  const Value a = node.input(0);
  const Value b = node.input(1);
  const Value sum = matrix_product(without_zero_point(a, along_rows(node.input(4), a)),
                                   without_zero_point(b, along_columns(node.input(5), b)));
  const Value scale = scalar_input(node, 2) * along_columns(node.input(3), sum);
  const Value y = cast(sum, DType::kFloat32) * scale;
  return node.input(6) ? y + node.input(6) : y;
}

constexpr OpRow kOps[] = {
    {"QLinearAdd", 1, 2, 8, read_add, kMicrosoft},
    {"QLinearMul", 1, 2, 8, read_mul, kMicrosoft},
    {"QLinearSigmoid", 1, 2, 5, read_sigmoid, kMicrosoft},
    {"QLinearLeakyRelu", 1, 2, 5, read_leaky_relu, kMicrosoft},
    {"QLinearSoftmax", 1, 2, 5, read_softmax, kMicrosoft},
    {"QLinearGlobalAveragePool", 1, 2, 5, read_global_average_pool, kMicrosoft},
    {"QLinearConcat", 1, 5, kAnyCount, read_concat, kMicrosoft},
    {"QGemm", 1, 6, 9, read_gemm, kMicrosoft},
    {"MatMulIntegerToFloat", 1, 4, 7, read_matmul_integer_to_float, kMicrosoft},
};

}  // namespace

OpFamily microsoft_quantization_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
