// SPDX-License-Identifier: MIT
// Images of the caller's context, read in place by sessions.
#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "devices/opencl/opencl_backend.h"
#include "runtime/capi/camshaft.h"
#include "runtime/session/session.h"
#include "tests/devices/opencl/driver_calls.h"
#include "tests/devices/opencl/frame_plan.h"
#include "tests/support/last_sentence.h"
#include "tests/support/temporary_folder.h"

using namespace camshaft;
using base::Code;
using session::Session;
using test::Application;
using test::DriverCalls;
using test::last_sentence;
using test::said;

namespace {

constexpr uint32_t kWidth = 16;
constexpr uint32_t kHeight = 4;
constexpr uint32_t kAbgr8888 = 0x34324241;  // "AB24": R, G, B, A in the order of memory

// What makes and fills images, as a camera does: by way of a buffer.
struct ImageMaker {
  Application& application;
  cl_mem staging = application.buffer(std::vector<uint32_t>(kWidth * kHeight));

  ~ImageMaker() { application.api.clReleaseMemObject(staging); }
  cl_mem make(cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8}, uint32_t width = kWidth,
              cl_mem_flags flags = CL_MEM_READ_ONLY) const {
    cl_image_desc description = {};
    description.image_type = CL_MEM_OBJECT_IMAGE2D;
    description.image_width = width;
    description.image_height = kHeight;
    cl_int error = CL_SUCCESS;
    const cl_mem image = application.api.clCreateImage(application.context, flags, &format,
                                                       &description, nullptr, &error);
    REQUIRE(error == CL_SUCCESS);
    return image;
  }
  void fill(cl_mem image, const std::vector<uint32_t>& texels) const {
    application.write(staging, texels);
    const size_t origin[3] = {};
    const size_t region[3] = {kWidth, kHeight, 1};
    REQUIRE(application.api.clEnqueueCopyBufferToImage(application.queue, staging, image, 0, origin,
                                                       region, 0, nullptr, nullptr) == CL_SUCCESS);
  }
};

hal::ForeignMemory foreign(cl_mem image, base::DType dtype = base::DType::kUInt8) {
  hal::ForeignMemory memory;
  memory.kind = hal::ForeignKind::kClImage;
  memory.handle = reinterpret_cast<uint64_t>(image);
  memory.image = {.dtype = dtype, .width = kWidth, .height = kHeight};
  return memory;
}

// Texels all of whose elements are `value`; a row sums up to 64 times that.
std::vector<uint32_t> picture_of(uint32_t value) {
  return std::vector<uint32_t>(kWidth * kHeight, value * 0x01010101u);
}

std::unique_ptr<Session> open(const plan::PlanFile& plan, hal::Device& device) {
  auto session = Session::open(plan, device, {});
  REQUIRE(session);
  return std::move(*session);
}

uint32_t sum_of_row(const Session& session, size_t row) {
  const auto output = session.output(0);
  REQUIRE(output);
  return base::load_le<uint32_t>(output->data() + row * sizeof(uint32_t));
}

bool has_images(const hal::Device& device) {
  const bool has = (device.info().imports & import_bit(hal::ForeignKind::kClImage)) != 0;
  if (!has) WARN("not tested: the device has no images");
  return has;
}

}  // namespace

