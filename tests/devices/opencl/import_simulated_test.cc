// SPDX-License-Identifier: MIT
// Imports through extensions that drivers of GPUs have and PoCL hasn't, against a simulated driver:
// the machine's own OpenCL, which answers as such a GPU does, whose extension calls check what they
// are passed and make buffers over the same pages. So kernels really work in the memory; whether a
// real driver of that kind behaves so is not shown here.
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "devices/hal/validate.h"
#include "devices/opencl/import_support.h"
#include "devices/opencl/opencl_backend.h"
#include "tests/devices/opencl/add_list.h"
#include "tests/devices/opencl/driver_calls.h"
#include "tests/devices/opencl/memory_file.h"
#include "tests/support/last_sentence.h"

using namespace camshaft;
using base::Code;
using hal::CacheSync;
using hal::ForeignKind;
using opencl::Api;
using test::MemoryFile;
using test::said;

namespace {

// One at a time.
struct Simulated {
  test::DriverCalls driver;
  static inline const Api* real = nullptr;
  static inline Api counted;
  static inline std::string extensions;
  static inline std::vector<intptr_t> properties;  // of the last import
  static inline cl_mem_ext_host_ptr host_pointer;  // likewise
  static inline size_t size_bytes = 0;             // likewise
  static inline int acquired = 0;
  static inline int released = 0;
  static inline int launches_outside = 0;  // while external memory was not acquired
  static inline bool refuses = false;
  static inline size_t padding_bytes = 0;

  explicit Simulated(const char* with) {
    real = &test::machine_api();
    counted = driver.api;
    extensions = with;
    properties.clear();
    host_pointer = {};
    acquired = released = launches_outside = 0;
    refuses = false;
    padding_bytes = 0;
    simulate_queries();
    simulate_buffers();
  }

  std::unique_ptr<hal::Device> open() {
    auto device = opencl::open_with(driver.api, {});
    REQUIRE(device);
    return std::make_unique<hal::ValidatingDevice>(std::move(*device));
  }

 private:
  static cl_int answer(const void* from, size_t bytes, size_t room, void* value, size_t* needed) {
    if (needed != nullptr) *needed = bytes;
    if (value != nullptr && room < bytes) return CL_INVALID_VALUE;
    if (value != nullptr) std::memcpy(value, from, bytes);
    return CL_SUCCESS;
  }
  // A buffer over the pages of a file, which stay mapped to the end of the process.
  static cl_mem make_over(cl_context context, int fd, size_t size, cl_int* error) {
    size_bytes = size;
    void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    *error = at == MAP_FAILED || refuses ? CL_INVALID_OPERATION : CL_SUCCESS;
    if (*error != CL_SUCCESS) return nullptr;
    return counted.clCreateBuffer(context, CL_MEM_USE_HOST_PTR, size, at, error);
  }

  void simulate_queries() {
    driver.api.clGetDeviceInfo = [](cl_device_id device, cl_device_info what, size_t room,
                                    void* value, size_t* needed) -> cl_int {
      constexpr cl_device_type kType = CL_DEVICE_TYPE_GPU;
      constexpr cl_uint kHandles[] = {CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR,
                                      CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR};
      switch (what) {
        case CL_DEVICE_TYPE:
          return answer(&kType, sizeof kType, room, value, needed);
        case CL_DEVICE_EXTENSIONS:
          return answer(extensions.c_str(), extensions.size() + 1, room, value, needed);
        case CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR:
          return answer(kHandles, sizeof kHandles, room, value, needed);
        case CL_DEVICE_EXT_MEM_PADDING_IN_BYTES_QCOM:
          return answer(&padding_bytes, sizeof padding_bytes, room, value, needed);
        default:
          return real->clGetDeviceInfo(device, what, room, value, needed);
      }
    };
    driver.api.clGetExtensionFunctionAddressForPlatform = [](cl_platform_id,
                                                             const char* name) -> void* {
      if (name == std::string("clImportMemoryARM")) return reinterpret_cast<void*>(&import_arm);
      if (name == std::string("clEnqueueAcquireExternalMemObjectsKHR")) {
        return reinterpret_cast<void*>(&acquire);
      }
      if (name == std::string("clEnqueueReleaseExternalMemObjectsKHR")) {
        return reinterpret_cast<void*>(&release);
      }
      if (name == std::string("clCreateBufferWithPropertiesINTEL")) {
        return reinterpret_cast<void*>(&create);
      }
      return nullptr;
    };
  }

