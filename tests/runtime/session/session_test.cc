// SPDX-License-Identifier: MIT
#include "runtime/session/session.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "devices/hal/fault.h"
#include "devices/hal/trace.h"
#include "devices/hal/validate.h"
#include "devices/registry.h"
#include "runtime/base/clock.h"
#include "tests/runtime/session/tiny_plan.h"
#include "tests/support/last_sentence.h"

using namespace camshaft;
using base::Code;
using session::Session;
using test::kTinyCount;
using test::last_sentence;

namespace {

constexpr int64_t kShapeA[] = {4, 16};
constexpr int64_t kShapeB[] = {16};

// The tiny plan on a CPU device that validates, traces and can be made to fail.
struct Fixture {
  plan::PlanFile plan = test::open_tiny();
  hal::FaultDevice* fault = nullptr;
  hal::TraceDevice* trace = nullptr;
  std::unique_ptr<hal::ValidatingDevice> device;
  std::unique_ptr<Session> session;

  explicit Fixture(uint32_t threads = 1, session::SessionOptions options = {},
                   const std::vector<hal::Fault>& faults = {}) {
    auto cpu = hal::open_device(devices::backends(), "cpu", {.threads = threads});
    auto faulty = std::make_unique<hal::FaultDevice>(std::move(*cpu));
    fault = faulty.get();
    for (const hal::Fault& one : faults) fault->arm(one);
    auto traced = std::make_unique<hal::TraceDevice>(std::move(faulty), 10000);
    trace = traced.get();
    device = std::make_unique<hal::ValidatingDevice>(std::move(traced));
    auto opened = Session::open(plan, *device, options);
    REQUIRE(opened);
    session = std::move(*opened);
  }
  ~Fixture() {
    session.reset();
    CHECK(device->error_count() == 0);
  }

  void set_inputs(float a = 1, int32_t b = 5) {
    const std::vector<float> all_a(kTinyCount, a);
    const std::vector<int32_t> all_b(16, b);
    REQUIRE(session
                ->set_input(0, {.dtype = base::DType::kFloat32,
                                .shape = kShapeA,
                                .data = base::as_bytes(std::span(all_a))})
                .is_ok());
    REQUIRE(session
                ->set_input(1, {.dtype = base::DType::kInt32,
                                .shape = kShapeB,
                                .data = base::as_bytes(std::span(all_b))})
                .is_ok());
  }
  template <typename T>
  std::vector<T> read(uint32_t output) {
    const auto bytes = session->output(output);
    REQUIRE(bytes);
    std::vector<T> values(bytes->size() / sizeof(T));
    std::memcpy(values.data(), bytes->data(), bytes->size());
    return values;
  }
  size_t count_calls(hal::Call call) const {
    size_t count = 0;
    for (const hal::TraceEntry& entry : trace->entries()) count += entry.call == call ? 1 : 0;
    return count;
  }
};

std::vector<float> ramp(float factor) {
  std::vector<float> values(kTinyCount);
  for (size_t i = 0; i < kTinyCount; ++i) values[i] = factor * static_cast<float>(i);
  return values;
}

struct alignas(64) Foreign {
  float values[kTinyCount] = {};
};
hal::ForeignMemory import_of(Foreign& foreign, bool writable = false) {
  return {.handle = reinterpret_cast<uint64_t>(foreign.values),
          .size_bytes = sizeof foreign.values,
          .writable = writable};
}

}  // namespace

TEST_CASE("a session computes what the plan says", "[session]") {
  for (const uint32_t threads : {1u, 2u, 4u}) {
    Fixture f(threads);
    f.set_inputs(2, 21);
    REQUIRE(f.session->run({}));
    CHECK(f.read<float>(0) == ramp(2));
    CHECK(f.read<int32_t>(1) == std::vector<int32_t>(16, 42));
    // The state carries over; another input gives another output.
    f.set_inputs(3, -1);
    REQUIRE(f.session->run({}));
    CHECK(f.read<float>(0) == ramp(5));
    CHECK(f.read<int32_t>(1) == std::vector<int32_t>(16, -2));
    REQUIRE(f.session->reset_states().is_ok());
    REQUIRE(f.session->run({}));
    CHECK(f.read<float>(0) == ramp(3));
  }
}

