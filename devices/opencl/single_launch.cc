// SPDX-License-Identifier: MIT
#include "devices/opencl/single_launch.h"

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/base/bytes.h"

namespace camshaft::opencl {
namespace {

using base::Code;
using base::Status;

constexpr uint32_t kGroupItems = 256;
constexpr uint64_t kAlignment = 64;
constexpr uint32_t kMostParts = 2;
constexpr uint32_t kNeighbours = 32;  // items that work on neighbouring iterations
constexpr size_t kMeetingBytes = 4096;

// The last group to come lets the others go. One that waits for ever would stop the device for
// everybody, so after some seconds it ends the kernel, which is a fault.
constexpr const char* kMeet = R"(
void camshaft_meet(volatile __global uint* meeting, const uint groups) {
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (get_local_id(0) == 0) {
    const uint turn = meeting[64];
    CAMSHAFT_FENCE();
    if (atomic_inc(meeting) == groups - 1) {
      meeting[0] = 0;
      CAMSHAFT_FENCE();
      atomic_inc(meeting + 64);
    } else {
      uint waits = 0;
      while (meeting[64] == turn) {
        if (++waits == 1u << 26) CAMSHAFT_STOP();
      }
    }
    CAMSHAFT_FENCE();
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
}
)";

// NVIDIA's own words: OpenCL 1.2 has none for what other groups wrote.
constexpr const char* kNvidiaWords = R"(
#define CAMSHAFT_FENCE() asm volatile("fence.acq_rel.gpu;" ::: "memory")
#define CAMSHAFT_STOP() asm volatile("trap;")
)";
// Of a single group.
constexpr const char* kPlainWords = R"(
#define CAMSHAFT_FENCE() mem_fence(CLK_GLOBAL_MEM_FENCE)
#define CAMSHAFT_STOP()
)";

std::string number(uint64_t value) {
  return std::to_string(value);
}

bool has_body(const BuiltProgram& program, uint32_t kernel) {
  return program.text.find("void " + program.kernels[kernel] + "_body(") != std::string::npos;
}

// Whether launches are so small that starting them is what takes time: on average they don't give
// each unit a group. Larger ones run faster by themselves, each with as many registers as it likes
// (on an H200, ResNet-18 takes 0.47 ms so, and 0.81 ms as one launch; roadnet 0.32 ms and 0.25 ms).
bool are_small(const FoundDevice& device, std::span<const hal::Command> commands) {
  uint64_t groups = 0;
  for (const hal::Command& command : commands) {
    const uint64_t iterations = command.group[0] > 1 ? 1 : kGroupItems;
    groups += (command.grid[0] + iterations - 1) / iterations;
  }
  return groups <= uint64_t{device.groups_at_once} * commands.size();
}

class Writer {
 public:
  Writer(const Api& api, const FoundDevice& device, HandleLookup& handles)
      : api_(api), device_(device), handles_(handles) {}

  // The text of the kernel that does the work of the list.
  base::Result<std::string> write(std::span<const hal::Command> commands) {
    std::string body;
    for (const hal::Command& command : commands) CAMSHAFT_TRY(count_shared_bytes(command));
    choose_parts();
    for (const hal::Command& command : commands) {
      if (!body.empty()) body += "  camshaft_meet(meeting, " + number(groups()) + "u);\n";
      body += launch(command);
    }
    std::string params = "volatile __global uint* meeting";
    for (size_t i = 0; i < memories_.size(); ++i) {
      params += ", __global uchar* memory_" + number(i);
    }
    for (const uint32_t slot : slots_) {
      params += ", __global uchar* slot_" + number(slot) + ", ulong slot_at_" + number(slot);
    }
    return std::string(device_.is_nvidia ? kNvidiaWords : kPlainWords) + kMeet +
           "\n__kernel __attribute__((reqd_work_group_size(" + number(items()) +
           ", 1, 1))) void camshaft_run(" + params + ") {\n  __local uchar shared_bytes[" +
           number(shared_bytes_ * parts_) +
           "] __attribute__((aligned(64)));\n  const uint group = get_group_id(0);\n"
           "  const uint local_item = get_local_id(0);\n  const uint part = local_item / " +
           number(kGroupItems) + "u;\n  const uint item = local_item % " + number(kGroupItems) +
           "u;\n" + body + "}\n";
  }

