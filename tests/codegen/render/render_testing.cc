// SPDX-License-Identifier: MIT
#include "tests/codegen/render/render_testing.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "runtime/base/log_ring.h"

namespace camshaft::render_test {

namespace {

using ir::DType;

// A small generator whose numbers are the same everywhere (SplitMix64).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

// Exponent and mantissa widths of a float dtype.
struct Format {
  int mantissa_bits = 0;
  int bits = 0;
};
Format format_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return {10, 16};
    case DType::kBFloat16:
      return {7, 16};
    case DType::kFloat32:
      return {23, 32};
    default:
      return {52, 64};
  }
}

bool is_nan(uint64_t bits, DType dtype) {
  const Format format = format_of(dtype);
  const uint64_t magnitude = bits & ((uint64_t{1} << (format.bits - 1)) - 1);
  const uint64_t mantissa_mask = (uint64_t{1} << format.mantissa_bits) - 1;
  const uint64_t infinity = ((uint64_t{1} << (format.bits - 1)) - 1) & ~mantissa_mask;
  return magnitude > infinity;
}

std::vector<uint64_t> hard_floats(DType dtype) {
  const Format format = format_of(dtype);
  const uint64_t sign = uint64_t{1} << (format.bits - 1);
  const uint64_t mantissa = (uint64_t{1} << format.mantissa_bits) - 1;
  const uint64_t infinity = (sign - 1) & ~mantissa;
  const uint64_t bias = (infinity >> format.mantissa_bits) / 2;
  const auto power = [&](int exponent) {
    return (bias + static_cast<uint64_t>(exponent)) << format.mantissa_bits;
  };
  std::vector<uint64_t> values = {0,
                                  1,
                                  mantissa,
                                  mantissa + 1,
                                  infinity - 1,
                                  infinity,
                                  infinity + 1,
                                  infinity | (mantissa / 2 + 1)};
  // Around the limits of the integers: 1, 2, 2.5, 127, 128, ...
  for (const int exponent : {0, 1, 7, 8, 15}) {
    values.insert(values.end(),
                  {power(exponent) - 1, power(exponent), power(exponent) + 1,
                   power(exponent) | (mantissa / 4 + 1), power(exponent - 1) | (mantissa / 2 + 1)});
  }
  if (format.bits > 16) {
    for (const int exponent : {16, 31, 32, 63, 64, -14, -15, -24, -25}) {
      values.insert(values.end(), {power(exponent) - 1, power(exponent), power(exponent) + 1});
    }
  }
  if (format.bits == 64) values.insert(values.end(), {power(127), power(128), power(-126)});
  const size_t count = values.size();
  for (size_t i = 0; i < count; ++i) values.push_back(values[i] | sign);
  return values;
}

std::vector<uint64_t> hard_integers(int bits) {
  const uint64_t top = uint64_t{1} << (bits - 1);
  return {0, 1, 2, 3, 5, 7, top - 1, top, top + 1, ~uint64_t{0}, ~uint64_t{1}, ~uint64_t{6}, 100};
}

}  // namespace

std::vector<std::string> backends() {
#if CAMSHAFT_WITH_LLVM
  return {"cpu", "llvm"};
#else
  return {"cpu"};
#endif
}

std::vector<std::string> runnable_targets() {
  std::vector<std::string> result;
  for (const std::string& backend : backends()) {
    result.push_back(backend);
#if defined(__x86_64__)
    result.push_back(backend + ":x86-64-v2");
    result.push_back(backend + ":x86-64");
#endif
  }
  return result;
}

render::CpuTarget target_of(const std::string& spec) {
  auto target = render::make_target(spec);
  INFO(spec << ": " << last_log_lines(0));
  REQUIRE(target);
  return *target;
}

std::string last_log_lines(uint64_t after) {
  std::string text;
  for (const base::LogLine& line : base::log_lines_after(after)) text += line.text + "\n";
  return text;
}

Params::Params(const ir::Kernel& kernel) {
  for (int i = 0; i < kernel.param_count(); ++i) {
    const ir::Array& array = kernel.array(i);
    const auto size = static_cast<size_t>(array.elements * base::dtype_size_bytes(array.dtype));
    sizes_.push_back(size);
    pointers_.push_back(std::aligned_alloc(64, (size + 63) / 64 * 64 + 64));
    std::memset(pointers_.back(), 0x5a, size);
  }
}

