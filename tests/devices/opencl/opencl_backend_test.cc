// SPDX-License-Identifier: MIT
// What the conformance suite can't ask of every backend: programs, imported buffers, faults, and
// that nothing is made or leaked by runs. Needs an OpenCL device; tools/setup.sh installs one.
#include "devices/opencl/opencl_backend.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "devices/hal/validate.h"
#include "runtime/base/clock.h"
#include "tests/devices/opencl/application.h"
#include "tests/support/last_sentence.h"

using namespace camshaft;
using base::Code;
using opencl::Api;
using test::Application;
using test::last_sentence;

namespace {

constexpr std::string_view kText = R"(
__kernel void add_one(__global uchar* base, ulong at) {
  __global uint* data = (__global uint*)(base + at);
  data[get_global_id(0)] += 1;
}
)";
constexpr std::string_view kKernels[] = {"add_one"};

hal::ProgramImage image_of(std::string_view text,
                           std::span<const std::string_view> kernels = kKernels) {
  return {.format = "opencl-c", .bytes = std::as_bytes(std::span(text)), .kernels = kernels};
}

hal::KernelArg whole(hal::Buffer buffer) {
  hal::KernelArg arg;
  arg.buffer = buffer;
  return arg;
}

// A list that adds one to the first 16 numbers of a buffer.
hal::CommandList record_add(hal::Device& device, hal::Buffer buffer) {
  const auto program = device.load(image_of(kText));
  REQUIRE(program);
  const hal::KernelArg args[] = {whole(buffer)};
  hal::Command command;
  command.program = *program;
  command.grid[0] = 16;
  command.args = args;
  const auto list = device.record(std::span(&command, 1), 0);
  REQUIRE(list);
  return *list;
}

base::Status run(hal::Device& device, hal::CommandList list) {
  const auto ticket = device.submit(list, {});
  return ticket ? device.wait(*ticket, {}) : ticket.error();
}

// The machine's calls, some of which are counted or broken. One at a time.
struct Counted {
  Api api = test::machine_api();
  static inline const Api* real = nullptr;
  static inline int events = 0;
  static inline int objects = 0;
  static inline bool is_broken = false;

  Counted() {
    real = &test::machine_api();
    events = objects = 0;
    is_broken = false;
    api.clEnqueueMarkerWithWaitList = [](cl_command_queue queue, cl_uint count,
                                         const cl_event* list, cl_event* event) -> cl_int {
      ++events;
      return real->clEnqueueMarkerWithWaitList(queue, count, list, event);
    };
    api.clReleaseEvent = [](cl_event event) -> cl_int {
      --events;
      return real->clReleaseEvent(event);
    };
    api.clCreateKernel = [](cl_program program, const char* name, cl_int* error) {
      ++objects;
      return real->clCreateKernel(program, name, error);
    };
    api.clReleaseKernel = [](cl_kernel kernel) -> cl_int {
      --objects;
      return real->clReleaseKernel(kernel);
    };
    api.clCreateBuffer = [](cl_context context, cl_mem_flags flags, size_t size, void* host,
                            cl_int* error) {
      ++objects;
      return real->clCreateBuffer(context, flags, size, host, error);
    };
    api.clReleaseMemObject = [](cl_mem object) -> cl_int {
      --objects;
      return real->clReleaseMemObject(object);
    };
    api.clEnqueueNDRangeKernel = [](cl_command_queue queue, cl_kernel kernel, cl_uint axes,
                                    const size_t* offset, const size_t* items, const size_t* group,
                                    cl_uint count, const cl_event* list,
                                    cl_event* event) -> cl_int {
      if (is_broken) return CL_OUT_OF_RESOURCES;
      return real->clEnqueueNDRangeKernel(queue, kernel, axes, offset, items, group, count, list,
                                          event);
    };
  }
};

hal::ForeignMemory foreign(cl_mem object, uint64_t size_bytes) {
  hal::ForeignMemory memory;
  memory.kind = hal::ForeignKind::kClBuffer;
  memory.handle = reinterpret_cast<uint64_t>(object);
  memory.size_bytes = size_bytes;
  memory.writable = true;
  return memory;
}

}  // namespace

TEST_CASE("a machine without an OpenCL library is told what was looked for", "[opencl]") {
  const char* const names[] = {"libNoSuchOpenCL.so.1", "libNorThisOne.so"};
  CHECK(opencl::load_api(names).error().code() == Code::kWrongTarget);
  CHECK(last_sentence().find("libNoSuchOpenCL.so.1, libNorThisOne.so") != std::string::npos);
  const char* const other[] = {"libc.so.6"};
  CHECK(opencl::load_api(other).error().code() == Code::kWrongTarget);
  CHECK(last_sentence().find("clGetPlatformIDs") != std::string::npos);
}

TEST_CASE("a device that is not there is refused with the platforms that are", "[opencl]") {
  hal::OpenOptions options;
  options.index = 1000;
  CHECK(opencl::open(options).error().code() == Code::kWrongTarget);
  CHECK(last_sentence().find("OpenCL device 1000") != std::string::npos);
}

