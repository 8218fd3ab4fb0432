// SPDX-License-Identifier: MIT
// Privileges differ between machines, so the privileged calls run in a child, with the rights that
// they need taken away.
#include "runtime/realtime/process.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/last_sentence.h"

using namespace camshaft;
using base::Code;

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CAMSHAFT_TEST_MLOCK_IS_FAKED 1  // the sanitizers' own mlockall() only says yes
#endif
#endif

namespace {

// Runs `work` in a child process; whether it returned true.
bool in_child(const std::function<bool()>& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void drop_privileges() {
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_RTPRIO, &none);
  setrlimit(RLIMIT_MEMLOCK, &none);
  if (geteuid() == 0 && setuid(65534) != 0) _exit(2);
}

}  // namespace

TEST_CASE("without privileges the sentence says what to grant", "[realtime]") {
  CHECK(in_child([] {
    drop_privileges();
    return realtime::set_realtime_priority(10).code() == Code::kIo && test::said("CAP_SYS_NICE") &&
           test::said("RLIMIT_RTPRIO of 10");
  }));
#ifndef CAMSHAFT_TEST_MLOCK_IS_FAKED
  CHECK(in_child([] {
    drop_privileges();
    return realtime::lock_memory().code() == Code::kIo && test::said("CAP_IPC_LOCK");
  }));
#endif
}

TEST_CASE("priorities out of range are refused", "[realtime]") {
  CHECK(realtime::set_realtime_priority(0).code() == Code::kInvalidArgument);
  CHECK(realtime::set_realtime_priority(100).code() == Code::kInvalidArgument);
  CHECK(test::said("use 1 to 99"));
}

TEST_CASE("with privileges the priority is set", "[realtime]") {
  CHECK(in_child([] {
    const base::Status status = realtime::set_realtime_priority(3);
    if (!status.is_ok()) return status.code() == Code::kIo;  // no right to, on this machine
    sched_param parameters = {};
    return sched_getscheduler(0) == SCHED_FIFO && sched_getparam(0, &parameters) == 0 &&
           parameters.sched_priority == 3;
  }));
}

TEST_CASE("a thread can be pinned to CPUs that it may use", "[realtime]") {
  CHECK(in_child([] {
    const auto cpu = static_cast<uint32_t>(sched_getcpu());
    if (!realtime::pin_this_thread(std::span(&cpu, 1)).is_ok()) return false;
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    return CPU_COUNT(&set) == 1 && CPU_ISSET(cpu, &set);
  }));
  CHECK(in_child([] {
    const uint32_t absent[] = {CPU_SETSIZE - 1};
    return realtime::pin_this_thread(absent).code() == Code::kIo;
  }));
  const uint32_t impossible[] = {CPU_SETSIZE};
  CHECK(realtime::pin_this_thread(impossible).code() == Code::kInvalidArgument);
}

TEST_CASE("prefaulting makes pages present and changes nothing", "[realtime]") {
  constexpr size_t kPages = 50;
  constexpr size_t kBytes = kPages * 4096;
  auto* memory = static_cast<std::byte*>(
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(memory != MAP_FAILED);
  const auto resident = [&] {
    std::vector<unsigned char> present(kPages);
    mincore(memory, kBytes, present.data());
    size_t count = 0;
    for (const unsigned char page : present) count += page & 1;
    return count;
  };
  memory[5000] = std::byte{42};
  CHECK(resident() < kPages);
  realtime::prefault_writable({memory, kBytes});
  CHECK(resident() == kPages);
  CHECK(memory[5000] == std::byte{42});
  realtime::prefault({memory, kBytes});
  realtime::prefault({});
  realtime::prefault_writable({});
  munmap(memory, kBytes);
}

TEST_CASE("the stack can be prefaulted within limits", "[realtime]") {
  realtime::prefault_stack(0);
  realtime::prefault_stack(100'000);
  realtime::prefault_stack(SIZE_MAX);
  SUCCEED();
}
