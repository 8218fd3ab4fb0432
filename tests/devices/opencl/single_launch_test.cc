// SPDX-License-Identifier: MIT
// Lists that are one launch, and memory of which the host has a copy: what large GPUs get. Any
// OpenCL device does for it: it is asked through calls that answer as such a GPU would, but for
// having one unit, since other devices don't run groups side by side.
#include <catch2/catch.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "devices/hal/validate.h"
#include "devices/opencl/opencl_backend.h"

using namespace camshaft;
using opencl::Api;

namespace {

// As the plans' text is: the work of each kernel is in a function, which is told where it is.
constexpr std::string_view kText = R"(
void index_body(__global uchar* params_0, ulong params_at_0, const int i) {
  ((__global uint*)(params_0 + params_at_0))[i] = i;
}
__kernel void index(__global uchar* params_0, ulong params_at_0) {
  index_body(params_0, params_at_0, get_global_id(0));
}
void sums_body(__global const uchar* params_0, ulong params_at_0, __global uchar* params_1,
               ulong params_at_1, const int group, const int item, __local uchar* bytes) {
  __local uint* part = (__local uint*)bytes;
  part[item] = ((__global const uint*)(params_0 + params_at_0))[group * 256 + item];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int width = 128; width > 0; width /= 2) {
    if (item < width) part[item] += part[item + width];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (item == 0) ((__global uint*)(params_1 + params_at_1))[group] = part[0];
}
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void sums(__global const uchar* params_0, ulong params_at_0, __global uchar* params_1,
          ulong params_at_1) {
  __local uchar bytes[1024] __attribute__((aligned(64)));
  sums_body(params_0, params_at_0, params_1, params_at_1, get_group_id(0), get_local_id(0), bytes);
}
void twice_body(__global uchar* params_0, ulong params_at_0, const int i) {
  ((__global uint*)(params_0 + params_at_0))[i] *= 2;
}
__kernel void twice(__global uchar* params_0, ulong params_at_0) {
  twice_body(params_0, params_at_0, get_global_id(0));
}
)";
constexpr std::string_view kKernels[] = {"index", "sums", "twice"};

// The machine's calls with answers of a device of one unit and, if asked, with memory of its own.
// One at a time.
struct OneUnit {
  Api api;
  static inline const Api* real = nullptr;
  static inline bool has_own_memory = false;
  static inline int launches = 0;
  static inline int texts = 0;  // that were compiled
  static inline int writes = 0;
  static inline int reads = 0;

  explicit OneUnit(bool own_memory) {
    const auto machine = opencl::system_api();
    REQUIRE(machine);
    real = *machine;
    api = **machine;
    has_own_memory = own_memory;
    launches = texts = writes = reads = 0;
    api.clGetExtensionFunctionAddressForPlatform = [](cl_platform_id, const char*) -> void* {
      return nullptr;  // so that each launch is a call
    };
    api.clGetDeviceInfo = [](cl_device_id device, cl_device_info what, size_t size, void* value,
                             size_t* needed) -> cl_int {
      const cl_int error = real->clGetDeviceInfo(device, what, size, value, needed);
      if (what == CL_DEVICE_MAX_COMPUTE_UNITS && value != nullptr) {
        *static_cast<cl_uint*>(value) = 1;
      }
      if (what == CL_DEVICE_HOST_UNIFIED_MEMORY && value != nullptr && has_own_memory) {
        *static_cast<cl_bool*>(value) = CL_FALSE;
      }
      return error;
    };
    api.clCreateProgramWithSource = [](cl_context context, cl_uint count, const char** parts,
                                       const size_t* sizes, cl_int* error) {
      ++texts;
      return real->clCreateProgramWithSource(context, count, parts, sizes, error);
    };
    api.clEnqueueNDRangeKernel = [](cl_command_queue queue, cl_kernel kernel, cl_uint axes,
                                    const size_t* offset, const size_t* items, const size_t* group,
                                    cl_uint count, const cl_event* list,
                                    cl_event* event) -> cl_int {
      ++launches;
      return real->clEnqueueNDRangeKernel(queue, kernel, axes, offset, items, group, count, list,
                                          event);
    };
    api.clEnqueueWriteBuffer = [](cl_command_queue queue, cl_mem memory, cl_bool blocking,
                                  size_t offset, size_t size, const void* from, cl_uint count,
                                  const cl_event* list, cl_event* event) -> cl_int {
      ++writes;
      return real->clEnqueueWriteBuffer(queue, memory, blocking, offset, size, from, count, list,
                                        event);
    };
    api.clEnqueueReadBuffer = [](cl_command_queue queue, cl_mem memory, cl_bool blocking,
                                 size_t offset, size_t size, void* to, cl_uint count,
                                 const cl_event* list, cl_event* event) -> cl_int {
      ++reads;
      return real->clEnqueueReadBuffer(queue, memory, blocking, offset, size, to, count, list,
                                       event);
    };
  }