  uint32_t groups() const { return device_.groups_at_once; }
  uint32_t items() const { return kGroupItems * parts_; }
  const std::vector<Memory*>& memories() const { return memories_; }
  const std::vector<uint32_t>& slots() const { return slots_; }

 private:
  Status count_shared_bytes(const hal::Command& command) {
    const BuiltProgram& program = handles_.program_of(command.program);
    CAMSHAFT_TRY_ASSIGN(const Object<cl_kernel> kernel, make_kernel(api_, program, command.kernel));
    cl_ulong bytes = 0;
    const cl_int error = api_.clGetKernelWorkGroupInfo(
        kernel.get(), device_.device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof bytes, &bytes, nullptr);
    if (error != CL_SUCCESS) {
      return base::fail(Code::kUnsupported, "opencl.single", "shared memory: %s",
                        error_name(error));
    }
    shared_bytes_ = std::max<uint64_t>(shared_bytes_, base::align_up(bytes, kAlignment));
    return base::ok();
  }

  // More items wait less; a unit has registers and shared memory for so many.
  void choose_parts() {
    const bool fits = shared_bytes_ * kMostParts <= device_.shared_bytes &&
                      kGroupItems * kMostParts <= device_.most_items;
    parts_ = fits ? kMostParts : 1;
  }

  template <typename T>
  static size_t place_in(std::vector<T>& list, T value) {
    const auto found = std::find(list.begin(), list.end(), value);
    if (found != list.end()) return static_cast<size_t>(found - list.begin());
    list.push_back(value);
    return list.size() - 1;
  }

  std::string arguments(const hal::Command& command) {
    std::string text;
    for (const hal::KernelArg& arg : command.args) {
      if (arg.kind == hal::ArgKind::kScalar) {
        text += number(arg.scalar) + "ul, ";
      } else if (arg.kind == hal::ArgKind::kSlot) {
        (void)place_in(slots_, arg.slot);
        text += "slot_" + number(arg.slot) + ", slot_at_" + number(arg.slot) + " + " +
                number(arg.offset_bytes) + "ul, ";
      } else {
        Memory* memory = handles_.memory_of(arg.buffer);
        text += "memory_" + number(place_in(memories_, memory)) + ", " +
                number(memory->offset_bytes + arg.offset_bytes) + "ul, ";
      }
    }
    return text;
  }

  std::string launch(const hal::Command& command) {
    const std::string call = handles_.program_of(command.program).kernels[command.kernel] +
                             "_body(" + arguments(command);
    const std::string extent = number(command.grid[0]) + "u";
    const std::string all = number(uint64_t{groups()} * parts_) + "u";
    if (command.group[0] > 1) {
      // All parts of a group meet the same barriers: one without work does another's again.
      return "  for (uint first = group; first < " + extent + "; first += " + all +
             ") {\n    const uint mine = first + part * " + number(groups()) + "u;\n    " + call +
             "mine < " + extent + " ? mine : first, item, shared_bytes + part * " +
             number(shared_bytes_) + "u);\n    barrier(CLK_LOCAL_MEM_FENCE);\n  }\n";
    }
    // Few iterations go to many groups, neighbours together.
    const std::string width = number(kNeighbours) + "u";
    return "  for (uint i = (local_item / " + width + " * " + number(groups()) + "u + group) * " +
           width + " + item % " + width + "; i < " + extent + "; i += " + all + " * " +
           number(kGroupItems) + "u) " + call + "i);\n";
  }

