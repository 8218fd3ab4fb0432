// SPDX-License-Identifier: MIT
#include "devices/opencl/import_support.h"

#include <algorithm>
#include <vector>

#include "devices/hal/device.h"
#include "devices/opencl/device_query.h"

namespace camshaft::opencl {
namespace {

template <typename Call>
void find_extension_call(const Api& api, cl_platform_id platform, const char* name, Call* call) {
  *call = reinterpret_cast<Call>(api.clGetExtensionFunctionAddressForPlatform(platform, name));
}

// Whether the device takes external memory of that kind.
bool takes_handle(const Api& api, cl_device_id device, cl_external_memory_handle_type_khr type) {
  constexpr cl_device_info kTypes = CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR;
  size_t size_bytes = 0;
  if (api.clGetDeviceInfo(device, kTypes, 0, nullptr, &size_bytes) != CL_SUCCESS) return false;
  std::vector<cl_external_memory_handle_type_khr> types(size_bytes / sizeof type);
  if (api.clGetDeviceInfo(device, kTypes, types.size() * sizeof type, types.data(), nullptr) !=
      CL_SUCCESS) {
    return false;
  }
  return std::find(types.begin(), types.end(), type) != types.end();
}

bool find_khronos(const Api& api, cl_platform_id platform, cl_device_id device,
                  ImportSupport& support) {
  if (!takes_handle(api, device, CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR)) return false;
  support.create = api.clCreateBufferWithProperties;
  support.takes_device_list = support.create != nullptr;
  if (support.create == nullptr) {
    find_extension_call(api, platform, "clCreateBufferWithPropertiesINTEL", &support.create);
  }
  find_extension_call(api, platform, "clEnqueueAcquireExternalMemObjectsKHR", &support.acquire);
  find_extension_call(api, platform, "clEnqueueReleaseExternalMemObjectsKHR", &support.release);
  return support.create != nullptr && support.acquire != nullptr && support.release != nullptr;
}

}  // namespace

ImportSupport find_import_support(const Api& api, cl_platform_id platform, cl_device_id device,
                                  const std::string& extensions) {
  const auto has = [&](const char* name) { return has_word(extensions, name); };
  ImportSupport support;
  support.host_memory = device_value<cl_bool>(api, device, CL_DEVICE_HOST_UNIFIED_MEMORY) != 0;
  if (has("cl_arm_import_memory")) {
    find_extension_call(api, platform, "clImportMemoryARM", &support.import_arm);
  }
  support.arm_host = has("cl_arm_import_memory_host") && support.import_arm != nullptr;
  const bool is_cpu =
      (device_value<cl_device_type>(api, device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
  if (has("cl_khr_external_memory_dma_buf") && find_khronos(api, platform, device, support)) {
    support.dma_buf = DmaBufImport::kKhronos;
  } else if (has("cl_arm_import_memory_dma_buf") && support.import_arm != nullptr) {
    support.dma_buf = DmaBufImport::kArm;
  } else if (has("cl_qcom_dmabuf_host_ptr")) {
    support.dma_buf = DmaBufImport::kQualcomm;
  } else if (has("cl_qcom_ion_host_ptr")) {
    support.dma_buf = DmaBufImport::kQualcommIon;
  } else if (is_cpu && support.host_memory) {
    support.dma_buf = DmaBufImport::kMapped;
  }
  if (has("cl_qcom_ext_host_ptr")) {
    support.io_coherent = has("cl_qcom_ext_host_ptr_iocoherent");
    support.padding_bytes =
        device_value<size_t>(api, device, CL_DEVICE_EXT_MEM_PADDING_IN_BYTES_QCOM);
  }
  return support;
}

uint32_t import_kinds(const ImportSupport& support) {
  using hal::ForeignKind;
  uint32_t kinds = import_bit(ForeignKind::kClBuffer);
  if (support.host_memory) {
    kinds |= import_bit(ForeignKind::kHostPointer) | import_bit(ForeignKind::kMemoryFd);
  }
  if (support.dma_buf != DmaBufImport::kNone) kinds |= import_bit(ForeignKind::kDmaBufFd);
  return kinds;
}

}  // namespace camshaft::opencl
