// SPDX-License-Identifier: MIT
// The backends that the suite runs on. A new backend adds a row.
#include "devices/registry.h"
#include "tests/conformance/suite.h"
#include "tests/support/compile_kernels.h"

namespace camshaft::conformance {
namespace {

constexpr const char* kCText = R"(
void conformance_index(void* const* params, int64_t begin, int64_t end) {
  uint32_t* out = params[0];
  for (int64_t i = begin; i < end; ++i) out[i] = (uint32_t)i;
}
void conformance_add(void* const* params, int64_t begin, int64_t end) {
  uint32_t* out = params[0];
  const uint32_t* in = params[1];
  const uint32_t value = *(const uint32_t*)params[2];
  for (int64_t i = begin; i < end; ++i) out[i] = in[i] + value;
}
void conformance_twice(void* const* params, int64_t begin, int64_t end) {
  uint32_t* data = params[0];
  for (int64_t i = begin; i < end; ++i) data[i] *= 2;
}
)";

std::function<std::unique_ptr<hal::Device>()> opener(const char* name, uint32_t threads = 1) {
  return [name, threads] {
    hal::OpenOptions options;
    options.threads = threads;
    auto device = hal::open_device(devices::backends(), name, options);
    if (!device) throw Failure(std::string("can't open ") + name);
    return std::move(*device);
  };
}

std::vector<std::byte> compile_c() {
  return test::compile_kernels(kCText);
}
std::vector<std::byte> no_program() {
  return {};
}

BackendRow cpu_row(const char* name, uint32_t threads) {
  return {.name = name,
          .open = opener("cpu", threads),
          .program_format = "elf-shared-object",
          .program = compile_c,
          .exceptions = {}};
}

// Its kernels compute nothing, by design, so tests that look at what a kernel wrote are not for it.
BackendRow null_row() {
  constexpr const char* kReason = "the null device's launches do nothing";
  BackendRow row = {.name = "null",
                    .open = opener("null"),
                    .program_format = "none",
                    .program = no_program,
                    .exceptions = {}};
  for (const char* test :
       {"a launch covers its grid", "a large grid in more parts than threads",
        "commands see the writes of those before them", "slots are bound by each submit",
        "scalars reach kernels", "imported memory is used in place",
        "kernels write to imported memory", "lists can be run again and interleaved",
        "a device works after a fault and a reset"}) {
    row.exceptions.push_back({test, Exception::kUnsupported, kReason});
  }
  row.exceptions.push_back({"a damaged program is refused", Exception::kUnsupported,
                            "the null device reads no programs"});
  return row;
}

}  // namespace

const std::vector<BackendRow>& backend_rows() {
  static const std::vector<BackendRow> rows = {null_row(), cpu_row("cpu, 1 thread", 1),
                                               cpu_row("cpu, 2 threads", 2),
                                               cpu_row("cpu, 5 threads", 5)};
  return rows;
}

}  // namespace camshaft::conformance
