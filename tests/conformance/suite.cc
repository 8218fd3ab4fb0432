// SPDX-License-Identifier: MIT
#include "tests/conformance/suite.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <utility>

#include "tests/support/last_sentence.h"

// Sanitizers end the program at an impossible allocation, unless told that it may fail.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }

namespace camshaft::conformance {
namespace {

template <typename T>
T must(base::Result<T> result, const char* what) {
  if (!result) throw Failure(std::string(what) + ": " + test::last_sentence());
  return std::move(*result);
}

const KnownException* find_exception(const BackendRow& row, const std::string& test) {
  for (const KnownException& known : row.exceptions) {
    if (test == known.test) return &known;
  }
  return nullptr;
}

// What went wrong, or nothing.
std::optional<std::string> attempt(const BackendRow& row, void (*function)(Bench&)) {
  try {
    Bench bench(row);
    function(bench);
    if (bench.device().error_count() != 0) return "validation: " + test::last_sentence();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return std::nullopt;
}

}  // namespace

Verdict judge(const KnownException* known, const std::optional<std::string>& failure) {
  if (known == nullptr) return failure ? Verdict::kFail : Verdict::kPass;
  if (known->kind == Exception::kUnsupported) return Verdict::kSkipped;
  return failure ? Verdict::kFailedAsExpected : Verdict::kUnexpectedPass;
}

void run_on(const BackendRow& row, const std::string& test, void (*function)(Bench&)) {
  const KnownException* known = find_exception(row, test);
  const bool is_run = known == nullptr || known->kind == Exception::kExpectedFailure;
  const std::optional<std::string> failure = is_run ? attempt(row, function) : std::nullopt;
  INFO(failure.value_or(known == nullptr ? "" : known->reason));
  switch (judge(known, failure)) {
    case Verdict::kPass:
    case Verdict::kSkipped:
    case Verdict::kFailedAsExpected:
      SUCCEED();
      return;
    case Verdict::kFail:
      FAIL("failed");
      return;
    case Verdict::kUnexpectedPass:
      FAIL("passes although its row expects a failure: remove the entry");
      return;
  }
}

Bench::Bench(const BackendRow& row)
    : row_(row), device_(std::make_unique<hal::ValidatingDevice>(row.open())) {}

void Bench::wrap(
    const std::function<std::unique_ptr<hal::Device>(std::unique_ptr<hal::Device>)>& make) {
  device_ = std::make_unique<hal::ValidatingDevice>(make(row_.open()));
  program_ = {};
}

hal::Program Bench::program() {
  if (program_.id == 0) {
    const std::vector<std::byte> bytes = row_.program();
    program_ =
        must(device_->load({.format = row_.program_format, .bytes = bytes, .kernels = kKernels}),
             "load");
  }
  return program_;
}

hal::Allocation Bench::host_buffer(uint64_t size_bytes) {
  return must(device_->allocate(size_bytes, hal::MemoryKind::kHostVisible), "allocate");
}

hal::Buffer Bench::device_buffer(uint64_t size_bytes) {
  return must(device_->allocate(size_bytes, hal::MemoryKind::kDevice), "allocate").buffer;
}

hal::Command Bench::launch(uint32_t kernel, uint32_t extent, std::vector<hal::KernelArg> args,
                           uint32_t parts) {
  args_.push_back(std::make_unique<std::vector<hal::KernelArg>>(std::move(args)));
  hal::Command command;
  command.program = program();
  command.kernel = kernel;
  command.grid[0] = extent;
  command.parts = parts;
  command.args = *args_.back();
  return command;
}

hal::Command Bench::copy(hal::KernelArg source, hal::KernelArg destination, uint64_t size_bytes) {
  hal::Command command;
  command.kind = hal::CommandKind::kCopy;
  command.source = source;
  command.destination = destination;
  command.size_bytes = size_bytes;
  return command;
}

hal::KernelArg Bench::in(hal::Buffer buffer, uint64_t offset_bytes) {
  hal::KernelArg arg;
  arg.buffer = buffer;
  arg.offset_bytes = offset_bytes;
  return arg;
}

hal::KernelArg Bench::slot(uint32_t slot, uint64_t offset_bytes) {
  hal::KernelArg arg;
  arg.kind = hal::ArgKind::kSlot;
  arg.slot = slot;
  arg.offset_bytes = offset_bytes;
  return arg;
}

hal::KernelArg Bench::scalar(uint64_t value) {
  hal::KernelArg arg;
  arg.kind = hal::ArgKind::kScalar;
  arg.scalar = value;
  return arg;
}

hal::CommandList Bench::record(const std::vector<hal::Command>& commands, uint32_t slot_count) {
  return must(device_->record(commands, slot_count), "record");
}

void Bench::run(hal::CommandList list, const std::vector<hal::Binding>& bindings) {
  const hal::Ticket ticket = must(device_->submit(list, bindings), "submit");
  if (!device_->wait(ticket, {}).is_ok()) throw Failure("wait: " + test::last_sentence());
}

std::vector<uint32_t> Bench::read(hal::Buffer buffer, size_t count) {
  const hal::Allocation seen = host_buffer(count * sizeof(uint32_t));
  run({copy(in(buffer), in(seen.buffer), count * sizeof(uint32_t))});
  std::vector<uint32_t> values(count);
  std::memcpy(values.data(), seen.host_ptr, count * sizeof(uint32_t));
  return values;
}

}  // namespace camshaft::conformance
