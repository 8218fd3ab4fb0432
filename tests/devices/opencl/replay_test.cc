// SPDX-License-Identifier: MIT
// Launches that are started together. The machine's device does it its own way, if it has one; what
// other drivers do is simulated below the table of calls: command buffers that may or may not
// overlap, and recordings on queues of their own (cl_qcom_recordable_queues), for which there is no
// device here.
#include "devices/opencl/replay.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "devices/hal/trace.h"
#include "devices/hal/validate.h"
#include "devices/opencl/opencl_backend.h"
#include "runtime/base/log_ring.h"
#include "runtime/plan/reader.h"
#include "runtime/session/session.h"

using namespace camshaft;
using opencl::Api;

namespace {

constexpr std::string_view kText = R"(
__kernel void index(__global uchar* base, ulong at) {
  ((__global uint*)(base + at))[get_global_id(0)] = get_global_id(0);
}
__kernel void twice(__global uchar* base, ulong at) {
  ((__global uint*)(base + at))[get_global_id(0)] *= 2;
}
__kernel void copy(__global const uchar* from, ulong from_at, __global uchar* to, ulong to_at) {
  const size_t i = get_global_id(0);
  ((__global uint*)(to + to_at))[i] = ((__global const uint*)(from + from_at))[i];
}
)";
constexpr std::string_view kKernels[] = {"index", "twice", "copy"};

// Launches that a simulated driver keeps.
struct Tape {
  struct Launch {
    cl_kernel kernel;
    size_t items[3];
    size_t group[3];
    bool has_group;
  };
  std::vector<Launch> launches;
  bool is_ended = false;
  cl_event last = nullptr;  // of its last run

  void add(cl_kernel kernel, const size_t* items, const size_t* group) {
    Launch& launch = launches.emplace_back();
    launch.kernel = kernel;
    launch.has_group = group != nullptr;
    std::memcpy(launch.items, items, sizeof launch.items);
    if (group != nullptr) std::memcpy(launch.group, group, sizeof launch.group);
  }
};

// A driver that has one of the extensions, on top of the machine's. One at a time.
struct Simulated {
  Api api;
  static inline const Api* real = nullptr;
  static inline std::string extension;
  static inline unsigned revision_minor = 9;
  static inline bool overlaps = false;
  static inline bool refuses = false;    // to end a recording
  static inline const char* lacks = "";  // a call
  static inline cl_command_queue_properties needed = 0;
  static inline cl_uint most_launches = 0;
  static inline int tapes = 0;  // alive
  static inline int plays = 0;
  static inline int calls = 0;  // launches that were calls
  static inline cl_command_queue recordable = nullptr;
  static inline Tape* open_tape = nullptr;

  explicit Simulated(const char* name) {
    const auto machine = opencl::system_api();
    REQUIRE(machine);
    real = *machine;
    api = **machine;
    extension = name;
    revision_minor = 9;
    overlaps = refuses = false;
    lacks = "";
    needed = most_launches = 0;
    tapes = plays = calls = 0;
    recordable = nullptr;
    open_tape = nullptr;
    api.clGetDeviceInfo = device_info;
    api.clGetExtensionFunctionAddressForPlatform = find;
    api.clCreateCommandQueue = create_queue;
    api.clEnqueueNDRangeKernel = launch;
  }

