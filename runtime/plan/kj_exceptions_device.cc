// SPDX-License-Identifier: MIT
// The device build's own definitions of what kj/exception.h declares; the linker finds them before
// libkj.a's. Two reasons: the packaged static libkj keeps these in thread-local variables of a kind
// that no shared library can hold, so libcamshaft.so could not be linked; and its stack traces run
// addr2line, which a device has no use for. Without callback stacks, logs and traces little is
// left: a throw carries what went wrong to the boundary that turns it into a Status.

#include <kj/debug.h>
#include <kj/exception.h>
#include <kj/function.h>

#include <cstdlib>
#include <exception>

namespace kj {
namespace {

class Thrown final : public Exception, public std::exception {
 public:
  explicit Thrown(Exception&& cause) : Exception(mv(cause)) {}
  const char* what() const noexcept override { return getDescription().cStr(); }
};

Exception wrapped(const char* description) {
  return Exception(Exception::Type::FAILED, "(a C++ exception)", 0, heapString(description));
}

}  // namespace

Exception::Exception(Type type_in, const char* file_in, int line_in, String description_in) noexcept
    : file(file_in), line(line_in), type(type_in), description(mv(description_in)), traceCount(0) {}

Exception::Exception(Type type_in, String file_in, int line_in, String description_in) noexcept
    : ownFile(mv(file_in)),
      file(ownFile.cStr()),
      line(line_in),
      type(type_in),
      description(mv(description_in)),
      traceCount(0) {}

Exception::Exception(const Exception& other) noexcept
    : ownFile(heapString(other.file)),
      file(ownFile.cStr()),
      line(other.line),
      type(other.type),
      description(heapString(other.description)),
      remoteTrace(heapString(other.remoteTrace)),
      traceCount(0) {
  KJ_IF_MAYBE (outer, other.context) {
    context = heap<Context>(**outer);
  }
}

Exception::~Exception() noexcept = default;

Exception::Context::Context(const Context& other) noexcept
    : file(other.file), line(other.line), description(heapString(other.description)) {
  KJ_IF_MAYBE (outer, other.next) {
    next = heap<Context>(**outer);
  }
}

void Exception::wrapContext(const char* file_in, int line_in, String&& description_in) {
  context = heap<Context>(file_in, line_in, mv(description_in), mv(context));
}

void Exception::extendTrace(uint, uint) {}
void Exception::truncateCommonTrace() {}
void Exception::addTrace(void*) {}
void Exception::addTraceHere() {}

class ExceptionCallback::RootExceptionCallback final : public ExceptionCallback {
 public:
  RootExceptionCallback() : ExceptionCallback(*this) {}

  void onRecoverableException(Exception&& exception) override {
    // A second exception during unwinding would end the process.
    if (std::uncaught_exceptions() == 0) throw Thrown(mv(exception));
  }
  void onFatalException(Exception&& exception) override { throw Thrown(mv(exception)); }
  void logMessage(LogSeverity, const char*, int, int, String&&) override {}
  StackTraceMode stackTraceMode() override { return StackTraceMode::NONE; }
  Function<void(Function<void()>)> getThreadInitializer() override {
    return [](Function<void()> run) { run(); };
  }
};

ExceptionCallback& getExceptionCallback() {
  static ExceptionCallback::RootExceptionCallback root;
  return root;
}

ExceptionCallback::ExceptionCallback() : next(getExceptionCallback()) {}
ExceptionCallback::ExceptionCallback(ExceptionCallback& outer) : next(outer) {}
ExceptionCallback::~ExceptionCallback() noexcept(false) {}

void ExceptionCallback::onRecoverableException(Exception&& exception) {
  next.onRecoverableException(mv(exception));
}

void ExceptionCallback::onFatalException(Exception&& exception) {
  next.onFatalException(mv(exception));
}

void ExceptionCallback::logMessage(LogSeverity severity, const char* file, int line, int depth,
                                   String&& text) {
  next.logMessage(severity, file, line, depth, mv(text));
}

ExceptionCallback::StackTraceMode ExceptionCallback::stackTraceMode() {
  return next.stackTraceMode();
}

Function<void(Function<void()>)> ExceptionCallback::getThreadInitializer() {
  return next.getThreadInitializer();
}

void throwFatalException(Exception&& exception, uint) {
  getExceptionCallback().onFatalException(mv(exception));
  std::abort();
}

void throwRecoverableException(Exception&& exception, uint) {
  getExceptionCallback().onRecoverableException(mv(exception));
}

namespace _ {

Maybe<Exception> runCatchingExceptions(Runnable& runnable) {
  try {
    runnable.run();
    return nullptr;
  } catch (Exception& e) {
    return mv(e);
  } catch (std::exception& e) {
    return wrapped(e.what());
  } catch (...) {
    return wrapped("an exception of an unknown type");
  }
}

}  // namespace _

UnwindDetector::UnwindDetector() : uncaughtCount(static_cast<uint>(std::uncaught_exceptions())) {}

bool UnwindDetector::isUnwinding() const {
  return static_cast<uint>(std::uncaught_exceptions()) > uncaughtCount;
}

void UnwindDetector::catchExceptionsAsSecondaryFaults(_::Runnable& runnable) const {
  _::runCatchingExceptions(runnable);
}

ArrayPtr<void* const> getStackTrace(ArrayPtr<void*>, uint) { return nullptr; }
String getStackTrace() { return nullptr; }
StringPtr trimSourceFilename(StringPtr filename) { return filename; }

}  // namespace kj
