// SPDX-License-Identifier: MIT
// Memory of others used in place, on the machine's own OpenCL device: rules, lifetimes, and that
// nothing is left behind. What only other drivers have is in import_simulated_test.cc.
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "devices/hal/validate.h"
#include "devices/opencl/opencl_backend.h"
#include "tests/devices/opencl/add_list.h"
#include "tests/devices/opencl/driver_calls.h"
#include "tests/devices/opencl/memory_file.h"
#include "tests/support/last_sentence.h"

using namespace camshaft;
using base::Code;
using hal::ForeignKind;
using test::Application;
using test::DriverCalls;
using test::last_sentence;
using test::MemoryFile;
using test::said;

namespace {

struct Owner {
  int releases = 0;
  int held = -1;  // objects, when it was told

  void watch(hal::ForeignMemory& memory) {
    memory.on_release = [](void* context) {
      ++static_cast<Owner*>(context)->releases;
      static_cast<Owner*>(context)->held = DriverCalls::held;
    };
    memory.release_context = this;
  }
};

std::unique_ptr<hal::Device> open_on(const DriverCalls& driver, const Application& application) {
  auto device = opencl::open_on_with(driver.api, application.caller(), {});
  REQUIRE(device);
  return std::make_unique<hal::ValidatingDevice>(std::move(*device));
}

// Whether the device's memory is the host's; tests of that are empty where it isn't.
bool shares(const hal::Device& device) {
  const bool is_shared = (device.info().imports & import_bit(ForeignKind::kHostPointer)) != 0;
  if (!is_shared) WARN("not tested: the device has memory of its own");
  return is_shared;
}

hal::ForeignMemory foreign(ForeignKind kind, uint64_t handle, uint64_t size_bytes) {
  hal::ForeignMemory memory;
  memory.kind = kind;
  memory.handle = handle;
  memory.size_bytes = size_bytes;
  memory.writable = true;
  return memory;
}

hal::ForeignMemory foreign(cl_mem object, uint64_t size_bytes) {
  return foreign(ForeignKind::kClBuffer, reinterpret_cast<uint64_t>(object), size_bytes);
}

}  // namespace

TEST_CASE("a released owner: the device keeps the buffer until it is released", "[opencl]") {
  DriverCalls driver;
  Application application;
  Owner owner;
  const cl_mem object = application.buffer(std::vector<uint32_t>(64, 7));
  {
    const auto device = open_on(driver, application);
    hal::ForeignMemory memory = foreign(object, 256);
    owner.watch(memory);
    const auto imported = device->import_memory(memory);
    REQUIRE(imported);
    CHECK(application.references(object) == 2);
    application.api.clReleaseMemObject(object);
    const hal::CommandList list = test::record_add(*device, *imported);
    REQUIRE(test::run(*device, list).is_ok());
    CHECK(application.read(object, 64)[3] == 8);
    device->release(list);
    CHECK(owner.releases == 0);
    device->release(*imported);
    CHECK(owner.releases == 1);
    CHECK(owner.held == 0);  // after the last use
    CHECK(device->import_memory(foreign(object, 0)).error().code() == Code::kInvalidArgument);
  }
  CHECK(owner.releases == 1);
  CHECK(DriverCalls::held == 0);
  CHECK(DriverCalls::transfers == 0);
}

TEST_CASE("a device that is closed gives all memory back, once", "[opencl]") {
  DriverCalls driver;
  Application application;
  Owner owners[3];
  const cl_mem object = application.buffer(std::vector<uint32_t>(64, 7));
  const MemoryFile file(4096);
  alignas(64) static uint32_t host[64] = {};
  {
    const auto device = open_on(driver, application);
    if (!shares(*device)) return;
    hal::ForeignMemory memories[] = {
        foreign(object, 256), foreign(ForeignKind::kMemoryFd, file.handle(), 4096),
        foreign(ForeignKind::kHostPointer, reinterpret_cast<uint64_t>(host), sizeof host)};
    for (int i = 0; i < 3; ++i) {
      owners[i].watch(memories[i]);
      REQUIRE(device->import_memory(memories[i]));
      CHECK(owners[i].releases == 0);
    }
  }
  for (const Owner& owner : owners) CHECK(owner.releases == 1);
  CHECK(DriverCalls::held == 0);
  CHECK(application.references(object) == 1);
  application.api.clReleaseMemObject(object);
}

