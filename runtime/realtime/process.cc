// SPDX-License-Identifier: MIT
#include "runtime/realtime/process.h"

#include <alloca.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace camshaft::realtime {
namespace {

using base::Code;
using base::Status;

constexpr size_t kMaxStackBytes = 512 << 10;
constexpr size_t kSmallestPageBytes = 4096;

}  // namespace

Status set_realtime_priority(int priority) {
  sched_param parameters = {};
  parameters.sched_priority = priority;
  if (priority < sched_get_priority_min(SCHED_FIFO) ||
      priority > sched_get_priority_max(SCHED_FIFO)) {
    return base::fail(Code::kInvalidArgument, "realtime.priority",
                      "real-time priority %d: use %d to %d", priority,
                      sched_get_priority_min(SCHED_FIFO), sched_get_priority_max(SCHED_FIFO));
  }
  if (sched_setscheduler(0, SCHED_FIFO, &parameters) != 0) {
    return base::fail_errno(
        Code::kIo, "realtime.priority", errno,
        "this thread can't have real-time priority %d: grant CAP_SYS_NICE or an "
        "RLIMIT_RTPRIO of %d",
        priority, priority);
  }
  return base::ok();
}

Status pin_this_thread(std::span<const uint32_t> cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const uint32_t cpu : cpus) {
    if (cpu >= CPU_SETSIZE) {
      return base::fail(Code::kInvalidArgument, "realtime.pin", "there is no CPU %u", cpu);
    }
    CPU_SET(cpu, &set);
  }
  if (sched_setaffinity(0, sizeof set, &set) != 0) {
    return base::fail_errno(
        Code::kIo, "realtime.pin", errno,
        "of the CPUs asked for (%zu, CPU %u first) this thread can use none: choose from the "
        "process' cpuset",
        cpus.size(), cpus.empty() ? 0 : cpus.front());
  }
  return base::ok();
}

Status lock_memory() {
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
    return base::fail_errno(Code::kIo, "realtime.lock", errno,
                            "the process' memory can't be locked: grant CAP_IPC_LOCK or raise "
                            "RLIMIT_MEMLOCK");
  }
  return base::ok();
}

void prefault(std::span<const std::byte> memory) noexcept {
  const volatile std::byte* bytes = memory.data();
  for (size_t at = 0; at < memory.size(); at += kSmallestPageBytes) (void)bytes[at];
  if (!memory.empty()) (void)bytes[memory.size() - 1];
}

void prefault_writable(std::span<std::byte> memory) noexcept {
  volatile std::byte* bytes = memory.data();
  for (size_t at = 0; at < memory.size(); at += kSmallestPageBytes) bytes[at] = bytes[at];
  if (!memory.empty()) bytes[memory.size() - 1] = bytes[memory.size() - 1];
}

__attribute__((noinline)) void prefault_stack(size_t size_bytes) noexcept {
  const size_t size = std::clamp(size_bytes, size_t{1}, kMaxStackBytes);
  volatile auto* bytes = static_cast<volatile std::byte*>(alloca(size));
  for (size_t at = 0; at < size; at += kSmallestPageBytes) bytes[at] = std::byte{0};
  bytes[size - 1] = std::byte{0};
}

}  // namespace camshaft::realtime