TEST_CASE("entry points run their own commands", "[session]") {
  Fixture f;
  const uint32_t prepare = *f.session->entry_index("prepare");
  CHECK(prepare == 1);
  CHECK(*f.session->entry_index("run") == 0);
  f.set_inputs(4);
  REQUIRE(f.session->run({.entry = prepare}));
  REQUIRE(f.session->run({}));
  CHECK(f.read<float>(0) == ramp(8));
  CHECK(f.session->run({.entry = 2}).error().code() == Code::kInvalidArgument);
}

TEST_CASE("results carry sequence, age and lateness", "[session]") {
  Fixture f;
  f.set_inputs();
  const int64_t before_ns = base::mono_time_ns();
  const auto first = f.session->run({.input_time_ns = before_ns - 1'000'000});
  REQUIRE(first);
  CHECK(first->sequence == 1);
  CHECK(first->age_ns >= 1'000'000);
  CHECK(first->done_time_ns >= before_ns);
  CHECK_FALSE(first->late);
  const auto second = f.session->run({.deadline = {base::mono_time_ns() + 3'600'000'000'000}});
  REQUIRE(second);
  CHECK(second->sequence == 2);
  CHECK(second->age_ns >= 0);
  CHECK_FALSE(second->late);
  const auto third = f.session->run({.deadline = {base::mono_time_ns() - 1}});
  REQUIRE(third);
  CHECK(third->late);
  CHECK(f.read<float>(0) == ramp(3));  // late, but right
}

TEST_CASE("names are looked up, and wrong ones answered with the right ones", "[session]") {
  Fixture f;
  CHECK(*f.session->input_index("b") == 1);
  CHECK(*f.session->output_index("doubled") == 1);
  CHECK(f.session->input_index("c").error().code() == Code::kInvalidArgument);
  CHECK(last_sentence() == "there is no input 'c'; there is: 'a', 'b'");
  CHECK(f.session->output_index("a").error().code() == Code::kInvalidArgument);
  CHECK(last_sentence().find("'sum', 'doubled'") != std::string::npos);
  CHECK(f.session->entry_index("").error().code() == Code::kInvalidArgument);
  CHECK(f.session->find_slice("doubled", "x").error().code() == Code::kInvalidArgument);
  CHECK(last_sentence().find("there is: none") != std::string::npos);
}

TEST_CASE("slices are parts of outputs", "[session]") {
  Fixture f;
  const auto slice = f.session->find_slice("sum", "tail");
  REQUIRE(slice);
  CHECK(slice->output == 0);
  CHECK(slice->offset_bytes == 56 * 4);
  CHECK(slice->size_bytes == 32);
  CHECK(slice->info->unit == "m");
  f.set_inputs(1);
  REQUIRE(f.session->run({}));
  const auto bytes = f.session->output(*slice);
  REQUIRE(bytes);
  float values[8];
  std::memcpy(values, bytes->data(), bytes->size());
  for (int i = 0; i < 8; ++i) CHECK(values[i] == static_cast<float>(56 + i));
}

TEST_CASE("wrong tensors are refused with what was expected", "[session]") {
  Fixture f;
  const std::vector<std::byte> data(256);
  const auto code = [&](uint32_t index, base::DType dtype, std::vector<int64_t> shape,
                        size_t size_bytes) {
    return f.session
        ->set_input(index,
                    {.dtype = dtype, .shape = shape, .data = base::Bytes(data).first(size_bytes)})
        .code();
  };
  CHECK(code(0, base::DType::kFloat32, {4, 16}, 256) == Code::kOk);
  CHECK(code(0, base::DType::kInt32, {4, 16}, 256) == Code::kInvalidArgument);
  CHECK(last_sentence() == "the input 'a' is f32 [4,16], not i32 [4,16]");
  CHECK(code(0, base::DType::kFloat32, {16, 4}, 256) == Code::kInvalidArgument);
  CHECK(last_sentence() == "the input 'a' is f32 [4,16], not f32 [16,4]");
  CHECK(code(0, base::DType::kFloat32, {64}, 256) == Code::kInvalidArgument);
  CHECK(code(0, base::DType::kFloat32, {}, 4) == Code::kInvalidArgument);
  CHECK(code(0, base::DType::kFloat32, {4, 16}, 255) == Code::kInvalidArgument);
  CHECK(last_sentence() == "the input 'a' is f32 [4,16]: 256 bytes, not 255");
  CHECK(code(2, base::DType::kFloat32, {4, 16}, 256) == Code::kInvalidArgument);
  CHECK(last_sentence() == "there is no input 2; the plan has 2");
  // A shape too long to print is cut, not overrun.
  CHECK(code(0, base::DType::kFloat32, std::vector<int64_t>(100, 1'000'000), 256) ==
        Code::kInvalidArgument);
  CHECK(f.session->input_span(2).error().code() == Code::kInvalidArgument);
}

