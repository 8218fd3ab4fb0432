// SPDX-License-Identifier: MIT
// One suite over all backends. A test is written once, with CONFORMANCE_TEST, and runs on every row
// of backends.cc, through the validating decorator.
//
// What a backend can't pass is said in its row, as one of two things that must not be confused:
// - unsupported: it can never work on such a device. The test is not run.
// - expected failure: it should work and does not yet. The test runs, and passing is an error, so
// that
//   the entry goes away with the reason for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "devices/hal/device.h"
#include "devices/hal/validate.h"

namespace camshaft::conformance {

enum class Exception : uint8_t { kUnsupported, kExpectedFailure };
struct KnownException {
  const char* test;
  Exception kind;
  const char* reason;
};

// The kernels that tests launch, in this order. Each runs over the launch's indices i:
//   index(out u32[])                          out[i] = i
//   add(out u32[], in u32[], value u32)       out[i] = in[i] + value
//   twice(data u32[])                         data[i] = 2 * data[i]
//   texels(out u32[], image of u8, width u32) out[i] = texel (i % width - 1, i / width - 1), its
//                                             elements from the lowest byte on
// The last is for devices with images; on others it is there and not launched.
inline constexpr std::string_view kKernels[] = {"conformance_index", "conformance_add",
                                                "conformance_twice", "conformance_texels"};
inline constexpr uint32_t kIndex = 0;
inline constexpr uint32_t kAdd = 1;
inline constexpr uint32_t kTwice = 2;
inline constexpr uint32_t kTexels = 3;

struct BackendRow {
  const char* name;
  std::function<std::unique_ptr<hal::Device>()> open;
  const char* program_format;
  std::function<std::vector<std::byte>()> program;  // kKernels in that format
  std::vector<KnownException> exceptions;
};
const std::vector<BackendRow>& backend_rows();

// What a test found out about one backend.
enum class Verdict : uint8_t { kPass, kFail, kSkipped, kFailedAsExpected, kUnexpectedPass };
Verdict judge(const KnownException* known, const std::optional<std::string>& failure);

// Thrown by EXPECT.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};
#define EXPECT(condition)                                                                 \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      throw ::camshaft::conformance::Failure(std::string(__FILE__) + ":" +                \
                                             std::to_string(__LINE__) + ": " #condition); \
    }                                                                                     \
  } while (false)

// What tests work with: an open device and short ways to say common things. Helpers throw Failure.
class Bench {
 public:
  explicit Bench(const BackendRow& row);

  hal::ValidatingDevice& device() { return *device_; }
  // Replaces the device by another one made from it, for tests of faults. The result is validated.
  void wrap(const std::function<std::unique_ptr<hal::Device>(std::unique_ptr<hal::Device>)>& make);

  hal::Program program();  // of kKernels; loaded once
  hal::Allocation host_buffer(uint64_t size_bytes);
  hal::Buffer device_buffer(uint64_t size_bytes);

  hal::Command launch(uint32_t kernel, uint32_t extent, std::vector<hal::KernelArg> args,
                      uint32_t parts = 1);
  static hal::Command copy(hal::KernelArg source, hal::KernelArg destination, uint64_t size_bytes);
  static hal::KernelArg in(hal::Buffer buffer, uint64_t offset_bytes = 0);
  static hal::KernelArg slot(uint32_t slot, uint64_t offset_bytes = 0);
  static hal::KernelArg scalar(uint64_t value);

  hal::CommandList record(const std::vector<hal::Command>& commands, uint32_t slot_count = 0);
  // Submits and waits.
  void run(hal::CommandList list, const std::vector<hal::Binding>& bindings = {});
  void run(const std::vector<hal::Command>& commands) { run(record(commands)); }

  // What a buffer that the host can't see holds.
  std::vector<uint32_t> read(hal::Buffer buffer, size_t count);

 private:
  const BackendRow& row_;
  std::unique_ptr<hal::ValidatingDevice> device_;
  hal::Program program_;
  std::vector<std::unique_ptr<std::vector<hal::KernelArg>>> args_;  // commands refer to them
};

// Runs a test on one row; Catch assertions say what came of it.
void run_on(const BackendRow& row, const std::string& test, void (*function)(Bench&));

#define CONFORMANCE_TEST(test) CONFORMANCE_TEST_IMPL(test, __LINE__)
#define CONFORMANCE_TEST_IMPL(test, line) CONFORMANCE_TEST_IMPL2(test, line)
#define CONFORMANCE_TEST_IMPL2(test, line)                                    \
  static void conformance_test_##line(::camshaft::conformance::Bench& bench); \
  TEST_CASE("every backend: " test, "[conformance]") {                        \
    for (const auto& row : ::camshaft::conformance::backend_rows()) {         \
      DYNAMIC_SECTION(row.name) {                                             \
        ::camshaft::conformance::run_on(row, test, conformance_test_##line);  \
      }                                                                       \
    }                                                                         \
  }                                                                           \
  static void conformance_test_##line([[maybe_unused]] ::camshaft::conformance::Bench& bench)

}  // namespace camshaft::conformance
