// SPDX-License-Identifier: MIT
// Sessions on a caller's queue, whose inputs are the caller's buffers: by the C++ and the C API.
#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "devices/hal/trace.h"
#include "devices/opencl/opencl_backend.h"
#include "devices/registry.h"
#include "runtime/capi/camshaft.h"
#include "runtime/session/session.h"
#include "tests/devices/opencl/driver_calls.h"
#include "tests/devices/opencl/frame_plan.h"
#include "tests/support/heap/malloc_count.h"
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

constexpr int kRing = 4;

hal::ForeignMemory foreign(cl_mem object, uint64_t size_bytes = test::kFrameBytes) {
  hal::ForeignMemory memory;
  memory.kind = hal::ForeignKind::kClBuffer;
  memory.handle = reinterpret_cast<uint64_t>(object);
  memory.size_bytes = size_bytes;
  return memory;
}

// A frame all of whose bytes are `value`: each row sums up to 64 times that.
std::vector<uint32_t> frame_of(uint32_t value) {
  return std::vector<uint32_t>(64, value * 0x01010101u);
}

uint32_t first_sum(const Session& session) {
  const auto output = session.output(0);
  REQUIRE(output);
  return base::load_le<uint32_t>(output->data());
}

// An application with a ring of camera buffers, and a session that reads them.
struct Camera {
  DriverCalls driver;
  Application application;
  plan::PlanFile plan = test::open_frame_plan();
  cl_mem ring[kRing] = {};
  std::unique_ptr<hal::TraceDevice> device;
  std::unique_ptr<Session> session;
  hal::Buffer imported[kRing];

  Camera() {
    device = std::make_unique<hal::TraceDevice>(
        std::move(*opencl::open_on_with(driver.api, application.caller(), {})), 10'000);
    session = std::move(*Session::open(plan, *device, {}));
    for (uint32_t i = 0; i < kRing; ++i) {
      ring[i] = application.buffer(frame_of(i + 1));
      imported[i] = *session->import_memory(foreign(ring[i]));
    }
  }
  ~Camera() {
    for (const cl_mem object : ring) application.api.clReleaseMemObject(object);
  }
  // Sum of a row of the frame in that buffer.
  uint32_t run_frame(uint32_t index) {
    REQUIRE(session->bind_input(0, imported[index]).is_ok());
    REQUIRE(session->run({}));
    return first_sum(*session);
  }
};

}  // namespace

TEST_CASE("a ring of the camera's buffers is read in place, one a run", "[opencl]") {
  Camera camera;
  for (uint32_t i = 0; i < kRing; ++i) CHECK(camera.run_frame(i) == 64 * (i + 1));
  const int made = DriverCalls::made;
  const int held = DriverCalls::held;
  const uint64_t calls = camera.device->entries().back().sequence;
  bool good = true;
  for (uint32_t i = 0; i < 1000; ++i) {
    good = good && camera.run_frame(i % kRing) == 64 * (i % kRing + 1);
  }
  CHECK(good);
  // One pixel of the next frame, changed by its owner.
  std::vector<uint32_t> frame = frame_of(3);
  frame[5] += 7;
  camera.application.write(camera.ring[2], frame);
  CHECK(camera.run_frame(2) == 64 * 3 + 7);

  CHECK(DriverCalls::made == made);
  CHECK(DriverCalls::held == held);
  // The sums are read back where the device's memory is not the host's; frames are moved nowhere.
  const bool is_shared =
      (camera.device->info().imports & import_bit(hal::ForeignKind::kHostPointer)) != 0;
  CHECK(DriverCalls::transfers == (is_shared ? 0 : 1005));
  CHECK(DriverCalls::launches == 1005);
  uint64_t hot_calls = 0;
  for (const hal::TraceEntry& entry : camera.device->entries()) {
    CHECK(entry.copies == 0);
    if (entry.sequence <= calls) continue;
    ++hot_calls;
    CHECK((entry.call == hal::Call::kSubmit || entry.call == hal::Call::kWait));
  }
  CHECK(hot_calls == 2 * 1001);
  camera.session.reset();
  for (const cl_mem object : camera.ring) CHECK(camera.application.references(object) == 1);
  camera.device.reset();
  CHECK(DriverCalls::held == 0);
}

