// SPDX-License-Identifier: MIT
// What an application has before it opens a device on its queue: a context on the machine's first
// OpenCL device, and memory in it.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <vector>

#include "devices/hal/registry.h"
#include "devices/opencl/api.h"

namespace camshaft::test {

inline const opencl::Api& machine_api() {
  auto api = opencl::system_api();
  REQUIRE(api);
  return **api;
}

struct Application {
  const opencl::Api& api = machine_api();
  cl_context context = nullptr;
  cl_device_id device = nullptr;
  cl_command_queue queue = nullptr;

  explicit Application(cl_command_queue_properties properties = 0) {
    cl_platform_id platform = nullptr;
    REQUIRE(api.clGetPlatformIDs(1, &platform, nullptr) == CL_SUCCESS);
    REQUIRE(api.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) == CL_SUCCESS);
    context = api.clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
    queue = api.clCreateCommandQueue(context, device, properties, nullptr);
    REQUIRE(queue != nullptr);
  }
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;
  ~Application() {
    api.clReleaseCommandQueue(queue);
    api.clReleaseContext(context);
  }

  hal::CallerQueue caller() const { return {.context = context, .device = device, .queue = queue}; }
  cl_mem buffer(const std::vector<uint32_t>& values, cl_mem_flags flags = CL_MEM_READ_WRITE) {
    return api.clCreateBuffer(context, flags | CL_MEM_COPY_HOST_PTR, values.size() * 4,
                              const_cast<uint32_t*>(values.data()), nullptr);
  }
  std::vector<uint32_t> read(cl_mem object, size_t count) {
    std::vector<uint32_t> values(count);
    REQUIRE(api.clEnqueueReadBuffer(queue, object, CL_TRUE, 0, count * 4, values.data(), 0, nullptr,
                                    nullptr) == CL_SUCCESS);
    return values;
  }
  void write(cl_mem object, const std::vector<uint32_t>& values) {
    REQUIRE(api.clEnqueueWriteBuffer(queue, object, CL_TRUE, 0, values.size() * 4, values.data(), 0,
                                     nullptr, nullptr) == CL_SUCCESS);
  }
  cl_uint references(cl_mem object) {
    cl_uint count = 0;
    REQUIRE(api.clGetMemObjectInfo(object, CL_MEM_REFERENCE_COUNT, sizeof count, &count, nullptr) ==
            CL_SUCCESS);
    return count;
  }
};

}  // namespace camshaft::test
