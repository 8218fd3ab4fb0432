// SPDX-License-Identifier: MIT
// NumPy's array files, .npy, versions 1 to 3. Files may hold anything: sizes are checked against
// what is there before memory is taken.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/status.h"
#include "tools/io/tensor.h"

namespace camshaft::io {

// The array in `bytes`, which come from `file`, the name for sentences. Fortran order is turned
// into row-major. bf16 is numpy's two-byte void type, as ml_dtypes saves it. Fails with kCorrupt
// for what is no array file or a damaged one, kInvalidArgument for types that Camshaft has no use
// for (objects, strings, complex numbers, big-endian numbers).
base::Result<Tensor> parse_npy(base::Bytes bytes, const std::string& file);

// The bytes of a .npy file, as numpy writes it: version 1, C order.
std::vector<std::byte> encode_npy(const Tensor& tensor);

// Fails also as base::read_file and base::write_file_atomically do.
base::Result<Tensor> read_npy(const std::string& path);
base::Status write_npy(const std::string& path, const Tensor& tensor);

}  // namespace camshaft::io
