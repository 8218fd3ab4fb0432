// SPDX-License-Identifier: MIT
// Images of the OpenCL device: what is refused, images that are the buffer's memory, and that runs
// make none. Needs an OpenCL device; tools/setup.sh installs one.
#include "devices/opencl/image.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "devices/hal/validate.h"
#include "devices/opencl/opencl_backend.h"
#include "tests/support/last_sentence.h"

using namespace camshaft;
using opencl::Api;

namespace {

constexpr std::string_view kText = R"(
__constant sampler_t border =
    CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
__kernel void red(__global uchar* out, ulong out_at, __read_only image2d_t image) {
  const int i = get_global_id(0);
  ((__global float*)(out + out_at))[i] = read_imagef(image, border, (int2)(i, 0)).s0;
}
__kernel void twice(__write_only image2d_t out, __read_only image2d_t image) {
  const int2 at = (int2)(get_global_id(0), 0);
  write_imagef(out, at, 2 * read_imagef(image, border, at));
}
)";
constexpr std::string_view kKernels[] = {"red", "twice"};
constexpr uint32_t kWidth = 64;

const Api& machine_api() {
  auto api = opencl::system_api();
  REQUIRE(api);
  return **api;
}

hal::ImageShape shape(base::DType dtype = base::DType::kFloat32) {
  hal::ImageShape result = {.dtype = dtype, .width = kWidth, .height = 2};
  result.row_pitch_bytes = kWidth * result.texel_bytes();
  return result;
}

hal::KernelArg bytes(hal::Buffer buffer) {
  hal::KernelArg arg;
  arg.buffer = buffer;
  return arg;
}
hal::KernelArg image(hal::Buffer buffer, base::DType dtype = base::DType::kFloat32) {
  hal::KernelArg arg = bytes(buffer);
  arg.image = shape(dtype);
  return arg;
}
hal::KernelArg image_slot() {
  hal::KernelArg arg = image({});
  arg.kind = hal::ArgKind::kSlot;
  return arg;
}

class Bench {
 public:
  explicit Bench(const Api& api = machine_api())
      : device(opencl::open_with(api, hal::OpenOptions()).value()) {
    const hal::ProgramImage text = {
        .format = "opencl-c", .bytes = std::as_bytes(std::span(kText)), .kernels = kKernels};
    auto loaded = device.load(text);
    REQUIRE(loaded);
    program = *loaded;
  }
  hal::Command launch(uint32_t kernel, std::span<const hal::KernelArg> args) const {
    hal::Command command;
    command.program = program;
    command.kernel = kernel;
    command.grid[0] = kWidth;
    command.args = args;
    return command;
  }
  hal::Allocation allocate(hal::MemoryKind kind) {
    auto made = device.allocate(4096, kind);
    REQUIRE(made);
    return *made;
  }
  hal::Buffer make_image(const hal::ImageSource& source) {
    auto made = device.make_image(source);
    REQUIRE(made);
    return *made;
  }
  base::Status run(hal::CommandList list, std::span<const hal::Binding> bindings = {}) {
    const auto ticket = device.submit(list, bindings);
    return ticket ? device.wait(*ticket, {}) : ticket.error();
  }

  hal::ValidatingDevice device;
  hal::Program program;
};

// A device whose images are said to be buffers' memory; which buffer, and how, is noted.
struct Aliasing {
  Api api = machine_api();
  static inline const Api* real = nullptr;
  static inline std::vector<cl_buffer_region> parts;
  static inline std::vector<cl_image_desc> images;
  static inline int copies = 0;
  static inline bool refuses = false;

