// SPDX-License-Identifier: MIT
#include "codegen/ir/literal.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace camshaft::ir {
namespace {

// A 16-bit float format: sign, exponent, `mantissa_bits` of mantissa.
struct SmallFloat {
  int mantissa_bits;
  int max_exponent;  // of the largest finite number; also the bias
};
constexpr SmallFloat kHalf{10, 15};
constexpr SmallFloat kBrain{7, 127};

// Rounds to the format's grid: `mantissa_bits` after the leading one, fewer below the smallest
// normal number.
double round_to_format(double value, const SmallFloat& format) {
  if (!std::isfinite(value) || value == 0) return value;
  int exponent = std::ilogb(value);
  if (exponent < 1 - format.max_exponent) exponent = 1 - format.max_exponent;
  const int ulp_exponent = exponent - format.mantissa_bits;
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -ulp_exponent)), ulp_exponent);
  const double limit = std::ldexp(1.0, format.max_exponent + 1);
  if (std::fabs(rounded) < limit) return rounded;
  return std::copysign(std::numeric_limits<double>::infinity(), value);
}

uint16_t small_float_bits(double value, const SmallFloat& format) {
  const int bias = format.max_exponent;
  const auto exponent_ones = static_cast<uint16_t>((2 * bias + 1) << format.mantissa_bits);
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) {
    return static_cast<uint16_t>(sign | exponent_ones | (1 << (format.mantissa_bits - 1)));
  }
  const double magnitude = std::fabs(round_to_format(value, format));
  if (std::isinf(magnitude)) return sign | exponent_ones;
  // In units of the smallest denormal, numbers count up as their bit patterns do, one binade
  // at a time.
  const int smallest = 1 - bias - format.mantissa_bits;
  if (magnitude < std::ldexp(1.0, 1 - bias)) {
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::ldexp(magnitude, -smallest)));
  }
  const int exponent = std::ilogb(magnitude);
  const double fraction = std::ldexp(magnitude, -exponent) - 1;
  const auto mantissa = static_cast<uint16_t>(std::ldexp(fraction, format.mantissa_bits));
  return static_cast<uint16_t>(sign | ((exponent + bias) << format.mantissa_bits) | mantissa);
}

