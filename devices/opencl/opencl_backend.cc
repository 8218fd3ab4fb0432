// SPDX-License-Identifier: MIT
#include "devices/opencl/opencl_backend.h"

#include <cstring>
#include <utility>

#include "devices/hal/handle_table.h"
#include "devices/opencl/command_list.h"
#include "devices/opencl/connection.h"
#include "devices/opencl/device_list.h"
#include "devices/opencl/image.h"
#include "devices/opencl/import.h"
#include "devices/opencl/memory.h"
#include "devices/opencl/program.h"
#include "devices/opencl/replay.h"
#include "devices/opencl/timeline.h"
#include "runtime/base/bytes.h"

namespace camshaft::opencl {
namespace {

using base::Code;
using hal::Result;
using hal::Status;

// Of host-visible memory, so that drivers which pin pages pin nothing else.
constexpr uint64_t kPageBytes = 4096;

class OpenClDevice final : public hal::Device, private HandleLookup {
 public:
  OpenClDevice(const Api& api, const FoundDevice& found, Connection connection, uint32_t spin_ns)
      : api_(api),
        found_(found),
        connection_(std::move(connection)),
        replayer_(api, found_, connection_.context.get()),
        timeline_(api, spin_ns) {}
  ~OpenClDevice() override;

  const hal::DeviceInfo& info() const override { return found_.info; }
  Result<hal::Allocation> allocate(uint64_t size_bytes, hal::MemoryKind kind) override;
  Result<hal::Buffer> import_memory(const hal::ForeignMemory& memory) override;
  Result<hal::Buffer> make_image(const hal::ImageSource& source) override;
  Result<hal::Program> load(const hal::ProgramImage& image) override;
  Result<std::vector<hal::DriverBinary>> driver_binaries(hal::Program program) override;
  Result<hal::CommandList> record(std::span<const hal::Command> commands,
                                  uint32_t slot_count) override;
  std::string describe(hal::CommandList list) override {
    return describe_list(replayer_, **lists_.find(list.id));
  }
  void release(hal::Buffer buffer) override;
  void release(hal::Program program) override { (void)programs_.take(program.id); }
  void release(hal::CommandList list) override { (void)lists_.take(list.id); }
  Result<hal::Ticket> submit(hal::CommandList list,
                             std::span<const hal::Binding> bindings) noexcept override;
  Status wait(hal::Ticket ticket, hal::Deadline deadline) noexcept override;
  Status reset() override;

 private:
  Memory* memory_of(hal::Buffer buffer) override {
    std::unique_ptr<Memory>* memory = buffers_.find(buffer.id);
    return memory == nullptr ? nullptr : memory->get();
  }
  const BuiltProgram& program_of(hal::Program program) override {
    return *programs_.find(program.id);
  }
  cl_command_queue queue() const { return connection_.queue.get(); }

  Result<Memory> make_memory(uint64_t size_bytes, hal::MemoryKind kind);
  cl_int map(Memory& memory, cl_bool blocking) noexcept;
  cl_int unmap(Memory& memory) noexcept;
  bool unmap_for_good(Memory& memory) noexcept;
  Result<hal::Buffer> keep(Memory memory);
  cl_int run(CommandSteps& list, std::span<const hal::Binding> bindings,
             hal::Ticket* ticket) noexcept;
  cl_int enqueue(CommandSteps& list) noexcept;
  cl_int take(Memory& memory, hal::Flow flow, CommandSteps& list) noexcept;
  cl_int acquire(Memory& memory) noexcept;
  cl_int give_back(CommandSteps& list, cl_event* last) noexcept;
  cl_int make_copy(Memory& memory);
  Status time_queue();
  cl_int write_stamps() noexcept;
  Status fault(const char* call, cl_int error) noexcept;

