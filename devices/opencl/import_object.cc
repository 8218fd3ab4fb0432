// SPDX-License-Identifier: MIT
#include "devices/opencl/import_kinds.h"
#include "runtime/base/bytes.h"

namespace camshaft::opencl {
namespace {

using base::Code;
using base::Result;
using base::Status;

template <typename T>
T mem_value(const Api& api, cl_mem object, cl_mem_info what) {
  T value = {};
  return api.clGetMemObjectInfo(object, what, sizeof value, &value, nullptr) == CL_SUCCESS ? value
                                                                                           : T{};
}

Status check_bytes(const ImportTo& to, const hal::ForeignMemory& memory) {
  auto* object = reinterpret_cast<cl_mem>(memory.handle);
  const uint64_t present = mem_value<size_t>(to.api, object, CL_MEM_SIZE);
  if (!base::range_fits(memory.offset_bytes, memory.size_bytes, present)) {
    return base::fail(Code::kInvalidArgument, "opencl.import",
                      "the buffer has %llu bytes, fewer than %llu from %llu on: make it larger",
                      wide(present), wide(memory.size_bytes), wide(memory.offset_bytes));
  }
  if (!base::is_aligned(memory.offset_bytes, to.device.info.buffer_alignment)) {
    return base::fail(Code::kUnsupported, "opencl.import",
                      "byte %llu of the buffer can't be the start of a tensor: it must be a "
                      "multiple of %u",
                      wide(memory.offset_bytes), to.device.info.buffer_alignment);
  }
  return base::ok();
}

}  // namespace

Status check_object(const ImportTo& to, const hal::ForeignMemory& memory, cl_mem_object_type type) {
  auto* object = reinterpret_cast<cl_mem>(memory.handle);
  if (object == nullptr || mem_value<cl_context>(to.api, object, CL_MEM_CONTEXT) != to.context) {
    return base::fail(Code::kUnsupported, "opencl.import",
                      "the %s is not of the context that the device works in: open the device on "
                      "its context and queue",
                      hal::foreign_kind_name(memory.kind));
  }
  if (mem_value<cl_mem_object_type>(to.api, object, CL_MEM_TYPE) != type) {
    return base::fail(Code::kInvalidArgument, "opencl.import",
                      "the object is no %s: import it as what it is",
                      type == CL_MEM_OBJECT_BUFFER ? "buffer" : "two-dimensional image");
  }
  const auto flags = mem_value<cl_mem_flags>(to.api, object, CL_MEM_FLAGS);
  if ((memory.writable && (flags & CL_MEM_READ_ONLY) != 0) || (flags & CL_MEM_WRITE_ONLY) != 0) {
    return base::fail(Code::kInvalidArgument, "opencl.import",
                      "the %s was made for kernels that only %s it: make it with "
                      "CL_MEM_READ_WRITE",
                      hal::foreign_kind_name(memory.kind),
                      (flags & CL_MEM_READ_ONLY) != 0 ? "read" : "write");
  }
  return base::ok();
}

Result<Memory> retain_object(const ImportTo& to, const hal::ForeignMemory& memory) {
  auto* object = reinterpret_cast<cl_mem>(memory.handle);
  const cl_int error = to.api.clRetainMemObject(object);
  if (error != CL_SUCCESS) {
    return base::fail(Code::kInvalidArgument, "opencl.import", "the %s can't be retained: %s",
                      hal::foreign_kind_name(memory.kind), error_name(error));
  }
  return to.finish(object, CL_SUCCESS, memory);
}

Result<Memory> import_buffer(const ImportTo& to, const hal::ForeignMemory& memory) {
  CAMSHAFT_TRY(check_object(to, memory, CL_MEM_OBJECT_BUFFER));
  CAMSHAFT_TRY(check_bytes(to, memory));
  CAMSHAFT_TRY_ASSIGN(Memory imported, retain_object(to, memory));
  imported.offset_bytes = memory.offset_bytes;
  return imported;
}

}  // namespace camshaft::opencl
