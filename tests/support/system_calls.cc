// SPDX-License-Identifier: MIT
#include "tests/support/system_calls.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/base/clock.h"

namespace camshaft::test {
namespace {

void allow(std::vector<sock_filter>& filter, uint32_t number) {
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
}

// From here on, any system call but exit_group (and the given one) ends this process with SIGSYS.
bool forbid_system_calls(long also_allowed) {
  std::vector<sock_filter> filter = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  allow(filter, SYS_exit_group);
  if (also_allowed >= 0) allow(filter, static_cast<uint32_t>(also_allowed));
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  const sock_fprog program = {.len = static_cast<unsigned short>(filter.size()),
                              .filter = filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace

int wait_status_of(const std::function<std::function<bool()>()>& prepare, long also_allowed) {
  const pid_t child = fork();
  if (child == 0) {
    const std::function<bool()> work = prepare();
    if (!forbid_system_calls(also_allowed)) syscall(SYS_exit_group, 3);
    syscall(SYS_exit_group, work() ? 0 : 4);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

bool was_killed(int wait_status) {
  return WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGSYS;
}

bool succeeded(int wait_status) {
  return WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0;
}

long clock_call() {
  const int status = wait_status_of([] { return [] { return base::mono_time_ns() != 0; }; });
  return was_killed(status) ? SYS_clock_gettime : -1;
}

}  // namespace camshaft::test