TEST_CASE("programs that the driver refuses come back with its complaint", "[opencl]") {
  const auto device = std::move(*opencl::open({}));
  CHECK(device->load(image_of("__kernel void add_one(__global int* x) { x = nonsense; }"))
            .error()
            .code() == Code::kWrongTarget);
  CHECK(last_sentence().find("nonsense") != std::string::npos);
  INFO(last_sentence());
  CHECK(last_sentence().find("kernel 'add_one': ") != std::string::npos);
  const std::string_view missing[] = {"add_one", "add_two"};
  CHECK(device->load(image_of(kText, missing)).error().code() == Code::kCorrupt);
  CHECK(last_sentence().find("add_two") != std::string::npos);
}

TEST_CASE("launches that don't fit the kernel are refused when recorded", "[opencl]") {
  const auto device = std::move(*opencl::open({}));
  const auto program = device->load(image_of(kText));
  const auto memory = device->allocate(64, hal::MemoryKind::kDevice);
  REQUIRE((program && memory));
  hal::Command command;
  command.program = *program;
  CHECK(device->record(std::span(&command, 1), 0).error().code() == Code::kCorrupt);
  const hal::KernelArg args[] = {whole(memory->buffer)};
  command.args = args;
  CHECK(device->record(std::span(&command, 1), 0).has_value());
  command.group[0] = 1 << 30;
  CHECK(device->record(std::span(&command, 1), 0).error().code() == Code::kWrongTarget);
}

TEST_CASE("runs make events only, and leave nothing behind", "[opencl]") {
  Counted counted;
  {
    hal::ValidatingDevice device(std::move(*opencl::open_with(counted.api, {})));
    const auto memory = device.allocate(64, hal::MemoryKind::kHostVisible);
    REQUIRE(memory);
    const hal::CommandList list = record_add(device, memory->buffer);
    const int objects = Counted::objects;
    CHECK(objects > 0);
    for (int i = 0; i < 1000; ++i) REQUIRE(run(device, list).is_ok());
    CHECK(static_cast<const uint32_t*>(memory->host_ptr)[15] == 1000);
    CHECK(Counted::objects == objects);
    CHECK(Counted::events == 0);
    // Far more in flight than the device keeps events for.
    hal::Ticket last = 0;
    for (int i = 0; i < 200; ++i) last = *device.submit(list, {});
    CHECK(Counted::events <= 32);
    CHECK(device.wait(1, hal::Deadline{0}).is_ok());
    CHECK(device.wait(last, {}).is_ok());
    CHECK(static_cast<const uint32_t*>(memory->host_ptr)[0] == 1200);
    CHECK(device.error_count() == 0);
  }
  CHECK(Counted::objects == 0);
  CHECK(Counted::events == 0);
}

TEST_CASE("a fault is sticky until a reset, and names the call", "[opencl]") {
  Counted counted;
  const auto device = std::move(*opencl::open_with(counted.api, {}));
  const auto memory = device->allocate(64, hal::MemoryKind::kHostVisible);
  REQUIRE(memory);
  const hal::CommandList list = record_add(*device, memory->buffer);
  REQUIRE(run(*device, list).is_ok());
  Counted::is_broken = true;
  CHECK(run(*device, list).code() == Code::kDeviceFault);
  CHECK(last_sentence().find("CL_OUT_OF_RESOURCES") != std::string::npos);
  Counted::is_broken = false;
  CHECK(run(*device, list).code() == Code::kDeviceFault);
  CHECK(device->allocate(64, hal::MemoryKind::kDevice).error().code() == Code::kDeviceFault);
  CHECK(device->load(image_of(kText)).error().code() == Code::kDeviceFault);
  CHECK(device->wait(0, {}).code() == Code::kDeviceFault);
  REQUIRE(device->reset().is_ok());
  REQUIRE(run(*device, list).is_ok());
  CHECK(static_cast<const uint32_t*>(memory->host_ptr)[15] == 2);
}

TEST_CASE("a wait ends at its deadline, and the work goes on", "[opencl]") {
  constexpr std::string_view kSlow = R"(
    __kernel void add_one(__global uchar* base, ulong at) {
      __global uint* data = (__global uint*)(base + at);
      uint x = data[get_global_id(0)];
      for (uint i = 0; i < 200000000u; ++i) x = x * 1664525u + (i ^ x);
      data[get_global_id(0)] = x | 1u;
    })";
  const auto device = std::move(*opencl::open({}));
  const auto memory = device->allocate(64, hal::MemoryKind::kHostVisible);
  const auto program = device->load(image_of(kSlow));
  REQUIRE((memory && program));
  const hal::KernelArg args[] = {whole(memory->buffer)};
  hal::Command command;
  command.program = *program;
  command.args = args;
  const auto list = device->record(std::span(&command, 1), 0);
  REQUIRE(list);
  const auto ticket = device->submit(*list, {});
  REQUIRE(ticket);
  CHECK(device->wait(*ticket, hal::Deadline{base::mono_time_ns()}).code() ==
        Code::kDeadlineExceeded);
  CHECK(device->wait(*ticket, {}).is_ok());
  CHECK(static_cast<const uint32_t*>(memory->host_ptr)[0] != 0);
}

