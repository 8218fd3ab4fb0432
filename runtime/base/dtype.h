// SPDX-License-Identifier: MIT
// Element types, shared by the compiler, the plan format and the runtime. The numbers are part of
// the plan format: append only.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace camshaft::base {

enum class DType : uint8_t {
  kFloat32 = 0,
  kFloat64 = 1,
  kFloat16 = 2,
  kBFloat16 = 3,
  kInt8 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kUInt8 = 8,
  kUInt16 = 9,
  kUInt32 = 10,
  kUInt64 = 11,
  kBool = 12,  // one byte, 0 or 1
};
inline constexpr int kDTypeCount = 13;

// Size of one element in bytes.
constexpr int64_t dtype_size_bytes(DType dtype) {
  constexpr uint8_t kSizes[kDTypeCount] = {4, 8, 2, 2, 1, 2, 4, 8, 1, 2, 4, 8, 1};
  return kSizes[static_cast<int>(dtype)];
}

constexpr bool is_float(DType dtype) { return static_cast<uint8_t>(dtype) <= 3; }
constexpr bool is_signed_int(DType dtype) {
  return dtype >= DType::kInt8 && dtype <= DType::kInt64;
}
constexpr bool is_unsigned_int(DType dtype) {
  return dtype >= DType::kUInt8 && dtype <= DType::kUInt64;
}
constexpr bool is_int(DType dtype) { return is_signed_int(dtype) || is_unsigned_int(dtype); }

// Short names: f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 bool. Static storage.
constexpr const char* dtype_name(DType dtype) {
  constexpr const char* kNames[kDTypeCount] = {"f32", "f64", "f16", "bf16", "i8",  "i16", "i32",
                                               "i64", "u8",  "u16", "u32",  "u64", "bool"};
  return kNames[static_cast<int>(dtype)];
}

// The type with that short name, or nothing.
constexpr std::optional<DType> dtype_from_name(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (name == dtype_name(static_cast<DType>(i))) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace camshaft::base
