// SPDX-License-Identifier: MIT
// NumPy's archives of named arrays, .npz: zip files of .npy files.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/status.h"
#include "tools/io/tensor.h"

namespace camshaft::io {

// The arrays in the archive's order, named without ".npy". `file` names it in sentences. Fails as
// parse_npy() does, and with kUnsupported for archives of 4 GiB and more.
base::Result<std::vector<NamedTensor>> parse_npz(base::Bytes bytes, const std::string& file);

// As numpy.savez() writes it: not compressed.
base::Result<std::vector<std::byte>> encode_npz(const std::vector<NamedTensor>& tensors);

// Fails also as base::read_file and base::write_file_atomically do.
base::Result<std::vector<NamedTensor>> read_npz(const std::string& path);
base::Status write_npz(const std::string& path, const std::vector<NamedTensor>& tensors);

}  // namespace camshaft::io
