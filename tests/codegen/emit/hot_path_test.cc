// SPDX-License-Identifier: MIT
// What a compiled plan may not do in a frame: allocate, or, with one thread, call the operating
// system. Kernels are code from a compiler, which could call into the C library.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "codegen/emit/compile.h"
#include "devices/registry.h"
#include "runtime/plan/reader.h"
#include "runtime/session/session.h"
#include "tests/codegen/support/graph_testing.h"
#include "tests/support/heap/malloc_count.h"
#include "tests/support/system_calls.h"

namespace camshaft::emit {
namespace {

constexpr int kRuns = 1000;

// Convolutions, a depthwise one, pools, matrices, softmax, every family of math functions,
// movement.
constexpr const char* kNetwork = R"(
    %x = input "x" : f32[1x6x20x24]
    %w = constant {seed 1} : f32[16x6x3x3]
    %c = conv(%x, %w) {strides=[2,2], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1], groups=1}
    %s = sigmoid(%c)
    %m = mul(%c, %s)
    %d = constant {seed 2} : f32[16x1x3x3]
    %e = conv(%m, %d) {strides=[1,1], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1], groups=16}
    %k = pool(%e) {kind=max, kernel=[2,2], strides=[2,2], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0]}
    %t = transpose(%k) {perm=[0,2,3,1]}
    %r = reshape(%t) {shape=[30,16]}
    %g = constant {seed 3} : f32[16x70]
    %f = matmul(%r, %g)
    %z = tanh(%f)
    %a = reduce(%z) {kind=max, axes=[1]}
    %j = broadcast(%a) {shape=[30,70]}
    %b = sub(%z, %j)
    %h = exp(%b)
    %i = reduce(%h) {kind=sum, axes=[1]}
    %o = broadcast(%i) {shape=[30,70]}
    %y = div(%h, %o)
    %u = erf(%f)
    %v = scan(%u) {kind=sum, axis=1}
    %n = sin(%v)
    output "y" = %y
    output "n" = %n
)";

std::vector<std::byte> compiled(const std::string& target, int threads) {
  CompileOptions options;
  options.targets = {target};
  options.threads = threads;
  const auto contents = compile_graph(ir::graph_from(kNetwork), "digest", options, nullptr);
  REQUIRE(contents.has_value());
  auto file = plan::write_plan(*contents);
  REQUIRE(file.has_value());
  return std::move(*file);
}

// A plan on the cpu device, ready for the first frame.
class Player {
 public:
  Player(const std::vector<std::byte>& file, uint32_t threads)
      : plan_(*plan::PlanFile::from_bytes(file, {})),
        device_(*hal::open_device(devices::backends(), "cpu", {.threads = threads})),
        session_(*session::Session::open(plan_, *device_, {})) {}

  // Frames with different inputs; true if the outputs are probabilities, and not always the same.
  bool play(int runs) noexcept {
    float first = 0;
    bool varies = false;
    for (int run = 0; run < runs; ++run) {
      const auto input = session_->input_span(0);
      if (!input) return false;
      const float pixel = 0.001F * static_cast<float>(run);
      for (size_t i = 0; i + sizeof pixel <= input->size(); i += 60) {
        std::memcpy(input->data() + i, &pixel, sizeof pixel);
      }
      if (!session_->run({})) return false;
      const auto output = session_->output(0);
      if (!output) return false;
      float row[70];
      std::memcpy(row, output->data(), sizeof row);
      float sum = 0;
      for (const float probability : row) sum += probability;
      if (!(std::abs(sum - 1) < 1e-4F)) return false;
      if (run == 0) first = row[0];
      varies = varies || row[0] != first;
    }
    return varies;
  }

 private:
  plan::PlanFile plan_;
  std::unique_ptr<hal::Device> device_;
  std::unique_ptr<session::Session> session_;
};

TEST_CASE("1,000 runs of a compiled plan make no allocation", "[hot-path]") {
  for (const char* target : {"llvm", "cpu"}) {
    for (const int threads : {1, 2}) {
      CAPTURE(target, threads);
      Player player(compiled(target, threads), static_cast<uint32_t>(threads));
      const uint64_t before = test::malloc_count();
      const bool good = player.play(kRuns);
      const uint64_t allocations = test::malloc_count() - before;
      CHECK(good);
      CHECK(allocations == 0);
    }
  }
}

TEST_CASE("1,000 runs of a compiled plan on one thread make no system call", "[hot-path]") {
  for (const char* target : {"llvm", "cpu"}) {
    CAPTURE(target);
    const std::vector<std::byte> file = compiled(target, 1);
    const int status = test::wait_status_of(
        [&file] {
          auto player = std::make_shared<Player>(file, 1);
          return [player] { return player->play(kRuns); };
        },
        test::clock_call());
    CHECK_FALSE(test::was_killed(status));
    CHECK(test::succeeded(status));
  }
}

TEST_CASE("an allocation or a system call between runs would be noticed", "[hot-path]") {
  const std::vector<std::byte> file = compiled("llvm", 1);
  Player player(file, 1);
  const uint64_t before = test::malloc_count();
  player.play(1);
  void* volatile memory = std::malloc(10);
  player.play(1);
  CHECK(test::malloc_count() - before == 1);
  std::free(memory);
  const int status = test::wait_status_of(
      [&player] {
        return [&player] {
          player.play(1);
          (void)getppid();
          return true;
        };
      },
      test::clock_call());
  CHECK(test::was_killed(status));
}

}  // namespace
}  // namespace camshaft::emit