  const Api& api_;
  const FoundDevice& device_;
  HandleLookup& handles_;
  std::vector<Memory*> memories_;
  std::vector<uint32_t> slots_;
  uint64_t shared_bytes_ = kAlignment;
  uint32_t parts_ = 1;  // groups of the plan that a group does side by side
};

cl_int set_pointer(const Api& api, cl_kernel kernel, cl_uint index, cl_mem object) {
  return api.clSetKernelArg(kernel, index, sizeof object, &object);
}

Status set_arguments(const Api& api, const Writer& writer, CommandSteps& list) {
  Step& step = list.steps.back();
  cl_uint index = 0;
  cl_int error = set_pointer(api, step.kernel.get(), index++, list.meeting.get());
  for (Memory* memory : writer.memories()) {
    if (error == CL_SUCCESS) {
      error = set_pointer(api, step.kernel.get(), index++, memory->object.get());
    }
  }
  for (const uint32_t slot : writer.slots()) {
    list.patches.push_back({.slot = slot, .step = 0, .index = index, .offset_bytes = 0});
    index += 2;
  }
  if (error == CL_SUCCESS) return base::ok();
  return base::fail(Code::kUnsupported, "opencl.single", "arguments: %s", error_name(error));
}

}  // namespace

bool can_be_single(const FoundDevice& device, std::span<const hal::Command> commands,
                   HandleLookup& handles) {
  if (device.groups_at_once == 0 || commands.size() < 2) return false;
  // Where there is one unit, launches have nothing to gain from being apart.
  if (device.groups_at_once > 1 && !are_small(device, commands)) return false;
  return std::all_of(commands.begin(), commands.end(), [&](const hal::Command& command) {
    const bool is_flat =
        command.grid[1] * command.grid[2] * command.group[1] * command.group[2] == 1;
    const bool is_group = command.group[0] == 1 || command.group[0] == kGroupItems;
    return command.kind == hal::CommandKind::kLaunch && is_flat && is_group &&
           command.program == commands[0].program &&
           std::none_of(command.args.begin(), command.args.end(),
                        [](const hal::KernelArg& arg) { return arg.image.is_image(); }) &&
           has_body(handles.program_of(command.program), command.kernel);
  });
}

Status record_single(const Api& api, const FoundDevice& device,
                     std::span<const hal::Command> commands, HandleLookup& handles,
                     CommandSteps& list) {
  const BuiltProgram& plain = handles.program_of(commands[0].program);
  Writer writer(api, device, handles);
  CAMSHAFT_TRY_ASSIGN(const std::string text, writer.write(commands));
  std::vector<hal::DriverBinaryView> offered;
  for (const hal::DriverBinary& binary : plain.offered) {
    offered.push_back({binary.driver, binary.digest, binary.bytes});
  }
  CAMSHAFT_TRY_ASSIGN(BuiltProgram built, build_text(api, plain.context, device, plain.text + text,
                                                     {"camshaft_run"}, offered));
  CAMSHAFT_TRY_ASSIGN(Object<cl_kernel> kernel, make_kernel(api, built, 0));
  std::vector<std::byte> zeros(kMeetingBytes);
  cl_int error = CL_SUCCESS;
  Object<cl_mem> meeting(api.clCreateBuffer(plain.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                            kMeetingBytes, zeros.data(), &error),
                         api.clReleaseMemObject);
  if (error != CL_SUCCESS) {
    return base::fail(Code::kUnsupported, "opencl.single", "memory: %s", error_name(error));
  }
  CommandSteps single;
  single.slots = list.slots;
  single.shared = list.shared;
  single.single = std::move(built.program);
  single.single_digest = std::move(built.digest);
  single.single_of = commands[0].program;
  single.meeting = std::move(meeting);
  Step& step = single.steps.emplace_back();
  step.kernel = std::move(kernel);
  step.items[0] = size_t{writer.groups()} * writer.items();
  step.group[0] = writer.items();
  step.has_group = true;
  CAMSHAFT_TRY(set_arguments(api, writer, single));
  list = std::move(single);
  return base::ok();
}

}  // namespace camshaft::opencl
