// SPDX-License-Identifier: MIT
#include "tools/command/golden.h"

namespace camshaft::command {

std::vector<std::byte> pack_golden(std::span<const io::Tensor> tensors) {
  std::vector<std::byte> section;
  for (const io::Tensor& tensor : tensors) {
    section.insert(section.end(), tensor.bytes.begin(), tensor.bytes.end());
    section.resize(base::align_up(section.size(), plan::kBufferAlignment));
  }
  return section;
}

std::vector<io::Tensor> unpack_golden(base::Bytes section,
                                      std::span<const plan::TensorInfo> tensors) {
  std::vector<io::Tensor> unpacked;
  uint64_t offset = 0;
  for (const plan::TensorInfo& info : tensors) {
    const base::Bytes bytes = base::slice(section, offset, info.size_bytes());
    unpacked.push_back({info.dtype, info.shape, {bytes.begin(), bytes.end()}});
    offset += base::align_up(info.size_bytes(), plan::kBufferAlignment);
  }
  return unpacked;
}

}  // namespace camshaft::command
