// SPDX-License-Identifier: MIT
#include "runtime/base/element.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "runtime/base/check.h"

namespace camshaft::base {
namespace {

template <typename T>
T load(const std::byte* data, uint64_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof value);
  return value;
}

template <typename T>
void store(std::byte* data, uint64_t index, T value) {
  std::memcpy(data + index * sizeof value, &value, sizeof value);
}

template <typename T>
void store_clamped(std::byte* data, uint64_t index, double value) {
  using Limits = std::numeric_limits<T>;
  // 2^63 and 2^64 are the first doubles that i64 and u64 can't hold.
  const double end = std::ldexp(1.0, Limits::digits);
  const double rounded = std::nearbyint(value);
  T stored = 0;
  if (rounded >= end) {
    stored = Limits::max();
  } else if (rounded <= static_cast<double>(Limits::min())) {
    stored = Limits::min();
  } else if (!std::isnan(rounded)) {
    stored = static_cast<T>(rounded);
  }
  store(data, index, stored);
}

double bfloat_to_double(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

// To nearest, ties to even.
uint16_t to_bfloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

}  // namespace

double element(DType dtype, const std::byte* data, uint64_t index) {
  switch (dtype) {
    case DType::kFloat32:
      return load<float>(data, index);
    case DType::kFloat64:
      return load<double>(data, index);
    case DType::kFloat16:
      return static_cast<double>(load<_Float16>(data, index));
    case DType::kBFloat16:
      return bfloat_to_double(load<uint16_t>(data, index));
    case DType::kInt8:
      return load<int8_t>(data, index);
    case DType::kInt16:
      return load<int16_t>(data, index);
    case DType::kInt32:
      return load<int32_t>(data, index);
    case DType::kInt64:
      return static_cast<double>(load<int64_t>(data, index));
    case DType::kUInt8:
      return load<uint8_t>(data, index);
    case DType::kUInt16:
      return load<uint16_t>(data, index);
    case DType::kUInt32:
      return load<uint32_t>(data, index);
    case DType::kUInt64:
      return static_cast<double>(load<uint64_t>(data, index));
    case DType::kBool:
      return load<uint8_t>(data, index) != 0 ? 1 : 0;
  }
  CAMSHAFT_CHECK(false);
}

void set_element(DType dtype, std::byte* data, uint64_t index, double value) {
  switch (dtype) {
    case DType::kFloat32:
      return store(data, index, static_cast<float>(value));
    case DType::kFloat64:
      return store(data, index, value);
    case DType::kFloat16:
      return store(data, index, static_cast<_Float16>(static_cast<float>(value)));
    case DType::kBFloat16:
      return store(data, index, to_bfloat(static_cast<float>(value)));
    case DType::kInt8:
      return store_clamped<int8_t>(data, index, value);
    case DType::kInt16:
      return store_clamped<int16_t>(data, index, value);
    case DType::kInt32:
      return store_clamped<int32_t>(data, index, value);
    case DType::kInt64:
      return store_clamped<int64_t>(data, index, value);
    case DType::kUInt8:
      return store_clamped<uint8_t>(data, index, value);
    case DType::kUInt16:
      return store_clamped<uint16_t>(data, index, value);
    case DType::kUInt32:
      return store_clamped<uint32_t>(data, index, value);
    case DType::kUInt64:
      return store_clamped<uint64_t>(data, index, value);
    case DType::kBool:
      return store_clamped<uint8_t>(data, index, value != 0 ? 1 : 0);
  }
  CAMSHAFT_CHECK(false);
}

std::string element_text(DType dtype, const std::byte* data, uint64_t index) {
  char text[40];
  if (dtype == DType::kInt64) {
    std::snprintf(text, sizeof text, "%lld", static_cast<long long>(load<int64_t>(data, index)));
  } else if (dtype == DType::kUInt64) {
    std::snprintf(text, sizeof text, "%llu",
                  static_cast<unsigned long long>(load<uint64_t>(data, index)));
  } else {
    const int digits = dtype == DType::kFloat64 ? 17 : is_float(dtype) ? 9 : 10;
    std::snprintf(text, sizeof text, "%.*g", digits, element(dtype, data, index));
  }
  return text;
}

}  // namespace camshaft::base