TEST_CASE("inputs can be written in place", "[session]") {
  Fixture f;
  f.set_inputs();
  const auto span = f.session->input_span(0);
  REQUIRE(span);
  CHECK(span->size() == 256);
  CHECK(reinterpret_cast<uint64_t>(span->data()) % 64 == 0);
  auto* values = reinterpret_cast<float*>(span->data());
  for (size_t i = 0; i < kTinyCount; ++i) values[i] = 7;
  REQUIRE(f.session->run({}));
  CHECK(f.read<float>(0) == ramp(7));
}

TEST_CASE("memory of the caller's is read and written in place", "[session]") {
  Fixture f(2);
  f.set_inputs(100);
  Foreign in;
  Foreign out;
  const hal::Buffer in_memory = *f.session->import_memory(import_of(in));
  const hal::Buffer out_memory = *f.session->import_memory(import_of(out, true));
  REQUIRE(f.session->bind_input(0, in_memory).is_ok());
  REQUIRE(f.session->bind_output(0, out_memory).is_ok());
  CHECK(f.session->input_span(0).error().code() == Code::kInvalidArgument);
  CHECK(last_sentence().find("reads imported memory") != std::string::npos);
  float total = 0;
  for (const float value : {1.0F, 2.0F, 3.0F}) {
    for (float& element : in.values) element = value;  // no call tells the session
    REQUIRE(f.session->run({}));
    total += value;
    CHECK(std::vector<float>(out.values, out.values + kTinyCount) == ramp(total));
    CHECK(reinterpret_cast<const float*>(f.session->output(0)->data()) == out.values);
  }
  // Back to its own buffers, which are as they were left.
  REQUIRE(f.session->unbind_input(0).is_ok());
  REQUIRE(f.session->unbind_output(0).is_ok());
  CHECK(f.session->output(0).error().code() ==
        Code::kInvalidArgument);  // nothing was written there
  REQUIRE(f.session->run({}));
  CHECK(f.read<float>(0) == ramp(total + 100));
  CHECK(f.session->release_memory(in_memory).is_ok());
  CHECK(f.session->release_memory(out_memory).is_ok());
}

TEST_CASE("wrong bindings are refused", "[session]") {
  Fixture f;
  Foreign memory;
  hal::ForeignMemory small = import_of(memory);
  small.size_bytes = 255;
  const hal::Buffer too_small = *f.session->import_memory(small);
  CHECK(f.session->bind_input(0, too_small).code() == Code::kInvalidArgument);
  CHECK(last_sentence() == "the input 'a' is f32 [4,16] and needs 256 bytes; the memory has 255");
  const hal::Buffer read_only = *f.session->import_memory(import_of(memory));
  CHECK(f.session->bind_output(0, read_only).code() == Code::kInvalidArgument);
  CHECK(last_sentence().find("writable") != std::string::npos);
  CHECK(f.session->bind_input(0, hal::Buffer{9999}).code() == Code::kInvalidArgument);
  CHECK(f.session->bind_input(7, read_only).code() == Code::kInvalidArgument);
  CHECK(f.session->unbind_output(7).code() == Code::kInvalidArgument);
  REQUIRE(f.session->bind_input(0, read_only).is_ok());
  CHECK(f.session->release_memory(read_only).code() == Code::kInvalidArgument);
  REQUIRE(f.session->unbind_input(0).is_ok());
  CHECK(f.session->release_memory(read_only).is_ok());
  CHECK(f.session->release_memory(read_only).code() == Code::kInvalidArgument);
  hal::ForeignMemory misaligned = import_of(memory);
  misaligned.handle += 4;
  CHECK(f.session->import_memory(misaligned).error().code() == Code::kUnsupported);
}

TEST_CASE("weights are used where the plan is mapped, or copied where that can't be", "[session]") {
  for (const bool aliases : {true, false}) {
    std::vector<hal::Fault> faults;
    if (!aliases) faults.push_back({.call = hal::Call::kImportMemory, .code = Code::kUnsupported});
    Fixture f(1, {}, faults);
    size_t copies = 0;
    for (const hal::TraceEntry& entry : f.trace->entries()) {
      copies += entry.call == hal::Call::kAllocate && entry.detail == 64 + 256 ? 1 : 0;
    }
    CHECK(copies == (aliases ? 0 : 2));  // the buffer, and the one on the way to it
    f.set_inputs(1);
    REQUIRE(f.session->run({}));
    CHECK(f.read<float>(0) == ramp(1));
  }
}