  std::unique_ptr<hal::Device> open() const {
    auto device = opencl::open_with(api, {});
    REQUIRE(device);
    return std::move(*device);
  }
};

hal::KernelArg slot(uint32_t number, hal::Flow flow) {
  hal::KernelArg arg;
  arg.kind = hal::ArgKind::kSlot;
  arg.slot = number;
  arg.flow = flow;
  return arg;
}

// scratch[i] = i, doubled; slot 0 = the sums of each 256 of them.
struct Chain {
  std::vector<hal::KernelArg> index, twice, sums;
  std::vector<hal::Command> commands;

  Chain(hal::Program program, hal::Buffer scratch) {
    hal::KernelArg fixed;
    fixed.buffer = scratch;
    index = twice = {fixed};
    sums = {fixed, slot(0, hal::Flow::kOut)};
    commands = {command(program, 0, 256 * 3, 1, index), command(program, 2, 256 * 3, 1, twice),
                command(program, 1, 3, 256, sums)};
  }
  static hal::Command command(hal::Program program, uint32_t kernel, uint32_t grid, uint32_t group,
                              const std::vector<hal::KernelArg>& args) {
    hal::Command made;
    made.program = program;
    made.kernel = kernel;
    made.grid[0] = grid;
    made.group[0] = group;
    made.args = args;
    return made;
  }
};

hal::Program load(hal::Device& device, std::span<const hal::DriverBinaryView> binaries = {}) {
  const auto program = device.load({.format = "opencl-c",
                                    .bytes = std::as_bytes(std::span(kText)),
                                    .kernels = kKernels,
                                    .driver_binaries = binaries});
  REQUIRE(program);
  return *program;
}

void run(hal::Device& device, hal::CommandList list, std::span<const hal::Binding> bindings) {
  const auto ticket = device.submit(list, bindings);
  REQUIRE(ticket);
  REQUIRE(device.wait(*ticket, {}).is_ok());
}

}  // namespace

TEST_CASE("a list of launches is one, and computes the same", "[opencl]") {
  const OneUnit one(/*own_memory=*/false);
  const auto device = std::make_unique<hal::ValidatingDevice>(one.open());
  const auto scratch = device->allocate(256 * 3 * 4, hal::MemoryKind::kDevice);
  const auto out = device->allocate(64, hal::MemoryKind::kHostVisible);
  REQUIRE((scratch && out));
  const Chain chain(load(*device), scratch->buffer);
  const auto list = device->record(chain.commands, 1);
  REQUIRE(list);
  for (int i = 0; i < 3; ++i) {
    auto* sums = static_cast<uint32_t*>(out->host_ptr);
    std::fill(sums, sums + 3, 0U);
    run(*device, *list, std::vector<hal::Binding>{{.buffer = out->buffer}});
    CHECK(sums[0] == 2 * 255 * 128);
    CHECK(sums[1] == 2 * (256 * 256 + 255 * 128));
    CHECK(sums[2] == 2 * (512 * 256 + 255 * 128));
  }
  CHECK(OneUnit::launches == 3);
}

