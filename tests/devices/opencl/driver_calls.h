// SPDX-License-Identifier: MIT
// The machine's OpenCL calls, counted: what is made and held, and what moves bytes. Can be made
// idle, so that calls succeed and do nothing: what a run allocates is then our own doing.
#pragma once

#include <map>

#include "devices/opencl/api.h"
#include "tests/devices/opencl/application.h"

namespace camshaft::test {

// One at a time.
struct DriverCalls {
  opencl::Api api = machine_api();
  static inline const opencl::Api* real = nullptr;
  static inline int made = 0;       // objects, ever
  static inline int held = 0;       // memory objects and kernels, now
  static inline int transfers = 0;  // copies, writes and reads of buffers, ever
  static inline int launches = 0;   // kernels started, ever
  static inline bool is_idle = false;
  static inline std::map<cl_mem, void*> mapped;

  DriverCalls() {
    real = &machine_api();
    made = held = transfers = launches = 0;
    is_idle = false;
    mapped.clear();
    count_objects();
    count_transfers();
    replace_hot_calls();
  }

 private:
  void count_objects() {
    api.clCreateBuffer = [](cl_context context, cl_mem_flags flags, size_t size, void* host,
                            cl_int* error) {
      ++made;
      ++held;
      return real->clCreateBuffer(context, flags, size, host, error);
    };
    api.clCreateImage = [](cl_context context, cl_mem_flags flags, const cl_image_format* format,
                           const cl_image_desc* description, void* host, cl_int* error) {
      ++made;
      ++held;
      return real->clCreateImage(context, flags, format, description, host, error);
    };
    api.clCreateKernel = [](cl_program program, const char* name, cl_int* error) {
      ++made;
      ++held;
      return real->clCreateKernel(program, name, error);
    };
    api.clReleaseKernel = [](cl_kernel kernel) -> cl_int {
      --held;
      return real->clReleaseKernel(kernel);
    };
    api.clRetainMemObject = [](cl_mem object) -> cl_int {
      ++held;
      return real->clRetainMemObject(object);
    };
    api.clReleaseMemObject = [](cl_mem object) -> cl_int {
      --held;
      return real->clReleaseMemObject(object);
    };
  }
  void count_transfers() {
    api.clEnqueueCopyBuffer = [](cl_command_queue queue, cl_mem from, cl_mem to, size_t at,
                                 size_t to_at, size_t size, cl_uint count, const cl_event* list,
                                 cl_event* event) -> cl_int {
      ++transfers;
      return real->clEnqueueCopyBuffer(queue, from, to, at, to_at, size, count, list, event);
    };
    api.clEnqueueWriteBuffer = [](cl_command_queue queue, cl_mem object, cl_bool blocking,
                                  size_t at, size_t size, const void* from, cl_uint count,
                                  const cl_event* list, cl_event* event) -> cl_int {
      ++transfers;
      return real->clEnqueueWriteBuffer(queue, object, blocking, at, size, from, count, list,
                                        event);
    };
    api.clEnqueueReadBuffer = [](cl_command_queue queue, cl_mem object, cl_bool blocking, size_t at,
                                 size_t size, void* to, cl_uint count, const cl_event* list,
                                 cl_event* event) -> cl_int {
      ++transfers;
      return real->clEnqueueReadBuffer(queue, object, blocking, at, size, to, count, list, event);
    };
  }
  void replace_hot_calls() {
    api.clEnqueueMapBuffer = [](cl_command_queue queue, cl_mem object, cl_bool blocking,
                                cl_map_flags flags, size_t at, size_t size, cl_uint count,
                                const cl_event* list, cl_event* event, cl_int* error) -> void* {
      if (is_idle) {
        *error = CL_SUCCESS;
        return mapped.at(object);
      }
      return mapped[object] = real->clEnqueueMapBuffer(queue, object, blocking, flags, at, size,
                                                       count, list, event, error);
    };
    api.clEnqueueUnmapMemObject = [](cl_command_queue queue, cl_mem object, void* at, cl_uint count,
                                     const cl_event* list, cl_event* event) -> cl_int {
      return is_idle ? CL_SUCCESS
                     : real->clEnqueueUnmapMemObject(queue, object, at, count, list, event);
    };
    api.clSetKernelArg = [](cl_kernel kernel, cl_uint index, size_t size,
                            const void* value) -> cl_int {
      return is_idle ? CL_SUCCESS : real->clSetKernelArg(kernel, index, size, value);
    };
    api.clEnqueueNDRangeKernel = [](cl_command_queue queue, cl_kernel kernel, cl_uint axes,
                                    const size_t* offset, const size_t* items, const size_t* group,
                                    cl_uint count, const cl_event* list,
                                    cl_event* event) -> cl_int {
      ++launches;
      return is_idle ? CL_SUCCESS
                     : real->clEnqueueNDRangeKernel(queue, kernel, axes, offset, items, group,
                                                    count, list, event);
    };
    api.clEnqueueMarkerWithWaitList = [](cl_command_queue queue, cl_uint count,
                                         const cl_event* list, cl_event* event) -> cl_int {
      if (!is_idle) return real->clEnqueueMarkerWithWaitList(queue, count, list, event);
      *event = reinterpret_cast<cl_event>(&held);  // any address
      return CL_SUCCESS;
    };
    api.clFlush = [](cl_command_queue queue) -> cl_int {
      return is_idle ? CL_SUCCESS : real->clFlush(queue);
    };
    api.clWaitForEvents = [](cl_uint count, const cl_event* list) -> cl_int {
      return is_idle ? CL_SUCCESS : real->clWaitForEvents(count, list);
    };
    api.clGetEventInfo = [](cl_event event, cl_event_info what, size_t size, void* value,
                            size_t* needed) -> cl_int {
      if (!is_idle) return real->clGetEventInfo(event, what, size, value, needed);
      *static_cast<cl_int*>(value) = CL_COMPLETE;
      return CL_SUCCESS;
    };
    api.clReleaseEvent = [](cl_event event) -> cl_int {
      return is_idle ? CL_SUCCESS : real->clReleaseEvent(event);
    };
  }
};

}  // namespace camshaft::test
