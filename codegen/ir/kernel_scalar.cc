// SPDX-License-Identifier: MIT
#include "codegen/ir/kernel_scalar.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "codegen/ir/literal.h"

namespace camshaft::ir {
namespace {

// The interpretation of lanes as one C++ type.
template <typename T>
T from_lane(LaneBits bits) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<double>(bits);
  } else {
    return static_cast<T>(bits);
  }
}

template <typename T>
LaneBits to_lane(T value) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<uint32_t>(value);
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<uint64_t>(value);
  } else {
    return static_cast<LaneBits>(static_cast<int64_t>(value));
  }
}

template <typename T>
LaneBits float_math(KOp op, T a, T b) {
  using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;
  const Wide x = a;
  switch (op) {
    case KOp::kAbs:
      return to_lane<T>(std::fabs(a));
    case KOp::kNeg:
      return to_lane<T>(-a);
    case KOp::kSqrt:
      return to_lane<T>(std::sqrt(a));
    case KOp::kFloor:
      return to_lane<T>(std::floor(a));
    case KOp::kCeil:
      return to_lane<T>(std::ceil(a));
    case KOp::kRound:
      return to_lane<T>(std::nearbyint(a));
    case KOp::kExp:
      return to_lane<T>(static_cast<T>(std::exp(x)));
    case KOp::kLog:
      return to_lane<T>(static_cast<T>(std::log(x)));
    case KOp::kSin:
      return to_lane<T>(static_cast<T>(std::sin(x)));
    case KOp::kCos:
      return to_lane<T>(static_cast<T>(std::cos(x)));
    case KOp::kTanh:
      return to_lane<T>(static_cast<T>(std::tanh(x)));
    case KOp::kErf:
      return to_lane<T>(static_cast<T>(std::erf(x)));
    case KOp::kPow:
      return to_lane<T>(static_cast<T>(std::pow(x, static_cast<Wide>(b))));
    default:
      CAMSHAFT_CHECK(false && "not an op on floats");
      return 0;
  }
}

template <typename T>
LaneBits float_op(KOp op, T a, T b, T c) {
  switch (op) {
    case KOp::kAdd:
      return to_lane<T>(a + b);
    case KOp::kSub:
      return to_lane<T>(a - b);
    case KOp::kMul:
      return to_lane<T>(a * b);
    case KOp::kDiv:
      return to_lane<T>(a / b);
    case KOp::kRem:
      return to_lane<T>(std::fmod(a, b));
    case KOp::kFma:
      return to_lane<T>(std::fma(a, b, c));
    default:
      return float_math(op, a, b);
  }
}

// Integers wrap: computed in the unsigned type of at least 32 bits, where C++ defines that.
template <typename T>
LaneBits int_op(KOp op, T a, T b) {
  using Unsigned = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  const auto ua = static_cast<Unsigned>(a);
  const auto ub = static_cast<Unsigned>(b);
  constexpr Unsigned kBits = sizeof(T) * 8;
  switch (op) {
    case KOp::kAdd:
      return to_lane<T>(static_cast<T>(ua + ub));
    case KOp::kSub:
      return to_lane<T>(static_cast<T>(ua - ub));
    case KOp::kMul:
      return to_lane<T>(static_cast<T>(ua * ub));
    case KOp::kDiv:
      if (b == 0) return 0;
      if (std::is_signed_v<T> && b == static_cast<T>(-1)) return to_lane<T>(static_cast<T>(0 - ua));
      return to_lane<T>(static_cast<T>(a / b));
    case KOp::kRem:
      if (b == 0 || (std::is_signed_v<T> && b == static_cast<T>(-1))) return 0;
      return to_lane<T>(static_cast<T>(a % b));
    case KOp::kAnd:
      return to_lane<T>(static_cast<T>(a & b));
    case KOp::kOr:
      return to_lane<T>(static_cast<T>(a | b));
    case KOp::kXor:
      return to_lane<T>(static_cast<T>(a ^ b));
    case KOp::kShl:
      return to_lane<T>(static_cast<T>(ua << (ub % kBits)));
    case KOp::kShr:
      return to_lane<T>(static_cast<T>(a >> (ub % kBits)));
    default:
      CAMSHAFT_CHECK(false && "not an op on integers");
      return 0;
  }
}