TEST_CASE("profiles time every command, and cost nothing when off", "[session]") {
  Fixture plain;
  plain.set_inputs();
  REQUIRE(plain.session->run({}));
  CHECK(plain.session->command_times(0).empty());

  Fixture f(2, {.profile = true});
  f.set_inputs();
  CHECK(f.session->command_times(0).empty());  // nothing has run
  REQUIRE(f.session->run({}));
  const auto times = f.session->command_times(0);
  REQUIRE(times.size() == 4);
  for (const int64_t time_ns : times) {
    CHECK(time_ns >= 0);
    CHECK(time_ns < 3'600'000'000'000);
  }
  CHECK(f.session->command_times(7).empty());
  CHECK(f.read<float>(0) == ramp(1));
  // The extra commands are in the profiled lists only: time stamps around 4 and 2 commands.
  const auto recorded = [](const Fixture& fixture) {
    std::vector<uint64_t> counts;
    for (const hal::TraceEntry& entry : fixture.trace->entries()) {
      if (entry.call == hal::Call::kRecord) counts.push_back(entry.detail);
    }
    return counts;
  };
  CHECK(recorded(plain) == std::vector<uint64_t>{4, 2});
  CHECK(recorded(f) == std::vector<uint64_t>{9, 5});
}

TEST_CASE("a failed run leaves no output", "[session]") {
  Fixture f;
  CHECK(f.session->output(0).error().code() == Code::kInvalidArgument);  // nothing has run
  CHECK(test::said("run the session first"));
  f.set_inputs();
  REQUIRE(f.session->run({}));
  CHECK(f.session->output(0).has_value());
  CHECK(f.session->output(2).error().code() == Code::kInvalidArgument);
  f.fault->arm({.call = hal::Call::kSubmit});
  CHECK(f.session->run({}).error().code() == Code::kDeviceFault);
  CHECK(f.session->output(0).error().code() == Code::kDeviceFault);  // not the older run's
  CHECK(f.session->run({}).error().code() == Code::kDeviceFault);
}

TEST_CASE("a session recovers from a device fault", "[session]") {
  Fixture f;
  f.set_inputs(2);
  Foreign foreign;
  const hal::Buffer memory = *f.session->import_memory(import_of(foreign));
  REQUIRE(f.session->bind_input(0, memory).is_ok());
  REQUIRE(f.session->run({}));
  f.fault->arm({.call = hal::Call::kWait});
  CHECK(f.session->run({}).error().code() == Code::kDeviceFault);
  REQUIRE(f.session->recover().is_ok());
  CHECK(f.session->output(0).error().code() == Code::kInvalidArgument);
  CHECK(f.session->bind_input(0, memory).code() == Code::kInvalidArgument);  // imports are gone
  const auto result = f.session->run({});
  REQUIRE(result);
  CHECK(result->sequence == 3);
  CHECK(f.read<float>(0) == ramp(2));  // its own buffer again, and the state is zero

  f.fault->arm({.call = hal::Call::kReset, .code = Code::kDeviceFault});
  CHECK(f.session->recover().code() == Code::kDeviceFault);
}

TEST_CASE("work that misses its deadline can be collected, late", "[session]") {
  Fixture f;
  f.set_inputs(2);
  // A device that needs more time: the run's wait, then two polls, end at their deadline.
  f.fault->arm({.call = hal::Call::kWait, .count = 3, .code = Code::kDeadlineExceeded});
  const int64_t deadline_ns = base::mono_time_ns() + 1;
  CHECK(f.session->run({.deadline = {deadline_ns}}).error().code() == Code::kDeadlineExceeded);
  CHECK(f.session->output(0).error().code() == Code::kDeadlineExceeded);
  CHECK(f.session->input_span(0).error().code() == Code::kDeadlineExceeded);  // still being read
  CHECK(f.session->run({}).error().code() == Code::kDeadlineExceeded);
  const auto result = f.session->collect({});
  REQUIRE(result);
  CHECK(result->late);
  CHECK(result->sequence == 1);
  CHECK(f.read<float>(0) == ramp(2));
  CHECK(f.session->collect({}).error().code() == Code::kInvalidArgument);
}