TEST_CASE("binding another buffer for each run allocates nothing on our side", "[opencl]") {
  Camera camera;
  camera.run_frame(0);
  DriverCalls::is_idle = true;
  bool good = true;
  const uint64_t before = test::malloc_count();
  for (uint32_t i = 0; i < 1000; ++i) {
    good = good && camera.session->bind_input(0, camera.imported[i % kRing]).is_ok() &&
           camera.session->run({}).has_value();
  }
  const uint64_t allocations = test::malloc_count() - before;
  DriverCalls::is_idle = false;
  CHECK(good);
  CHECK(allocations == 0);
  CHECK(DriverCalls::launches == 1001);
  // And one would be noticed.
  const uint64_t again = test::malloc_count();
  const auto unneeded = std::make_unique<std::vector<int>>(10);
  CHECK(test::malloc_count() > again);
  CHECK(unneeded->size() == 10);
}

TEST_CASE("memory that doesn't fit the input is refused when bound", "[opencl]") {
  Camera camera;
  const auto refused = [&](const hal::ForeignMemory& memory, const char* sentence) {
    const auto imported = camera.session->import_memory(memory);
    REQUIRE(imported);
    CHECK(camera.session->bind_input(0, *imported).code() == Code::kInvalidArgument);
    INFO(last_sentence());
    CHECK(said(sentence));
    CHECK(camera.session->release_memory(*imported).is_ok());
  };
  refused(foreign(camera.ring[0], 255), "needs 256 bytes; the memory has 255");
  hal::ForeignMemory pitched = foreign(camera.ring[0]);
  pitched.row_pitch_bytes = 80;
  refused(pitched, "rows begin every 80 bytes; the input 'frame' is u8 [4,64]");
  pitched.row_pitch_bytes = 64;
  const auto fitting = camera.session->import_memory(pitched);
  REQUIRE(fitting);
  CHECK(camera.session->bind_input(0, *fitting).is_ok());
  CHECK(camera.session->bind_output(0, camera.imported[0]).code() == Code::kInvalidArgument);
  CHECK(said("imported as writable"));
  CHECK(camera.session->release_memory(*fitting).code() == Code::kInvalidArgument);
  CHECK(said("still bound"));
  CHECK(camera.run_frame(1) == 128);
  CHECK(camera.session->release_memory(*fitting).is_ok());
}

TEST_CASE("memory of a session that is closed is nobody's", "[opencl]") {
  Camera camera;
  int released = 0;
  hal::ForeignMemory memory = foreign(camera.ring[0]);
  memory.on_release = [](void* context) { ++*static_cast<int*>(context); };
  memory.release_context = &released;
  const auto imported = camera.session->import_memory(memory);
  REQUIRE(imported);
  REQUIRE(camera.session->bind_input(0, *imported).is_ok());
  REQUIRE(camera.session->run({}));
  CHECK(released == 0);
  camera.session.reset();
  CHECK(released == 1);
  CHECK(camera.application.references(camera.ring[0]) == 1);
  camera.session = std::move(*Session::open(camera.plan, *camera.device, {}));
  CHECK(camera.session->bind_input(0, *imported).code() == Code::kInvalidArgument);
  CHECK(said("was not imported by this session"));
  // After recover(), too.
  const auto again = camera.session->import_memory(memory);
  REQUIRE(again);
  REQUIRE(camera.session->recover().is_ok());
  CHECK(released == 2);
  CHECK(camera.session->bind_input(0, *again).code() == Code::kInvalidArgument);
  CHECK(camera.session->import_memory(memory).has_value());
  camera.session.reset();
  CHECK(released == 3);
}

