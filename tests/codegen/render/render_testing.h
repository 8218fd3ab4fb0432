// SPDX-License-Identifier: MIT
// Runs kernels that were compiled by a renderer, and the interpreter beside them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/ir/kernel.h"
#include "codegen/render/render.h"

namespace camshaft::render_test {

// The backends of this build: "cpu", and "llvm" unless it was left out.
std::vector<std::string> backends();
// Targets whose code this machine runs: the host and older CPUs of its architecture, each backend.
std::vector<std::string> runnable_targets();

// The target, which must exist.
render::CpuTarget target_of(const std::string& spec);

// The newest lines of the log ring, joined.
std::string last_log_lines(uint64_t after);

// Memory of a kernel's parameters, 64-byte aligned.
class Params {
 public:
  explicit Params(const ir::Kernel& kernel);
  Params(const Params& other);
  Params& operator=(const Params&) = delete;
  ~Params();

  void* const* pointers() const { return pointers_.data(); }
  std::byte* data(size_t param) const { return static_cast<std::byte*>(pointers_[param]); }
  size_t size_bytes(size_t param) const { return sizes_[param]; }

 private:
  std::vector<void*> pointers_;
  std::vector<size_t> sizes_;
};

// Fills elements with the values at which dtypes misbehave (zeros of both signs, extremes,
// infinities, NaN, denormals, halves) and with random bits. `salt` changes which meets which.
void fill_with_hard_values(std::byte* data, ir::DType dtype, int64_t elements, uint64_t salt);

// Number of the first element that differs, or -1. NaNs are equal to each other.
int64_t first_difference(const std::byte* a, const std::byte* b, ir::DType dtype, int64_t elements);

// A loaded shared object.
class Library {
 public:
  using Function = void (*)(void* const* params, int64_t begin, int64_t end);

  explicit Library(const std::vector<std::byte>& bytes);
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library();

  // Null if it isn't exported.
  Function function(const std::string& name) const;

 private:
  void* handle_ = nullptr;
};

// Compiles the kernels for the target, runs each over its whole thread range on hard values, and
// REQUIREs the bits that the interpreter gives.
void require_same_as_interpreter(const std::vector<ir::Kernel>& kernels, const std::string& spec);

}  // namespace camshaft::render_test