TEST_CASE("a list that is one launch has a driver's binary of its own", "[opencl]") {
  const OneUnit one(/*own_memory=*/false);
  std::vector<hal::DriverBinary> binaries;
  for (const int texts : {2, 0}) {
    OneUnit::texts = 0;
    const auto device = one.open();
    const auto scratch = device->allocate(256 * 3 * 4, hal::MemoryKind::kDevice);
    const auto out = device->allocate(64, hal::MemoryKind::kHostVisible);
    REQUIRE((scratch && out));
    std::vector<hal::DriverBinaryView> views;
    for (const hal::DriverBinary& binary : binaries) {
      views.push_back({binary.driver, binary.digest, binary.bytes});
    }
    const Chain chain(load(*device, views), scratch->buffer);
    const auto list = device->record(chain.commands, 1);
    REQUIRE(list);
    CHECK(device->describe(*list) == "one kernel for the whole list");
    run(*device, *list, std::vector<hal::Binding>{{.buffer = out->buffer}});
    CHECK(static_cast<uint32_t*>(out->host_ptr)[0] == 2 * 255 * 128);
    CHECK(OneUnit::texts == texts);
    auto made = device->driver_binaries(chain.commands[0].program);
    REQUIRE(made);
    REQUIRE(made->size() == 2);
    CHECK(made->front().digest != made->back().digest);
    binaries = std::move(*made);
  }
}

TEST_CASE("a list that is no chain of launches stays as it is", "[opencl]") {
  const OneUnit one(/*own_memory=*/false);
  const auto device = one.open();
  const auto scratch = device->allocate(256 * 3 * 4, hal::MemoryKind::kDevice);
  const auto out = device->allocate(64, hal::MemoryKind::kHostVisible);
  REQUIRE((scratch && out));
  Chain chain(load(*device), scratch->buffer);
  hal::Command barrier;
  barrier.kind = hal::CommandKind::kBarrier;
  chain.commands.push_back(barrier);
  const auto list = device->record(chain.commands, 1);
  REQUIRE(list);
  run(*device, *list, std::vector<hal::Binding>{{.buffer = out->buffer}});
  CHECK(OneUnit::launches == 3);
  CHECK(static_cast<uint32_t*>(out->host_ptr)[0] == 2 * 255 * 128);
}

TEST_CASE("a device with memory of its own moves what the list says and no more", "[opencl]") {
  const OneUnit one(/*own_memory=*/true);
  const auto device = one.open();
  const auto in = device->allocate(256 * 4, hal::MemoryKind::kHostVisible);
  const auto out = device->allocate(64, hal::MemoryKind::kHostVisible);
  REQUIRE((in && out));
  auto* numbers = static_cast<uint32_t*>(in->host_ptr);
  CHECK(numbers[255] == 0);
  const std::vector<hal::KernelArg> args = {slot(0, hal::Flow::kIn), slot(1, hal::Flow::kOut)};
  const hal::Command sums = Chain::command(load(*device), 1, 1, 256, args);
  const auto list = device->record(std::span(&sums, 1), 2);
  REQUIRE(list);
  const std::vector<hal::Binding> bindings = {{.buffer = in->buffer}, {.buffer = out->buffer}};
  for (uint32_t i = 1; i <= 3; ++i) {
    std::fill(numbers, numbers + 256, i);
    run(*device, *list, bindings);
    CHECK(static_cast<uint32_t*>(out->host_ptr)[0] == 256 * i);
  }
  CHECK(OneUnit::writes == 3);
  CHECK(OneUnit::reads == 3);

  // Of unknown direction: both ways, and what the host changes counts.
  hal::KernelArg both;
  both.buffer = in->buffer;
  const std::vector<hal::KernelArg> twice_args = {both};
  const hal::Command twice = Chain::command(sums.program, 2, 256, 1, twice_args);
  const auto doubling = device->record(std::span(&twice, 1), 0);
  REQUIRE(doubling);
  numbers[7] = 50;
  run(*device, *doubling, {});
  CHECK(numbers[7] == 100);
  CHECK(numbers[8] == 6);
  CHECK(OneUnit::writes == 4);
  CHECK(OneUnit::reads == 4);
}
