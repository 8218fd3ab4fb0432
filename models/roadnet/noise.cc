// SPDX-License-Identifier: MIT
#include "models/roadnet/noise.h"

namespace camshaft::roadnet {

NoiseField::NoiseField() {
  for (uint32_t i = 0; i < values_.size(); ++i) {
    values_[i] = static_cast<uint8_t>(mix32(i + 0x51ed270bu) >> 24);
  }
}

const NoiseField& noise_field() {
  static const NoiseField field;
  return field;
}

}  // namespace camshaft::roadnet