  static cl_int device_info(cl_device_id device, cl_device_info what, size_t size, void* value,
                            size_t* needed_size) {
    const auto give = [&](const void* data, size_t bytes) {
      if (needed_size != nullptr) *needed_size = bytes;
      if (value != nullptr && size < bytes) return CL_INVALID_VALUE;
      if (value != nullptr) std::memcpy(value, data, bytes);
      return CL_SUCCESS;
    };
    cl_name_version_khr version = {CL_MAKE_VERSION_KHR(0, revision_minor, 2), ""};
    std::snprintf(version.name, sizeof version.name, "%s", extension.c_str());
    const cl_device_command_buffer_capabilities_khr capabilities =
        overlaps ? CL_COMMAND_BUFFER_CAPABILITY_SIMULTANEOUS_USE_KHR : 0;
    switch (what) {
      case CL_DEVICE_EXTENSIONS:
        return give(extension.c_str(), extension.size() + 1);
      case CL_DEVICE_EXTENSIONS_WITH_VERSION_KHR:
        return give(&version, sizeof version);
      case CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR:
        return give(&capabilities, sizeof capabilities);
      case CL_DEVICE_COMMAND_BUFFER_REQUIRED_QUEUE_PROPERTIES_KHR:
        return give(&needed, sizeof needed);
      case 0x41de:  // CL_DEVICE_RECORDABLE_QUEUE_MAX_SIZE
        return most_launches == 0 ? CL_INVALID_VALUE : give(&most_launches, sizeof most_launches);
      default:
        return real->clGetDeviceInfo(device, what, size, value, needed_size);
    }
  }

  static void* find(cl_platform_id, const char* name) {
    if (std::string_view(name) == lacks) return nullptr;
    const std::pair<const char*, void*> known[] = {
        {"clCreateCommandBufferKHR", reinterpret_cast<void*>(create_buffer)},
        {"clCommandNDRangeKernelKHR", reinterpret_cast<void*>(add_to_buffer)},
        {"clFinalizeCommandBufferKHR", reinterpret_cast<void*>(end_tape)},
        {"clEnqueueCommandBufferKHR", reinterpret_cast<void*>(play_buffer)},
        {"clReleaseCommandBufferKHR", reinterpret_cast<void*>(release_tape)},
        {"clNewRecordingQCOM", reinterpret_cast<void*>(new_recording)},
        {"clEndRecordingQCOM", reinterpret_cast<void*>(end_tape)},
        {"clEnqueueRecordingQCOM", reinterpret_cast<void*>(play_recording)},
        {"clReleaseRecordingQCOM", reinterpret_cast<void*>(release_tape)},
    };
    for (const auto& [known_name, call] : known) {
      if (std::string_view(name) == known_name) return call;
    }
    return nullptr;
  }

  static cl_command_queue create_queue(cl_context context, cl_device_id device,
                                       cl_command_queue_properties properties, cl_int* error) {
    const bool is_recordable = properties == opencl::kRecordableQueue;
    cl_command_queue queue =
        real->clCreateCommandQueue(context, device, is_recordable ? 0 : properties, error);
    if (is_recordable) recordable = queue;
    return queue;
  }
  static cl_int launch(cl_command_queue queue, cl_kernel kernel, cl_uint axes, const size_t* offset,
                       const size_t* items, const size_t* group, cl_uint count,
                       const cl_event* list, cl_event* event) {
    if (queue == recordable && queue != nullptr) {
      if (open_tape == nullptr) return CL_INVALID_OPERATION;
      open_tape->add(kernel, items, group);
      return CL_SUCCESS;
    }
    ++calls;
    return real->clEnqueueNDRangeKernel(queue, kernel, axes, offset, items, group, count, list,
                                        event);
  }

  static cl_int play(cl_command_queue queue, Tape& tape) {
    if (!tape.is_ended || queue == recordable) return CL_INVALID_OPERATION;
    cl_int status = CL_COMPLETE;
    if (tape.last != nullptr) {
      real->clGetEventInfo(tape.last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                           nullptr);
      real->clReleaseEvent(tape.last);
      tape.last = nullptr;
    }
    if (status != CL_COMPLETE && !overlaps) return CL_INVALID_OPERATION;
    ++plays;
    cl_int error = CL_SUCCESS;
    for (const Tape::Launch& each : tape.launches) {
      if (error == CL_SUCCESS) {
        error = real->clEnqueueNDRangeKernel(queue, each.kernel, 3, nullptr, each.items,
                                             each.has_group ? each.group : nullptr, 0, nullptr,
                                             nullptr);
      }
    }
    return error == CL_SUCCESS ? real->clEnqueueMarkerWithWaitList(queue, 0, nullptr, &tape.last)
                               : error;
  }