  static cl_mem import_arm(cl_context context, cl_mem_flags, const cl_import_properties_arm* list,
                           void* memory, size_t size, cl_int* error) {
    for (; *list != 0; ++list) properties.push_back(*list);
    if (properties.at(1) == CL_IMPORT_TYPE_DMA_BUF_ARM) {
      return make_over(context, *static_cast<int*>(memory), size, error);
    }
    size_bytes = size;
    return counted.clCreateBuffer(context, CL_MEM_USE_HOST_PTR, size, memory, error);
  }
  static cl_mem create(cl_context context, const cl_ulong* list, cl_mem_flags flags, size_t size,
                       void* host, cl_int* error) {
    CHECK(host == nullptr);
    CHECK((flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR | CL_MEM_ALLOC_HOST_PTR)) == 0);
    CHECK(list[0] == CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR);
    properties.assign({static_cast<intptr_t>(list[2])});
    const int fd = static_cast<int>(list[1]);
    const cl_mem made = make_over(context, fd, size, error);
    if (made != nullptr) ::close(fd);  // it is the driver's then
    return made;
  }
  static cl_int acquire(cl_command_queue, cl_uint count, const cl_mem*, cl_uint, const cl_event*,
                        cl_event*) {
    acquired += static_cast<int>(count);
    return CL_SUCCESS;
  }
  static cl_int release(cl_command_queue, cl_uint count, const cl_mem*, cl_uint, const cl_event*,
                        cl_event*) {
    released += static_cast<int>(count);
    return CL_SUCCESS;
  }

  void simulate_buffers() {
    driver.api.clCreateBufferWithProperties = &create;
    driver.api.clCreateBuffer = [](cl_context context, cl_mem_flags flags, size_t size, void* host,
                                   cl_int* error) -> cl_mem {
      if ((flags & CL_MEM_EXT_HOST_PTR_QCOM) == 0) {
        return counted.clCreateBuffer(context, flags, size, host, error);
      }
      CHECK((flags & CL_MEM_USE_HOST_PTR) != 0);
      const auto& pointer = *static_cast<const cl_mem_ion_host_ptr*>(host);
      host_pointer = pointer.ext_host_ptr;
      CHECK(reinterpret_cast<uintptr_t>(pointer.ion_hostptr) % 4096 == 0);
      return make_over(context, pointer.ion_filedesc, size, error);
    };
    driver.api.clEnqueueNDRangeKernel = [](cl_command_queue queue, cl_kernel kernel, cl_uint axes,
                                           const size_t* offset, const size_t* items,
                                           const size_t* group, cl_uint count, const cl_event* list,
                                           cl_event* event) -> cl_int {
      if (acquired != released + 1) ++launches_outside;
      return counted.clEnqueueNDRangeKernel(queue, kernel, axes, offset, items, group, count, list,
                                            event);
    };
  }
};

hal::ForeignMemory dma_buf(const MemoryFile& file, uint64_t size_bytes, CacheSync sync) {
  hal::ForeignMemory memory;
  memory.kind = ForeignKind::kDmaBufFd;
  memory.handle = file.handle();
  memory.size_bytes = size_bytes;
  memory.writable = true;
  memory.sync = sync;
  return memory;
}

// Imports bytes from 64 on, closes the owner's descriptor, and adds one three times: by a slot that
// each submit binds, and by a buffer that is fixed when the list is recorded.
void check_runs(Simulated& simulated, CacheSync sync) {
  const int open_files = test::open_file_count();
  {
    const auto device = simulated.open();
    MemoryFile file(8192);
    hal::ForeignMemory memory = dma_buf(file, 4032, sync);
    memory.offset_bytes = 64;
    const auto imported = device->import_memory(memory);
    REQUIRE(imported);
    CHECK(Simulated::size_bytes == 4096);
    file.close();
    const hal::CommandList in_slot = test::record_add(*device, {.kind = hal::ArgKind::kSlot});
    const hal::CommandList fixed = test::record_add(*device, *imported);
    const hal::Binding binding = {.buffer = *imported};
    REQUIRE(test::run(*device, in_slot, {&binding, 1}).is_ok());
    REQUIRE(test::run(*device, fixed).is_ok());
    file.words()[16] = 40;
    REQUIRE(test::run(*device, in_slot, {&binding, 1}).is_ok());
    CHECK(file.words()[16] == 41);
    CHECK(file.words()[15] == 0);
    CHECK(file.words()[31] == 3);
    CHECK(file.words()[32] == 0);
    device->release(in_slot);
    device->release(fixed);
    device->release(*imported);
  }
  CHECK(test::DriverCalls::held == 0);
  CHECK(test::DriverCalls::transfers == 0);
  CHECK(test::open_file_count() == open_files);
}

}  // namespace