Params::Params(const Params& other) : sizes_(other.sizes_) {
  for (size_t i = 0; i < sizes_.size(); ++i) {
    pointers_.push_back(std::aligned_alloc(64, (sizes_[i] + 63) / 64 * 64 + 64));
    std::memcpy(pointers_[i], other.pointers_[i], sizes_[i]);
  }
}

Params::~Params() {
  for (void* pointer : pointers_) std::free(pointer);
}

void fill_with_hard_values(std::byte* data, DType dtype, int64_t elements, uint64_t salt) {
  const auto size = static_cast<size_t>(base::dtype_size_bytes(dtype));
  const std::vector<uint64_t> hard =
      base::is_float(dtype) ? hard_floats(dtype) : hard_integers(static_cast<int>(size) * 8);
  Random random(salt);
  for (int64_t i = 0; i < elements; ++i) {
    uint64_t bits = random.next();
    if (bits % 4 != 0) bits = hard[random.next() % hard.size()];
    if (dtype == DType::kBool) bits &= 1;
    std::memcpy(data + static_cast<size_t>(i) * size, &bits, size);
  }
}

int64_t first_difference(const std::byte* a, const std::byte* b, DType dtype, int64_t elements) {
  const auto size = static_cast<size_t>(base::dtype_size_bytes(dtype));
  for (int64_t i = 0; i < elements; ++i) {
    uint64_t x = 0;
    uint64_t y = 0;
    std::memcpy(&x, a + static_cast<size_t>(i) * size, size);
    std::memcpy(&y, b + static_cast<size_t>(i) * size, size);
    const bool both_nan = base::is_float(dtype) && is_nan(x, dtype) && is_nan(y, dtype);
    if (x != y && !both_nan) return i;
  }
  return -1;
}

Library::Library(const std::vector<std::byte>& bytes) {
  const int fd = ::memfd_create("kernels", MFD_CLOEXEC);
  REQUIRE(fd >= 0);
  const ssize_t written = ::write(fd, bytes.data(), bytes.size());
  REQUIRE(written == static_cast<ssize_t>(bytes.size()));
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const std::string problem = handle_ == nullptr ? ::dlerror() : "";
  ::close(fd);
  INFO(problem);
  REQUIRE(handle_ != nullptr);
}

Library::~Library() {
  ::dlclose(handle_);
}

Library::Function Library::function(const std::string& name) const {
  return reinterpret_cast<Function>(::dlsym(handle_, name.c_str()));
}

namespace {

void require_same_params(const ir::Kernel& kernel, const Params& expected, const Params& actual) {
  for (int i = 0; i < kernel.param_count(); ++i) {
    const ir::Array& array = kernel.array(i);
    const auto param = static_cast<size_t>(i);
    const int64_t different =
        first_difference(expected.data(param), actual.data(param), array.dtype, array.elements);
    if (different < 0) continue;
    const auto size = static_cast<size_t>(base::dtype_size_bytes(array.dtype));
    uint64_t want = 0;
    uint64_t got = 0;
    std::memcpy(&want, expected.data(param) + static_cast<size_t>(different) * size, size);
    std::memcpy(&got, actual.data(param) + static_cast<size_t>(different) * size, size);
    FAIL("kernel " << kernel.name << ": " << array.name << "[" << different << "] is 0x" << std::hex
                   << got << ", should be 0x" << want);
  }
}

}  // namespace

void require_same_as_interpreter(const std::vector<ir::Kernel>& kernels, const std::string& spec) {
  const uint64_t log_start = base::log_sequence();
  const auto compiled = render::compile_shared_object(kernels, target_of(spec));
  INFO(spec << ": " << last_log_lines(log_start));
  REQUIRE(compiled);
  const Library library(*compiled);
  for (const ir::Kernel& kernel : kernels) {
    Params expected(kernel);
    for (int i = 0; i < kernel.param_count(); ++i) {
      const ir::Array& array = kernel.array(i);
      if (array.writable) continue;
      fill_with_hard_values(expected.data(static_cast<size_t>(i)), array.dtype, array.elements,
                            static_cast<uint64_t>(i) + 1);
    }
    Params actual(expected);
    const base::Status status =
        ir::interpret_kernel(kernel, expected.pointers(), 0, kernel.thread_extent);
    INFO(last_log_lines(log_start));
    REQUIRE(status.is_ok());
    const Library::Function function = library.function(kernel.name);
    REQUIRE(function != nullptr);
    function(actual.pointers(), 0, kernel.thread_extent);
    require_same_params(kernel, expected, actual);
  }
}

}  // namespace camshaft::render_test
