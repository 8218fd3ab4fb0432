// SPDX-License-Identifier: MIT
// The backends that the suite runs on. A new backend adds a row.
#include <deque>
#include <utility>

#if CAMSHAFT_WITH_OPENCL
#include "devices/opencl/device_list.h"
#endif
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
void conformance_texels(void* const* params, int64_t begin, int64_t end) {}
)";

constexpr const char* kOpenClText = R"(
__kernel void conformance_index(__global uchar* out_base, ulong out_at) {
  __global uint* out = (__global uint*)(out_base + out_at);
  out[get_global_id(0)] = (uint)get_global_id(0);
}
__kernel void conformance_add(__global uchar* out_base, ulong out_at,
                              __global const uchar* in_base, ulong in_at, ulong value) {
  __global uint* out = (__global uint*)(out_base + out_at);
  __global const uint* in = (__global const uint*)(in_base + in_at);
  out[get_global_id(0)] = in[get_global_id(0)] + (uint)value;
}
__kernel void conformance_twice(__global uchar* data_base, ulong data_at) {
  __global uint* data = (__global uint*)(data_base + data_at);
  data[get_global_id(0)] *= 2;
}
__constant sampler_t border =
    CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
__kernel void conformance_texels(__global uchar* out_base, ulong out_at,
                                 __read_only image2d_t image, ulong width) {
  const int i = get_global_id(0);
  const uint4 t = read_imageui(image, border, (int2)(i % (int)width - 1, i / (int)width - 1));
  ((__global uint*)(out_base + out_at))[i] = t.s0 | t.s1 << 8 | t.s2 << 16 | t.s3 << 24;
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

std::vector<std::byte> opencl_text() {
  const auto bytes = std::as_bytes(std::span(std::string_view(kOpenClText)));
  return {bytes.begin(), bytes.end()};
}

// What needs a device that can use the host's memory in place.
constexpr const char* kImportTests[] = {
    "imported memory is copied from at each submit", "imported memory is used in place",
    "kernels write to imported memory", "importing respects the offset",
    "the owner of imported memory is told once"};

// A row for each device of the machine.
std::vector<BackendRow> opencl_rows() {
  std::vector<BackendRow> rows;
#if CAMSHAFT_WITH_OPENCL
  const auto api = opencl::system_api();
  if (!api) return rows;
  const std::vector<opencl::FoundDevice> devices = opencl::find_devices(**api);
  static std::deque<std::string> names;
  for (size_t i = 0; i < devices.size(); ++i) {
    const char* name = names.emplace_back("opencl:" + std::to_string(i)).c_str();
    rows.push_back({.name = name,
                    .open = opener(name),
                    .program_format = "opencl-c",
                    .program = opencl_text,
                    .exceptions = {}});
    if (devices[i].shares_host_memory) continue;
    for (const char* test : kImportTests) {
      rows.back().exceptions.push_back(
          {test, Exception::kUnsupported, "the device's memory is not the host's"});
    }
  }
#endif
  return rows;
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
  static const std::vector<BackendRow> rows = [] {
    std::vector<BackendRow> all = {null_row(), cpu_row("cpu, 1 thread", 1),
                                   cpu_row("cpu, 2 threads", 2), cpu_row("cpu, 5 threads", 5)};
    for (BackendRow& row : opencl_rows()) all.push_back(std::move(row));
    return all;
  }();
  return rows;
}

}  // namespace camshaft::conformance
