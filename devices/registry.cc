// SPDX-License-Identifier: MIT
#include "devices/registry.h"

#include "devices/cpu/cpu_backend.h"
#include "devices/null/null_backend.h"

namespace camshaft::devices {

hal::Backends backends() {
  static constexpr hal::Backend kBackends[] = {
      {"cpu", cpu::probe, cpu::open},
      {"null", null::probe, null::open},
  };
  return kBackends;
}

}  // namespace camshaft::devices
