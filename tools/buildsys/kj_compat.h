// SPDX-License-Identifier: MIT
// Pre-included in the files that use Cap'n Proto. Its 0.9 headers leave out these comparisons from
// C++20 on and count on rewritten ones, which the later rule of P2468 (clang >= 16) takes away.
#pragma once

#include <type_traits>

namespace kj {
class StringPtr;
class String;

template <typename T>
  requires(std::is_same_v<T, StringPtr> || std::is_same_v<T, String>)
constexpr bool operator==(const char* a, const T& b) {
  return b.operator==(a);
}
}  // namespace kj
