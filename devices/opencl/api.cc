// SPDX-License-Identifier: MIT
#include "devices/opencl/api.h"

#include <dlfcn.h>

#include <mutex>
#include <optional>
#include <string>

namespace camshaft::opencl {
namespace {

using base::Code;

// The ICD loader's name on Linux, then that of drivers which come without one (Android).
constexpr const char* kLibraries[] = {"libOpenCL.so.1", "libOpenCL.so"};

template <typename Call>
base::Status find_call(void* library, const char* name, Call* call) {
  *call = reinterpret_cast<Call>(dlsym(library, name));
  if (*call != nullptr) return base::ok();
  return base::fail(Code::kWrongTarget, "opencl.call",
                    "the OpenCL library of this machine lacks %s, so it is older than OpenCL 1.2",
                    name);
}

}  // namespace

base::Result<Api> load_api(std::span<const char* const> libraries) {
  std::string tried;
  void* library = nullptr;
  for (const char* name : libraries) {
    tried += (tried.empty() ? "" : ", ") + std::string(name);
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
  }
  if (library == nullptr) {
    return base::fail(Code::kWrongTarget, "opencl.library",
                      "this machine has no OpenCL library (looked for %s): install the ICD loader "
                      "and the device's driver",
                      tried.c_str());
  }
  Api api;
#define CAMSHAFT_OPENCL_FIND(name) CAMSHAFT_TRY(find_call(library, #name, &api.name));
  CAMSHAFT_OPENCL_CALLS(CAMSHAFT_OPENCL_FIND)
#undef CAMSHAFT_OPENCL_FIND
  api.clCreateBufferWithProperties =
      reinterpret_cast<CreateBufferWithProperties>(dlsym(library, "clCreateBufferWithProperties"));
  return api;
}

base::Result<const Api*> system_api() {
  static std::mutex mutex;
  static std::optional<Api> kept;
  const std::lock_guard<std::mutex> lock(mutex);
  if (!kept) {
    CAMSHAFT_TRY_ASSIGN(kept, load_api(kLibraries));
  }
  return &*kept;
}

const char* error_name(cl_int code) {
  switch (code) {
#define CAMSHAFT_OPENCL_NAME(name) \
  case name:                       \
    return #name;
    CAMSHAFT_OPENCL_NAME(CL_SUCCESS)
    CAMSHAFT_OPENCL_NAME(CL_DEVICE_NOT_FOUND)
    CAMSHAFT_OPENCL_NAME(CL_DEVICE_NOT_AVAILABLE)
    CAMSHAFT_OPENCL_NAME(CL_COMPILER_NOT_AVAILABLE)
    CAMSHAFT_OPENCL_NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE)
    CAMSHAFT_OPENCL_NAME(CL_OUT_OF_RESOURCES)
    CAMSHAFT_OPENCL_NAME(CL_OUT_OF_HOST_MEMORY)
    CAMSHAFT_OPENCL_NAME(CL_PROFILING_INFO_NOT_AVAILABLE)
    CAMSHAFT_OPENCL_NAME(CL_MEM_COPY_OVERLAP)
    CAMSHAFT_OPENCL_NAME(CL_IMAGE_FORMAT_NOT_SUPPORTED)
    CAMSHAFT_OPENCL_NAME(CL_BUILD_PROGRAM_FAILURE)
    CAMSHAFT_OPENCL_NAME(CL_MAP_FAILURE)
    CAMSHAFT_OPENCL_NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
    CAMSHAFT_OPENCL_NAME(CL_INVALID_VALUE)
    CAMSHAFT_OPENCL_NAME(CL_INVALID_DEVICE)
    CAMSHAFT_OPENCL_NAME(CL_INVALID_CONTEXT)
    CAMSHAFT_OPENCL_NAME(CL_INVALID_QUEUE_PROPERTIES)
    CAMSHAFT_OPENCL_NAME(CL_INVALID_COMMAND_QUEUE)
    CAMSHAFT_OPENCL_NAME(CL_INVALID_HOST_PTR)
    CAMSHAFT_OPENCL_NAME(CL_INVALID_MEM_OBJECT)
    CAMSHAFT_OPENCL_NAME(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR)
    CAMSHAFT_OPENCL_NAME(CL_INVALID_IMAGE_SIZE)
    CAMSHAFT_OPENCL_NAME(CL_INVALID_PROGRAM_EXECUTABLE)
    CAMSHAFT_OPENCL_NAME(CL_INVALID_KERNEL_NAME)
    CAMSHAFT_OPENCL_NAME(CL_INVALID_KERNEL_DEFINITION)
    CAMSHAFT_OPENCL_NAME(CL_INVALID_KERNEL)
    CAMSHAFT_OPENCL_NAME(CL_INVALID_ARG_INDEX)
    CAMSHAFT_OPENCL_NAME(CL_INVALID_ARG_VALUE)
    CAMSHAFT_OPENCL_NAME(CL_INVALID_ARG_SIZE)
    CAMSHAFT_OPENCL_NAME(CL_INVALID_KERNEL_ARGS)
    CAMSHAFT_OPENCL_NAME(CL_INVALID_WORK_DIMENSION)
    CAMSHAFT_OPENCL_NAME(CL_INVALID_WORK_GROUP_SIZE)
    CAMSHAFT_OPENCL_NAME(CL_INVALID_WORK_ITEM_SIZE)
    CAMSHAFT_OPENCL_NAME(CL_INVALID_BUFFER_SIZE)
    CAMSHAFT_OPENCL_NAME(CL_INVALID_GLOBAL_WORK_SIZE)
    CAMSHAFT_OPENCL_NAME(CL_INVALID_OPERATION)
#undef CAMSHAFT_OPENCL_NAME
    default:
      return "an OpenCL error of its own";
  }
}

}  // namespace camshaft::opencl
