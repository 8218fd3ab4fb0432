// SPDX-License-Identifier: MIT
// What a driver made of a program is used by the same driver, and by no other.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "devices/hal/validate.h"
#include "devices/opencl/opencl_backend.h"
#include "runtime/base/log_ring.h"
#include "tests/devices/opencl/counting_api.h"

using namespace camshaft;
using test::CountingApi;

namespace {

constexpr std::string_view kText = R"(
__kernel void add_one(__global uchar* base, ulong at) {
  __global uint* data = (__global uint*)(base + at);
  data[get_global_id(0)] += 1;
}
)";
constexpr std::string_view kKernels[] = {"add_one"};

// Opened anew each time, as by another process.
struct Opened {
  CountingApi counting;
  std::unique_ptr<hal::Device> device;
  hal::Program program;

  explicit Opened(std::span<const hal::DriverBinaryView> binaries, std::string_view text = kText)
      : counting(**opencl::system_api()) {
    auto opened = opencl::open_with(counting.table(), {});
    REQUIRE(opened);
    device = std::make_unique<hal::ValidatingDevice>(std::move(*opened));
    const auto loaded = device->load({.format = "opencl-c",
                                      .bytes = std::as_bytes(std::span(text)),
                                      .kernels = kKernels,
                                      .driver_binaries = binaries});
    REQUIRE(loaded);
    program = *loaded;
  }

  uint64_t from_text() const { return CountingApi::calls("clCreateProgramWithSource"); }
  uint64_t from_binary() const { return CountingApi::calls("clCreateProgramWithBinary"); }

  // Whether the kernel does what it should.
  bool works() {
    const auto memory = device->allocate(64, hal::MemoryKind::kHostVisible);
    REQUIRE(memory);
    hal::KernelArg arg;
    arg.buffer = memory->buffer;
    hal::Command command;
    command.program = program;
    command.grid[0] = 16;
    command.args = std::span(&arg, 1);
    const auto list = device->record(std::span(&command, 1), 0);
    REQUIRE(list);
    const auto ticket = device->submit(*list, {});
    return ticket && device->wait(*ticket, {}).is_ok() &&
           static_cast<const uint32_t*>(memory->host_ptr)[15] == 1;
  }
};

std::vector<hal::DriverBinary> make_binaries() {
  Opened first({});
  CHECK(first.from_text() == 1);
  CHECK(first.from_binary() == 0);
  REQUIRE(first.works());
  auto binaries = first.device->driver_binaries(first.program);
  REQUIRE(binaries);
  REQUIRE(binaries->size() == 1);
  CHECK(!binaries->front().bytes.empty());
  return std::move(*binaries);
}

// Loads with one binary that doesn't fit: the text is used, and a notice says this.
void check_fallback(const hal::DriverBinaryView& binary, const char* notice, uint64_t tries) {
  const uint64_t sequence = base::log_sequence();
  Opened opened(std::span(&binary, 1));
  CHECK(opened.from_text() == 1);
  CHECK(opened.from_binary() == tries);
  CHECK(opened.works());
  std::string notices;
  for (const base::LogLine& line : base::log_lines_after(sequence)) {
    if (line.kind == base::LogKind::kNotice) notices += line.text + "\n";
  }
  INFO(notices);
  CHECK(notices.find(notice) != std::string::npos);
}

}  // namespace

TEST_CASE("a driver's binary is used instead of the text", "[opencl]") {
  const std::vector<hal::DriverBinary> binaries = make_binaries();
  const hal::DriverBinaryView stranger = {.driver = "another", .digest = "0", .bytes = {}};
  const hal::DriverBinaryView ours = {binaries[0].driver, binaries[0].digest, binaries[0].bytes};
  const hal::DriverBinaryView both[] = {stranger, ours};
  const uint64_t sequence = base::log_sequence();
  Opened second(both);
  CHECK(second.from_text() == 0);
  CHECK(second.from_binary() == 1);
  CHECK(second.works());
  CHECK(base::log_lines_after(sequence).empty());
}

TEST_CASE("a binary of another driver or another text is passed over", "[opencl]") {
  const std::vector<hal::DriverBinary> binaries = make_binaries();
  const hal::DriverBinaryView ours = {binaries[0].driver, binaries[0].digest, binaries[0].bytes};
  hal::DriverBinaryView other = ours;
  const std::string newer = binaries[0].driver + ".1";
  other.driver = newer;
  check_fallback(other, newer.c_str(), 0);
  other = ours;
  other.digest = "0123456789abcdef";
  check_fallback(other, "0123456789abcdef", 0);
  // The same driver's, of this text but for a blank.
  Opened changed(std::span(&ours, 1), std::string(kText) + " ");
  CHECK(changed.from_text() == 1);
  CHECK(changed.from_binary() == 0);
}

TEST_CASE("a damaged binary falls back to the text", "[opencl]") {
  const std::vector<hal::DriverBinary> binaries = make_binaries();
  hal::DriverBinaryView damaged = {binaries[0].driver, binaries[0].digest, {}};
  const char* const notice = "doesn't take the plan's binary";
  check_fallback(damaged, notice, 1);
  const std::vector<std::byte> noise(4096, std::byte{0x5a});
  damaged.bytes = noise;
  check_fallback(damaged, notice, 1);
  const std::string_view text = "no binary at all";
  damaged.bytes = std::as_bytes(std::span(text));
  check_fallback(damaged, notice, 1);
}

TEST_CASE("a binary without the plan's kernels falls back to the text", "[opencl]") {
  // Another program's bytes under this one's name.
  constexpr std::string_view kOther = R"(
__kernel void add_two(__global uchar* base, ulong at) { base[at] += 2; }
)";
  constexpr std::string_view kOtherKernels[] = {"add_two"};
  const auto device = std::move(*opencl::open({}));
  const auto program = device->load(
      {.format = "opencl-c", .bytes = std::as_bytes(std::span(kOther)), .kernels = kOtherKernels});
  REQUIRE(program);
  const auto other = device->driver_binaries(*program);
  REQUIRE(other);
  const std::vector<hal::DriverBinary> ours = make_binaries();
  check_fallback({ours[0].driver, ours[0].digest, other->front().bytes},
                 "doesn't take the plan's binary", 1);
}
