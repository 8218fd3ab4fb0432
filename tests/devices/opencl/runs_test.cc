// SPDX-License-Identifier: MIT
// Thousands of runs of a compiled plan: no OpenCL object more, no memory more, and nothing from the
// heap on our side of the driver's calls. What the driver itself allocates is its own business, and
// counted apart.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "codegen/emit/compile.h"
#include "devices/opencl/opencl_backend.h"
#include "runtime/plan/reader.h"
#include "runtime/session/session.h"
#include "tests/codegen/support/graph_testing.h"
#include "tests/devices/opencl/counting_api.h"

using namespace camshaft;
using test::CountingApi;

namespace {

constexpr const char* kNetwork = R"(
    %x = input "x" : f32[1x3x16x16]
    %w = constant {seed 1} : f32[16x3x3x3]
    %c = conv(%x, %w) {strides=[2,2], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1], groups=1}
    %d = constant {seed 2} : f32[16x1x3x3]
    %e = conv(%c, %d) {strides=[1,1], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1], groups=16}
    %k = pool(%e) {kind=max, kernel=[2,2], strides=[2,2], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0]}
    %r = reshape(%k) {shape=[16,16]}
    %g = constant {seed 3} : f32[16x32]
    %f = matmul(%r, %g)
    %a = reduce(%f) {kind=max, axes=[1]}
    %j = broadcast(%a) {shape=[16,32]}
    %b = sub(%f, %j)
    %h = exp(%b)
    %i = reduce(%h) {kind=sum, axes=[1]}
    %o = broadcast(%i) {shape=[16,32]}
    %y = div(%h, %o)
    output "y" = %y
)";
constexpr int kShown = 1000;  // more runs than that are told about
constexpr uint64_t kInputBytes = 3 * 16 * 16 * sizeof(float);

plan::PlanFile make_plan() {
  emit::CompileOptions options;
  options.targets = {"opencl"};
  const auto contents = emit::compile_graph(ir::graph_from(kNetwork), "digest", options, nullptr);
  REQUIRE(contents.has_value());
  const auto bytes = plan::write_plan(*contents);
  REQUIRE(bytes.has_value());
  return std::move(*plan::PlanFile::from_bytes(*bytes));
}

int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t pages = 0;
  statm >> pages >> pages;
  return pages * 4096;
}

// A session that reads its input from its own buffer and, in turn, from two of the caller's.
class Player {
 public:
  Player() : plan_(make_plan()), counting_(**opencl::system_api()) {
    auto opened = opencl::open_with(counting_.table(), {});
    REQUIRE(opened);
    device_ = std::move(*opened);
    auto session = session::Session::open(plan_, *device_, {});
    REQUIRE(session);
    session_ = std::move(*session);
    for (int i = 0; i < 2; ++i) {
      memory_[i].reset(static_cast<std::byte*>(std::aligned_alloc(4096, kInputBytes)));
      std::memset(memory_[i].get(), 0x3d, kInputBytes);
      hal::ForeignMemory foreign;
      foreign.handle = reinterpret_cast<uint64_t>(memory_[i].get());
      foreign.size_bytes = kInputBytes;
      const auto imported = session_->import_memory(foreign);
      if (imported) imported_[i] = *imported;  // a device with memory of its own can't
    }
  }

  // Whether all outputs are probabilities.
  bool play(int runs) noexcept {
    for (int run = 0; run < runs; ++run) {
      const int source = run % 3;
      if (source == 0 || imported_[source - 1].id == 0) {
        if (!session_->unbind_input(0).is_ok()) return false;
        const auto input = session_->input_span(0);
        if (!input) return false;
        const float pixel = 0.001F * static_cast<float>(run % 100);
        std::memcpy(input->data() + 60, &pixel, sizeof pixel);
      } else if (!session_->bind_input(0, imported_[source - 1]).is_ok()) {
        return false;
      }
      if (!session_->run({})) return false;
      const auto output = session_->output(0);
      if (!output) return false;
      float row[32];
      std::memcpy(row, output->data(), sizeof row);
      float sum = 0;
      for (const float probability : row) sum += probability;
      if (!(std::abs(sum - 1) < 1e-4F)) return false;
    }
    return true;
  }

  // Leaves an object behind.
  void forget_memory() {
    const auto extra = device_->allocate(64, hal::MemoryKind::kDevice);
    REQUIRE(extra);
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  plan::PlanFile plan_;
  CountingApi counting_;
  std::unique_ptr<std::byte, Free> memory_[2];
  std::unique_ptr<hal::Device> device_;
  std::unique_ptr<session::Session> session_;
  hal::Buffer imported_[2];
};

void check_runs(int warm_runs, int runs) {
  {
    Player player;
    REQUIRE(player.play(warm_runs));
    const auto objects = CountingApi::alive();
    CHECK(CountingApi::alive_in_all() > 5);
    CHECK(objects.at("event") == 0);
    const int64_t resident = resident_bytes();
    const uint64_t mallocs = test::thread_malloc_count();
    const uint64_t driver_mallocs = CountingApi::driver_mallocs();
    const bool is_good = player.play(runs);
    const uint64_t all = test::thread_malloc_count() - mallocs;
    const uint64_t of_driver = CountingApi::driver_mallocs() - driver_mallocs;
    const int64_t growth = resident_bytes() - resident;
    std::ostringstream seen;
    seen << runs << " runs: " << all - of_driver << " allocations of ours, " << of_driver
         << " of the driver's, " << growth << " bytes more resident";
    INFO(seen.str());
    if (runs > kShown) WARN(seen.str());
    CHECK(is_good);
    CHECK(all == of_driver);
    CHECK(CountingApi::alive() == objects);
    // Pages that the driver's own allocator touches for the first time.
    CHECK(growth <= 256 * 1024);
  }
  CHECK(CountingApi::alive_in_all() == 0);
}

}  // namespace

TEST_CASE("500 runs make no object and no allocation of ours", "[opencl]") {
  check_runs(100, 500);
}

TEST_CASE("10,000 runs make no object and no allocation of ours", "[.][long]") {
  check_runs(1000, 10'000);
}

TEST_CASE("an allocation of ours and an object that stays would be noticed", "[opencl]") {
  Player player;
  REQUIRE(player.play(3));
  const auto objects = CountingApi::alive();
  // What a check itself allocates is not to be counted, so numbers come first.
  const auto ours = [] { return test::thread_malloc_count() - CountingApi::driver_mallocs(); };
  const uint64_t before = ours();
  const bool is_good = player.play(3);
  const uint64_t after_runs = ours();
  void* volatile memory = std::malloc(10);
  const uint64_t after_malloc = ours();
  std::free(memory);
  CHECK(is_good);
  CHECK(after_runs == before);
  CHECK(after_malloc == before + 1);
  CHECK(CountingApi::alive() == objects);
  player.forget_memory();
  CHECK(CountingApi::alive().at("memory") == objects.at("memory") + 1);
}
