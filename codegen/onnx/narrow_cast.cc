// SPDX-License-Identifier: MIT
#include "codegen/onnx/narrow_cast.h"

#include <bit>
#include <cmath>
#include <vector>

#include "codegen/onnx/builder.h"

namespace camshaft::onnx {
namespace {

// A float as its bits. The methods make values in the unsigned integer of the float's size.
struct FloatBits {
  explicit FloatBits(Value x)
      : value(x),
        is_f64(x.dtype() == DType::kFloat64),
        bits(bitcast(x, is_f64 ? DType::kUInt64 : DType::kUInt32)),
        magnitude(logical_and(bits, number(~(uint64_t{1} << sign_place())))) {}

  int mantissa_bits() const { return is_f64 ? 52 : 23; }
  int bias() const { return is_f64 ? 1023 : 127; }
  int sign_place() const { return is_f64 ? 63 : 31; }
  uint64_t bits_of(double x) const {
    return is_f64 ? std::bit_cast<uint64_t>(x) : std::bit_cast<uint32_t>(static_cast<float>(x));
  }
  // Exact, which a double is not for all of 64 bits.
  Value number(uint64_t n) const { return scalar_int_like(bits, static_cast<int64_t>(n)); }
  Value is_nan() const { return less(number(bits_of(HUGE_VAL)), magnitude); }

