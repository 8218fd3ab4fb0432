// SPDX-License-Identifier: MIT
// Elementwise functions of one operand.
#include <cmath>
#include <limits>

#include "codegen/onnx/extents.h"
#include "codegen/onnx/op_table.h"

namespace camshaft::onnx {
namespace {

// In which formulas of several steps are computed.
DType exact_dtype(DType dtype) {
  return dtype == DType::kFloat64 ? dtype : DType::kFloat32;
}

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
  const Value x = cast(node.input(0), exact_dtype(node.input(0).dtype()));
  return cast(atan(x / sqrt((1.0 - x) * (1.0 + x))), node.input(0).dtype());
}

// Twice the angle of half of it: tan(a / 2)^2 = (1 - cos a) / (1 + cos a).
Value read_acos(NodeReader& node) {
  const Value x = cast(node.input(0), exact_dtype(node.input(0).dtype()));
  return cast(2.0 * atan(sqrt((1.0 - x) / (1.0 + x))), node.input(0).dtype());
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

// log(1 + x). The rounding of 1 + x is made good by the factor, in which it cancels.
Value log1p(Value x) {
  const Value sum = 1.0 + x;
  const double infinity = std::numeric_limits<double>::infinity();
  const Value corrected = log(sum) * (x / (sum - 1.0));
  return select(logical_or(equal(sum, 1.0), equal(x, infinity)), x, corrected);
}

// From here on asinh(x) and acosh(x) are log(2x): what they differ in is long lost, and x^2 might
// overflow.
constexpr double kLargeRoot = 1e9;
constexpr double kLog2 = 0.69314718055994530942;

Value read_asinh(NodeReader& node) {
  const Value x = cast(node.input(0), exact_dtype(node.input(0).dtype()));
  const Value size = abs(x);
  const Value is_large = less(splat_like(x, kLargeRoot), size);
  const Value small = select(is_large, splat_like(x, 0), size);
  const Value square = small * small;
  const Value near = log1p(small + square / (1.0 + sqrt(1.0 + square)));
  const Value value = select(is_large, log(size) + kLog2, near);
  return cast(select(less(x, 0.0), -value, select(equal(x, 0.0), x, value)), node.input(0).dtype());
}

Value read_acosh(NodeReader& node) {
  const Value x = cast(node.input(0), exact_dtype(node.input(0).dtype()));
  const Value is_large = less(splat_like(x, kLargeRoot), x);
  const Value above = select(is_large, splat_like(x, 0), x - 1.0);
  const Value near = log1p(above + sqrt(above * (2.0 + above)));
  const Value value = select(is_large, log(x) + kLog2, near);
  const Value nan = splat_like(x, std::numeric_limits<double>::quiet_NaN());
  return cast(select(less(x, 1.0), nan, value), node.input(0).dtype());
}

Value read_atanh(NodeReader& node) {
  const Value x = cast(node.input(0), exact_dtype(node.input(0).dtype()));
  const Value size = abs(x);
  const Value value = 0.5 * log1p(2.0 * size / (1.0 - size));
  return cast(select(less(x, 0.0), -value, select(equal(x, 0.0), x, value)), node.input(0).dtype());
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
  return with_counts_of(node.builder().splat({DType::kBool, x.shape()}, 0), x);
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
    {"Asinh", 9, 1, 1, read_asinh},
    {"Acosh", 9, 1, 1, read_acosh},
    {"Atanh", 9, 1, 1, read_atanh},
    {"Tanh", 7, 1, 1, read_tanh},
    {"Erf", 9, 1, 1, read_erf},
    {"Floor", 7, 1, 1, read_floor},
    {"Ceil", 7, 1, 1, read_ceil},
    {"Round", 11, 1, 1, read_round},
    {"Sign", 9, 1, 1, read_sign},
    {"IsNaN", 9, 1, 1, read_is_nan},
    {"IsInf", 10, 1, 1, read_is_inf},
};

}  // namespace

OpFamily math_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