TEST_CASE("the application's commands and the plan's are in order", "[opencl]") {
  Camera camera;
  REQUIRE(camera.session->bind_input(0, camera.imported[0]).is_ok());
  for (uint32_t value = 0; value < 50; ++value) {
    const std::vector<uint32_t> frame = frame_of(value);
    REQUIRE(camera.application.api.clEnqueueWriteBuffer(
                camera.application.queue, camera.ring[0], CL_FALSE, 0, test::kFrameBytes,
                frame.data(), 0, nullptr, nullptr) == CL_SUCCESS);
    REQUIRE(camera.session->run({}));
    CHECK(first_sum(*camera.session) == 64 * value);
  }
}

TEST_CASE("a backend without caller's queues says so", "[hal]") {
  CHECK(hal::open_device_on(devices::backends(), "cpu", {}, {}).error().code() ==
        Code::kUnsupported);
  CHECK(said("cpu backend works in queues of its own"));
  CHECK(hal::open_device_on(devices::backends(), "gpu", {}, {}).error().code() ==
        Code::kInvalidArgument);
  CHECK(hal::open_device_on(devices::backends(), "opencl", {}, {}).error().code() ==
        Code::kInvalidArgument);
}

TEST_CASE("C: a session on the caller's queue reads the caller's buffer", "[opencl]") {
  Application application;
  const test::TemporaryFolder folder;
  const std::string path = folder / "frame.plan";
  test::write_plan_file(test::frame_plan(), path);
  camshaft_plan* plan = nullptr;
  REQUIRE(camshaft_plan_open(path.c_str(), nullptr, &plan) == CAMSHAFT_OK);
  camshaft_queue queue = {};
  camshaft_device* device = nullptr;
  CHECK(camshaft_device_open_on("opencl", &queue, &device) == CAMSHAFT_INVALID_ARGUMENT);
  queue.struct_size = sizeof queue;
  queue.context = application.context;
  queue.device = application.device;
  queue.queue = application.queue;
  CHECK(camshaft_device_open_on("cpu", &queue, &device) == CAMSHAFT_UNSUPPORTED);
  REQUIRE(camshaft_device_open_on("opencl", &queue, &device) == CAMSHAFT_OK);
  camshaft_session* session = nullptr;
  REQUIRE(camshaft_session_open(plan, device, nullptr, &session) == CAMSHAFT_OK);

  const cl_mem object = application.buffer(frame_of(9));
  int released = 0;
  camshaft_memory memory = {};
  memory.struct_size = sizeof memory;
  memory.kind = CAMSHAFT_MEMORY_CL_BUFFER;
  memory.handle = reinterpret_cast<uint64_t>(object);
  memory.size_bytes = test::kFrameBytes;
  memory.on_release = [](void* context) { ++*static_cast<int*>(context); };
  memory.release_context = &released;
  uint32_t imported = 0;
  REQUIRE(camshaft_session_import(session, &memory, &imported) == CAMSHAFT_OK);
  application.api.clReleaseMemObject(object);
  REQUIRE(camshaft_session_bind_input(session, 0, imported) == CAMSHAFT_OK);
  REQUIRE(camshaft_session_run(session, nullptr, nullptr) == CAMSHAFT_OK);
  const void* output = nullptr;
  uint64_t size_bytes = 0;
  REQUIRE(camshaft_session_output(session, 0, &output, &size_bytes) == CAMSHAFT_OK);
  CHECK(static_cast<const uint32_t*>(output)[3] == 64 * 9);

  memory.kind = 99;
  CHECK(camshaft_session_import(session, &memory, &imported) == CAMSHAFT_INVALID_ARGUMENT);
  memory.kind = CAMSHAFT_MEMORY_METAL_BUFFER;
  CHECK(camshaft_session_import(session, &memory, &imported) == CAMSHAFT_UNSUPPORTED);
  CHECK(std::string(camshaft_last_error()).find("metal-buffer") != std::string::npos);
  CHECK(camshaft_session_import(session, nullptr, &imported) == CAMSHAFT_INVALID_ARGUMENT);
  CHECK(released == 0);
  camshaft_session_close(session);
  CHECK(released == 1);
  camshaft_device_close(device);
  camshaft_plan_close(plan);
}
