// SPDX-License-Identifier: MIT
// Runs work in a child process that the kernel kills if it makes a system call.
#pragma once

#include <functional>

namespace camshaft::test {

// Runs `prepare`, then without system calls what it returns, in a child. Returns what waitpid()
// says of the child; it exits with 0 if the work returned true.
int wait_status_of(const std::function<std::function<bool()>()>& prepare, long also_allowed = -1);

bool was_killed(int wait_status);  // for a system call
bool succeeded(int wait_status);

// Where the kernel does not map the clock into processes, reading it is a system call, and none of
// ours: then this is its number, to be allowed; else -1.
long clock_call();

}  // namespace camshaft::test
