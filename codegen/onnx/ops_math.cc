// SPDX-License-Identifier: MIT
// Elementwise functions of one operand, and casts.
#include <cmath>
#include <limits>

#include "codegen/onnx/op_table.h"

namespace camshaft::onnx {
namespace {

Value read_neg(NodeReader& node) {
  return -node.input(0);
}
Value read_abs(NodeReader& node) {
  return abs(node.input(0));
}
Value read_reciprocal(NodeReader& node) {
  return 1.0 / node.input(0);
}
Value read_sqrt(NodeReader& node) {
  return sqrt(node.input(0));
}
Value read_exp(NodeReader& node) {
  return exp(node.input(0));
}
Value read_log(NodeReader& node) {
  return log(node.input(0));
}
Value read_sin(NodeReader& node) {
  return sin(node.input(0));
}
Value read_cos(NodeReader& node) {
  return cos(node.input(0));
}
Value read_tan(NodeReader& node) {
  return sin(node.input(0)) / cos(node.input(0));
}
Value read_atan(NodeReader& node) {
  return atan(node.input(0));
}

// Of the point (sqrt(1 - x^2), x), the root as a product so that it keeps its digits near 1.
Value read_asin(NodeReader& node) {
  const Value x = node.input(0);
  return atan(x / sqrt((1.0 - x) * (1.0 + x)));
}

// Twice the angle of half of it: tan(a / 2)^2 = (1 - cos a) / (1 + cos a).
Value read_acos(NodeReader& node) {
  const Value x = node.input(0);
  return 2.0 * atan(sqrt((1.0 - x) / (1.0 + x)));
}

Value read_tanh(NodeReader& node) {
  return tanh(node.input(0));
}
Value read_erf(NodeReader& node) {
  return erf(node.input(0));
}
Value read_floor(NodeReader& node) {
  return floor(node.input(0));
}
Value read_ceil(NodeReader& node) {
  return ceil(node.input(0));
}
Value read_round(NodeReader& node) {
  return round(node.input(0));
}
Value read_is_nan(NodeReader& node) {
  return is_nan(node.input(0));
}

// e^x in two halves, so that it overflows only where sinh and cosh do.
Value read_cosh(NodeReader& node) {
  const Value half = exp(abs(node.input(0)) * 0.5);
  return 0.5 * half * half + 0.5 / half / half;
}

// Near 0 the difference of the powers would cancel; there, sinh(x) = 2t / (1 - t^2) with
// t = tanh(x / 2).
Value read_sinh(NodeReader& node) {
  const Value x = node.input(0);
  const Value half = exp(abs(x) * 0.5);
  const Value size = 0.5 * half * half - 0.5 / half / half;
  const Value t = tanh(x * 0.5);
  return select(less(abs(x), 1.0), 2.0 * t / (1.0 - t * t), select(less(x, 0.0), -size, size));
}

// NaN and zeros are their own sign.
Value read_sign(NodeReader& node) {
  const Value x = node.input(0);
  const Value rest =
      base::is_unsigned_int(x.dtype()) ? x : select(less(x, 0.0), scalar_like(x, -1), x);
  return select(less(splat_like(x, 0), x), scalar_like(x, 1), rest);
}

Value read_is_inf(NodeReader& node) {
  const Value x = node.input(0);
  const double infinity = std::numeric_limits<double>::infinity();
  const bool positive = node.flag_attr("detect_positive", true);
  const bool negative = node.flag_attr("detect_negative", true);
  if (positive && negative) return equal(abs(x), infinity);
  if (positive) return equal(x, infinity);
  if (negative) return equal(x, -infinity);
  return node.builder().splat({DType::kBool, x.shape()}, 0);
}

// `saturate` and `round_mode` concern targets of 8 bits and less, which we lack.
Value read_cast(NodeReader& node) {
  node.required_int("to");
  node.ignore_attr("saturate");
  node.ignore_attr("round_mode");
  return cast(node.input(0), node.dtype_attr("to", node.input(0).dtype()));
}

Value read_cast_like(NodeReader& node) {
  node.ignore_attr("saturate");
  node.ignore_attr("round_mode");
  return cast(node.input(0), node.input(1).dtype());
}

constexpr OpRow kOps[] = {
    {"Neg", 7, 1, 1, read_neg},
    {"Abs", 7, 1, 1, read_abs},
    {"Reciprocal", 7, 1, 1, read_reciprocal},
    {"Sqrt", 7, 1, 1, read_sqrt},
    {"Exp", 7, 1, 1, read_exp},
    {"Log", 7, 1, 1, read_log},
    {"Sin", 7, 1, 1, read_sin},
    {"Cos", 7, 1, 1, read_cos},
    {"Tan", 7, 1, 1, read_tan},
    {"Asin", 7, 1, 1, read_asin},
    {"Acos", 7, 1, 1, read_acos},
    {"Atan", 7, 1, 1, read_atan},
    {"Sinh", 9, 1, 1, read_sinh},
    {"Cosh", 9, 1, 1, read_cosh},
    {"Tanh", 7, 1, 1, read_tanh},
    {"Erf", 9, 1, 1, read_erf},
    {"Floor", 7, 1, 1, read_floor},
    {"Ceil", 7, 1, 1, read_ceil},
    {"Round", 11, 1, 1, read_round},
    {"Sign", 9, 1, 1, read_sign},
    {"IsNaN", 9, 1, 1, read_is_nan},
    {"IsInf", 10, 1, 1, read_is_inf},
    {"Cast", 7, 1, 1, read_cast},
    {"CastLike", 15, 2, 2, read_cast_like},
};

}  // namespace

OpFamily math_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
