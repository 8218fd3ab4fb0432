// SPDX-License-Identifier: MIT
#include "devices/opencl/import_kinds.h"
#include "runtime/base/bytes.h"

namespace camshaft::opencl {
namespace {

using base::Code;
using base::Result;
using base::Status;

Status check_shares(const FoundDevice& device) {
  if (device.imports.host_memory) return base::ok();
  return base::fail(Code::kUnsupported, "opencl.import",
                    "%s has memory of its own, so it can't use the host's in place: copy into a "
                    "buffer of the device",
                    device.info.name);
}

Status check_place(const FoundDevice& device, uint64_t address, uint64_t size_bytes) {
  const uint32_t alignment = device.info.import_alignment;
  if (!base::is_aligned(address, alignment)) {
    return base::fail(Code::kUnsupported, "opencl.import",
                      "memory at address %#llx can't be used in place: %s needs addresses that are "
                      "multiples of %u",
                      wide(address), device.info.name, alignment);
  }
  if (!device.info.host_coherent && size_bytes % device.cache_line_bytes != 0) {
    return base::fail(Code::kUnsupported, "opencl.import",
                      "memory of %llu bytes can't be used in place: %s needs whole cache lines of "
                      "%llu bytes",
                      wide(size_bytes), device.info.name, wide(device.cache_line_bytes));
  }
  return base::ok();
}

Result<Memory> import_at(const ImportTo& to, std::byte* host, const hal::ForeignMemory& memory) {
  CAMSHAFT_TRY(check_place(to.device, reinterpret_cast<uint64_t>(host), memory.size_bytes));
  cl_int error = CL_SUCCESS;
  if (to.device.imports.arm_host) {
    const cl_import_properties_arm properties[] = {CL_IMPORT_TYPE_ARM, CL_IMPORT_TYPE_HOST_ARM, 0};
    const cl_mem object = to.device.imports.import_arm(to.context, to.access(memory), properties,
                                                       host, memory.size_bytes, &error);
    return to.finish(object, error, memory);  // can't be mapped by OpenCL, and needn't be
  }
  const cl_mem object = to.api.clCreateBuffer(to.context, CL_MEM_USE_HOST_PTR | to.access(memory),
                                              memory.size_bytes, host, &error);
  CAMSHAFT_TRY_ASSIGN(Memory imported, to.finish(object, error, memory));
  if (memory.sync != hal::CacheSync::kOwner) imported.host = host;
  return imported;
}

}  // namespace

Result<Memory> import_host_pointer(const ImportTo& to, const hal::ForeignMemory& memory) {
  const auto address = base::checked_add(memory.handle, memory.offset_bytes);
  if (memory.handle == 0 || !address || !base::checked_add(*address, memory.size_bytes)) {
    return base::fail(Code::kInvalidArgument, "opencl.import",
                      "%llu bytes at address %#llx can't be memory of this process",
                      wide(memory.size_bytes), wide(memory.handle));
  }
  CAMSHAFT_TRY(check_shares(to.device));
  return import_at(to, reinterpret_cast<std::byte*>(*address), memory);
}

Result<hwio::SharedFile> open_file(const hal::ForeignMemory& memory, uint64_t padding_bytes) {
  CAMSHAFT_TRY_ASSIGN(hwio::SharedFile file, hwio::SharedFile::duplicate(memory.handle));
  const uint64_t present = file.size_bytes();
  if (present >= padding_bytes &&
      base::range_fits(memory.offset_bytes, memory.size_bytes, present - padding_bytes)) {
    return file;
  }
  return base::fail(Code::kInvalidArgument, "opencl.import",
                    "the %s behind descriptor %llu has %llu bytes, fewer than %llu from %llu on "
                    "and %llu that the device needs after them: make it longer",
                    hal::foreign_kind_name(memory.kind), wide(memory.handle), wide(present),
                    wide(memory.size_bytes), wide(memory.offset_bytes), wide(padding_bytes));
}

Result<Memory> import_mapped(const ImportTo& to, const hal::ForeignMemory& memory,
                             const hwio::SharedFile& file) {
  CAMSHAFT_TRY_ASSIGN(
      hwio::SharedMapping mapping,
      hwio::SharedMapping::map(file, memory.offset_bytes, memory.size_bytes, memory.writable));
  CAMSHAFT_TRY_ASSIGN(Memory imported, import_at(to, mapping.data(), memory));
  imported.mapping = std::move(mapping);
  return imported;
}

Result<Memory> import_memory_file(const ImportTo& to, const hal::ForeignMemory& memory) {
  CAMSHAFT_TRY(check_shares(to.device));
  CAMSHAFT_TRY_ASSIGN(const hwio::SharedFile file, open_file(memory, 0));
  return import_mapped(to, memory, file);
}

}  // namespace camshaft::opencl