template <typename T>
LaneBits any_op(KOp op, LaneBits a_bits, LaneBits b_bits, LaneBits c_bits) {
  const T a = from_lane<T>(a_bits);
  const T b = from_lane<T>(b_bits);
  switch (op) {
    case KOp::kMin:
      return a < b ? a_bits : b_bits;
    case KOp::kMax:
      return a > b ? a_bits : b_bits;
    case KOp::kEq:
      return a == b;
    case KOp::kLt:
      return a < b;
    case KOp::kLe:
      return a <= b;
    default:
      break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    return float_op<T>(op, a, b, from_lane<T>(c_bits));
  } else {
    return int_op<T>(op, a, b);
  }
}

// One element in the form that literal.h reads and writes.
Literal one_element(DType dtype) {
  return zero_literal({dtype, {}});
}

}  // namespace

LaneBits float_bits(double value, DType dtype) {
  if (dtype == DType::kFloat64) return to_lane(value);
  CAMSHAFT_CHECK(dtype == DType::kFloat32);
  return to_lane(static_cast<float>(value));
}

double float_value(LaneBits bits, DType dtype) {
  if (dtype == DType::kFloat64) return from_lane<double>(bits);
  CAMSHAFT_CHECK(dtype == DType::kFloat32);
  return static_cast<double>(from_lane<float>(bits));
}

LaneBits evaluate_op(KOp op, DType dtype, LaneBits a, LaneBits b, LaneBits c) {
  if (op == KOp::kSelect) return a != 0 ? b : c;
  switch (dtype) {
    case DType::kFloat32:
      return any_op<float>(op, a, b, c);
    case DType::kFloat64:
      return any_op<double>(op, a, b, c);
    case DType::kInt8:
      return any_op<int8_t>(op, a, b, c);
    case DType::kInt16:
      return any_op<int16_t>(op, a, b, c);
    case DType::kInt32:
      return any_op<int32_t>(op, a, b, c);
    case DType::kInt64:
      return any_op<int64_t>(op, a, b, c);
    case DType::kUInt8:
    case DType::kBool:
      return any_op<uint8_t>(op, a, b, c);
    case DType::kUInt16:
      return any_op<uint16_t>(op, a, b, c);
    case DType::kUInt32:
      return any_op<uint32_t>(op, a, b, c);
    case DType::kUInt64:
      return any_op<uint64_t>(op, a, b, c);
    case DType::kFloat16:
    case DType::kBFloat16:
      break;
  }
  CAMSHAFT_CHECK(false && "no arithmetic in this dtype");
  return 0;
}

LaneBits evaluate_cast(LaneBits a, DType from, DType to) {
  if (from == to) return a;
  if (!base::is_float(from) && !base::is_float(to)) {
    return static_cast<LaneBits>(wrap_to_dtype(static_cast<int64_t>(a), to));
  }
  if (from == DType::kUInt64 && to == DType::kFloat32) return to_lane(static_cast<float>(a));
  if (!base::is_float(from) && to == DType::kFloat32) {
    return to_lane(static_cast<float>(static_cast<int64_t>(a)));
  }
  double value = 0;
  if (from == DType::kFloat16 || from == DType::kBFloat16) {
    Literal element = one_element(from);
    write_element(element.bytes.data(), from, a);
    value = literal_as_double(element, 0);
  } else {
    value = base::is_float(from)     ? float_value(a, from)
            : from == DType::kUInt64 ? static_cast<double>(a)
                                     : static_cast<double>(static_cast<int64_t>(a));
  }
  if (!base::is_float(to)) return static_cast<LaneBits>(saturate_to_dtype(value, to));
  if (to == DType::kFloat32 || to == DType::kFloat64) return float_bits(value, to);
  Literal element = one_element(to);
  set_literal_element(element, 0, value);
  return read_element(element.bytes.data(), to);
}

LaneBits evaluate_bitcast(LaneBits a, DType from, DType to) {
  unsigned char memory[8];
  write_element(memory, from, a);
  return read_element(memory, to);
}

LaneBits read_element(const void* element, DType dtype) {
  uint64_t bits = 0;
  static_assert(std::endian::native == std::endian::little);
  std::memcpy(&bits, element, static_cast<size_t>(base::dtype_size_bytes(dtype)));
  if (base::is_float(dtype)) return bits;
  return static_cast<LaneBits>(wrap_to_dtype(static_cast<int64_t>(bits), dtype));
}

void write_element(void* element, DType dtype, LaneBits value) {
  std::memcpy(element, &value, static_cast<size_t>(base::dtype_size_bytes(dtype)));
}

}  // namespace camshaft::ir
