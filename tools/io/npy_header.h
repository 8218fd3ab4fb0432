// SPDX-License-Identifier: MIT
// The header of a .npy file: a Python dictionary with exactly three keys, read by a small scanner
// that takes no other Python.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"

namespace camshaft::io {

inline constexpr size_t kMaxNpyRank = 32;

struct NpyHeader {
  std::string descr;  // "<f4"
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// Fails with kCorrupt, or kInvalidArgument for a structured dtype, which is a list.
base::Result<NpyHeader> parse_npy_header(std::string_view text, const std::string& file);

// The same text as numpy's: "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }".
std::string npy_header_text(const NpyHeader& header);

}  // namespace camshaft::io
