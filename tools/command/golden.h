// SPDX-License-Identifier: MIT
// Golden inputs and outputs: tensors as they lie in a plan's golden sections, one after another,
// each padded to 64 bytes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/plan/plan.h"
#include "tools/io/tensor.h"

namespace camshaft::command {

std::vector<std::byte> pack_golden(std::span<const io::Tensor> tensors);

// The reverse; `section` is a whole plan's, whose size the reader has checked.
std::vector<io::Tensor> unpack_golden(base::Bytes section,
                                      std::span<const plan::TensorInfo> tensors);

}  // namespace camshaft::command
