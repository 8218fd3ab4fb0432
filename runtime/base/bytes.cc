// SPDX-License-Identifier: MIT
#include "runtime/base/bytes.h"

namespace camshaft::base {

bool is_all_zero(Bytes bytes) {
  uint64_t seen = 0;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) seen |= load_le<uint64_t>(bytes.data());
  for (const std::byte byte : bytes) seen |= static_cast<uint64_t>(byte);
  return seen == 0;
}

}  // namespace camshaft::base
