// SPDX-License-Identifier: MIT
// How each architecture finds out about itself: host_features_x86.cc, host_features_arm.cc.
#pragma once

#include <cstddef>
#include <span>

namespace camshaft::cpu {

inline constexpr size_t kMaxHostFeatures = 160;
extern const char* const kHostArch;

// Fills in the names of the features that are present, in any order, and returns their number.
// Names have static storage.
size_t list_host_features(std::span<const char*, kMaxHostFeatures> names);

// The marketing name, or the numbers that stand for it.
void describe_host_cpu(std::span<char, 96> name);

}  // namespace camshaft::cpu
