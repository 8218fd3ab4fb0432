// SPDX-License-Identifier: MIT
#include "devices/hal/device.h"

namespace camshaft::hal {

Result<Buffer> Device::import_memory(const ForeignMemory& /*memory*/) {
  return base::fail(base::Code::kUnsupported, "hal.import_memory",
                    "The %s device can't use memory that it did not allocate: allocate a buffer "
                    "and copy into it.",
                    info().backend);
}

}  // namespace camshaft::hal