TEST_CASE("simulated: dma-bufs by cl_khr_external_memory are acquired and released", "[opencl]") {
  Simulated simulated("cl_khr_external_memory cl_khr_external_memory_dma_buf");
  SECTION("OpenCL 3.0") {
    check_runs(simulated, CacheSync::kCoherent);
    CHECK(Simulated::properties.at(0) == CL_DEVICE_HANDLE_LIST_KHR);
  }
  SECTION("cl_intel_create_buffer_with_properties, before it") {
    simulated.driver.api.clCreateBufferWithProperties = nullptr;
    check_runs(simulated, CacheSync::kOwner);
    CHECK(Simulated::properties.at(0) == 0);
  }
  CHECK(Simulated::acquired == 3);
  CHECK(Simulated::released == 3);
  CHECK(Simulated::launches_outside == 0);
}

TEST_CASE("simulated: dma-bufs by cl_arm_import_memory are kept consistent", "[opencl]") {
  Simulated simulated("cl_arm_import_memory cl_arm_import_memory_dma_buf");
  const CacheSync sync = GENERATE(CacheSync::kCoherent, CacheSync::kDevice, CacheSync::kOwner);
  check_runs(simulated, sync);
  const intptr_t is_consistent = sync != CacheSync::kOwner;
  CHECK(Simulated::properties ==
        std::vector<intptr_t>(
            is_consistent != 0
                ? std::vector<intptr_t>{CL_IMPORT_TYPE_ARM, CL_IMPORT_TYPE_DMA_BUF_ARM,
                                        CL_IMPORT_DMA_BUF_DATA_CONSISTENCY_WITH_HOST_ARM, 1}
                : std::vector<intptr_t>{CL_IMPORT_TYPE_ARM, CL_IMPORT_TYPE_DMA_BUF_ARM,
                                        CL_IMPORT_DMA_BUF_DATA_CONSISTENCY_WITH_HOST_ARM}));
  CHECK(Simulated::acquired == 0);
}

TEST_CASE("simulated: host memory by cl_arm_import_memory_host", "[opencl]") {
  Simulated simulated("cl_arm_import_memory cl_arm_import_memory_host");
  {
    const auto device = simulated.open();
    const MemoryFile file(4096);
    hal::ForeignMemory memory = dma_buf(file, 4096, CacheSync::kCoherent);
    CHECK(device->import_memory(memory).error().code() == Code::kUnsupported);
    CHECK(said("cl_arm_import_memory_dma_buf"));
    memory.kind = ForeignKind::kHostPointer;
    memory.handle = reinterpret_cast<uint64_t>(file.words());
    const auto imported = device->import_memory(memory);
    REQUIRE(imported);
    CHECK(Simulated::properties ==
          std::vector<intptr_t>{CL_IMPORT_TYPE_ARM, CL_IMPORT_TYPE_HOST_ARM});
    const hal::CommandList list = test::record_add(*device, *imported);
    REQUIRE(test::run(*device, list).is_ok());
    CHECK(file.words()[15] == 1);
    device->release(list);
    device->release(*imported);
    memory.handle += 64;  // a GPU takes whole pages
    memory.size_bytes = 64;
    CHECK(device->import_memory(memory).error().code() == Code::kUnsupported);
    CHECK(said("multiples of 4096"));
    memory.handle -= 64;  // and whole cache lines
    memory.size_bytes = 100;
    CHECK(device->import_memory(memory).error().code() == Code::kUnsupported);
    CHECK(said("whole cache lines of 64 bytes"));
  }
  CHECK(test::DriverCalls::held == 0);
}

