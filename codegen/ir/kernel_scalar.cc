// SPDX-License-Identifier: MIT
#include "codegen/ir/kernel_scalar.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

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

// The lanes of an op's operands and of its result.
struct Lanes {
  const LaneBits* args[3];
  LaneBits* result;
  int count;
};

// Computes every lane by `function(a, b, c)` on numbers of type T.
template <typename T, typename Function>
void for_lanes(const Lanes& lanes, Function function) {
  for (int i = 0; i < lanes.count; ++i) {
    const T a = from_lane<T>(lanes.args[0][i]);
    const T b = from_lane<T>(lanes.args[1][i]);
    const T c = from_lane<T>(lanes.args[2][i]);
    if constexpr (std::is_same_v<decltype(function(a, b, c)), bool>) {
      lanes.result[i] = function(a, b, c);
    } else {
      lanes.result[i] = to_lane<T>(function(a, b, c));
    }
  }
}

template <typename T>
void float_math(KOp op, const Lanes& lanes) {
  using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;
  const auto wide = [&](auto function) {
    for_lanes<T>(lanes, [&](T a, T, T) { return static_cast<T>(function(static_cast<Wide>(a))); });
  };
  switch (op) {
    case KOp::kAbs:
      return for_lanes<T>(lanes, [](T a, T, T) { return std::fabs(a); });
    case KOp::kNeg:
      return for_lanes<T>(lanes, [](T a, T, T) { return -a; });
    case KOp::kSqrt:
      return for_lanes<T>(lanes, [](T a, T, T) { return std::sqrt(a); });
    case KOp::kFloor:
      return for_lanes<T>(lanes, [](T a, T, T) { return std::floor(a); });
    case KOp::kCeil:
      return for_lanes<T>(lanes, [](T a, T, T) { return std::ceil(a); });
    case KOp::kRound:
      return for_lanes<T>(lanes, [](T a, T, T) { return std::nearbyint(a); });
    case KOp::kExp:
      return wide([](Wide x) { return std::exp(x); });
    case KOp::kLog:
      return wide([](Wide x) { return std::log(x); });
    case KOp::kSin:
      return wide([](Wide x) { return std::sin(x); });
    case KOp::kCos:
      return wide([](Wide x) { return std::cos(x); });
    case KOp::kAtan:
      return wide([](Wide x) { return std::atan(x); });
    case KOp::kTanh:
      return wide([](Wide x) { return std::tanh(x); });
    case KOp::kErf:
      return wide([](Wide x) { return std::erf(x); });
    case KOp::kSigmoid:
      return wide([](Wide x) { return 1 / (1 + std::exp(-x)); });
    case KOp::kPow:
      return for_lanes<T>(lanes, [](T a, T b, T) {
        return static_cast<T>(std::pow(static_cast<Wide>(a), static_cast<Wide>(b)));
      });
    default:
      CAMSHAFT_CHECK(false && "not an op on floats");
  }
}

template <typename T>
void float_op(KOp op, const Lanes& lanes) {
  switch (op) {
    case KOp::kAdd:
      return for_lanes<T>(lanes, [](T a, T b, T) { return a + b; });
    case KOp::kSub:
      return for_lanes<T>(lanes, [](T a, T b, T) { return a - b; });
    case KOp::kMul:
      return for_lanes<T>(lanes, [](T a, T b, T) { return a * b; });
    case KOp::kDiv:
      return for_lanes<T>(lanes, [](T a, T b, T) { return a / b; });
    case KOp::kRem:
      return for_lanes<T>(lanes, [](T a, T b, T) { return std::fmod(a, b); });
    case KOp::kFma:
      return for_lanes<T>(lanes, [](T a, T b, T c) { return std::fma(a, b, c); });
    default:
      return float_math<T>(op, lanes);
  }
}

template <typename T>
T divide(T a, T b) {
  if (b == 0) return 0;
  // The smallest number over -1 wraps; C++ does not define it.
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) {
    return static_cast<T>(0 - static_cast<uint64_t>(a));
  }
  return static_cast<T>(a / b);
}

template <typename T>
T remainder(T a, T b) {
  return b == 0 || (std::is_signed_v<T> && b == static_cast<T>(-1)) ? T{0} : static_cast<T>(a % b);
}

// kDot of one lane: words of four bytes.
uint32_t dot(uint32_t sum, uint32_t a, uint32_t b) {
  for (int shift = 0; shift < 32; shift += 8) {
    sum += (a >> shift & 0xff) * static_cast<uint32_t>(static_cast<int8_t>(b >> shift));
  }
  return sum;
}