TEST_CASE("a ring of the camera's images is read in place, one a run", "[opencl]") {
  DriverCalls driver;
  Application application;
  const ImageMaker maker{application};
  const auto device = std::move(*opencl::open_on_with(driver.api, application.caller(), {}));
  if (!has_images(*device)) return;
  const plan::PlanFile plan = test::open_picture_plan();
  auto session = open(plan, *device);
  int released = 0;
  cl_mem ring[2];
  hal::Buffer imported[2];
  for (uint32_t i = 0; i < 2; ++i) {
    ring[i] = maker.make();
    maker.fill(ring[i], picture_of(i + 1));
    hal::ForeignMemory memory = foreign(ring[i]);
    memory.format = kAbgr8888;
    memory.on_release = [](void* context) { ++*static_cast<int*>(context); };
    memory.release_context = &released;
    imported[i] = *session->import_memory(memory);
  }
  const int made = DriverCalls::made;
  bool good = true;
  for (uint32_t i = 0; i < 100; ++i) {
    good = good && session->bind_input(0, imported[i % 2]).is_ok() && session->run({}) &&
           sum_of_row(*session, 3) == 64 * (i % 2 + 1);
  }
  CHECK(good);
  CHECK(DriverCalls::made == made);
  CHECK(DriverCalls::transfers == 0);
  std::vector<uint32_t> picture = picture_of(2);
  picture[kWidth + 3] += 0x00070000;
  maker.fill(ring[1], picture);  // by a command of the application's in the same queue
  REQUIRE(session->run({}));
  CHECK(sum_of_row(*session, 1) == 64 * 2 + 7);
  // The session's own buffer again, as bytes that it shows as an image.
  REQUIRE(session->unbind_input(0).is_ok());
  std::memset(session->input_span(0)->data(), 5, test::kFrameBytes);
  REQUIRE(session->run({}));
  CHECK(sum_of_row(*session, 0) == 64 * 5);
  // The owner lets go first.
  application.api.clReleaseMemObject(ring[0]);
  REQUIRE(session->bind_input(0, imported[0]).is_ok());
  REQUIRE(session->run({}));
  CHECK(sum_of_row(*session, 2) == 64);
  CHECK(released == 0);
  session.reset();
  CHECK(released == 2);
  CHECK(application.references(ring[1]) == 1);
  application.api.clReleaseMemObject(ring[1]);
}

TEST_CASE("images that the plan can't read are refused with the reason", "[opencl]") {
  DriverCalls driver;
  Application application;
  Application stranger;
  const ImageMaker maker{application};
  const ImageMaker other{stranger};
  const auto device = std::move(*opencl::open_on_with(driver.api, application.caller(), {}));
  if (!has_images(*device)) return;
  const int held = DriverCalls::held;
  const cl_mem image = maker.make();
  const cl_mem strange = other.make();
  const cl_mem floats = maker.make({CL_RGBA, CL_FLOAT});
  const cl_mem swapped = maker.make({CL_BGRA, CL_UNORM_INT8});
  const cl_mem wide = maker.make({CL_RGBA, CL_UNSIGNED_INT8}, kWidth + 1);
  const cl_mem unread = maker.make({CL_RGBA, CL_UNSIGNED_INT8}, kWidth, CL_MEM_WRITE_ONLY);
  const auto refused = [&](const hal::ForeignMemory& memory, Code code, const char* sentence) {
    CHECK(device->import_memory(memory).error().code() == code);
    INFO(last_sentence());
    CHECK(said(sentence));
  };
  size_t pitch = 0;
  REQUIRE(application.api.clGetImageInfo(image, CL_IMAGE_ROW_PITCH, sizeof pitch, &pitch,
                                         nullptr) == CL_SUCCESS);
  hal::ForeignMemory memory = foreign(image);
  memory.row_pitch_bytes = pitch;
  const auto imported = device->import_memory(memory);
  REQUIRE(imported);
  memory.row_pitch_bytes = pitch + 4;
  refused(memory, Code::kInvalidArgument, "rows begin every");
  memory = foreign(image);
  memory.format = 0x34325258;  // "XR24"
  refused(memory, Code::kInvalidArgument, "DRM format 0x34325258");
  memory = foreign(image);
  memory.offset_bytes = 64;
  refused(memory, Code::kInvalidArgument, "leave the offset 0");
  memory = foreign(image);
  memory.writable = true;
  refused(memory, Code::kInvalidArgument, "only read it");
  refused(foreign(unread), Code::kInvalidArgument, "only write it");
  refused(foreign(wide), Code::kInvalidArgument, "has 17 x 4 texels, not 16 x 4");
  refused(foreign(floats), Code::kInvalidArgument, "RGBA texels of u8");
  refused(foreign(swapped), Code::kInvalidArgument, "make the image so");
  refused(foreign(image, base::DType::kFloat32), Code::kInvalidArgument, "RGBA texels of f32");
  refused(foreign(strange), Code::kUnsupported, "open the device on its context");
  refused(foreign(nullptr), Code::kUnsupported, "cl-image is not of the context");
  refused(foreign(maker.staging), Code::kInvalidArgument, "no two-dimensional image");
  memory = foreign(image);
  memory.kind = hal::ForeignKind::kClBuffer;
  memory.size_bytes = 64;
  refused(memory, Code::kInvalidArgument, "no buffer");
  device->release(*imported);
  CHECK(DriverCalls::held == held);
  for (const cl_mem object : {image, floats, swapped, wide, unread}) {
    CHECK(application.references(object) == 1);
    application.api.clReleaseMemObject(object);
  }
  CHECK(stranger.references(strange) == 1);
  stranger.api.clReleaseMemObject(strange);
}

