// SPDX-License-Identifier: MIT
#include "codegen/render/amx.h"

namespace camshaft::render {

std::array<uint8_t, 64> amx_configuration(const ir::Kernel& kernel) {
  constexpr size_t kRowBytes = 16;
  constexpr size_t kRows = 48;
  std::array<uint8_t, 64> bytes{};
  bytes[0] = 1;
  for (size_t i = 0; i < kernel.matrices().size(); ++i) {
    const ir::Matrix& matrix = kernel.matrices()[i];
    const int64_t row_bytes = matrix.columns * base::dtype_size_bytes(matrix.dtype);
    bytes[kRowBytes + 2 * i] = static_cast<uint8_t>(row_bytes);
    bytes[kRows + i] = static_cast<uint8_t>(matrix.rows);
  }
  return bytes;
}

}  // namespace camshaft::render