  const Api& api_;
  FoundDevice found_;
  Connection connection_;
  Replayer replayer_;
  Timeline timeline_;
  hal::HandleTable<std::unique_ptr<Memory>> buffers_;  // lists point to them
  hal::HandleTable<BuiltProgram> programs_;
  hal::HandleTable<std::unique_ptr<CommandSteps>> lists_;
  bool is_timed_ = false;  // the queue takes times
  Status fault_;           // the first one since the last reset
};

OpenClDevice::~OpenClDevice() {
  for (auto& entry : buffers_.entries()) unmap_for_good(*entry.value);
  api_.clFinish(queue());
}

// Sticky: what it returns is what every later call returns.
Status OpenClDevice::fault(const char* call, cl_int error) noexcept {
  fault_ = base::fail(Code::kDeviceFault, "opencl.fault",
                      "%s failed in %s: %s (%d); reset the device, or open it again",
                      found_.info.name, call, error_name(error), error);
  return fault_;
}

cl_int OpenClDevice::map(Memory& memory, cl_bool blocking) noexcept {
  cl_int error = CL_SUCCESS;
  const void* at =
      api_.clEnqueueMapBuffer(queue(), memory.object.get(), blocking, CL_MAP_READ | CL_MAP_WRITE, 0,
                              memory.size_bytes, 0, nullptr, nullptr, &error);
  if (error == CL_SUCCESS && at != memory.host) error = CL_MAP_FAILURE;
  memory.is_mapped = error == CL_SUCCESS;
  return error;
}

cl_int OpenClDevice::unmap(Memory& memory) noexcept {
  if (!memory.is_mapped) return CL_SUCCESS;
  memory.is_mapped = false;
  return api_.clEnqueueUnmapMemObject(queue(), memory.object.get(), memory.host, 0, nullptr,
                                      nullptr);
}

// Before the memory goes. Says whether anything was mapped.
bool OpenClDevice::unmap_for_good(Memory& memory) noexcept {
  const bool was_mapped = memory.is_mapped || memory.copy_map != nullptr;
  (void)unmap(memory);
  if (memory.copy_map != nullptr) {
    api_.clEnqueueUnmapMemObject(queue(), memory.copy.get(), memory.copy_map, 0, nullptr, nullptr);
    memory.copy_map = nullptr;
  }
  return was_mapped;
}

// Memory that the driver made for the host is pinned, so that the device itself moves what is in
// it.
cl_int OpenClDevice::make_copy(Memory& memory) {
  cl_int error = CL_SUCCESS;
  memory.copy = Object<cl_mem>(
      api_.clCreateBuffer(connection_.context.get(), CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                          memory.size_bytes, nullptr, &error),
      api_.clReleaseMemObject);
  if (error != CL_SUCCESS) return error;
  void* at =
      api_.clEnqueueMapBuffer(queue(), memory.copy.get(), CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                              memory.size_bytes, 0, nullptr, nullptr, &error);
  if (error != CL_SUCCESS) return error;
  memory.copy_map = at;
  memory.host = static_cast<std::byte*>(at);
  if (!base::is_aligned(reinterpret_cast<uintptr_t>(at), found_.info.buffer_alignment)) {
    memory.owned.reset(static_cast<std::byte*>(std::aligned_alloc(kPageBytes, memory.size_bytes)));
    memory.host = memory.owned.get();
    if (memory.host == nullptr) return CL_OUT_OF_HOST_MEMORY;
  }
  std::memset(memory.host, 0, memory.size_bytes);
  return CL_SUCCESS;
}

Result<Memory> OpenClDevice::make_memory(uint64_t size_bytes, hal::MemoryKind kind) {
  const auto rounded = base::checked_align_up(size_bytes, kPageBytes);
  const bool is_shared = kind == hal::MemoryKind::kHostVisible;
  Memory memory;
  memory.size_bytes = rounded.value_or(0);
  cl_int error = CL_OUT_OF_HOST_MEMORY;
  memory.has_copy = is_shared && !found_.shares_host_memory;
  const bool is_host_memory = is_shared && !memory.has_copy;
  if (rounded && *rounded <= found_.largest_buffer_bytes) {
    if (is_host_memory) {
      memory.owned.reset(static_cast<std::byte*>(std::aligned_alloc(kPageBytes, *rounded)));
      memory.host = memory.owned.get();
      if (memory.host != nullptr) std::memset(memory.host, 0, *rounded);
    }
    if (!is_host_memory || memory.host != nullptr) {
      memory.object = Object<cl_mem>(
          api_.clCreateBuffer(connection_.context.get(),
                              CL_MEM_READ_WRITE | (is_host_memory ? CL_MEM_USE_HOST_PTR : 0),
                              *rounded, memory.host, &error),
          api_.clReleaseMemObject);
    }
  }
  const cl_uint zero = 0;
  if (error == CL_SUCCESS && is_host_memory) error = map(memory, CL_TRUE);
  if (error == CL_SUCCESS && !is_host_memory) {
    error = api_.clEnqueueFillBuffer(queue(), memory.object.get(), &zero, sizeof zero, 0, *rounded,
                                     0, nullptr, nullptr);
  }
  if (error == CL_SUCCESS && memory.has_copy) error = make_copy(memory);
  if (error == CL_SUCCESS) error = api_.clFinish(queue());
  if (error == CL_SUCCESS) return memory;
  return base::fail(Code::kOutOfMemory, "opencl.allocate",
                    "%s has no buffer of %llu bytes (%s); the largest that it makes has %llu",
                    found_.info.name, static_cast<unsigned long long>(size_bytes),
                    error_name(error),
                    static_cast<unsigned long long>(found_.largest_buffer_bytes));
}

Result<hal::Buffer> OpenClDevice::keep(Memory memory) {
  CAMSHAFT_TRY_ASSIGN(const uint32_t id, buffers_.add(std::make_unique<Memory>(std::move(memory))));
  return hal::Buffer{id};
}

Result<hal::Allocation> OpenClDevice::allocate(uint64_t size_bytes, hal::MemoryKind kind) {
  CAMSHAFT_TRY(fault_);
  CAMSHAFT_TRY_ASSIGN(Memory memory, make_memory(size_bytes, kind));
  std::byte* host = memory.host;
  CAMSHAFT_TRY_ASSIGN(const hal::Buffer buffer, keep(std::move(memory)));
  return hal::Allocation{.buffer = buffer, .host_ptr = host};
}

Result<hal::Buffer> OpenClDevice::import_memory(const hal::ForeignMemory& memory) {
  CAMSHAFT_TRY(fault_);
  CAMSHAFT_TRY_ASSIGN(Memory imported,
                      import_foreign(api_, connection_.context.get(), found_, memory));
  if (imported.host != nullptr) {
    const cl_int error = map(imported, CL_TRUE);
    if (error != CL_SUCCESS) {
      return base::fail(Code::kUnsupported, "opencl.import",
                        "%s can't share this memory with the host: %s", found_.info.name,
                        error_name(error));
    }
  }
  imported.lease = hal::ForeignLease(memory);
  return keep(std::move(imported));
}

Result<hal::Buffer> OpenClDevice::make_image(const hal::ImageSource& source) {
  CAMSHAFT_TRY(fault_);
  CAMSHAFT_TRY_ASSIGN(Memory image, make_image_over(api_, connection_.context.get(), queue(),
                                                    found_, source, *memory_of(source.buffer)));
  const cl_int error = api_.clFinish(queue());
  if (error != CL_SUCCESS) return fault("make_image", error);
  return keep(std::move(image));
}

Result<hal::Program> OpenClDevice::load(const hal::ProgramImage& image) {
  CAMSHAFT_TRY(fault_);
  CAMSHAFT_TRY_ASSIGN(BuiltProgram built,
                      build_program(api_, connection_.context.get(), found_, image));
  CAMSHAFT_TRY_ASSIGN(const uint32_t id, programs_.add(std::move(built)));
  return hal::Program{id};
}

Result<std::vector<hal::DriverBinary>> OpenClDevice::driver_binaries(hal::Program program) {
  CAMSHAFT_TRY(fault_);
  std::vector<hal::DriverBinary> binaries;
  const BuiltProgram& built = program_of(program);
  CAMSHAFT_TRY_ASSIGN(hal::DriverBinary plain,
                      driver_binary(api_, found_, built.program.get(), built.digest));
  binaries.push_back(std::move(plain));
  for (const auto& entry : lists_.entries()) {
    const CommandSteps& list = *entry.value;
    if (!list.single || list.single_of != program) continue;
    CAMSHAFT_TRY_ASSIGN(hal::DriverBinary single,
                        driver_binary(api_, found_, list.single.get(), list.single_digest));
    binaries.push_back(std::move(single));
  }
  return binaries;
}

// Times are taken by a queue that was made for it; others need not pay for them.
Status OpenClDevice::time_queue() {
  if (is_timed_) return base::ok();
  cl_int error = CL_SUCCESS;
  if (connection_.is_callers) {
    cl_command_queue_properties properties = 0;
    error = api_.clGetCommandQueueInfo(queue(), CL_QUEUE_PROPERTIES, sizeof properties, &properties,
                                       nullptr);
    if (error != CL_SUCCESS || (properties & CL_QUEUE_PROFILING_ENABLE) == 0) {
      return base::fail(Code::kUnsupported, "opencl.timestamp",
                        "the queue that the device was opened on takes no times: make it with "
                        "CL_QUEUE_PROFILING_ENABLE");
    }
  } else {
    api_.clFinish(queue());
    Object<cl_command_queue> timed(
        api_.clCreateCommandQueue(connection_.context.get(), found_.device,
                                  CL_QUEUE_PROFILING_ENABLE, &error),
        api_.clReleaseCommandQueue);
    if (error != CL_SUCCESS) {
      return base::fail(Code::kUnsupported, "opencl.timestamp", "%s takes no times: %s",
                        found_.info.name, error_name(error));
    }
    connection_.queue = std::move(timed);
    for (auto& entry : lists_.entries()) replayer_.record(queue(), *entry.value);
  }
  is_timed_ = true;
  return base::ok();
}

Result<hal::CommandList> OpenClDevice::record(std::span<const hal::Command> commands,
                                              uint32_t slot_count) {
  CAMSHAFT_TRY(fault_);
  CAMSHAFT_TRY_ASSIGN(std::unique_ptr<CommandSteps> list,
                      record_steps(api_, found_, commands, slot_count, *this));
  if (list->has_stamps) CAMSHAFT_TRY(time_queue());
  replayer_.record(queue(), *list);
  CAMSHAFT_TRY_ASSIGN(const uint32_t id, lists_.add(std::move(list)));
  return hal::CommandList{id};
}

void OpenClDevice::release(hal::Buffer buffer) {
  std::optional<std::unique_ptr<Memory>> taken = buffers_.take(buffer.id);
  if (taken && unmap_for_good(**taken)) {
    api_.clFinish(queue());  // before the memory goes back to its owner
  }
}

// From the host to the device, for the commands that follow. Memory may be in two slots, or a
// list's own and in a slot.
cl_int OpenClDevice::take(Memory& memory, hal::Flow flow, CommandSteps& list) noexcept {
  if (!memory.changes_hands()) return CL_SUCCESS;
  if (memory.base != nullptr) {
    const cl_int error = take(*memory.base, flow, list);
    return error != CL_SUCCESS || memory.is_alias ? error : refresh_image(api_, queue(), memory);
  }
  if (!memory.is_taken) list.taken.push_back(&memory);  // has room for all
  const bool is_first = !memory.is_taken;
  memory.is_taken = true;
  if (memory.is_external) return is_first ? acquire(memory) : CL_SUCCESS;
  if (!memory.has_copy) return is_first ? unmap(memory) : CL_SUCCESS;
  memory.is_read |= flow != hal::Flow::kIn;
  if (flow == hal::Flow::kOut || memory.is_written) return CL_SUCCESS;
  memory.is_written = true;
  return api_.clEnqueueWriteBuffer(queue(), memory.object.get(), CL_FALSE, 0, memory.size_bytes,
                                   memory.host, 0, nullptr, nullptr);
}

cl_int OpenClDevice::acquire(Memory& memory) noexcept {
  const cl_mem object = memory.object.get();
  return found_.imports.acquire(queue(), 1, &object, 0, nullptr, nullptr);
}

// And back after them. `last`: of the last thing that was started, if any was.
cl_int OpenClDevice::give_back(CommandSteps& list, cl_event* last) noexcept {
  cl_int error = CL_SUCCESS;
  for (Memory* memory : list.taken) {
    const bool is_read = memory->is_read;
    memory->is_taken = memory->is_written = memory->is_read = false;
    if (error != CL_SUCCESS) continue;
    if (*last != nullptr && (is_read || !memory->has_copy)) {  // isn't the last any more
      api_.clReleaseEvent(*last);
      *last = nullptr;
    }
    if (memory->is_external) {
      const cl_mem object = memory->object.get();
      error = found_.imports.release(queue(), 1, &object, 0, nullptr, nullptr);
    } else if (!memory->has_copy) {
      error = map(*memory, CL_FALSE);
    } else if (is_read) {
      error = api_.clEnqueueReadBuffer(queue(), memory->object.get(), CL_FALSE, 0,
                                       memory->size_bytes, memory->host, 0, nullptr, last);
    }
  }
  return error;
}

// A replay whose last run may still be going on can't be started again on some devices; its steps
// can.
cl_int OpenClDevice::enqueue(CommandSteps& list) noexcept {
  const bool may_replay = replayer_.may_overlap() || list.last <= timeline_.reached();
  cl_int error = CL_SUCCESS;
  size_t at = 0;
  const auto enqueue_until = [&](size_t end) {
    for (; at < end && error == CL_SUCCESS; ++at) {
      error = enqueue_step(api_, queue(), list, list.steps[at]);
    }
  };
  for (size_t i = 0; may_replay && i < list.replays.size(); ++i) {
    const Replay& replay = list.replays[i];
    enqueue_until(replay.first);
    if (error == CL_SUCCESS) error = replayer_.enqueue(queue(), replay);
    at = replay.first + replay.count;
  }
  enqueue_until(list.steps.size());
  return error;
}

cl_int OpenClDevice::run(CommandSteps& list, std::span<const hal::Binding> bindings,
                         hal::Ticket* ticket) noexcept {
  list.taken.clear();
  cl_int error = bind_slots(api_, list, bindings, *this);
  for (size_t i = 0; i < list.shared.size() && error == CL_SUCCESS; ++i) {
    error = take(*list.shared[i].memory, list.shared[i].flow, list);
  }
  for (size_t i = 0; i < list.slots.size() && error == CL_SUCCESS; ++i) {
    const Slot& slot = list.slots[i];
    if (slot.memory != nullptr) error = take(*slot.memory, slot.flow, list);
  }
  if (error == CL_SUCCESS) error = enqueue(list);
  cl_event last = nullptr;
  const cl_int returned = give_back(list, &last);
  if (error == CL_SUCCESS) error = returned;
  if (error == CL_SUCCESS) error = timeline_.mark(queue(), last, ticket);
  return error == CL_SUCCESS ? api_.clFlush(queue()) : error;
}

Result<hal::Ticket> OpenClDevice::submit(hal::CommandList list,
                                         std::span<const hal::Binding> bindings) noexcept {
  CAMSHAFT_TRY(fault_);
  CommandSteps& steps = **lists_.find(list.id);
  hal::Ticket ticket = 0;
  const cl_int error = run(steps, bindings, &ticket);
  if (error != CL_SUCCESS) return fault("submit", error);
  steps.last = ticket;
  if (steps.has_stamps) steps.stamped = ticket;
  return ticket;
}

Status OpenClDevice::wait(hal::Ticket ticket, hal::Deadline deadline) noexcept {
  CAMSHAFT_TRY(fault_);
  bool is_reached = false;
  cl_int error = timeline_.wait(ticket, deadline, &is_reached);
  if (error == CL_SUCCESS && is_timed_) error = write_stamps();
  if (error != CL_SUCCESS) return fault("wait", error);
  return is_reached ? base::ok() : Status(Code::kDeadlineExceeded, "opencl.wait");
}

// Times are known once the work is done; they go where the list says before anyone can look.
cl_int OpenClDevice::write_stamps() noexcept {
  for (auto& entry : lists_.entries()) {
    CommandSteps& list = *entry.value;
    if (list.stamped == 0 || list.stamped > timeline_.reached()) continue;
    list.stamped = 0;
    for (const Step& step : list.steps) {
      if (step.kind != hal::CommandKind::kTimestamp) continue;
      cl_ulong time_ns = 0;
      cl_int error = api_.clGetEventProfilingInfo(step.stamp.get(), CL_PROFILING_COMMAND_END,
                                                  sizeof time_ns, &time_ns, nullptr);
      if (error == CL_SUCCESS) error = write_word(api_, queue(), list, step.destination, time_ns);
      if (error != CL_SUCCESS) return error;
    }
  }
  return CL_SUCCESS;
}

// A lost context stays lost: then the new queue, or the first use of it, fails.
Status OpenClDevice::reset() {
  fault_ = base::ok();
  api_.clFinish(queue());
  timeline_.abandon();
  cl_int error = CL_SUCCESS;
  if (!connection_.is_callers) {
    Object<cl_command_queue> fresh(
        api_.clCreateCommandQueue(connection_.context.get(), found_.device,
                                  is_timed_ ? CL_QUEUE_PROFILING_ENABLE : 0, &error),
        api_.clReleaseCommandQueue);
    if (error != CL_SUCCESS) return fault("reset", error);
    connection_.queue = std::move(fresh);
    for (auto& entry : lists_.entries()) replayer_.record(queue(), *entry.value);
  }
  for (auto& entry : lists_.entries()) {
    entry.value->stamped = 0;
    unbind_slots(*entry.value);
  }
  for (auto& entry : buffers_.entries()) {
    Memory& memory = *entry.value;
    memory.is_taken = memory.is_written = memory.is_read = false;
    if (memory.host == nullptr || memory.has_copy || memory.is_mapped) continue;
    error = map(memory, CL_TRUE);
    if (error != CL_SUCCESS) return fault("reset", error);
  }
  error = api_.clFinish(queue());
  return error == CL_SUCCESS ? base::ok() : fault("reset", error);
}

}  // namespace

std::vector<hal::DeviceInfo> probe() {
  std::vector<hal::DeviceInfo> infos;
  const Result<const Api*> api = system_api();
  if (!api) return infos;
  for (const FoundDevice& found : find_devices(**api)) infos.push_back(found.info);
  return infos;
}

Result<std::unique_ptr<hal::Device>> open(const hal::OpenOptions& options) {
  CAMSHAFT_TRY_ASSIGN(const Api* api, system_api());
  return open_with(*api, options);
}

Result<std::unique_ptr<hal::Device>> open_with(const Api& api, const hal::OpenOptions& options) {
  const std::vector<FoundDevice> found = find_devices(api);
  if (options.index >= found.size()) return no_such_device(api, options.index, found.size());
  const FoundDevice& chosen = found[options.index];
  CAMSHAFT_TRY(check_device(chosen));
  CAMSHAFT_TRY_ASSIGN(Connection connection, connect(api, chosen));
  return std::unique_ptr<hal::Device>(
      std::make_unique<OpenClDevice>(api, chosen, std::move(connection), options.spin_ns));
}

Result<std::unique_ptr<hal::Device>> open_on(const hal::CallerQueue& caller,
                                             const hal::OpenOptions& options) {
  CAMSHAFT_TRY_ASSIGN(const Api* api, system_api());
  return open_on_with(*api, caller, options);
}

Result<std::unique_ptr<hal::Device>> open_on_with(const Api& api, const hal::CallerQueue& caller,
                                                  const hal::OpenOptions& options) {
  CAMSHAFT_TRY_ASSIGN(Connection connection, adopt(api, caller));
  const auto device = static_cast<cl_device_id>(caller.device);
  cl_platform_id platform = nullptr;
  api.clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, nullptr);
  const FoundDevice found = describe_device(api, platform, device);
  CAMSHAFT_TRY(check_device(found));
  return std::unique_ptr<hal::Device>(
      std::make_unique<OpenClDevice>(api, found, std::move(connection), options.spin_ns));
}

}  // namespace camshaft::opencl
