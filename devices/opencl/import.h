// SPDX-License-Identifier: MIT
// Memory of somebody else's that the device can use in place, or the reason why it can't. Load
// time. The bytes are copied in no case.
//
// What each kind needs, and who keeps what (hal::ForeignMemory):
//
// - kHostPointer: the device's memory is the host's; the address is a multiple of
//   info.import_alignment; on a device that isn't the CPU the size is whole cache lines. The caller
//   keeps it until on_release.
// - kMemoryFd: the same of the pages of a memory file, which are mapped here; the descriptor is
//   duplicated, so the caller may close it.
// - kDmaBufFd: an extension (import_support.h), or a device that is the CPU. Duplicated likewise.
// - kClBuffer: a buffer or sub-buffer of the context that the device works in, retained; the offset
//   is a multiple of info.buffer_alignment; not mapped while work uses it.
// - kClImage: likewise a two-dimensional image, as a whole, whose texels are RGBA of the dtype that
//   `image` says: CL_UNSIGNED_INT8, CL_HALF_FLOAT or CL_FLOAT. Its extents, and the row pitch and
//   the DRM format where they are given, are what the object has. The caller makes it, so its rows
//   lie as the caller's driver wants them to.
//
// Bytes are at least as many as are asked for. Caches (CacheSync):
//
// - Host memory, memory files: it is mapped for the host whenever no work has it, and unmapped for
//   the work, which is when a driver cleans and invalidates what it must. kOwner: neither is done.
// - cl_arm_import_memory: the driver keeps imported host memory consistent; a dma-buf too, except
//   with kOwner.
// - cl_khr_external_memory: a dma-buf is acquired before and released after each submit, which is
//   when a driver does what it must, whatever `sync` says.
// - cl_qcom_ext_host_ptr: kCoherent asks for I/O coherence, and is refused where there is none;
//   kDevice lets the driver clean and invalidate; kOwner says that nobody's cache has the memory.
// - A dma-buf on a device that is the CPU: the owner brackets runs by DMA_BUF_IOCTL_SYNC; kDevice
//   is refused.
// - kClBuffer, kClImage: the queue's order is all that is needed, whatever `sync` says.
#pragma once

#include "devices/opencl/api.h"
#include "devices/opencl/device_list.h"
#include "devices/opencl/memory.h"

namespace camshaft::opencl {

// kUnsupported where the device can't alias the memory, kInvalidArgument where it isn't what the
// caller says (too small, of other flags), kIo where the system refuses a descriptor. Memory that
// the host sees comes back unmapped: `host` says where to map it.
base::Result<Memory> import_foreign(const Api& api, cl_context context, const FoundDevice& device,
                                    const hal::ForeignMemory& memory);

}  // namespace camshaft::opencl