double small_float_value(uint16_t bits, const SmallFloat& format) {
  const int bias = format.max_exponent;
  const int exponent = (bits & 0x7fff) >> format.mantissa_bits;
  const int mantissa = bits & ((1 << format.mantissa_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 2 * bias + 1) {
    if (mantissa != 0) return std::copysign(std::numeric_limits<double>::quiet_NaN(), sign);
    return sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - format.mantissa_bits);
  return sign *
         std::ldexp((1 << format.mantissa_bits) + mantissa, exponent - bias - format.mantissa_bits);
}

template <typename T>
T load(const Literal& literal, int64_t i) {
  T value;
  std::memcpy(&value, literal.bytes.data() + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <typename T>
void store(Literal& literal, int64_t i, T value) {
  std::memcpy(literal.bytes.data() + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

template <typename T>
int64_t saturate(double value) {
  // The upper limit is compared as a power of two, which is exact: max itself need not be.
  const double above = std::ldexp(1.0, std::numeric_limits<T>::digits);
  if (value >= above) return static_cast<int64_t>(std::numeric_limits<T>::max());
  if (value <= static_cast<double>(std::numeric_limits<T>::min())) {
    return static_cast<int64_t>(std::numeric_limits<T>::min());
  }
  return static_cast<int64_t>(static_cast<T>(value));
}

}  // namespace

double round_to_dtype(double value, DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return value;
    case DType::kFloat32:
      return static_cast<double>(static_cast<float>(value));
    case DType::kFloat16:
      return round_to_format(value, kHalf);
    case DType::kBFloat16:
      return round_to_format(value, kBrain);
    default:
      CAMSHAFT_CHECK(base::is_float(dtype));
      return value;
  }
}

int64_t wrap_to_dtype(int64_t value, DType dtype) {
  switch (dtype) {
    case DType::kInt8:
      return static_cast<int8_t>(value);
    case DType::kInt16:
      return static_cast<int16_t>(value);
    case DType::kInt32:
      return static_cast<int32_t>(value);
    case DType::kUInt8:
      return static_cast<uint8_t>(value);
    case DType::kUInt16:
      return static_cast<uint16_t>(value);
    case DType::kUInt32:
      return static_cast<uint32_t>(value);
    case DType::kBool:
      return value != 0;
    default:
      CAMSHAFT_CHECK(!base::is_float(dtype));
      return value;
  }
}

int64_t saturate_to_dtype(double value, DType dtype) {
  if (dtype == DType::kBool) return value != 0;
  if (std::isnan(value)) return 0;
  switch (dtype) {
    case DType::kInt8:
      return saturate<int8_t>(value);
    case DType::kInt16:
      return saturate<int16_t>(value);
    case DType::kInt32:
      return saturate<int32_t>(value);
    case DType::kInt64:
      return saturate<int64_t>(value);
    case DType::kUInt8:
      return saturate<uint8_t>(value);
    case DType::kUInt16:
      return saturate<uint16_t>(value);
    case DType::kUInt32:
      return saturate<uint32_t>(value);
    case DType::kUInt64:
      return saturate<uint64_t>(value);
    default:
      CAMSHAFT_CHECK(!base::is_float(dtype));
      return 0;
  }
}

double literal_as_double(const Literal& literal, int64_t i) {
  switch (literal.type.dtype) {
    case DType::kFloat32:
      return static_cast<double>(load<float>(literal, i));
    case DType::kFloat64:
      return load<double>(literal, i);
    case DType::kFloat16:
      return small_float_value(load<uint16_t>(literal, i), kHalf);
    case DType::kBFloat16:
      return small_float_value(load<uint16_t>(literal, i), kBrain);
    case DType::kUInt64:
      return static_cast<double>(load<uint64_t>(literal, i));
    default:
      return static_cast<double>(literal_as_int(literal, i));
  }
}

int64_t literal_as_int(const Literal& literal, int64_t i) {
  switch (literal.type.dtype) {
    case DType::kInt8:
      return load<int8_t>(literal, i);
    case DType::kInt16:
      return load<int16_t>(literal, i);
    case DType::kInt32:
      return load<int32_t>(literal, i);
    case DType::kUInt8:
      return load<uint8_t>(literal, i);
    case DType::kUInt16:
      return load<uint16_t>(literal, i);
    case DType::kUInt32:
      return load<uint32_t>(literal, i);
    case DType::kBool:
      return load<uint8_t>(literal, i) != 0;
    default:
      CAMSHAFT_CHECK(!base::is_float(literal.type.dtype));
      return load<int64_t>(literal, i);
  }
}

void set_literal_element(Literal& literal, int64_t i, double value) {
  switch (literal.type.dtype) {
    case DType::kFloat32:
      return store(literal, i, static_cast<float>(value));
    case DType::kFloat64:
      return store(literal, i, value);
    case DType::kFloat16:
      return store(literal, i, small_float_bits(value, kHalf));
    case DType::kBFloat16:
      return store(literal, i, small_float_bits(value, kBrain));
    default:
      return set_literal_element_int(literal, i, saturate_to_dtype(value, literal.type.dtype));
  }
}

void set_literal_element_int(Literal& literal, int64_t i, int64_t value) {
  CAMSHAFT_CHECK(!base::is_float(literal.type.dtype));
  switch (base::dtype_size_bytes(literal.type.dtype)) {
    case 1:
      if (literal.type.dtype == DType::kBool) value = value != 0;
      return store(literal, i, static_cast<uint8_t>(value));
    case 2:
      return store(literal, i, static_cast<uint16_t>(value));
    case 4:
      return store(literal, i, static_cast<uint32_t>(value));
    default:
      return store(literal, i, value);
  }
}

Literal zero_literal(TensorType type) {
  const auto size = static_cast<size_t>(type.size_bytes());
  return {std::move(type), std::vector<std::byte>(size)};
}

Literal splat_literal(TensorType type, double value) {
  Literal literal = zero_literal(std::move(type));
  const int64_t count = literal.type.elements();
  for (int64_t i = 0; i < count; ++i) set_literal_element(literal, i, value);
  return literal;
}

Literal make_literal(TensorType type, const std::vector<double>& values) {
  Literal literal = zero_literal(std::move(type));
  CAMSHAFT_CHECK(static_cast<int64_t>(values.size()) == literal.type.elements());
  for (size_t i = 0; i < values.size(); ++i) {
    set_literal_element(literal, static_cast<int64_t>(i), values[i]);
  }
  return literal;
}

Literal seeded_literal(TensorType type, uint64_t seed) {
  Literal literal = zero_literal(std::move(type));
  const DType dtype = literal.type.dtype;
  const int64_t count = literal.type.elements();
  for (int64_t i = 0; i < count; ++i) {
    // SplitMix64 (Steele, Lea, Flood 2014), indexed rather than stepped.
    uint64_t bits =
        (seed + 1) * 0xD1342543DE82EF95u + static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15u;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
    bits ^= bits >> 31;
    // Few enough bits to be exact in the dtype.
    if (dtype == DType::kFloat32 || dtype == DType::kFloat64) {
      set_literal_element(literal, i, static_cast<double>(bits >> 40) * 0x1p-23 - 1);
    } else if (base::is_float(dtype)) {
      set_literal_element(literal, i, static_cast<double>(bits >> 57) * 0x1p-6 - 1);
    } else if (dtype == DType::kBool) {
      set_literal_element_int(literal, i, static_cast<int64_t>(bits >> 63));
    } else {
      const auto small = static_cast<int64_t>(bits >> 60);
      set_literal_element_int(literal, i, base::is_signed_int(dtype) ? small - 8 : small);
    }
  }
  return literal;
}

bool is_splat(const Literal& literal) {
  const auto size = static_cast<size_t>(base::dtype_size_bytes(literal.type.dtype));
  const std::vector<std::byte>& bytes = literal.bytes;
  // Equal to itself one element further on: every element equals its neighbour.
  return !bytes.empty() && std::memcmp(bytes.data(), bytes.data() + size, bytes.size() - size) == 0;
}

bool equal_literals(const Literal& a, const Literal& b) {
  return a.type == b.type && a.bytes == b.bytes;
}

}  // namespace camshaft::ir