  Value value;
  bool is_f64;
  Value bits;
  Value magnitude;  // the bits without the sign
};

// The code of |x|, rounded, as if the exponents had no upper end.
Value round_magnitude(const FloatBits& x, const NarrowFormat& format) {
  const int dropped = x.mantissa_bits() - format.mantissa_bits;
  // Half of what is dropped, or a little less where the last bit kept is even, carries over.
  const Value last = logical_and(shift_right(x.magnitude, dropped), x.number(1));
  const Value carried = x.magnitude + x.number((uint64_t{1} << (dropped - 1)) - 1) + last;
  const auto rebias = static_cast<uint64_t>(x.bias() - format.bias) << format.mantissa_bits;
  const Value normal = shift_right(carried, dropped) - x.number(rebias);
  // Below the smallest normal number codes count units: the sum with a power of two of which they
  // are the last bits rounds to them.
  const double smallest = std::ldexp(1, 1 - format.bias);
  const double magic = std::ldexp(1, 1 - format.bias + dropped);
  const DType bits_dtype = x.bits.dtype();
  const Value counted = bitcast(abs(x.value) + magic, bits_dtype) - x.number(x.bits_of(magic));
  return select(less(x.magnitude, x.number(x.bits_of(smallest))), counted, normal);
}

Value encode_float(Value number, const NarrowFormat& format, bool saturate) {
  const FloatBits x(number);
  const int over = saturate || format.nan < 0 ? format.largest
                   : format.infinity >= 0     ? format.infinity
                                              : format.nan;
  Value code = round_magnitude(x, format);
  const auto limit = static_cast<uint64_t>(format.largest);
  code = select(less(x.number(limit), code), x.number(static_cast<uint64_t>(over)), code);
  // A type without NaN has a zero for it.
  const auto nan = static_cast<uint64_t>(format.nan < 0 ? 0 : format.nan);
  code = select(x.is_nan(), x.number(nan), code);
  const Value sign =
      shift_left(shift_right(x.bits, x.sign_place()), static_cast<double>(format.bits - 1));
  Value with_sign = logical_or(code, sign);
  if (!format.has_negative_zero) {
    with_sign = select(equal(code, x.number(0)), x.number(0), with_sign);
  }
  return cast(with_sign, DType::kUInt8);
}

// float8e8m0: the exponent field of an f32, whose denormals begin with 2^-127. The sign is lost.
Value encode_power(Value number, const NarrowRounding& rounding) {
  const FloatBits x(cast(number, DType::kFloat32));
  constexpr uint32_t kHalf = 1u << 22;  // of a unit of the exponent field; also the bits of 2^-127
  constexpr uint32_t kUnit = 1u << 23;
  // What is added before the field is cut off, and from where on a denormal is no longer 2^-127.
  uint32_t carry = 0, second = kUnit;
  if (rounding.power == PowerRounding::kUp) carry = kUnit - 1, second = kHalf + 1;
  if (rounding.power == PowerRounding::kNearest) carry = kHalf, second = kHalf + kHalf / 2;
  const Value field = shift_right(x.magnitude + x.number(carry), 23.0);
  const Value low = select(less(x.magnitude, x.number(second)), x.number(0), x.number(1));
  Value code = select(less(x.magnitude, x.number(kUnit)), low, field);
  const auto last = static_cast<uint64_t>(narrow_format(Narrow::kFloat8E8M0).largest);
  const Value nan = x.number(last + 1);
  code = min(code, rounding.saturate ? x.number(last) : nan);
  if (!rounding.saturate) code = select(less(x.magnitude, x.number(kHalf)), nan, code);
  return cast(select(x.is_nan(), nan, code), DType::kUInt8);
}

// The low bits of an integer, with the sign that they then have.
Value encode_int(Value x, const NarrowFormat& format) {
  const Value codes = logical_and(cast(x, DType::kUInt8), (1 << format.bits) - 1);
  if (!format.is_signed) return codes;
  const Value number = bitcast(codes, DType::kInt8);
  const int half = 1 << (format.bits - 1);
  return select(less(number, half), number, number - 2 * half);
}

}  // namespace

Value decode_narrow(Value x, DType to) {
  if (!x) return {};
  const NarrowFormat& format = narrow_format(x.narrow());
  if (!format.is_float) return cast(x.carrier(), to);
  std::vector<double> table;
  for (int code = 0; code < 1 << format.bits; ++code) {
    table.push_back(narrow_value(x.narrow(), static_cast<uint8_t>(code)));
  }
  return cast(gather(x.builder()->vector(DType::kFloat32, table), x.carrier(), 0), to);
}

Value encode_narrow(Value x, Narrow to, const NarrowRounding& rounding) {
  if (!x) return {};
  const NarrowFormat& format = narrow_format(to);
  if (!format.is_float) {
    const Value whole = base::is_float(x.dtype()) ? cast(x, DType::kInt32) : x;
    return encode_int(whole, format).as_narrow(to);
  }
  if (to == Narrow::kFloat8E8M0) return encode_power(x, rounding).as_narrow(to);
  const Value number = x.dtype() == DType::kFloat64 ? x : cast(x, DType::kFloat32);
  return encode_float(number, format, rounding.saturate || format.bits < 8).as_narrow(to);
}

Value convert(Value x, ElementType to, const NarrowRounding& rounding) {
  if (!x || x.element_type() == to) return x;
  if (to.narrow == Narrow::kNone && x.narrow() == Narrow::kNone) return cast(x, to.dtype);
  if (to.narrow == Narrow::kNone) return decode_narrow(x, to.dtype);
  if (x.narrow() == Narrow::kNone) return encode_narrow(x, to.narrow, rounding);
  const bool is_float = narrow_format(x.narrow()).is_float;
  return encode_narrow(decode_narrow(x, is_float ? DType::kFloat32 : DType::kInt32), to.narrow,
                       rounding);
}

Value narrow_codes(Value x) {
  if (!x) return {};
  const NarrowFormat& format = narrow_format(x.narrow());
  return logical_and(bitcast(x.carrier(), DType::kUInt8), (1 << format.bits) - 1);
}

Value from_narrow_codes(Value codes, Narrow type) {
  if (!codes) return {};
  const NarrowFormat& format = narrow_format(type);
  return (format.is_float ? codes : encode_int(codes, format)).as_narrow(type);
}

}  // namespace camshaft::onnx