TEST_CASE("a caller's buffer is used in place, in the caller's queue", "[opencl]") {
  Application application;
  const cl_mem object = application.buffer(std::vector<uint32_t>(64, 7));
  {
    const auto device = std::move(*opencl::open_on(application.caller(), {}));
    hal::ForeignMemory memory = foreign(object, 64);
    memory.offset_bytes = 64;
    int released = 0;
    memory.on_release = [](void* context) { ++*static_cast<int*>(context); };
    memory.release_context = &released;
    const auto imported = device->import_memory(memory);
    REQUIRE(imported);
    const hal::CommandList list = record_add(*device, *imported);
    for (uint32_t runs = 1; runs <= 3; ++runs) {
      REQUIRE(run(*device, list).is_ok());
      const std::vector<uint32_t> values = application.read(object, 64);
      CHECK(values[15] == 7);
      CHECK(values[16] == 7 + runs);
      CHECK(values[31] == 7 + runs);
      CHECK(values[32] == 7);
    }
    device->release(list);
    // Ours is the last hold on it, and goes with the handle.
    application.api.clReleaseMemObject(object);
    CHECK(application.read(object, 64)[16] == 10);
    CHECK(released == 0);
    device->release(*imported);
    CHECK(released == 1);
  }
}

TEST_CASE("buffers that can't be used in place are refused with the reason", "[opencl]") {
  Application application;
  Application stranger;
  const auto device = std::move(*opencl::open_on(application.caller(), {}));
  const std::vector<uint32_t> values(64, 1);
  const cl_mem object = application.buffer(values);
  const cl_mem read_only = application.buffer(values, CL_MEM_READ_ONLY);
  const cl_mem strange = stranger.buffer(values);
  const auto refusal = [&](const hal::ForeignMemory& memory) {
    return device->import_memory(memory).error().code();
  };
  hal::ForeignMemory memory = foreign(object, 256);
  REQUIRE(device->import_memory(memory));
  memory.size_bytes = 257;
  CHECK(refusal(memory) == Code::kInvalidArgument);
  CHECK(last_sentence().find("has 256 bytes") != std::string::npos);
  memory.size_bytes = 128;
  memory.offset_bytes = 32;
  CHECK(refusal(memory) == Code::kUnsupported);
  memory.offset_bytes = 192;
  CHECK(refusal(memory) == Code::kInvalidArgument);
  memory = foreign(object, 256);
  memory.row_pitch_bytes = 64;
  CHECK(refusal(memory) == Code::kUnsupported);
  CHECK(last_sentence().find("pitch") != std::string::npos);
  memory = foreign(object, 256);
  memory.format = 1;
  CHECK(refusal(memory) == Code::kUnsupported);
  CHECK(refusal(foreign(read_only, 256)) == Code::kInvalidArgument);
  memory = foreign(read_only, 256);
  memory.writable = false;
  CHECK(device->import_memory(memory));
  CHECK(refusal(foreign(strange, 256)) == Code::kUnsupported);
  CHECK(last_sentence().find("context") != std::string::npos);
  CHECK(refusal(foreign(nullptr, 256)) == Code::kUnsupported);
  memory = foreign(object, 256);
  memory.kind = hal::ForeignKind::kClImage;
  CHECK(refusal(memory) == Code::kInvalidArgument);
  application.api.clReleaseMemObject(object);
  application.api.clReleaseMemObject(read_only);
  stranger.api.clReleaseMemObject(strange);
}

TEST_CASE("a queue that plans can't run in is refused", "[opencl]") {
  Application application;
  Application stranger;
  Application unordered(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  CHECK(opencl::open_on(application.caller(), {}).has_value());
  CHECK(opencl::open_on(unordered.caller(), {}).error().code() == Code::kInvalidArgument);
  CHECK(opencl::open_on({}, {}).error().code() == Code::kInvalidArgument);
  hal::CallerQueue mixed = application.caller();
  mixed.queue = stranger.queue;
  CHECK(opencl::open_on(mixed, {}).error().code() == Code::kInvalidArgument);
}

TEST_CASE("time stamps need a queue that takes times", "[opencl]") {
  Application plain;
  Application timed(CL_QUEUE_PROFILING_ENABLE);
  for (Application* application : {&plain, &timed}) {
    const auto device = std::move(*opencl::open_on(application->caller(), {}));
    const auto memory = device->allocate(64, hal::MemoryKind::kDevice);
    REQUIRE(memory);
    hal::Command stamp;
    stamp.kind = hal::CommandKind::kTimestamp;
    stamp.destination = whole(memory->buffer);
    const auto list = device->record(std::span(&stamp, 1), 0);
    CHECK(list.has_value() == (application == &timed));
    if (list) CHECK(run(*device, *list).is_ok());
  }
}
