// SPDX-License-Identifier: MIT
// Expected failures: Status and Result<T>. No heap, no exceptions. The full sentence about a
// failure is written once, into the log ring, where the failure is born (see log_ring.h); what
// travels up the stack is sixteen bytes.
#pragma once

#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "runtime/base/check.h"

namespace camshaft::base {

// What kind of failure, from the caller's point of view. The command maps them to exit codes.
enum class Code : uint8_t {
  kOk = 0,
  kInvalidArgument,  // the caller passed something wrong: exit 2
  kUnsupported,      // the model or feature is not supported: exit 3
  kWrongTarget,      // the plan is for another device, or the device is absent: exit 4
  kOutOfTolerance,   // results differ by more than allowed: exit 5
  kDeadlineExceeded, // late: exit 6
  kCorrupt,          // damaged file or shared memory: exit 7
  kNotFound,         // no such file or name: exit 2
  kIo,               // the operating system refused: exit 2
  kOutOfMemory,
  kDeviceFault,      // sticky until Device::reset()
  kInternal,
  kBoundExceeded,    // a run needs more than a bound given when compiling, or its data gives
                     // operands extents that don't fit: it has no outputs: exit 5
  kBusy,             // somebody else has it, or no place is free: exit 2
};

// Name of `code`, such as "corrupt". Static storage.
const char* code_name(Code code);

// Exit code of the `camshaft` command for `code`; the list above names them.
int exit_code(Code code);

// Success, or a failure's code with a fixed text and the number the operating system or driver
// gave. Sixteen bytes, trivially copyable. `site` points to static storage.
class [[nodiscard]] Status {
 public:
  constexpr Status() = default;
  constexpr Status(Code code, const char* site, int32_t native_error = 0)
      : site_(site), native_error_(native_error), code_(code) {}

  constexpr bool is_ok() const { return code_ == Code::kOk; }
  constexpr Code code() const { return code_; }
  constexpr int32_t native_error() const { return native_error_; }
  // Short fixed text naming the failing check; never null.
  constexpr const char* site() const { return site_ == nullptr ? "" : site_; }

 private:
  const char* site_ = nullptr;
  int32_t native_error_ = 0;
  Code code_ = Code::kOk;
};
static_assert(sizeof(Status) == 16);
static_assert(std::is_trivially_copyable_v<Status>);

constexpr Status ok() { return Status(); }

// Writes the printf-style sentence to the log ring (cut at 500 bytes) and returns the status to
// hand up. `site` is a fixed short name of the check, such as "plan.section_table". May be called
// from any thread; does not allocate; not for the hot path's normal course.
Status fail(Code code, const char* site, const char* format, ...)
    __attribute__((format(printf, 3, 4)));
Status fail_errno(Code code, const char* site, int native_error, const char* format, ...)
    __attribute__((format(printf, 4, 5)));

// A value or the Status that explains its absence: the subset of std::expected that we use, since
// GCC 12's <expected> needs C++23.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : has_value_(true) { new (&storage_.value) T(std::move(value)); }  // NOLINT
  Result(Status status) : has_value_(false) {                                        // NOLINT
    CAMSHAFT_CHECK(!status.is_ok());
    storage_.status = status;
  }
  Result(Result&& other) noexcept : has_value_(other.has_value_) {
    if (has_value_) {
      new (&storage_.value) T(std::move(other.storage_.value));
    } else {
      storage_.status = other.storage_.status;
    }
  }
  Result& operator=(Result&& other) noexcept {
    if (this != &other) {
      this->~Result();
      new (this) Result(std::move(other));
    }
    return *this;
  }
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;
  ~Result() {
    if (has_value_) storage_.value.~T();
  }

  bool has_value() const { return has_value_; }
  explicit operator bool() const { return has_value_; }
  Status error() const { return has_value_ ? ok() : storage_.status; }
  T& value() & {
    CAMSHAFT_CHECK(has_value_);
    return storage_.value;
  }
  const T& value() const& {
    CAMSHAFT_CHECK(has_value_);
    return storage_.value;
  }
  T&& value() && {
    CAMSHAFT_CHECK(has_value_);
    return std::move(storage_.value);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  union Storage {
    Storage() : status() {}
    ~Storage() {}
    T value;
    Status status;
  } storage_;
  bool has_value_;
};

namespace internal {
inline Status to_status(Status status) { return status; }
template <typename T>
Status to_status(const Result<T>& result) {
  return result.error();
}
}  // namespace internal

}  // namespace camshaft::base

// Evaluates a Status or Result expression and returns its error from the enclosing function.
#define CAMSHAFT_TRY(expr)                                                                 \
  do {                                                                                     \
    if (::camshaft::base::Status camshaft_try_status =                                     \
            ::camshaft::base::internal::to_status((expr));                                 \
        !camshaft_try_status.is_ok()) {                                                    \
      return camshaft_try_status;                                                          \
    }                                                                                      \
  } while (false)

// Evaluates a Result expression and binds its value: CAMSHAFT_TRY_ASSIGN(auto x, make_x()).
#define CAMSHAFT_TRY_ASSIGN(declaration, expr) \
  CAMSHAFT_TRY_ASSIGN_IMPL(CAMSHAFT_CONCAT(camshaft_result_, __LINE__), declaration, expr)
#define CAMSHAFT_TRY_ASSIGN_IMPL(name, declaration, expr) \
  auto name = (expr);                                     \
  if (!name.has_value()) return name.error();             \
  declaration = std::move(name).value()
#define CAMSHAFT_CONCAT(a, b) CAMSHAFT_CONCAT_IMPL(a, b)
#define CAMSHAFT_CONCAT_IMPL(a, b) a##b
