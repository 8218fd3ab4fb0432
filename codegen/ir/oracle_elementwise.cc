// SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>

#include "codegen/ir/literal.h"
#include "codegen/ir/oracle_eval.h"

namespace camshaft::ir {
namespace {

double float_unary(Op op, double x) {
  switch (op) {
    case Op::kNeg:
      return -x;
    case Op::kAbs:
      return std::fabs(x);
    case Op::kExp:
      return std::exp(x);
    case Op::kLog:
      return std::log(x);
    case Op::kSqrt:
      return std::sqrt(x);
    case Op::kSin:
      return std::sin(x);
    case Op::kCos:
      return std::cos(x);
    case Op::kTanh:
      return std::tanh(x);
    case Op::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case Op::kErf:
      return std::erf(x);
    case Op::kAtan:
      return std::atan(x);
    case Op::kFloor:
      return std::floor(x);
    case Op::kCeil:
      return std::ceil(x);
    default:
      CAMSHAFT_CHECK(op == Op::kRound);
      return std::nearbyint(x);
  }
}

int64_t int_unary(Op op, int64_t x, DType dtype) {
  const auto bits = static_cast<uint64_t>(x);
  switch (op) {
    case Op::kNeg:
      return wrap_to_dtype(static_cast<int64_t>(-bits), dtype);
    case Op::kAbs:
      return int_less(x, 0, dtype) ? wrap_to_dtype(static_cast<int64_t>(-bits), dtype) : x;
    default:
      CAMSHAFT_CHECK(op == Op::kNot);
      return dtype == DType::kBool ? x == 0 : wrap_to_dtype(static_cast<int64_t>(~bits), dtype);
  }
}

double float_binary(Op op, double a, double b) {
  switch (op) {
    case Op::kAdd:
      return a + b;
    case Op::kSub:
      return a - b;
    case Op::kMul:
      return a * b;
    case Op::kDiv:
      return a / b;
    case Op::kRem:
      return std::fmod(a, b);
    case Op::kPow:
      return std::pow(a, b);
    case Op::kMin:
      return combine(ReduceKind::kMin, a, b);
    default:
      CAMSHAFT_CHECK(op == Op::kMax);
      return combine(ReduceKind::kMax, a, b);
  }
}

// Truncating quotient or remainder; a zero divisor gives 0. The one quotient that overflows,
// lowest / -1, wraps, as -x does.
int64_t int_divide(Op op, int64_t a, int64_t b, DType dtype) {
  if (b == 0) return 0;
  if (dtype == DType::kUInt64) {
    const auto x = static_cast<uint64_t>(a);
    const auto y = static_cast<uint64_t>(b);
    return static_cast<int64_t>(op == Op::kDiv ? x / y : x % y);
  }
  if (b == -1) return op == Op::kDiv ? int_unary(Op::kNeg, a, dtype) : 0;
  return op == Op::kDiv ? a / b : a % b;
}

// Powers wrap; a negative exponent means the truncated quotient 1 / a^-b.
int64_t int_power(int64_t a, int64_t b, DType dtype) {
  if (int_less(b, 0, dtype)) {
    if (a == 1) return 1;
    if (a == -1) return b % 2 == 0 ? 1 : -1;
    return 0;
  }
  uint64_t result = 1;
  auto square = static_cast<uint64_t>(a);
  for (auto exponent = static_cast<uint64_t>(b); exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result *= square;
    square *= square;
  }
  return wrap_to_dtype(static_cast<int64_t>(result), dtype);
}

// Of unsigned integers.
int64_t int_shift(Op op, int64_t a, int64_t b, DType dtype) {
  const auto bits = static_cast<uint64_t>(a);
  const auto amount = static_cast<uint64_t>(b);
  if (amount >= static_cast<uint64_t>(base::dtype_size_bytes(dtype)) * 8) return 0;
  if (op == Op::kShiftRight) return static_cast<int64_t>(bits >> amount);
  CAMSHAFT_CHECK(op == Op::kShiftLeft);
  return wrap_to_dtype(static_cast<int64_t>(bits << amount), dtype);
}

int64_t int_binary(Op op, int64_t a, int64_t b, DType dtype) {
  switch (op) {
    case Op::kAdd:
      return combine(ReduceKind::kSum, a, b, dtype);
    case Op::kSub:
      return wrap_to_dtype(
          static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b)), dtype);
    case Op::kMul:
      return combine(ReduceKind::kProd, a, b, dtype);
    case Op::kDiv:
    case Op::kRem:
      return int_divide(op, a, b, dtype);
    case Op::kPow:
      return int_power(a, b, dtype);
    case Op::kMin:
      return combine(ReduceKind::kMin, a, b, dtype);
    case Op::kMax:
      return combine(ReduceKind::kMax, a, b, dtype);
    case Op::kAnd:
      return a & b;
    case Op::kOr:
      return a | b;
    case Op::kXor:
      return a ^ b;
    default:
      return int_shift(op, a, b, dtype);
  }
}


bool is_comparison(Op op) {
  return op == Op::kEqual || op == Op::kLess || op == Op::kLessEqual || op == Op::kIsNan;
}

