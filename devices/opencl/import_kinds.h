// SPDX-License-Identifier: MIT
// One function a kind of memory, behind import_foreign(), whose rules hold. Load time.
#pragma once

#include "devices/hwio/shared_file.h"
#include "devices/opencl/api.h"
#include "devices/opencl/device_list.h"
#include "devices/opencl/memory.h"

namespace camshaft::opencl {

struct ImportTo {
  const Api& api;
  cl_context context;
  const FoundDevice& device;

  cl_mem_flags access(const hal::ForeignMemory& memory) const {
    return memory.writable ? CL_MEM_READ_WRITE : CL_MEM_READ_ONLY;
  }
  // Takes the object over. kUnsupported, with the reason, where the driver refused to make it.
  base::Result<Memory> finish(cl_mem object, cl_int error, const hal::ForeignMemory& memory) const;
};

base::Result<Memory> import_host_pointer(const ImportTo& to, const hal::ForeignMemory& memory);
base::Result<Memory> import_memory_file(const ImportTo& to, const hal::ForeignMemory& memory);
base::Result<Memory> import_dma_buf(const ImportTo& to, const hal::ForeignMemory& memory);
base::Result<Memory> import_buffer(const ImportTo& to, const hal::ForeignMemory& memory);
base::Result<Memory> import_image(const ImportTo& to, const hal::ForeignMemory& memory);

// Whether a cl_mem is of the device's context, of that type, and may be used as the caller says.
base::Status check_object(const ImportTo& to, const hal::ForeignMemory& memory,
                          cl_mem_object_type type);
// The same object, held by us, too.
base::Result<Memory> retain_object(const ImportTo& to, const hal::ForeignMemory& memory);

// The caller's descriptor, duplicated, if there are enough bytes behind it and then `padding_bytes`
// more.
base::Result<hwio::SharedFile> open_file(const hal::ForeignMemory& memory, uint64_t padding_bytes);

// `file` in this process's memory, as a host pointer is.
base::Result<Memory> import_mapped(const ImportTo& to, const hal::ForeignMemory& memory,
                                   const hwio::SharedFile& file);

// For sentences, which are printed with %llu.
inline unsigned long long wide(uint64_t value) {
  return value;
}

}  // namespace camshaft::opencl