TEST_CASE("simulated: dma-bufs by cl_qcom_dmabuf_host_ptr and cl_qcom_ion_host_ptr", "[opencl]") {
  struct Case {
    const char* extensions;
    CacheSync sync;
    cl_uint type;
    cl_uint policy;
  };
  const Case c =
      GENERATE(Case{"cl_qcom_ext_host_ptr cl_qcom_dmabuf_host_ptr cl_qcom_ion_host_ptr",
                    CacheSync::kDevice, 0x411D, CL_MEM_HOST_WRITEBACK_QCOM},
               Case{"cl_qcom_ext_host_ptr cl_qcom_ext_host_ptr_iocoherent cl_qcom_dmabuf_host_ptr",
                    CacheSync::kCoherent, 0x411D, CL_MEM_HOST_IOCOHERENT_QCOM},
               Case{"cl_qcom_ext_host_ptr cl_qcom_ion_host_ptr", CacheSync::kOwner,
                    CL_MEM_ION_HOST_PTR_QCOM, CL_MEM_HOST_UNCACHED_QCOM});
  Simulated simulated(c.extensions);
  check_runs(simulated, c.sync);
  CHECK(Simulated::host_pointer.allocation_type == c.type);
  CHECK(Simulated::host_pointer.host_cache_policy == c.policy);
}

TEST_CASE("simulated: a dma-buf that such a GPU can't use is refused with the reason", "[opencl]") {
  const MemoryFile file(4096);
  const int open_files = test::open_file_count();
  SECTION("no extension") {
    Simulated simulated("cl_khr_fp16 cl_khr_external_memory_dma_bufs");
    const auto device = simulated.open();
    CHECK(device->import_memory(dma_buf(file, 4096, CacheSync::kOwner)).error().code() ==
          Code::kUnsupported);
    CHECK(said("cl_khr_external_memory_dma_buf, cl_arm_import_memory_dma_buf"));
    CHECK((device->info().imports & import_bit(ForeignKind::kDmaBufFd)) == 0);
  }
  SECTION("caches that it doesn't see, and room that it needs") {
    Simulated simulated("cl_qcom_ext_host_ptr cl_qcom_dmabuf_host_ptr");
    Simulated::padding_bytes = 64;
    const auto device = simulated.open();
    CHECK(device->import_memory(dma_buf(file, 1024, CacheSync::kCoherent)).error().code() ==
          Code::kUnsupported);
    CHECK(said("CacheSync::kDevice"));
    CHECK(device->import_memory(dma_buf(file, 4096, CacheSync::kDevice)).error().code() ==
          Code::kInvalidArgument);
    CHECK(said("has 4096 bytes, fewer than 4096 from 0 on and 64"));
    CHECK(device->import_memory(dma_buf(file, 4032, CacheSync::kDevice)).has_value());
    CHECK((device->info().imports & import_bit(ForeignKind::kDmaBufFd)) != 0);
  }
  SECTION("the driver refuses") {
    Simulated simulated(GENERATE("cl_khr_external_memory cl_khr_external_memory_dma_buf",
                                 "cl_arm_import_memory cl_arm_import_memory_dma_buf",
                                 "cl_qcom_ext_host_ptr cl_qcom_dmabuf_host_ptr"));
    Simulated::refuses = true;
    const auto device = simulated.open();
    CHECK(device->import_memory(dma_buf(file, 4096, CacheSync::kOwner)).error().code() ==
          Code::kUnsupported);
    CHECK(said("dma-buf in place: CL_INVALID_OPERATION"));
    CHECK(test::DriverCalls::held == 0);
  }
  CHECK(test::open_file_count() == open_files);
}

TEST_CASE("simulated: a device with memory of its own refuses the host's", "[opencl]") {
  Simulated simulated("cl_khr_fp16");
  static decltype(Api::clGetDeviceInfo) before = nullptr;
  before = simulated.driver.api.clGetDeviceInfo;
  simulated.driver.api.clGetDeviceInfo = [](cl_device_id device, cl_device_info what, size_t room,
                                            void* value, size_t* needed) -> cl_int {
    if (what != CL_DEVICE_HOST_UNIFIED_MEMORY) return before(device, what, room, value, needed);
    *static_cast<cl_bool*>(value) = CL_FALSE;
    return CL_SUCCESS;
  };
  const MemoryFile file(4096);
  const auto device = simulated.open();
  hal::ForeignMemory memory = dma_buf(file, 4096, CacheSync::kCoherent);
  memory.kind = ForeignKind::kMemoryFd;
  CHECK(device->import_memory(memory).error().code() == Code::kUnsupported);
  CHECK(said("has memory of its own"));
  CHECK((device->info().imports & ~import_bit(ForeignKind::kClImage)) ==
        import_bit(ForeignKind::kClBuffer));
}
