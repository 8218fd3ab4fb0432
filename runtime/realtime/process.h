// SPDX-License-Identifier: MIT
// What a real-time thread asks of the operating system before its first frame. Load time only. Each
// call may lack privileges; it then fails with kIo and a sentence that names what to grant, and the
// program may go on without.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/status.h"

namespace camshaft::realtime {

// Gives the calling thread SCHED_FIFO with a priority from 1 (lowest) to 99; threads that it starts
// inherit it, those of a CPU device among them. Needs CAP_SYS_NICE, or an RLIMIT_RTPRIO of at least
// `priority`.
base::Status set_realtime_priority(int priority);

// Lets the calling thread run on these CPUs only. Needs no privilege, but the CPUs must be within
// the process' cpuset.
base::Status pin_this_thread(std::span<const uint32_t> cpus);

// Keeps all present and future memory of the process in RAM. Needs CAP_IPC_LOCK, or an
// RLIMIT_MEMLOCK above what the process uses.
base::Status lock_memory();

// Touches memory so that the first frame takes no page fault there: every page is read, or, of
// writable memory, written with what it holds (which no other thread may be writing meanwhile).
void prefault(std::span<const std::byte> memory) noexcept;
void prefault_writable(std::span<std::byte> memory) noexcept;

// Touches the calling thread's stack down to `size_bytes` (at most 512 KiB) below here.
void prefault_stack(size_t size_bytes) noexcept;

}  // namespace camshaft::realtime