  Aliasing() {
    real = &machine_api();
    parts.clear();
    images.clear();
    copies = 0;
    refuses = false;
    api.clGetDeviceInfo = [](cl_device_id device, cl_device_info what, size_t size, void* value,
                             size_t* needed) -> cl_int {
      constexpr cl_device_info kPitchAlignment = 0x104A, kBaseAlignment = 0x104B;
      if (what == kPitchAlignment || what == kBaseAlignment) {
        const cl_uint texels = 64;
        std::memcpy(value, &texels, sizeof texels);
        return CL_SUCCESS;
      }
      return real->clGetDeviceInfo(device, what, size, value, needed);
    };
    api.clCreateSubBuffer = [](cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type type,
                               const void* region, cl_int* error) -> cl_mem {
      parts.push_back(*static_cast<const cl_buffer_region*>(region));
      return real->clCreateSubBuffer(buffer, flags, type, region, error);
    };
    // The real device makes an image of its own instead.
    api.clCreateImage = [](cl_context context, cl_mem_flags flags, const cl_image_format* format,
                           const cl_image_desc* description, void* host, cl_int* error) -> cl_mem {
      images.push_back(*description);
      if (refuses && description->buffer != nullptr) {
        *error = CL_INVALID_VALUE;
        return nullptr;
      }
      cl_image_desc own = *description;
      own.buffer = nullptr;
      own.image_row_pitch = 0;
      return real->clCreateImage(context, flags == 0 ? CL_MEM_READ_WRITE : flags, format, &own,
                                 host, error);
    };
    api.clEnqueueCopyBufferToImage = [](cl_command_queue queue, cl_mem from, cl_mem to, size_t at,
                                        const size_t* origin, const size_t* region, cl_uint count,
                                        const cl_event* list, cl_event* event) -> cl_int {
      ++copies;
      return real->clEnqueueCopyBufferToImage(queue, from, to, at, origin, region, count, list,
                                              event);
    };
  }
};

}  // namespace

TEST_CASE("what is no image is not taken as one") {
  Bench bench;
  const hal::Allocation memory = bench.allocate(hal::MemoryKind::kHostVisible);
  const hal::Buffer made = bench.make_image({.shape = shape(), .buffer = memory.buffer});
  const auto record = [&](hal::KernelArg arg) {
    const hal::KernelArg args[] = {bytes(memory.buffer), arg};
    const hal::Command command = bench.launch(0, args);
    return bench.device.record(std::span(&command, 1), 1);
  };
  CHECK(record(image(made)));
  CHECK_FALSE(record(image(memory.buffer)));
  CHECK_FALSE(record(bytes(made)));
  CHECK_FALSE(record(image(made, base::DType::kFloat16)));
  const auto list = record(image_slot());
  REQUIRE(list);
  const hal::Binding bound[] = {{.buffer = made}};
  CHECK(bench.run(*list, bound).is_ok());
  const hal::Binding wrong[] = {{.buffer = memory.buffer}};
  CHECK_FALSE(bench.device.submit(*list, wrong));
}

TEST_CASE("images that can't be are refused") {
  Bench bench;
  const hal::Buffer memory = bench.allocate(hal::MemoryKind::kDevice).buffer;
  hal::ImageSource source = {.shape = shape(), .buffer = memory};
  CHECK(bench.device.make_image(source));
  source.shape.height = 1 << 20;
  CHECK_FALSE(bench.device.make_image(source));
  source = {.shape = shape(), .buffer = memory, .offset_bytes = 4096 - 64};
  CHECK_FALSE(bench.device.make_image(source));
  source = {.shape = shape(), .buffer = memory};
  source.shape.row_pitch_bytes -= 16;
  CHECK_FALSE(bench.device.make_image(source));
  source = {.shape = shape(), .buffer = bench.make_image({.shape = shape(), .buffer = memory})};
  CHECK_FALSE(bench.device.make_image(source));
}

