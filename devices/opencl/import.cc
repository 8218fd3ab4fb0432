// SPDX-License-Identifier: MIT
#include "devices/opencl/import.h"

#include "runtime/base/bytes.h"

namespace camshaft::opencl {
namespace {

using base::Code;
using base::Result;
using base::Status;

unsigned long long wide(uint64_t value) {
  return value;
}

Status check_host_pointer(const FoundDevice& device, const hal::ForeignMemory& memory) {
  const auto address = base::checked_add(memory.handle, memory.offset_bytes);
  if (memory.handle == 0 || !address || !base::checked_add(*address, memory.size_bytes)) {
    return base::fail(Code::kInvalidArgument, "opencl.import",
                      "%llu bytes at address %#llx can't be memory of this process",
                      wide(memory.size_bytes), wide(memory.handle));
  }
  if (!device.shares_host_memory) {
    return base::fail(Code::kUnsupported, "opencl.import",
                      "%s has memory of its own, so it can't use the host's in place: copy into a "
                      "buffer of the device",
                      device.info.name);
  }
  const uint32_t alignment = device.info.import_alignment;
  if (!base::is_aligned(*address, alignment)) {
    return base::fail(Code::kUnsupported, "opencl.import",
                      "memory at address %#llx can't be used in place: %s needs addresses that are "
                      "multiples of %u",
                      wide(*address), device.info.name, alignment);
  }
  const bool shares_lines =
      !device.info.host_coherent && memory.size_bytes % device.cache_line_bytes != 0;
  if (shares_lines) {
    return base::fail(Code::kUnsupported, "opencl.import",
                      "memory of %llu bytes can't be used in place: %s needs whole cache lines of "
                      "%llu bytes",
                      wide(memory.size_bytes), device.info.name, wide(device.cache_line_bytes));
  }
  return base::ok();
}

Result<Memory> import_host_pointer(const Api& api, cl_context context, const FoundDevice& device,
                                   const hal::ForeignMemory& memory) {
  CAMSHAFT_TRY(check_host_pointer(device, memory));
  auto* host = reinterpret_cast<std::byte*>(memory.handle + memory.offset_bytes);
  cl_int error = CL_SUCCESS;
  Memory imported;
  imported.object = Object<cl_mem>(
      api.clCreateBuffer(
          context, CL_MEM_USE_HOST_PTR | (memory.writable ? CL_MEM_READ_WRITE : CL_MEM_READ_ONLY),
          memory.size_bytes, host, &error),
      api.clReleaseMemObject);
  if (error != CL_SUCCESS) {
    return base::fail(Code::kUnsupported, "opencl.import",
                      "%s can't use %llu bytes of host memory in place: %s", device.info.name,
                      wide(memory.size_bytes), error_name(error));
  }
  imported.size_bytes = memory.size_bytes;
  if (memory.sync != hal::CacheSync::kOwner) imported.host = host;
  return imported;
}

template <typename T>
T mem_value(const Api& api, cl_mem object, cl_mem_info what) {
  T value = {};
  return api.clGetMemObjectInfo(object, what, sizeof value, &value, nullptr) == CL_SUCCESS ? value
                                                                                           : T{};
}

Status check_buffer(const Api& api, cl_context context, const hal::ForeignMemory& memory) {
  auto* object = reinterpret_cast<cl_mem>(memory.handle);
  if (object == nullptr || mem_value<cl_context>(api, object, CL_MEM_CONTEXT) != context) {
    return base::fail(Code::kUnsupported, "opencl.import",
                      "the buffer is not of the context that the device works in: open the device "
                      "on the buffer's context and queue");
  }
  if (mem_value<cl_mem_object_type>(api, object, CL_MEM_TYPE) != CL_MEM_OBJECT_BUFFER) {
    return base::fail(Code::kInvalidArgument, "opencl.import",
                      "the object is an image, not a buffer: import it as one");
  }
  const uint64_t present = mem_value<size_t>(api, object, CL_MEM_SIZE);
  if (!base::range_fits(memory.offset_bytes, memory.size_bytes, present)) {
    return base::fail(Code::kInvalidArgument, "opencl.import",
                      "the buffer has %llu bytes, fewer than %llu from %llu on", wide(present),
                      wide(memory.size_bytes), wide(memory.offset_bytes));
  }
  const auto flags = mem_value<cl_mem_flags>(api, object, CL_MEM_FLAGS);
  if ((memory.writable && (flags & CL_MEM_READ_ONLY) != 0) || (flags & CL_MEM_WRITE_ONLY) != 0) {
    return base::fail(Code::kInvalidArgument, "opencl.import",
                      "the buffer was made for kernels that only %s it",
                      (flags & CL_MEM_READ_ONLY) != 0 ? "read" : "write");
  }
  if (!base::is_aligned(memory.offset_bytes, hal::DeviceInfo{}.buffer_alignment)) {
    return base::fail(Code::kUnsupported, "opencl.import",
                      "byte %llu of the buffer can't be the start of a tensor: it must be a "
                      "multiple of %u",
                      wide(memory.offset_bytes), hal::DeviceInfo{}.buffer_alignment);
  }
  return base::ok();
}

Result<Memory> import_buffer(const Api& api, cl_context context, const hal::ForeignMemory& memory) {
  CAMSHAFT_TRY(check_buffer(api, context, memory));
  auto* object = reinterpret_cast<cl_mem>(memory.handle);
  const cl_int error = api.clRetainMemObject(object);
  if (error != CL_SUCCESS) {
    return base::fail(Code::kInvalidArgument, "opencl.import", "the buffer can't be retained: %s",
                      error_name(error));
  }
  Memory imported;
  imported.object = Object<cl_mem>(object, api.clReleaseMemObject);
  imported.offset_bytes = memory.offset_bytes;
  imported.size_bytes = memory.size_bytes;
  return imported;
}

}  // namespace

Result<Memory> import_foreign(const Api& api, cl_context context, const FoundDevice& device,
                              const hal::ForeignMemory& memory) {
  const bool is_image = memory.kind == hal::ForeignKind::kClImage;
  if (is_image || memory.row_pitch_bytes != 0 || memory.format != 0) {
    return base::fail(Code::kUnsupported, "opencl.import",
                      "the OpenCL device imports plain bytes, not images: leave pitch and format "
                      "0; the plan's kernels know the layout");
  }
  switch (memory.kind) {
    case hal::ForeignKind::kHostPointer:
      return import_host_pointer(api, context, device, memory);
    case hal::ForeignKind::kClBuffer:
      return import_buffer(api, context, memory);
    default:
      return base::fail(Code::kUnsupported, "opencl.import",
                        "the OpenCL device uses memory in place by its host address or as an "
                        "OpenCL buffer of its context: map this memory into the process and import "
                        "the pointer");
  }
}

}  // namespace camshaft::opencl
