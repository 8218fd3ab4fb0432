// SPDX-License-Identifier: MIT
// Memory of somebody else's that the device can use in place, or the reason why it can't.
#pragma once

#include "devices/opencl/api.h"
#include "devices/opencl/device_list.h"
#include "devices/opencl/memory.h"

namespace camshaft::opencl {

// Load time. A host pointer is aliased where the device's memory is the host's: CL_MEM_USE_HOST_PTR
// at a multiple of info.import_alignment, and, unless the device is the CPU itself, whole cache
// lines. It comes back unmapped: with CacheSync::kOwner it stays so, and nothing is done about
// caches; otherwise `host` says where to map it. A buffer (kClBuffer) is retained; it must be of
// `context`, hold the bytes asked for, and not be mapped while work uses it. Anything else is
// kUnsupported; the bytes are copied in no case.
base::Result<Memory> import_foreign(const Api& api, cl_context context, const FoundDevice& device,
                                    const hal::ForeignMemory& memory);

}  // namespace camshaft::opencl