TEST_CASE("an import that is refused holds nothing and calls nothing", "[opencl]") {
  DriverCalls driver;
  Application application;
  Application stranger;
  Owner owner;
  const cl_mem object = application.buffer(std::vector<uint32_t>(64, 7));
  const cl_mem strange = stranger.buffer(std::vector<uint32_t>(64, 7));
  const MemoryFile file(4096);
  const int open_files = test::open_file_count();
  const auto device = open_on(driver, application);
  if (!shares(*device)) return;
  const int held = DriverCalls::held;
  const auto refused = [&](hal::ForeignMemory memory, Code code, const char* sentence) {
    owner.watch(memory);
    CHECK(device->import_memory(memory).error().code() == code);
    INFO(last_sentence());
    CHECK(said(sentence));
    memory.offset_bytes = 0;
  };
  const auto at = [](hal::ForeignMemory memory, uint64_t offset_bytes) {
    memory.offset_bytes = offset_bytes;
    return memory;
  };
  refused(foreign(object, 512), Code::kInvalidArgument, "has 256 bytes, fewer than 512 from 0");
  refused(at(foreign(object, 128), 192), Code::kInvalidArgument, "fewer than 128 from 192");
  refused(at(foreign(object, 128), 16), Code::kInvalidArgument, "not a multiple");
  refused(foreign(strange, 256), Code::kUnsupported, "open the device on its context");
  hal::ForeignMemory pitched = foreign(object, 256);
  pitched.row_pitch_bytes = 64;
  refused(pitched, Code::kUnsupported, "leave pitch and format 0");
  const auto of_file = [&](uint64_t size_bytes) {
    return foreign(ForeignKind::kMemoryFd, file.handle(), size_bytes);
  };
  refused(of_file(4097), Code::kInvalidArgument, "has 4096 bytes, fewer than 4097 from 0");
  refused(at(of_file(64), 4096), Code::kInvalidArgument, "fewer than 64 from 4096");
  refused(foreign(ForeignKind::kMemoryFd, 1'000'000, 64), Code::kInvalidArgument,
          "no open file descriptor");
  refused(foreign(ForeignKind::kMemoryFd, UINT64_MAX, 64), Code::kInvalidArgument,
          "no open file descriptor");
  refused(foreign(ForeignKind::kHostPointer, 0x1010, 64), Code::kUnsupported, "multiples of 64");
  refused(foreign(ForeignKind::kHostPointer, 0, 64), Code::kInvalidArgument, "can't be memory");
  refused(foreign(ForeignKind::kCudaPointer, 0x1000, 64), Code::kUnsupported, "cuda-pointer");
  refused(foreign(static_cast<ForeignKind>(200), 0x1000, 64), Code::kUnsupported, "unknown");
  CHECK(owner.releases == 0);
  CHECK(DriverCalls::held == held);
  CHECK(application.references(object) == 1);
  CHECK(stranger.references(strange) == 1);
  CHECK(test::open_file_count() == open_files);
  application.api.clReleaseMemObject(object);
  stranger.api.clReleaseMemObject(strange);
}

TEST_CASE("kernels work in the pages of a memory file", "[opencl]") {
  DriverCalls driver;
  Application application;
  const int open_files = test::open_file_count();
  for (const hal::CacheSync sync : {hal::CacheSync::kCoherent, hal::CacheSync::kOwner}) {
    for (const ForeignKind kind : {ForeignKind::kMemoryFd, ForeignKind::kDmaBufFd}) {
      auto file = std::make_unique<MemoryFile>(8192);
      file->words()[1024 + 16] = 5;  // byte 4160
      const auto device = open_on(driver, application);
      if (!shares(*device)) return;
      hal::ForeignMemory memory = foreign(kind, file->handle(), 1024);
      memory.offset_bytes = 4160;
      memory.sync = sync;
      const auto imported = device->import_memory(memory);
      REQUIRE(imported);
      file->close();  // ours stays
      const hal::CommandList list = test::record_add(*device, *imported);
      REQUIRE(test::run(*device, list).is_ok());
      CHECK(file->words()[1024 + 16] == 6);
      file->words()[1024 + 16] = 100;
      REQUIRE(test::run(*device, list).is_ok());
      CHECK(file->words()[1024 + 16] == 101);
      CHECK(file->words()[1024 + 15] == 0);
      CHECK(file->words()[1024 + 31] == 2);
      CHECK(file->words()[1024 + 32] == 0);
    }
  }
  CHECK(DriverCalls::held == 0);
  CHECK(DriverCalls::transfers == 0);
  CHECK(test::open_file_count() == open_files);
}

TEST_CASE("a read-only memory file can be read, and not be imported as writable", "[opencl]") {
  DriverCalls driver;
  Application application;
  MemoryFile file(4096);
  file.seal_for_writing();
  const auto device = open_on(driver, application);
  if (!shares(*device)) return;
  hal::ForeignMemory memory = foreign(ForeignKind::kMemoryFd, file.handle(), 4096);
  CHECK(device->import_memory(memory).error().code() == Code::kIo);
  CHECK(said("can't be mapped for reading and writing"));
  memory.writable = false;
  CHECK(device->import_memory(memory).has_value());
}

TEST_CASE("a CPU does nothing about a dma-buf's caches", "[opencl]") {
  DriverCalls driver;
  Application application;
  const MemoryFile file(4096);
  const auto device = open_on(driver, application);
  if (!shares(*device)) return;
  hal::ForeignMemory memory = foreign(ForeignKind::kDmaBufFd, file.handle(), 4096);
  memory.sync = hal::CacheSync::kDevice;
  CHECK(device->import_memory(memory).error().code() == Code::kUnsupported);
  CHECK(said("DMA_BUF_IOCTL_SYNC"));
  const uint32_t kinds = device->info().imports;
  for (const ForeignKind kind : {ForeignKind::kHostPointer, ForeignKind::kMemoryFd,
                                 ForeignKind::kDmaBufFd, ForeignKind::kClBuffer}) {
    CHECK((kinds & import_bit(kind)) != 0);
  }
  CHECK((kinds & import_bit(ForeignKind::kCudaPointer)) == 0);
}