  static Tape* create_buffer(cl_uint queues, const cl_command_queue*,
                             const cl_command_buffer_properties_khr* properties, cl_int* error) {
    const bool wants_overlap = properties != nullptr;
    *error = queues == 1 && wants_overlap == overlaps ? CL_SUCCESS : CL_INVALID_VALUE;
    if (*error != CL_SUCCESS) return nullptr;
    ++tapes;
    return new Tape;
  }
  static cl_int add_to_buffer(Tape* tape, cl_command_queue, const cl_properties*, cl_kernel kernel,
                              cl_uint, const size_t*, const size_t* items, const size_t* group,
                              cl_uint, const cl_sync_point_khr*, cl_sync_point_khr*,
                              cl_mutable_command_khr*) {
    tape->add(kernel, items, group);
    return CL_SUCCESS;
  }
  static cl_int play_buffer(cl_uint, cl_command_queue* queues, Tape* tape, cl_uint, const cl_event*,
                            cl_event*) {
    return play(*queues, *tape);
  }
  static Tape* new_recording(cl_command_queue queue, cl_int* error) {
    *error = queue == recordable && open_tape == nullptr ? CL_SUCCESS : CL_INVALID_OPERATION;
    if (*error != CL_SUCCESS) return nullptr;
    ++tapes;
    open_tape = new Tape;
    return open_tape;
  }
  static cl_int play_recording(cl_command_queue queue, Tape* tape, size_t arguments, const void*,
                               size_t offsets, const void*, size_t grids, const void*,
                               size_t groups, const void*, cl_uint, const cl_event*, cl_event*) {
    return arguments + offsets + grids + groups == 0 ? play(queue, *tape) : CL_INVALID_VALUE;
  }
  static cl_int end_tape(Tape* tape) {
    open_tape = nullptr;
    tape->is_ended = true;
    return refuses ? CL_OUT_OF_RESOURCES : CL_SUCCESS;
  }
  static cl_int release_tape(Tape* tape) {
    if (open_tape == tape) open_tape = nullptr;
    if (tape->last != nullptr) real->clReleaseEvent(tape->last);
    delete tape;
    --tapes;
    return CL_SUCCESS;
  }
};

// A list: numbers are made and doubled, copied to what slot 0 is bound to, doubled thrice more,
// copied again to a place after the first.
struct Work {
  static constexpr uint32_t kItems = 64;
  std::unique_ptr<hal::TraceDevice> device;
  hal::Buffer scratch;
  hal::Allocation out[2];
  hal::CommandList list;

  explicit Work(std::unique_ptr<hal::Device> opened) {
    device = std::make_unique<hal::TraceDevice>(
        std::make_unique<hal::ValidatingDevice>(std::move(opened)), 32);
    const auto program = device->load(
        {.format = "opencl-c", .bytes = std::as_bytes(std::span(kText)), .kernels = kKernels});
    const auto memory = device->allocate(kItems * 4, hal::MemoryKind::kDevice);
    REQUIRE((program && memory));
    scratch = memory->buffer;
    for (hal::Allocation& each : out) {
      const auto made = device->allocate(2 * kItems * 4, hal::MemoryKind::kHostVisible);
      REQUIRE(made);
      each = *made;
    }
    list = record(*program, false);
  }

  hal::CommandList record(hal::Program program, bool is_stamped) {
    hal::KernelArg fixed;
    fixed.buffer = scratch;
    hal::KernelArg slot;
    slot.kind = hal::ArgKind::kSlot;
    const std::vector<hal::KernelArg> alone = {fixed};
    const std::vector<hal::KernelArg> first = {fixed, slot};
    slot.offset_bytes = kItems * 4;
    const std::vector<hal::KernelArg> second = {fixed, slot};
    std::vector<hal::Command> commands;
    const auto add = [&](uint32_t kernel, const std::vector<hal::KernelArg>& args) {
      hal::Command& command = commands.emplace_back();
      command.program = program;
      command.kernel = kernel;
      command.grid[0] = kItems;
      command.args = args;
    };
    add(0, alone);
    add(1, alone);
    add(2, first);
    for (int i = 0; i < 3; ++i) add(1, alone);
    add(2, second);
    if (is_stamped) {
      hal::Command& stamp = commands.emplace_back();
      stamp.kind = hal::CommandKind::kTimestamp;
      stamp.destination.buffer = out[0].buffer;
    }
    const auto recorded = device->record(commands, 1);
    REQUIRE(recorded);
    return *recorded;
  }

