// SPDX-License-Identifier: MIT
// The OpenCL calls that this backend makes, found at run time: nothing links an OpenCL library, so
// a machine without one builds and runs everything else. OpenCL 1.2 is all that is needed.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <span>
#include <utility>

#include "runtime/base/status.h"

namespace camshaft::opencl {

#define CAMSHAFT_OPENCL_CALLS(X)              \
  X(clGetPlatformIDs)                         \
  X(clGetPlatformInfo)                        \
  X(clGetDeviceIDs)                           \
  X(clGetDeviceInfo)                          \
  X(clGetExtensionFunctionAddressForPlatform) \
  X(clCreateContext)                          \
  X(clRetainContext)                          \
  X(clReleaseContext)                         \
  X(clCreateCommandQueue)                     \
  X(clGetCommandQueueInfo)                    \
  X(clRetainCommandQueue)                     \
  X(clReleaseCommandQueue)                    \
  X(clCreateBuffer)                           \
  X(clCreateSubBuffer)                        \
  X(clCreateImage)                            \
  X(clGetMemObjectInfo)                       \
  X(clGetImageInfo)                           \
  X(clRetainMemObject)                        \
  X(clReleaseMemObject)                       \
  X(clCreateProgramWithSource)                \
  X(clCreateProgramWithBinary)                \
  X(clBuildProgram)                           \
  X(clGetProgramBuildInfo)                    \
  X(clGetProgramInfo)                         \
  X(clReleaseProgram)                         \
  X(clCreateKernel)                           \
  X(clGetKernelInfo)                          \
  X(clGetKernelWorkGroupInfo)                 \
  X(clSetKernelArg)                           \
  X(clReleaseKernel)                          \
  X(clEnqueueNDRangeKernel)                   \
  X(clEnqueueCopyBuffer)                      \
  X(clEnqueueCopyBufferToImage)               \
  X(clEnqueueFillBuffer)                      \
  X(clEnqueueWriteBuffer)                     \
  X(clEnqueueReadBuffer)                      \
  X(clEnqueueMapBuffer)                       \
  X(clEnqueueUnmapMemObject)                  \
  X(clEnqueueMarkerWithWaitList)              \
  X(clFlush)                                  \
  X(clFinish)                                 \
  X(clWaitForEvents)                          \
  X(clGetEventInfo)                           \
  X(clGetEventProfilingInfo)                  \
  X(clReleaseEvent)

// Of OpenCL 3.0; the headers for 1.2 don't declare it. `properties`: cl_mem_properties.
using CreateBufferWithProperties = cl_mem(CL_API_CALL*)(cl_context context,
                                                        const cl_ulong* properties,
                                                        cl_mem_flags flags, size_t size,
                                                        void* host_ptr, cl_int* error);

// One pointer a call, under the call's own name. Tests may replace some.
struct Api {
#define CAMSHAFT_OPENCL_POINTER(name) decltype(&::name) name = nullptr;
  CAMSHAFT_OPENCL_CALLS(CAMSHAFT_OPENCL_POINTER)
#undef CAMSHAFT_OPENCL_POINTER
  CreateBufferWithProperties clCreateBufferWithProperties = nullptr;  // null before OpenCL 3.0
};

// Opens the first of `libraries` that is there, for the life of the process, and finds all calls in
// it. kWrongTarget where there is none, with what was looked for.
base::Result<Api> load_api(std::span<const char* const> libraries);

// The machine's own ICD loader, opened at the first call.
base::Result<const Api*> system_api();

// "CL_OUT_OF_RESOURCES"; the same text for all codes that OpenCL 1.2 has not. Static storage.
const char* error_name(cl_int code);

// An OpenCL object that is released with this one. `release` is the api's call for its kind.
template <typename T>
class Object {
 public:
  Object() = default;
  Object(T handle, cl_int (*release)(T)) : handle_(handle), release_(release) {}
  Object(Object&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), release_(other.release_) {}
  Object& operator=(Object&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(release_, other.release_);
    return *this;
  }
  ~Object() {
    if (handle_ != nullptr) release_(handle_);
  }
  T get() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  T handle_ = nullptr;
  cl_int (*release_)(T) = nullptr;
};

}  // namespace camshaft::opencl
