// SPDX-License-Identifier: MIT
#include <utility>

#include "devices/opencl/import_kinds.h"
#include "runtime/base/bytes.h"

namespace camshaft::opencl {
namespace {

using base::Code;
using base::Result;
using base::Status;

// cl_qcom_dmabuf_host_ptr: its cl_mem_dmabuf_host_ptr has the members of cl_mem_ion_host_ptr.
constexpr cl_uint kDmaBufHostPointer = 0x411D;

Status check_sync(const FoundDevice& device, hal::CacheSync sync) {
  const DmaBufImport means = device.imports.dma_buf;
  if (means == DmaBufImport::kMapped && sync == hal::CacheSync::kDevice) {
    return base::fail(Code::kUnsupported, "opencl.import",
                      "%s is the CPU and does nothing about a dma-buf's caches: bracket runs by "
                      "DMA_BUF_IOCTL_SYNC and say CacheSync::kOwner",
                      device.info.name);
  }
  const bool is_qualcomm = means == DmaBufImport::kQualcomm || means == DmaBufImport::kQualcommIon;
  if (is_qualcomm && sync == hal::CacheSync::kCoherent && !device.imports.io_coherent) {
    return base::fail(Code::kUnsupported, "opencl.import",
                      "%s doesn't see the host's caches: say CacheSync::kDevice for a dma-buf that "
                      "the host has cached, kOwner for one that it hasn't",
                      device.info.name);
  }
  return base::ok();
}

// The driver closes the descriptor from here on.
Result<Memory> import_khronos(const ImportTo& to, const hal::ForeignMemory& memory,
                              hwio::SharedFile file) {
  const ImportSupport& support = to.device.imports;
  const auto device = static_cast<cl_ulong>(reinterpret_cast<uintptr_t>(to.device.device));
  cl_ulong properties[] = {CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR,
                           static_cast<cl_ulong>(file.get()),
                           CL_DEVICE_HANDLE_LIST_KHR,
                           device,
                           CL_DEVICE_HANDLE_LIST_END_KHR,
                           0};
  if (!support.takes_device_list) properties[2] = 0;
  cl_int error = CL_SUCCESS;
  const cl_mem object = support.create(to.context, properties, to.access(memory),
                                       memory.offset_bytes + memory.size_bytes, nullptr, &error);
  if (error == CL_SUCCESS) file.give_away();
  CAMSHAFT_TRY_ASSIGN(Memory imported, to.finish(object, error, memory));
  imported.is_external = true;
  return imported;
}

Result<Memory> import_arm(const ImportTo& to, const hal::ForeignMemory& memory,
                          hwio::SharedFile file) {
  const cl_import_properties_arm is_consistent = memory.sync != hal::CacheSync::kOwner;
  const cl_import_properties_arm properties[] = {CL_IMPORT_TYPE_ARM, CL_IMPORT_TYPE_DMA_BUF_ARM,
                                                 CL_IMPORT_DMA_BUF_DATA_CONSISTENCY_WITH_HOST_ARM,
                                                 is_consistent, 0};
  int fd = file.get();
  cl_int error = CL_SUCCESS;
  const cl_mem object =
      to.device.imports.import_arm(to.context, to.access(memory), properties, &fd,
                                   memory.offset_bytes + memory.size_bytes, &error);
  CAMSHAFT_TRY_ASSIGN(Memory imported, to.finish(object, error, memory));
  imported.file = std::move(file);
  return imported;
}

cl_uint cache_policy(hal::CacheSync sync) {
  switch (sync) {
    case hal::CacheSync::kCoherent:
      return CL_MEM_HOST_IOCOHERENT_QCOM;
    case hal::CacheSync::kDevice:
      return CL_MEM_HOST_WRITEBACK_QCOM;
    case hal::CacheSync::kOwner:
      return CL_MEM_HOST_UNCACHED_QCOM;
  }
  return CL_MEM_HOST_UNCACHED_QCOM;
}

// From the first byte on: the driver wants the start of a page.
Result<Memory> import_qualcomm(const ImportTo& to, const hal::ForeignMemory& memory,
                               hwio::SharedFile file) {
  const uint64_t whole_bytes = memory.offset_bytes + memory.size_bytes;
  CAMSHAFT_TRY_ASSIGN(hwio::SharedMapping mapping,
                      hwio::SharedMapping::map(file, 0, whole_bytes, memory.writable));
  const bool is_ion = to.device.imports.dma_buf == DmaBufImport::kQualcommIon;
  cl_mem_ion_host_ptr pointer = {};
  pointer.ext_host_ptr.allocation_type = is_ion ? CL_MEM_ION_HOST_PTR_QCOM : kDmaBufHostPointer;
  pointer.ext_host_ptr.host_cache_policy = cache_policy(memory.sync);
  pointer.ion_filedesc = file.get();
  pointer.ion_hostptr = mapping.data();
  cl_int error = CL_SUCCESS;
  const cl_mem object = to.api.clCreateBuffer(
      to.context, to.access(memory) | CL_MEM_USE_HOST_PTR | CL_MEM_EXT_HOST_PTR_QCOM, whole_bytes,
      &pointer, &error);
  CAMSHAFT_TRY_ASSIGN(Memory imported, to.finish(object, error, memory));
  imported.file = std::move(file);
  imported.mapping = std::move(mapping);
  return imported;
}

}  // namespace

Result<Memory> import_dma_buf(const ImportTo& to, const hal::ForeignMemory& memory) {
  const ImportSupport& support = to.device.imports;
  if (support.dma_buf == DmaBufImport::kNone) {
    return base::fail(
        Code::kUnsupported, "opencl.import",
        "%s takes no dma-bufs (its driver has none of cl_khr_external_memory_dma_buf, "
        "cl_arm_import_memory_dma_buf, cl_qcom_dmabuf_host_ptr, "
        "cl_qcom_ion_host_ptr): copy the frame into a buffer of the device",
        to.device.info.name);
  }
  CAMSHAFT_TRY(check_sync(to.device, memory.sync));
  if (!base::is_aligned(memory.offset_bytes, to.device.info.buffer_alignment)) {
    return base::fail(Code::kUnsupported, "opencl.import",
                      "byte %llu of the dma-buf can't be the start of a tensor: it must be a "
                      "multiple of %u",
                      wide(memory.offset_bytes), to.device.info.buffer_alignment);
  }
  CAMSHAFT_TRY_ASSIGN(hwio::SharedFile file, open_file(memory, support.padding_bytes));
  if (support.dma_buf == DmaBufImport::kMapped) return import_mapped(to, memory, file);
  const auto import = support.dma_buf == DmaBufImport::kKhronos ? import_khronos
                      : support.dma_buf == DmaBufImport::kArm   ? import_arm
                                                                : import_qualcomm;
  CAMSHAFT_TRY_ASSIGN(Memory imported, import(to, memory, std::move(file)));
  imported.offset_bytes = memory.offset_bytes;
  return imported;
}

}  // namespace camshaft::opencl