void evaluate_comparison(const Evaluation& eval, OracleTensor& result) {
  const OracleTensor& a = eval.operand(0);
  const OracleTensor& b = eval.operand(eval.node.op == Op::kIsNan ? 0 : 1);
  const DType dtype = a.type.dtype;
  const bool floats = base::is_float(dtype);
  for (size_t i = 0; i < result.ints.size(); ++i) {
    switch (eval.node.op) {
      case Op::kIsNan:
        result.ints[i] = std::isnan(a.floats[i]);
        break;
      case Op::kEqual:
        result.ints[i] = floats ? a.floats[i] == b.floats[i] : a.ints[i] == b.ints[i];
        break;
      case Op::kLess:
        result.ints[i] = floats ? a.floats[i] < b.floats[i] : int_less(a.ints[i], b.ints[i], dtype);
        break;
      default:
        result.ints[i] =
            floats ? a.floats[i] <= b.floats[i] : !int_less(b.ints[i], a.ints[i], dtype);
    }
  }
}

// An integer as a double. Where the target is narrower than f64, an integer beyond 2^53 is rounded
// to f32 in one step, since rounding to f64 first may round twice.
double int_to_float(int64_t x, DType from, DType to) {
  const bool is_unsigned = from == DType::kUInt64;
  const auto bits = static_cast<uint64_t>(x);
  const double value = is_unsigned ? static_cast<double>(bits) : static_cast<double>(x);
  if (to == DType::kFloat64 || std::fabs(value) < 0x1p53) return value;
  return static_cast<double>(is_unsigned ? static_cast<float>(bits) : static_cast<float>(x));
}

void evaluate_cast(const Evaluation& eval, OracleTensor& result) {
  const OracleTensor& x = eval.operand(0);
  const DType from = x.type.dtype;
  const DType to = result.type.dtype;
  for (size_t i = 0; i < x.floats.size(); ++i) {
    if (base::is_float(to)) {
      result.floats[i] = x.floats[i];
    } else {
      result.ints[i] = saturate_to_dtype(x.floats[i], to);
    }
  }
  for (size_t i = 0; i < x.ints.size(); ++i) {
    if (base::is_float(to)) {
      result.floats[i] = int_to_float(x.ints[i], from, to);
    } else {
      result.ints[i] = wrap_to_dtype(x.ints[i], to);
    }
  }
}

// By way of memory: what is kept in more precision is rounded first.
void evaluate_bitcast(const Evaluation& eval, OracleTensor& result) {
  Literal literal = to_literal(eval.operand(0));
  literal.type = result.type;
  result = to_oracle(literal);
}

}  // namespace

double combine(ReduceKind kind, double a, double b) {
  switch (kind) {
    case ReduceKind::kSum:
      return a + b;
    case ReduceKind::kProd:
      return a * b;
    case ReduceKind::kMax:
      return std::isnan(a) || a > b ? a : b;
    default:
      return std::isnan(a) || a < b ? a : b;
  }
}

int64_t combine(ReduceKind kind, int64_t a, int64_t b, DType dtype) {
  const auto x = static_cast<uint64_t>(a);
  const auto y = static_cast<uint64_t>(b);
  switch (kind) {
    case ReduceKind::kSum:
      return wrap_to_dtype(static_cast<int64_t>(x + y), dtype);
    case ReduceKind::kProd:
      return wrap_to_dtype(static_cast<int64_t>(x * y), dtype);
    case ReduceKind::kMax:
      return int_less(a, b, dtype) ? b : a;
    default:
      return int_less(b, a, dtype) ? b : a;
  }
}

double float_identity(ReduceKind kind) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (kind == ReduceKind::kSum) return 0;
  if (kind == ReduceKind::kProd) return 1;
  return kind == ReduceKind::kMax ? -kInfinity : kInfinity;
}

int64_t int_identity(ReduceKind kind, DType dtype) {
  if (kind == ReduceKind::kSum) return 0;
  if (kind == ReduceKind::kProd) return 1;
  const double beyond = kind == ReduceKind::kMax ? -0x1p70 : 0x1p70;
  return saturate_to_dtype(beyond, dtype);
}

bool int_less(int64_t a, int64_t b, DType dtype) {
  if (dtype == DType::kUInt64) return static_cast<uint64_t>(a) < static_cast<uint64_t>(b);
  return a < b;
}

void evaluate_elementwise(const Evaluation& eval, OracleTensor& result) {
  const Op op = eval.node.op;
  const DType dtype = eval.node.type.dtype;
  if (is_comparison(op)) return evaluate_comparison(eval, result);
  if (op == Op::kCast) return evaluate_cast(eval, result);
  if (op == Op::kBitcast) return evaluate_bitcast(eval, result);
  if (op == Op::kSelect) {
    const std::vector<int64_t>& condition = eval.operand(0).ints;
    const OracleTensor& yes = eval.operand(1);
    const OracleTensor& no = eval.operand(2);
    for (size_t i = 0; i < result.floats.size(); ++i) {
      result.floats[i] = condition[i] != 0 ? yes.floats[i] : no.floats[i];
    }
    for (size_t i = 0; i < result.ints.size(); ++i) {
      result.ints[i] = condition[i] != 0 ? yes.ints[i] : no.ints[i];
    }
    return;
  }
  const OracleTensor& a = eval.operand(0);
  const bool unary = op_info(op).arity == 1;
  const OracleTensor& b = eval.operand(unary ? 0 : 1);
  for (size_t i = 0; i < result.floats.size(); ++i) {
    result.floats[i] =
        unary ? float_unary(op, a.floats[i]) : float_binary(op, a.floats[i], b.floats[i]);
  }
  for (size_t i = 0; i < result.ints.size(); ++i) {
    result.ints[i] =
        unary ? int_unary(op, a.ints[i], dtype) : int_binary(op, a.ints[i], b.ints[i], dtype);
  }
}

}  // namespace camshaft::ir
