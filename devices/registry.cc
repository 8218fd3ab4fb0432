// SPDX-License-Identifier: MIT
#include "devices/registry.h"

#include "devices/cpu/cpu_backend.h"
#include "devices/null/null_backend.h"
#if CAMSHAFT_WITH_OPENCL
#include "devices/opencl/opencl_backend.h"
#endif

namespace camshaft::devices {

hal::Backends backends() {
  static constexpr hal::Backend kBackends[] = {
      {"cpu", cpu::probe, cpu::open},
      {"null", null::probe, null::open},
#if CAMSHAFT_WITH_OPENCL
      {"opencl", opencl::probe, opencl::open, opencl::open_on},
#endif
  };
  return kBackends;
}

}  // namespace camshaft::devices
