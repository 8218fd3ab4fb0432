// SPDX-License-Identifier: MIT
// How a device can use memory of others in place, beyond what OpenCL 1.2 itself has. Load time.
//
// The extensions are cl_khr_external_memory_dma_buf, cl_arm_import_memory, cl_qcom_ext_host_ptr
// with cl_qcom_dmabuf_host_ptr or cl_qcom_ion_host_ptr, and, for drivers before OpenCL 3.0,
// cl_intel_create_buffer_with_properties.
#pragma once

#include <cstdint>
#include <string>

#include "devices/opencl/api.h"

namespace camshaft::opencl {

// By which means a dma-buf becomes a buffer.
enum class DmaBufImport : uint8_t {
  kNone,
  kMapped,       // the device is the CPU: mapped into the process, as a memory file is
  kKhronos,      // cl_khr_external_memory_dma_buf: acquired and released around each submit
  kArm,          // cl_arm_import_memory_dma_buf
  kQualcomm,     // cl_qcom_dmabuf_host_ptr
  kQualcommIon,  // cl_qcom_ion_host_ptr
};

struct ImportSupport {
  bool host_memory = false;  // the device's memory is the host's
  // Host memory is imported, and is not made known by CL_MEM_USE_HOST_PTR, which copies there.
  bool arm_host = false;
  DmaBufImport dma_buf = DmaBufImport::kNone;
  bool io_coherent = false;    // kQualcomm, kQualcommIon: the device can see the host's caches
  uint64_t padding_bytes = 0;  // kQualcomm, kQualcommIon: that must follow the buffer

  decltype(&::clImportMemoryARM) import_arm = nullptr;  // arm_host, kArm
  CreateBufferWithProperties create = nullptr;          // kKhronos
  bool takes_device_list = false;                       // kKhronos: create() does
  clEnqueueAcquireExternalMemObjectsKHR_fn acquire = nullptr;
  clEnqueueReleaseExternalMemObjectsKHR_fn release = nullptr;
};

// `extensions`: CL_DEVICE_EXTENSIONS.
ImportSupport find_import_support(const Api& api, cl_platform_id platform, cl_device_id device,
                                  const std::string& extensions);

// hal::DeviceInfo::imports of a device with such support.
uint32_t import_kinds(const ImportSupport& support);

}  // namespace camshaft::opencl