  hal::Ticket submit(int target) {
    const hal::Binding binding = {.buffer = out[target].buffer};
    const auto ticket = device->submit(list, std::span(&binding, 1));
    REQUIRE(ticket);
    return *ticket;
  }
  void clear() {
    for (hal::Allocation& each : out) std::memset(each.host_ptr, 0, 2 * kItems * 4);
  }
  bool is_right(int target) const {
    const auto* numbers = static_cast<const uint32_t*>(out[target].host_ptr);
    bool right = true;
    for (uint32_t i = 0; i < kItems; ++i) {
      right = right && numbers[i] == 2 * i && numbers[kItems + i] == 16 * i;
    }
    return right;
  }
  // Runs, once into each memory, and each time into nothing else.
  void check() {
    for (const int target : {0, 1, 0}) {
      clear();
      REQUIRE(device->wait(submit(target), {}).is_ok());
      CHECK(is_right(target));
      CHECK(!is_right(1 - target));
    }
  }
  // Several runs that are under way at once.
  void check_overlap() {
    clear();
    hal::Ticket last = 0;
    for (int i = 0; i < 10; ++i) last = submit(i % 2);
    REQUIRE(device->wait(last, {}).is_ok());
    CHECK(is_right(0));
    CHECK(is_right(1));
  }
  std::string form() { return device->describe(list); }
};

std::unique_ptr<hal::Device> open(const Simulated& driver) {
  auto device = opencl::open_with(driver.api, {});
  REQUIRE(device);
  return std::move(*device);
}

constexpr const char* kBuffers = "cl_khr_command_buffer";
constexpr const char* kRecordings = "cl_qcom_recordable_queues";

}  // namespace

TEST_CASE("the machine's device plays lists in the form that it has", "[opencl]") {
  const Api& api = **opencl::system_api();
  auto opened = opencl::open({});
  REQUIRE(opened);
  Work work(std::move(*opened));
  const opencl::FoundDevice found = opencl::find_devices(api)[0];
  INFO(work.form());
  if (opencl::has_extension(found, kBuffers)) {
    CHECK(work.form() == "5 of 7 launches by cl_khr_command_buffer, in 2 parts");
  } else {
    CHECK(!work.form().empty());
  }
  CHECK(work.device->to_text().find(work.form()) != std::string::npos);
  CHECK(work.device->to_json().find("\"note\": \"" + work.form() + "\"") != std::string::npos);
  work.check();
  work.check_overlap();
}

TEST_CASE("launches without slots are replayed, by each form", "[opencl]") {
  for (const char* extension : {kBuffers, kRecordings}) {
    for (const bool overlaps : {false, true}) {
      Simulated driver(extension);
      Simulated::overlaps = overlaps && extension == kBuffers;
      INFO(extension << ", overlapping: " << overlaps);
      {
        Work work(open(driver));
        CHECK(work.form() == "5 of 7 launches by " + std::string(extension) + ", in 2 parts");
        CHECK(Simulated::tapes == 2);
        work.check();
        CHECK(Simulated::plays == 3 * 2);
        CHECK(Simulated::calls == 3 * 2);
        // What is still under way can't be started again everywhere, and then it is calls.
        work.check_overlap();
        CHECK((Simulated::plays == 13 * 2) == Simulated::overlaps);
        CHECK(Simulated::tapes == 2);
      }
      CHECK(Simulated::tapes == 0);
    }
  }
}

