// SPDX-License-Identifier: MIT
// A small plan with something of everything that sessions deal with, and what it computes:
//
//   inputs:  a f32[4,16], b i32[16]; weights w[i] = i; state total f32[64]
//   run:     scaled = a * w; sum = scaled + total; total = sum; doubled = 2 * b
//   prepare: scaled = a * w; total = scaled
//   outputs: sum f32[4,16] with slices "row0" [16] and "tail" [2,4] at 56, unit m; doubled i32[16]
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/plan/reader.h"
#include "runtime/plan/writer.h"

namespace camshaft::test {

inline constexpr size_t kTinyCount = 64;

plan::PlanContents tiny_plan();
std::vector<std::byte> write_tiny();
plan::PlanFile open_tiny();
plan::PlanFile open_plan(const plan::PlanContents& contents);

}  // namespace camshaft::test
