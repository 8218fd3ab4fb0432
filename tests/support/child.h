// SPDX-License-Identifier: MIT
// Processes that a test starts by forking, to be killed at any moment.
#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>
#include <stdexcept>
#include <utility>

namespace camshaft::test {

// A child that runs a function and never returns from it. The test's process has one thread when it
// makes one. Killed with the object.
class Child {
 public:
  Child() = default;
  template <typename Run>
  explicit Child(Run&& run) : pid_(::fork()) {
    if (pid_ < 0) throw std::runtime_error("can't fork");
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // not left over when the test's watchdog ends it
    run();
    ::_exit(0);
  }
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  Child& operator=(Child&& other) noexcept {
    std::swap(pid_, other.pid_);
    return *this;
  }
  ~Child() { kill(); }

  // SIGKILL; returns when it is dead.
  void kill() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    (void)wait();
  }
  // Its exit code, or less than 0 where a signal ended it.
  int wait() {
    int status = 0;
    if (::waitpid(std::exchange(pid_, -1), &status, 0) < 0) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t pid_ = -1;
};

// A T that the test shares with its children.
template <typename T>
class SharedWithChildren {
 public:
  SharedWithChildren()
      : memory_(
            ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::runtime_error("no shared memory");
    new (memory_) T();
  }
  SharedWithChildren(const SharedWithChildren&) = delete;
  SharedWithChildren& operator=(const SharedWithChildren&) = delete;
  ~SharedWithChildren() { ::munmap(memory_, sizeof(T)); }

  T* operator->() const { return static_cast<T*>(memory_); }
  T& operator*() const { return *static_cast<T*>(memory_); }

 private:
  void* memory_;
};

}  // namespace camshaft::test