TEST_CASE("a driver's largest recording is kept to", "[opencl]") {
  Simulated driver(kRecordings);
  Simulated::most_launches = 2;
  Work work(open(driver));
  CHECK(work.form() == "4 of 7 launches by cl_qcom_recordable_queues, in 2 parts");
  work.check();
}

TEST_CASE("without a form that suits, each launch is a call", "[opencl]") {
  const auto check_calls = [](const Simulated& driver) {
    Work work(open(driver));
    CHECK(work.form() == "7 launches, one by one");
    work.check();
    CHECK(Simulated::calls == 3 * 7);
    CHECK(Simulated::tapes == 0);
  };
  check_calls(Simulated("cl_khr_fp64"));
  {
    const Simulated driver(kBuffers);
    Simulated::revision_minor = 10;
    check_calls(driver);
  }
  {
    const Simulated driver(kBuffers);
    Simulated::lacks = "clFinalizeCommandBufferKHR";
    check_calls(driver);
  }
  {
    const Simulated driver(kBuffers);
    Simulated::needed = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    check_calls(driver);
  }
  {
    const Simulated driver(kRecordings);
    Simulated::lacks = "clEndRecordingQCOM";
    check_calls(driver);
  }
  for (const char* extension : {kBuffers, kRecordings}) {
    const Simulated driver(extension);
    Simulated::refuses = true;
    const uint64_t sequence = base::log_sequence();
    check_calls(driver);
    const std::vector<base::LogLine> lines = base::log_lines_after(sequence);
    REQUIRE(!lines.empty());
    CHECK(lines[0].kind == base::LogKind::kNotice);
    CHECK(lines[0].text.find(extension) != std::string::npos);
    CHECK(lines[0].text.find("CL_OUT_OF_RESOURCES") != std::string::npos);
  }
}

TEST_CASE("replays are made anew for the queue that takes times, and after a reset", "[opencl]") {
  Simulated driver(kBuffers);
  Work work(open(driver));
  const auto program = work.device->load(
      {.format = "opencl-c", .bytes = std::as_bytes(std::span(kText)), .kernels = kKernels});
  REQUIRE(program);
  const hal::CommandList stamped = work.record(*program, true);
  work.check();
  CHECK(Simulated::tapes == 4);
  work.list = stamped;
  work.clear();
  const hal::Ticket ticket = work.submit(1);
  REQUIRE(work.device->wait(ticket, {}).is_ok());
  CHECK(work.is_right(1));
  REQUIRE(work.device->reset().is_ok());
  CHECK(Simulated::tapes == 4);
  work.clear();
  REQUIRE(work.device->wait(work.submit(1), {}).is_ok());
  CHECK(work.is_right(1));
}

// Not a test: prints how long submits of the plan in $CAMSHAFT_PLAN take.
TEST_CASE("the time to enqueue a plan, in both forms", "[.][measure]") {
  const char* path = std::getenv("CAMSHAFT_PLAN");
  REQUIRE(path != nullptr);
  const auto plan = plan::PlanFile::open(path);
  REQUIRE(plan);
  Api plain = **opencl::system_api();
  plain.clGetExtensionFunctionAddressForPlatform = [](cl_platform_id, const char*) -> void* {
    return nullptr;
  };
  for (const Api* api : {*opencl::system_api(), static_cast<const Api*>(&plain)}) {
    auto opened = opencl::open_with(*api, {});
    REQUIRE(opened);
    hal::TraceDevice device(std::move(*opened), 1000);
    const auto session = session::Session::open(*plan, device, {});
    REQUIRE(session);
    for (int i = 0; i < 300; ++i) REQUIRE((*session)->run({}));
    std::vector<int64_t> times_ns;
    for (const hal::TraceEntry& entry : device.entries()) {
      if (entry.call == hal::Call::kSubmit) times_ns.push_back(entry.duration_ns);
    }
    std::sort(times_ns.begin(), times_ns.end());
    WARN((*session)->describe(0) << ": median " << times_ns[times_ns.size() / 2] / 1000
                                 << " us, fastest " << times_ns.front() / 1000 << " us");
  }
}