TEST_CASE("inputs take what the plan reads them as", "[opencl]") {
  DriverCalls driver;
  Application application;
  const ImageMaker maker{application};
  const auto device = std::move(*opencl::open_on_with(driver.api, application.caller(), {}));
  if (!has_images(*device)) return;
  const plan::PlanFile of_images = test::open_picture_plan();
  const plan::PlanFile of_bytes = test::open_frame_plan();
  const cl_mem image = maker.make();
  const cl_mem floats = maker.make({CL_RGBA, CL_FLOAT});
  const cl_mem bytes = application.buffer(picture_of(1));
  hal::ForeignMemory buffer;
  buffer.kind = hal::ForeignKind::kClBuffer;
  buffer.handle = reinterpret_cast<uint64_t>(bytes);
  buffer.size_bytes = test::kFrameBytes;
  const auto refused = [&](Session& session, const hal::ForeignMemory& memory,
                           const char* sentence) {
    const auto imported = session.import_memory(memory);
    REQUIRE(imported);
    CHECK(session.bind_input(0, *imported).code() == Code::kInvalidArgument);
    INFO(last_sentence());
    CHECK(said(sentence));
  };
  {
    const auto session = open(of_images, *device);
    refused(*session, buffer, "the memory is bytes, not an image");
    refused(*session, foreign(floats, base::DType::kFloat32), "16 x 4 texels of f32");
  }
  refused(*open(of_bytes, *device), foreign(image), "is read as bytes");
  for (const cl_mem object : {image, floats, bytes}) {
    CHECK(application.references(object) == 1);
    application.api.clReleaseMemObject(object);
  }
}

TEST_CASE("C: a session reads the caller's image", "[opencl]") {
  Application application;
  const ImageMaker maker{application};
  const test::TemporaryFolder folder;
  const std::string path = folder / "picture.plan";
  test::write_plan_file(test::picture_plan(), path);
  camshaft_queue queue = {};
  queue.struct_size = sizeof queue;
  queue.context = application.context;
  queue.device = application.device;
  queue.queue = application.queue;
  camshaft_plan* plan = nullptr;
  camshaft_device* device = nullptr;
  camshaft_session* session = nullptr;
  REQUIRE(camshaft_plan_open(path.c_str(), nullptr, &plan) == CAMSHAFT_OK);
  REQUIRE(camshaft_device_open_on("opencl", &queue, &device) == CAMSHAFT_OK);
  const camshaft_status opened = camshaft_session_open(plan, device, nullptr, &session);
  if (opened == CAMSHAFT_OK) {
    const cl_mem image = maker.make();
    maker.fill(image, picture_of(3));
    camshaft_memory memory = {};
    memory.struct_size = sizeof memory;
    memory.kind = CAMSHAFT_MEMORY_CL_IMAGE;
    memory.handle = reinterpret_cast<uint64_t>(image);
    memory.image_width = kWidth;
    memory.image_height = kHeight;
    memory.image_dtype = 99;
    uint32_t imported = 0;
    CHECK(camshaft_session_import(session, &memory, &imported) == CAMSHAFT_INVALID_ARGUMENT);
    memory.image_dtype = CAMSHAFT_UINT8;
    REQUIRE(camshaft_session_import(session, &memory, &imported) == CAMSHAFT_OK);
    REQUIRE(camshaft_session_bind_input(session, 0, imported) == CAMSHAFT_OK);
    REQUIRE(camshaft_session_run(session, nullptr, nullptr) == CAMSHAFT_OK);
    const void* output = nullptr;
    uint64_t size_bytes = 0;
    REQUIRE(camshaft_session_output(session, 0, &output, &size_bytes) == CAMSHAFT_OK);
    CHECK(static_cast<const uint32_t*>(output)[0] == 64 * 3);
    camshaft_session_close(session);
    CHECK(application.references(image) == 1);
    application.api.clReleaseMemObject(image);
  }
  CHECK((opened == CAMSHAFT_OK || opened == CAMSHAFT_WRONG_TARGET));  // a device without images
  camshaft_device_close(device);
  camshaft_plan_close(plan);
}
