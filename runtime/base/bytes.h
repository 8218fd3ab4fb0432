// SPDX-License-Identifier: MIT
// Bytes and sizes that come from outside: arithmetic that can't overflow unseen, and little-endian
// fields at any alignment.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "runtime/base/check.h"

namespace camshaft::base {

using Bytes = std::span<const std::byte>;

// The sum or product, or nothing if T can't hold it.
template <std::integral T>
constexpr std::optional<T> checked_add(T a, std::type_identity_t<T> b) {
  T result{};
  return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional<T>(result);
}
template <std::integral T>
constexpr std::optional<T> checked_mul(T a, std::type_identity_t<T> b) {
  T result{};
  return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional<T>(result);
}

// Whether [offset, offset + size) lies within [0, extent). Overflow-safe.
constexpr bool range_fits(uint64_t offset, uint64_t size, uint64_t extent) {
  return offset <= extent && size <= extent - offset;
}

constexpr bool is_aligned(uint64_t value, uint64_t alignment) {
  return value % alignment == 0;
}

// The next multiple of `alignment` (a power of two) at or above `value`, or nothing on overflow.
constexpr std::optional<uint64_t> checked_align_up(uint64_t value, uint64_t alignment) {
  const std::optional<uint64_t> raised = checked_add(value, alignment - 1);
  return raised ? std::optional<uint64_t>(*raised & ~(alignment - 1)) : std::nullopt;
}

// The same for values known to be small, such as sizes of memory that exists.
constexpr uint64_t align_up(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

// Little-endian integers at any alignment.
static_assert(std::endian::native == std::endian::little, "big-endian hosts need byte swaps here");
template <std::integral T>
T load_le(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <std::integral T>
void store_le(std::byte* to, std::type_identity_t<T> value) {
  std::memcpy(to, &value, sizeof value);
}

// Views of the same memory. They borrow.
template <typename T, size_t kExtent>
Bytes as_bytes(std::span<T, kExtent> values) {
  return std::as_bytes(values);
}
inline Bytes as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The bytes [offset, offset + size), which the caller has checked to be there.
inline Bytes slice(Bytes bytes, uint64_t offset, uint64_t size) {
  CAMSHAFT_CHECK(range_fits(offset, size, bytes.size()));
  return bytes.subspan(offset, size);
}

// Whether all bytes are zero. Reads a word at a time.
bool is_all_zero(Bytes bytes);

}  // namespace camshaft::base
