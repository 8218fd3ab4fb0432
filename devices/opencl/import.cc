// SPDX-License-Identifier: MIT
#include "devices/opencl/import.h"

#include "devices/opencl/import_kinds.h"

namespace camshaft::opencl {

using base::Code;
using base::Result;

Result<Memory> ImportTo::finish(cl_mem object, cl_int error,
                                const hal::ForeignMemory& memory) const {
  if (error != CL_SUCCESS || object == nullptr) {
    return base::fail(Code::kUnsupported, "opencl.import",
                      "%s can't use %llu bytes of this %s in place: %s; copy them into a buffer of "
                      "the device",
                      device.info.name, wide(memory.size_bytes),
                      hal::foreign_kind_name(memory.kind), error_name(error));
  }
  Memory imported;
  imported.object = Object<cl_mem>(object, api.clReleaseMemObject);
  imported.size_bytes = memory.size_bytes;
  return imported;
}

Result<Memory> import_foreign(const Api& api, cl_context context, const FoundDevice& device,
                              const hal::ForeignMemory& memory) {
  const bool is_image = memory.kind == hal::ForeignKind::kClImage;
  if (!is_image && (memory.row_pitch_bytes != 0 || memory.format != 0)) {
    return base::fail(Code::kUnsupported, "opencl.import",
                      "a %s is imported as plain bytes, not as an image: leave pitch and format 0; "
                      "the plan's kernels know the layout",
                      hal::foreign_kind_name(memory.kind));
  }
  const ImportTo to = {.api = api, .context = context, .device = device};
  switch (memory.kind) {
    case hal::ForeignKind::kHostPointer:
      return import_host_pointer(to, memory);
    case hal::ForeignKind::kMemoryFd:
      return import_memory_file(to, memory);
    case hal::ForeignKind::kDmaBufFd:
      return import_dma_buf(to, memory);
    case hal::ForeignKind::kClBuffer:
      return import_buffer(to, memory);
    case hal::ForeignKind::kClImage:
      return import_image(to, memory);
    default:
      return base::fail(Code::kUnsupported, "opencl.import",
                        "the OpenCL device can't use a %s in place: import the memory by its host "
                        "address or as an OpenCL object, or copy it into a buffer of the device",
                        hal::foreign_kind_name(memory.kind));
  }
}

}  // namespace camshaft::opencl