TEST_CASE("kernels write images that later ones read, in halves, too") {
  for (const base::DType dtype : {base::DType::kFloat32, base::DType::kFloat16}) {
    Bench bench;
    const hal::Buffer arena = bench.allocate(hal::MemoryKind::kDevice).buffer;
    const hal::Allocation in = bench.allocate(hal::MemoryKind::kHostVisible);
    const hal::Allocation out = bench.allocate(hal::MemoryKind::kHostVisible);
    for (uint32_t i = 0; i < kWidth; ++i) {
      static_cast<float*>(in.host_ptr)[i * 4] = static_cast<float>(i) + 0.5F;
    }
    const hal::Buffer first = bench.make_image({.shape = shape(), .buffer = in.buffer});
    const hal::Buffer second =
        bench.make_image({.shape = shape(dtype), .buffer = arena, .has_content = false});
    const hal::KernelArg write[] = {image(second, dtype), image(first)};
    const hal::KernelArg read[] = {bytes(out.buffer), image(second, dtype)};
    const hal::Command commands[] = {bench.launch(1, write), bench.launch(0, read)};
    const auto list = bench.device.record(commands, 0);
    REQUIRE(list);
    REQUIRE(bench.run(*list).is_ok());
    for (uint32_t i = 0; i < kWidth; ++i) {
      CHECK(static_cast<const float*>(out.host_ptr)[i] == 2 * (static_cast<float>(i) + 0.5F));
    }
  }
}

TEST_CASE("where the device can, an image is the buffer's memory") {
  const Aliasing aliasing;
  Bench bench(aliasing.api);
  const hal::Buffer memory = bench.allocate(hal::MemoryKind::kDevice).buffer;
  (void)bench.make_image({.shape = shape(), .buffer = memory, .offset_bytes = 1024});
  REQUIRE(Aliasing::images.size() == 1);
  REQUIRE(Aliasing::parts.size() == 1);
  CHECK(Aliasing::parts[0].origin == 1024);
  CHECK(Aliasing::parts[0].size == shape().size_bytes());
  CHECK(Aliasing::images[0].buffer != nullptr);
  CHECK(Aliasing::images[0].image_row_pitch == shape().row_pitch_bytes);
  CHECK(Aliasing::copies == 0);
  SECTION("but not where the bytes begin elsewhere") {
    (void)bench.make_image({.shape = shape(), .buffer = memory, .offset_bytes = 64});
    REQUIRE(Aliasing::images.size() == 2);
    CHECK(Aliasing::images[1].buffer == nullptr);
    CHECK(Aliasing::copies > 0);
  }
  SECTION("nor where rows follow too closely") {
    hal::ImageShape narrow = shape();
    narrow.width = 40;
    narrow.row_pitch_bytes = 40 * narrow.texel_bytes();
    (void)bench.make_image({.shape = narrow, .buffer = memory});
    REQUIRE(Aliasing::images.size() == 2);
    CHECK(Aliasing::images[1].buffer == nullptr);
  }
  SECTION("nor where the driver doesn't want to") {
    Aliasing::refuses = true;
    (void)bench.make_image({.shape = shape(), .buffer = memory});
    REQUIRE(Aliasing::images.size() == 3);
    CHECK(Aliasing::images[2].buffer == nullptr);
    CHECK(Aliasing::copies > 0);
  }
}

TEST_CASE("runs make no images") {
  const Aliasing counted;
  Bench bench(counted.api);
  const hal::Allocation in = bench.allocate(hal::MemoryKind::kHostVisible);
  const hal::Allocation out = bench.allocate(hal::MemoryKind::kHostVisible);
  const hal::Buffer made = bench.make_image({.shape = shape(), .buffer = in.buffer});
  const hal::KernelArg args[] = {bytes(out.buffer), image(made)};
  const hal::Command command = bench.launch(0, args);
  const auto list = bench.device.record(std::span(&command, 1), 0);
  REQUIRE(list);
  const size_t images = Aliasing::images.size();
  for (int i = 0; i < 100; ++i) REQUIRE(bench.run(*list).is_ok());
  CHECK(Aliasing::images.size() == images);
}
