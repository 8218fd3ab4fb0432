// SPDX-License-Identifier: MIT
#include "runtime/base/status.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "runtime/base/log_ring.h"

namespace camshaft::base {
namespace {

// The sentence is cut here, so that the log line holds the reason that fail_errno() appends.
constexpr int kSentenceBytes = 501;

// strerror_r returns the text (GNU) or a number after filling `buffer` (POSIX).
[[maybe_unused]] const char* error_text(const char* text, const char*) {
  return text;
}
[[maybe_unused]] const char* error_text(int failed, const char* buffer) {
  return failed == 0 ? buffer : "unknown error";
}

}  // namespace

const char* code_name(Code code) {
  switch (code) {
    case Code::kOk:
      return "ok";
    case Code::kInvalidArgument:
      return "invalid argument";
    case Code::kUnsupported:
      return "unsupported";
    case Code::kWrongTarget:
      return "wrong target";
    case Code::kOutOfTolerance:
      return "out of tolerance";
    case Code::kDeadlineExceeded:
      return "deadline exceeded";
    case Code::kCorrupt:
      return "corrupt";
    case Code::kNotFound:
      return "not found";
    case Code::kIo:
      return "input/output error";
    case Code::kOutOfMemory:
      return "out of memory";
    case Code::kDeviceFault:
      return "device fault";
    case Code::kInternal:
      return "internal error";
    case Code::kBoundExceeded:
      return "bound exceeded";
    case Code::kBusy:
      return "busy";
  }
  return "unknown code";
}

int exit_code(Code code) {
  switch (code) {
    case Code::kOk:
      return 0;
    case Code::kInvalidArgument:
    case Code::kNotFound:
    case Code::kIo:
    case Code::kBusy:
      return 2;
    case Code::kUnsupported:
      return 3;
    case Code::kWrongTarget:
      return 4;
    case Code::kOutOfTolerance:
    case Code::kBoundExceeded:
      return 5;
    case Code::kDeadlineExceeded:
      return 6;
    case Code::kCorrupt:
      return 7;
    case Code::kOutOfMemory:
    case Code::kDeviceFault:
    case Code::kInternal:
      return 1;
  }
  return 1;
}

Status fail(Code code, const char* site, const char* format, ...) {
  char sentence[kSentenceBytes];
  va_list args;
  va_start(args, format);
  std::vsnprintf(sentence, sizeof sentence, format, args);
  va_end(args);
  log_failure("%s", sentence);
  return Status(code, site);
}

Status fail_errno(Code code, const char* site, int native_error, const char* format, ...) {
  char reason[128] = "";
  const char* text = error_text(::strerror_r(native_error, reason, sizeof reason), reason);
  char sentence[kSentenceBytes];
  va_list args;
  va_start(args, format);
  std::vsnprintf(sentence, sizeof sentence, format, args);
  va_end(args);
  // The reason matters most, so an overlong sentence gives way to it.
  const int room = kSentenceBytes - 1 - static_cast<int>(std::strlen(text)) - 2;
  log_failure("%.*s: %s", room, sentence, text);
  return Status(code, site, native_error);
}

}  // namespace camshaft::base
