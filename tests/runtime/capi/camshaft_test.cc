// SPDX-License-Identifier: MIT
#include "runtime/capi/camshaft.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/runtime/session/counted_plan.h"
#include "tests/runtime/session/tiny_plan.h"
#include "tests/support/heap/malloc_count.h"
#include "tests/support/temporary_folder.h"

using namespace camshaft;

namespace {

constexpr int64_t kShapeA[] = {4, 16};
constexpr int64_t kShapeB[] = {16};

std::string error() {
  return camshaft_last_error();
}
bool said(const char* text) {
  return error().find(text) != std::string::npos;
}

// A plan file on disk, opened, with a session on the CPU.
struct Fixture {
  test::TemporaryFolder folder;
  camshaft_plan* plan = nullptr;
  camshaft_device* device = nullptr;
  camshaft_session* session = nullptr;

  explicit Fixture(const std::vector<std::byte>& bytes = test::write_tiny()) {
    std::ofstream(folder / "tiny.plan", std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    REQUIRE(camshaft_plan_open((folder / "tiny.plan").c_str(), nullptr, &plan) == CAMSHAFT_OK);
    camshaft_device_options options = {};
    options.struct_size = sizeof options;
    options.threads = 1;
    REQUIRE(camshaft_device_open("cpu", &options, &device) == CAMSHAFT_OK);
    REQUIRE(camshaft_session_open(plan, device, nullptr, &session) == CAMSHAFT_OK);
  }
  ~Fixture() {
    camshaft_session_close(session);
    camshaft_device_close(device);
    camshaft_plan_close(plan);
  }

  camshaft_status set_b() {
    const int32_t b[16] = {21};
    return camshaft_session_set_input(session, 1, CAMSHAFT_INT32, kShapeB, 1, b, sizeof b);
  }
};

}  // namespace

TEST_CASE("C: a plan describes its inputs, outputs and slices", "[capi]") {
  Fixture f;
  CHECK(camshaft_plan_input_count(f.plan) == 2);
  CHECK(camshaft_plan_output_count(f.plan) == 2);
  CHECK(camshaft_plan_input_count(nullptr) == 0);
  CHECK(camshaft_plan_output_count(nullptr) == 0);
  CHECK(camshaft_plan_slice_count(nullptr, 0) == 0);
  camshaft_tensor_info info;
  REQUIRE(camshaft_plan_input(f.plan, 0, &info) == CAMSHAFT_OK);
  CHECK(std::string(info.name) == "a");
  CHECK(info.dtype == CAMSHAFT_FLOAT32);
  CHECK(info.rank == 2);
  CHECK(info.shape[1] == 16);
  CHECK(info.size_bytes == 256);
  CHECK(camshaft_plan_slice_count(f.plan, 0) == 2);
  CHECK(camshaft_plan_slice_count(f.plan, 1) == 0);
  CHECK(camshaft_plan_slice_count(f.plan, 9) == 0);
  camshaft_slice_info slice;
  REQUIRE(camshaft_plan_slice(f.plan, 0, 1, &slice) == CAMSHAFT_OK);
  CHECK(std::string(slice.name) == "tail");
  CHECK(std::string(slice.unit) == "m");
  CHECK(slice.offset_bytes == 56 * 4);
  CHECK(slice.size_bytes == 32);
  CHECK(camshaft_plan_slice(f.plan, 0, 2, &slice) == CAMSHAFT_INVALID_ARGUMENT);
  CHECK(camshaft_plan_output(f.plan, 2, &info) == CAMSHAFT_INVALID_ARGUMENT);
  uint32_t index = 9;
  CHECK(camshaft_plan_output_index(f.plan, "doubled", &index) == CAMSHAFT_OK);
  CHECK(index == 1);
  CHECK(camshaft_plan_input_index(f.plan, "x", &index) == CAMSHAFT_INVALID_ARGUMENT);
  CHECK(said("'x'"));
  CHECK(index == 1);  // written on success only
}

TEST_CASE("C: a session runs", "[capi]") {
  Fixture f;
  void* data = nullptr;
  uint64_t size_bytes = 0;
  REQUIRE(camshaft_session_input_data(f.session, 0, &data, &size_bytes) == CAMSHAFT_OK);
  REQUIRE(size_bytes == 256);
  for (int i = 0; i < 64; ++i) static_cast<float*>(data)[i] = 3;
  REQUIRE(f.set_b() == CAMSHAFT_OK);
  camshaft_run_options options = {};
  options.struct_size = sizeof options;
  options.deadline_ns = camshaft_now_ns() + 3'600'000'000'000;
  camshaft_run_result result;
  REQUIRE(camshaft_session_run(f.session, &options, &result) == CAMSHAFT_OK);
  CHECK(result.sequence == 1);
  CHECK(result.late == 0);
  const void* out = nullptr;
  REQUIRE(camshaft_session_output(f.session, 0, &out, &size_bytes) == CAMSHAFT_OK);
  CHECK(static_cast<const float*>(out)[63] == 189);
  REQUIRE(camshaft_session_output(f.session, 1, &out, &size_bytes) == CAMSHAFT_OK);
  CHECK(static_cast<const int32_t*>(out)[0] == 42);
  options.deadline_ns = 1;
  REQUIRE(camshaft_session_run(f.session, &options, &result) == CAMSHAFT_OK);
  CHECK(result.late == 1);
  REQUIRE(camshaft_session_reset_states(f.session) == CAMSHAFT_OK);
  REQUIRE(camshaft_session_run(f.session, nullptr, nullptr) == CAMSHAFT_OK);
  REQUIRE(camshaft_session_output(f.session, 0, &out, &size_bytes) == CAMSHAFT_OK);
  CHECK(static_cast<const float*>(out)[1] == 3);
  CHECK(camshaft_session_recover(f.session) == CAMSHAFT_OK);
  CHECK(camshaft_session_output(f.session, 0, &out, &size_bytes) == CAMSHAFT_INVALID_ARGUMENT);
  CHECK(camshaft_session_collect(f.session, 0, nullptr) == CAMSHAFT_INVALID_ARGUMENT);
  uint32_t entry = 0;
  CHECK(camshaft_session_entry_index(f.session, "prepare", &entry) == CAMSHAFT_OK);
  CHECK(entry == 1);
}

TEST_CASE("C: plans and devices may be closed before their sessions", "[capi]") {
  for (const bool plan_first : {true, false}) {
    Fixture f;
    camshaft_session* second = nullptr;
    REQUIRE(camshaft_session_open(f.plan, f.device, nullptr, &second) == CAMSHAFT_OK);
    if (plan_first) camshaft_plan_close(std::exchange(f.plan, nullptr));
    camshaft_device_close(std::exchange(f.device, nullptr));
    camshaft_plan_close(std::exchange(f.plan, nullptr));
    for (camshaft_session* session : {f.session, second}) {
      REQUIRE(camshaft_session_run(session, nullptr, nullptr) == CAMSHAFT_OK);
      const void* out = nullptr;
      uint64_t size_bytes = 0;
      CHECK(camshaft_session_output(session, 0, &out, &size_bytes) == CAMSHAFT_OK);
    }
    camshaft_session_close(second);
    CHECK(camshaft_session_run(f.session, nullptr, nullptr) == CAMSHAFT_OK);
  }
}

TEST_CASE("C: extents that depend on data", "[capi]") {
  Fixture f(plan::write_plan(test::counted_plan()).value());
  uint32_t counted = 99;
  CHECK(camshaft_session_output_extents(f.session, 0, nullptr, 0, &counted) == CAMSHAFT_OK);
  CHECK(counted == 0b101);  // axes 0 and 2
  CHECK(camshaft_session_output_extents(f.session, 1, nullptr, 0, &counted) == CAMSHAFT_OK);
  CHECK(counted == 0);
  int64_t extents[3] = {};
  CHECK(camshaft_session_output_extents(f.session, 0, extents, 3, nullptr) ==
        CAMSHAFT_INVALID_ARGUMENT);  // nothing has run
  const int64_t counts[] = {3, 9};
  constexpr int64_t kShape[] = {2};
  REQUIRE(camshaft_session_set_input(f.session, 0, CAMSHAFT_INT64, kShape, 1, counts,
                                     sizeof counts) == CAMSHAFT_OK);
  constexpr int64_t kNothing[] = {0, 3};
  CHECK(camshaft_session_set_input(f.session, 2, CAMSHAFT_FLOAT32, kNothing, 2, nullptr, 0) ==
        CAMSHAFT_OK);
  REQUIRE(camshaft_session_run(f.session, nullptr, nullptr) == CAMSHAFT_OK);
  CHECK(camshaft_session_output_extents(f.session, 0, extents, 3, &counted) == CAMSHAFT_OK);
  CHECK((extents[0] == 3 && extents[1] == 5 && extents[2] == 6));
  CHECK(camshaft_session_output_extents(f.session, 0, extents, 2, nullptr) ==
        CAMSHAFT_INVALID_ARGUMENT);
  CHECK(camshaft_session_output_extents(f.session, 9, nullptr, 0, &counted) ==
        CAMSHAFT_INVALID_ARGUMENT);

  const uint8_t exceeded = 1;
  REQUIRE(camshaft_session_set_input(f.session, 1, CAMSHAFT_UINT8, nullptr, 0, &exceeded, 1) ==
          CAMSHAFT_OK);
  CHECK(camshaft_session_run(f.session, nullptr, nullptr) == CAMSHAFT_BOUND_EXCEEDED);
  CHECK(said("--bound"));
  CHECK(std::string(camshaft_status_name(CAMSHAFT_BOUND_EXCEEDED)) == "bound exceeded");
  const void* out = nullptr;
  uint64_t size_bytes = 0;
  CHECK(camshaft_session_output(f.session, 0, &out, &size_bytes) == CAMSHAFT_BOUND_EXCEEDED);
}

TEST_CASE("C: memory of the caller's is used in place", "[capi]") {
  Fixture f;
  alignas(64) float camera[64] = {};
  uint32_t memory = 0;
  REQUIRE(camshaft_session_import_host(f.session, camera, sizeof camera, 0, &memory) ==
          CAMSHAFT_OK);
  REQUIRE(camshaft_session_bind_input(f.session, 0, memory) == CAMSHAFT_OK);
  for (const float value : {1.0F, 10.0F}) {
    camera[2] = value;
    REQUIRE(camshaft_session_reset_states(f.session) == CAMSHAFT_OK);
    REQUIRE(camshaft_session_run(f.session, nullptr, nullptr) == CAMSHAFT_OK);
    const void* out = nullptr;
    uint64_t size_bytes = 0;
    REQUIRE(camshaft_session_output(f.session, 0, &out, &size_bytes) == CAMSHAFT_OK);
    CHECK(static_cast<const float*>(out)[2] == 2 * value);
  }
  CHECK(camshaft_session_release(f.session, memory) == CAMSHAFT_INVALID_ARGUMENT);
  CHECK(said("still bound"));
  CHECK(camshaft_session_bind_output(f.session, 0, memory) == CAMSHAFT_INVALID_ARGUMENT);
  REQUIRE(camshaft_session_bind_input(f.session, 0, 0) == CAMSHAFT_OK);
  CHECK(camshaft_session_release(f.session, memory) == CAMSHAFT_OK);
  CHECK(camshaft_session_import_host(f.session, reinterpret_cast<char*>(camera) + 4, 64, 0,
                                     &memory) == CAMSHAFT_UNSUPPORTED);
}

TEST_CASE("C: failures say why, to the thread that failed", "[capi]") {
  camshaft_plan* plan = nullptr;
  CHECK(camshaft_plan_open("/no/such/file.plan", nullptr, &plan) == CAMSHAFT_NOT_FOUND);
  CHECK(said("/no/such/file.plan"));
  CHECK(plan == nullptr);
  CHECK(camshaft_plan_open(nullptr, nullptr, &plan) == CAMSHAFT_INVALID_ARGUMENT);
  CHECK(said("camshaft_plan_open was passed a null pointer"));
  std::string other;
  std::thread([&] { other = camshaft_last_error(); }).join();
  CHECK(other == "");
  camshaft_device* device = nullptr;
  CHECK(camshaft_device_open("abacus", nullptr, &device) == CAMSHAFT_INVALID_ARGUMENT);
  CHECK(said("it has: cpu, null"));
  Fixture f;
  const float a[64] = {};
  CHECK(camshaft_session_set_input(f.session, 0, CAMSHAFT_FLOAT64, kShapeA, 2, a, sizeof a) ==
        CAMSHAFT_INVALID_ARGUMENT);
  CHECK(error() == "the input 'a' is f32 [4,16], not f64 [4,16]");
  // More extents than there can be are not looked at.
  CHECK(camshaft_session_set_input(f.session, 0, CAMSHAFT_FLOAT32, kShapeA, UINT32_MAX, a,
                                   sizeof a) == CAMSHAFT_INVALID_ARGUMENT);
  CHECK(error() == "the input 'a' is f32 [4,16], not f32 of rank 4294967295");
  CHECK(camshaft_session_set_input(f.session, 0, 99, kShapeA, 2, a, sizeof a) ==
        CAMSHAFT_INVALID_ARGUMENT);
  CHECK(camshaft_session_run(nullptr, nullptr, nullptr) == CAMSHAFT_INVALID_ARGUMENT);
}

TEST_CASE("C: a plan for another device is of the wrong target", "[capi]") {
  Fixture f;
  camshaft_device* null_device = nullptr;
  REQUIRE(camshaft_device_open("null", nullptr, &null_device) == CAMSHAFT_OK);
  camshaft_session* session = nullptr;
  CHECK(camshaft_session_open(f.plan, null_device, nullptr, &session) == CAMSHAFT_WRONG_TARGET);
  CHECK(said("null device"));
  CHECK(session == nullptr);
  camshaft_device_close(null_device);
  camshaft_session_options options = {};
  options.struct_size = sizeof options;
  options.target = "nonsense";
  CHECK(camshaft_session_open(f.plan, f.device, &options, &session) == CAMSHAFT_INVALID_ARGUMENT);
  CHECK(said("test:native"));
}

TEST_CASE("C: option structures of other versions are taken by their size", "[capi]") {
  Fixture f;
  // A newer program's, longer than ours; and an older one's, with fewer members.
  struct {
    camshaft_run_options known;
    uint64_t more[4];
  } newer = {};
  newer.known.struct_size = sizeof newer;
  CHECK(camshaft_session_run(f.session, &newer.known, nullptr) == CAMSHAFT_OK);
  camshaft_run_options older = {};
  older.struct_size = offsetof(camshaft_run_options, entry);
  older.entry = 77;  // beyond what it says it has
  CHECK(camshaft_session_run(f.session, &older, nullptr) == CAMSHAFT_OK);
  older.struct_size = sizeof older;
  CHECK(camshaft_session_run(f.session, &older, nullptr) == CAMSHAFT_INVALID_ARGUMENT);
  older.struct_size = 0;
  CHECK(camshaft_session_run(f.session, &older, nullptr) == CAMSHAFT_INVALID_ARGUMENT);
  CHECK(said("struct_size"));
}

TEST_CASE("C: a plan that must be signed is refused unsigned", "[capi]") {
  Fixture f;
  const uint8_t key[32] = {1};
  camshaft_plan* plan = nullptr;
  CHECK(camshaft_plan_open((f.folder / "tiny.plan").c_str(), key, &plan) == CAMSHAFT_CORRUPT);
  CHECK(plan == nullptr);
}

TEST_CASE("C: frames make no allocation", "[capi]") {
  Fixture f;
  const int32_t b[16] = {};
  const uint64_t before = test::malloc_count();
  bool good = true;
  for (int i = 0; i < 1000; ++i) {
    const void* out = nullptr;
    uint64_t size_bytes = 0;
    good = camshaft_session_set_input(f.session, 1, CAMSHAFT_INT32, kShapeB, 1, b, sizeof b) ==
               CAMSHAFT_OK &&
           camshaft_session_run(f.session, nullptr, nullptr) == CAMSHAFT_OK &&
           camshaft_session_output(f.session, 0, &out, &size_bytes) == CAMSHAFT_OK && good;
  }
  CHECK(test::malloc_count() - before == 0);
  CHECK(good);
}

TEST_CASE("C: names and versions", "[capi]") {
  CHECK(std::string(camshaft_version()) == std::to_string(CAMSHAFT_VERSION_MAJOR) + "." +
                                               std::to_string(CAMSHAFT_VERSION_MINOR) + "." +
                                               std::to_string(CAMSHAFT_VERSION_PATCH));
  CHECK(std::string(camshaft_status_name(CAMSHAFT_OK)) == "ok");
  CHECK(std::string(camshaft_status_name(CAMSHAFT_WRONG_TARGET)) == "wrong target");
  CHECK(std::string(camshaft_status_name(256)) == "unknown status");
  CHECK(std::string(camshaft_status_name(-1)) == "unknown status");
  camshaft_session_close(nullptr);
  camshaft_device_close(nullptr);
  camshaft_plan_close(nullptr);
}
