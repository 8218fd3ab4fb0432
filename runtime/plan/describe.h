// SPDX-License-Identifier: MIT
// A plan as named items with fields of text: what diff.h compares, and the words that dump.h
// shares. For people; allocates freely.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/reader.h"

namespace camshaft::plan {

struct Item {
  std::string name;  // unique in its plan: "target llvm:znver3: command conv1+relu"
  std::vector<std::pair<std::string, std::string>> fields;  // name, value
};

// In the order of the file. Commands are named by what they compute and not by their number, so
// that two compilations of a model can be set side by side.
std::vector<Item> describe_plan(const PlanFile& plan);

std::string to_text(const std::vector<int64_t>& shape);  // "[1, 3, 8, 8]"
// The shape of an input or output; where an extent depends on data, its bound: "[<=300, 6]".
std::string shape_text(const TensorInfo& tensor);
// Dense elements, all of a few or else the first ones: "16000", "1, 2, 3, ...".
std::string values_text(DType dtype, base::Bytes bytes);
// The values of a plan's frozen inputs, one for each.
std::vector<base::Bytes> frozen_values(const PlanFile& plan);
const char* space_name(Space space);      // "arena"
std::string to_text(const ArgInfo& arg);  // "input 0 + 64: 768 bytes"
std::string join(const std::vector<std::string>& words, const char* separator);

}  // namespace camshaft::plan