TEST_CASE("a late result that nobody collects makes way for the next run", "[session]") {
  Fixture f;
  f.set_inputs(2);
  f.fault->arm({.call = hal::Call::kWait, .code = Code::kDeadlineExceeded});
  CHECK_FALSE(f.session->run({}).has_value());
  const auto result = f.session->run({});
  REQUIRE(result);
  CHECK(result->sequence == 2);
  CHECK(f.read<float>(0) == ramp(4));  // the first run did happen
}

TEST_CASE("work that is lost is given up at its deadline", "[session]") {
  Fixture f;
  f.set_inputs(2);
  f.fault->arm({.call = hal::Call::kSubmit, .action = hal::FaultAction::kDrop});
  const int64_t deadline_ns = base::mono_time_ns() + 2'000'000;
  CHECK(f.session->run({.deadline = {deadline_ns}}).error().code() == Code::kDeadlineExceeded);
  CHECK(base::mono_time_ns() >= deadline_ns);
  REQUIRE(f.session->recover().is_ok());
  REQUIRE(f.session->run({}));
  CHECK(f.read<float>(0) == ramp(2));
}

TEST_CASE("whatever fails while a session opens, nothing is left behind", "[session]") {
  const plan::PlanFile plan = test::open_tiny();
  int failures = 0;
  for (const hal::Call call : {hal::Call::kAllocate, hal::Call::kLoad, hal::Call::kRecord}) {
    for (uint64_t first = 1; first <= 20; ++first) {
      auto cpu = hal::open_device(devices::backends(), "cpu", {.threads = 1});
      auto faulty = std::make_unique<hal::FaultDevice>(std::move(*cpu));
      faulty->arm({.call = call, .first = first, .code = Code::kOutOfMemory});
      auto traced = std::make_unique<hal::TraceDevice>(std::move(faulty), 1000);
      hal::TraceDevice& trace = *traced;
      hal::ValidatingDevice device(std::move(traced));
      const auto opened = Session::open(plan, device, {.profile = true});
      if (opened) continue;
      ++failures;
      CHECK(opened.error().code() == Code::kOutOfMemory);
      int balance = 0;
      for (const hal::TraceEntry& entry : trace.entries()) {
        const bool is_release = entry.call == hal::Call::kReleaseBuffer ||
                                entry.call == hal::Call::kReleaseProgram ||
                                entry.call == hal::Call::kReleaseCommandList;
        if (is_release) --balance;
        if (!is_release && entry.code == Code::kOk) ++balance;
      }
      CHECK(balance == 0);
      CHECK(device.error_count() == 0);
    }
  }
  CHECK(failures >= 10);
}

TEST_CASE("a plan without kernels or weights runs on a device without kernels", "[session]") {
  plan::PlanContents contents;
  contents.info.model_name = "copy";
  contents.info.producer = "test";
  contents.info.model_digest = "00";
  contents.info.inputs = {{"in", base::DType::kUInt8, {100}, "", {}}};
  contents.info.outputs = {{"out", base::DType::kUInt8, {100}, "", {}}};
  plan::TargetInfo target;
  target.target = "null";
  target.device = "null";
  target.arch = "null";
  target.toolchain = "none";
  target.binary_format = "none";
  plan::CommandInfo copy;
  copy.kind = plan::CommandKind::kCopy;
  copy.name = "copy";
  copy.args = {{plan::Space::kInput, 0, 0, 100}, {plan::Space::kOutput, 0, 0, 100}};
  target.commands = {copy};
  target.entry_points = {{"run", 0, 1}};
  contents.info.targets = {target};
  const plan::PlanFile plan = test::open_plan(contents);
  hal::ValidatingDevice device(std::move(*hal::open_device(devices::backends(), "null", {})));
  {
    const auto session = Session::open(plan, device, {});
    REQUIRE(session);
    const auto in = (*session)->input_span(0);
    for (size_t i = 0; i < 100; ++i) (*in)[i] = static_cast<std::byte>(i);
    REQUIRE((*session)->run({}));
    const auto out = (*session)->output(0);
    REQUIRE(out);
    CHECK(std::memcmp(out->data(), in->data(), 100) == 0);
  }
  CHECK(device.error_count() == 0);
}

TEST_CASE("a plan for another device is refused before anything is loaded", "[session]") {
  const plan::PlanFile plan = test::open_tiny();
  const auto null = std::move(*hal::open_device(devices::backends(), "null", {}));
  CHECK(Session::open(plan, *null, {}).error().code() == Code::kWrongTarget);
}