// Integers wrap: computed in 64 unsigned bits, where C++ defines that.
template <typename T>
void int_op(KOp op, const Lanes& lanes) {
  constexpr uint64_t kBits = sizeof(T) * 8;
  const auto wrapping = [&](auto function) {
    for_lanes<T>(lanes, [&](T a, T b, T) {
      return static_cast<T>(function(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
    });
  };
  switch (op) {
    case KOp::kAdd:
      return wrapping([](uint64_t a, uint64_t b) { return a + b; });
    case KOp::kSub:
      return wrapping([](uint64_t a, uint64_t b) { return a - b; });
    case KOp::kMul:
      return wrapping([](uint64_t a, uint64_t b) { return a * b; });
    case KOp::kDiv:
      return for_lanes<T>(lanes, [](T a, T b, T) { return divide(a, b); });
    case KOp::kRem:
      return for_lanes<T>(lanes, [](T a, T b, T) { return remainder(a, b); });
    case KOp::kDot:
      return for_lanes<T>(lanes, [](T a, T b, T c) {
        return static_cast<T>(
            dot(static_cast<uint32_t>(a), static_cast<uint32_t>(b), static_cast<uint32_t>(c)));
      });
    case KOp::kAnd:
      return wrapping([](uint64_t a, uint64_t b) { return a & b; });
    case KOp::kOr:
      return wrapping([](uint64_t a, uint64_t b) { return a | b; });
    case KOp::kXor:
      return wrapping([](uint64_t a, uint64_t b) { return a ^ b; });
    case KOp::kShl:
      return wrapping([](uint64_t a, uint64_t b) { return a << (b % kBits); });
    case KOp::kShr:
      return for_lanes<T>(lanes, [](T a, T b, T) {
        return static_cast<T>(a >> (static_cast<uint64_t>(b) % kBits));
      });
    default:
      CAMSHAFT_CHECK(false && "not an op on integers");
  }
}

template <typename T>
void any_op(KOp op, const Lanes& lanes) {
  switch (op) {
    case KOp::kMin:
      return for_lanes<T>(lanes, [](T a, T b, T) { return a < b ? a : b; });
    case KOp::kMax:
      return for_lanes<T>(lanes, [](T a, T b, T) { return a > b ? a : b; });
    case KOp::kEq:
      return for_lanes<T>(lanes, [](T a, T b, T) { return a == b; });
    case KOp::kLt:
      return for_lanes<T>(lanes, [](T a, T b, T) { return a < b; });
    case KOp::kLe:
      return for_lanes<T>(lanes, [](T a, T b, T) { return a <= b; });
    default:
      break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    return float_op<T>(op, lanes);
  } else {
    return int_op<T>(op, lanes);
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

void evaluate_op(KOp op, DType dtype, const LaneBits* const args[3], LaneBits* result, int count) {
  const Lanes lanes{{args[0], args[1], args[2]}, result, count};
  if (op == KOp::kSelect) {
    for (int i = 0; i < count; ++i) result[i] = args[0][i] != 0 ? args[1][i] : args[2][i];
    return;
  }
  switch (dtype) {
    case DType::kFloat32:
      return any_op<float>(op, lanes);
    case DType::kFloat64:
      return any_op<double>(op, lanes);
    case DType::kInt8:
      return any_op<int8_t>(op, lanes);
    case DType::kInt16:
      return any_op<int16_t>(op, lanes);
    case DType::kInt32:
      return any_op<int32_t>(op, lanes);
    case DType::kInt64:
      return any_op<int64_t>(op, lanes);
    case DType::kUInt8:
    case DType::kBool:
      return any_op<uint8_t>(op, lanes);
    case DType::kUInt16:
      return any_op<uint16_t>(op, lanes);
    case DType::kUInt32:
      return any_op<uint32_t>(op, lanes);
    case DType::kUInt64:
      return any_op<uint64_t>(op, lanes);
    case DType::kFloat16:
    case DType::kBFloat16:
      break;
  }
  CAMSHAFT_CHECK(false && "no arithmetic in this dtype");
}

LaneBits evaluate_op(KOp op, DType dtype, LaneBits a, LaneBits b, LaneBits c) {
  const LaneBits* const args[] = {&a, &b, &c};
  LaneBits result = 0;
  evaluate_op(op, dtype, args, &result, 1);
  return result;
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
