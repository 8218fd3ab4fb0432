// SPDX-License-Identifier: MIT
// The machine's OpenCL calls, each of which is counted: which objects are alive, what the driver
// took from the heap of this thread while it was called, how often each call was made. Every entry
// of the table is wrapped, and so are the extensions' calls that it hands out.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>

#include "devices/opencl/replay.h"
#include "tests/support/heap/malloc_count.h"

namespace camshaft::test {

// One at a time, since calls have no place for what they belong to. Calls come from one thread.
class CountingApi {
 public:
  // Calls of `real` are made; it must live as long.
  explicit CountingApi(const opencl::Api& real) : table_(real) {
    reset();
#define CAMSHAFT_OPENCL_WRAP(name) \
  table_.name = Wrap<struct Tag_##name, decltype(real.name)>::make(#name, real.name);
    CAMSHAFT_OPENCL_CALLS(CAMSHAFT_OPENCL_WRAP)
    if (real.clCreateBufferWithProperties != nullptr) {
      CAMSHAFT_OPENCL_WRAP(clCreateBufferWithProperties)
    }
#undef CAMSHAFT_OPENCL_WRAP
    find_extension_ = table_.clGetExtensionFunctionAddressForPlatform;
    table_.clGetExtensionFunctionAddressForPlatform = find_extension;
  }
  ~CountingApi() { reset(); }

  opencl::Api& table() { return table_; }

  // Objects that were made or retained and not released, by what they are: "kernel", "event".
  static const std::map<std::string, int64_t>& alive() { return alive_; }
  static int64_t alive_in_all() {
    int64_t sum = 0;
    for (const auto& [kind, count] : alive_) sum += count;
    return sum;
  }
  // Of this thread, while the driver was called.
  static uint64_t driver_mallocs() { return driver_mallocs_; }
  static uint64_t calls(const char* name) {
    const auto found = calls_.find(name);
    return found == calls_.end() ? 0 : *found->second;
  }

 private:
  static void reset() {
    for (auto& [kind, count] : alive_) count = 0;
    for (auto& [name, count] : calls_) *count = 0;
    driver_mallocs_ = 0;
  }

  template <typename T>
  static int64_t* count_of() {
    if constexpr (std::is_same_v<T, cl_context>) return &alive_["context"];
    if constexpr (std::is_same_v<T, cl_command_queue>) return &alive_["queue"];
    if constexpr (std::is_same_v<T, cl_mem>) return &alive_["memory"];
    if constexpr (std::is_same_v<T, cl_program>) return &alive_["program"];
    if constexpr (std::is_same_v<T, cl_kernel>) return &alive_["kernel"];
    if constexpr (std::is_same_v<T, cl_event>) return &alive_["event"];
    if constexpr (std::is_same_v<T, cl_command_buffer_khr>) return &alive_["command buffer"];
    return nullptr;
  }

  template <typename Tag, typename Call>
  struct Wrap;
  template <typename Tag, typename R, typename... Args>
  struct Wrap<Tag, R(CL_API_CALL*)(Args...)> {
    static inline R(CL_API_CALL* real)(Args...) = nullptr;
    static inline uint64_t calls = 0;
    static inline int64_t* made = nullptr;     // what it returns
    static inline int64_t* changed = nullptr;  // what it retains or releases
    static inline int64_t change = 0;
    static inline int64_t* events = nullptr;  // what it hands out by the way

    static R(CL_API_CALL* make(std::string_view name, R(CL_API_CALL* call)(Args...)))(Args...) {
      real = call;
      calls_[std::string(name)] = &calls;
      events = count_of<cl_event>();
      if (name.starts_with("clCreate")) made = count_of<R>();
      change = name.starts_with("clRetain") ? 1 : name.starts_with("clRelease") ? -1 : 0;
      if constexpr (sizeof...(Args) == 1) {
        if (change != 0) changed = count_of<Args...>();
      }
      return wrapped;
    }

    static void note(cl_event* event) {
      if (event != nullptr && *event != nullptr) ++*events;
    }
    template <typename T>
    static void note(const T&) {}

    static R CL_API_CALL wrapped(Args... args) {
      ++calls;
      const uint64_t before = thread_malloc_count();
      const R result = real(args...);
      driver_mallocs_ += thread_malloc_count() - before;
      if (changed != nullptr) *changed += change;
      if constexpr (std::is_pointer_v<R>) {
        if (made != nullptr && result != nullptr) ++*made;
      }
      (note(args), ...);
      return result;
    }
  };

  // The calls of cl_khr_command_buffer; others are handed out as they are.
  static void* CL_API_CALL find_extension(cl_platform_id platform, const char* name) {
    void* found = find_extension_(platform, name);
    const auto wrap = [&]<typename Call>(const char* wanted, void* call, Call) {
      if (call == nullptr || std::string_view(name) != wanted) return call;
      return reinterpret_cast<void*>(Wrap<Call, Call>::make(wanted, reinterpret_cast<Call>(call)));
    };
    found = wrap("clCreateCommandBufferKHR", found, clCreateCommandBufferKHR_fn());
    found = wrap("clCommandNDRangeKernelKHR", found, clCommandNDRangeKernelKHR_fn());
    found = wrap("clEnqueueCommandBufferKHR", found, clEnqueueCommandBufferKHR_fn());
    return wrap("clReleaseCommandBufferKHR", found, clReleaseCommandBufferKHR_fn());
  }

  opencl::Api table_;
  static inline decltype(opencl::Api::clGetExtensionFunctionAddressForPlatform) find_extension_ =
      nullptr;
  static inline std::map<std::string, int64_t> alive_;
  static inline std::map<std::string, uint64_t*> calls_;
  static inline uint64_t driver_mallocs_ = 0;
};

}  // namespace camshaft::test
