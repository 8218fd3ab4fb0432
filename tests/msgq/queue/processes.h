// SPDX-License-Identifier: MIT
// Children that take part in a topic and may be killed at any time.
#pragma once

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <random>
#include <utility>
#include <vector>

namespace camshaft::queue::test {

// Whether this is `scons test-long`.
inline bool is_long() {
  return std::getenv("CAMSHAFT_TEST_LONG") != nullptr;
}

// A T that this process shares with its children.
template <typename T>
class Shared {
 public:
  Shared()
      : value_(new(::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                          -1, 0)) T) {}
  ~Shared() { ::munmap(static_cast<void*>(value_), sizeof(T)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  T* operator->() const { return value_; }
  T& operator*() const { return *value_; }

 private:
  T* value_;
};

// A child process that runs a function; killed with the object if it is still there.
class Child {
 public:
  template <typename Function>
  explicit Child(Function&& function) : pid_(::fork()) {
    if (pid_ == 0) {
      function();
      ::_exit(0);
    }
  }
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  Child& operator=(Child&& other) noexcept {
    std::swap(pid_, other.pid_);
    return *this;
  }
  ~Child() {
    if (pid_ > 0) kill();
  }

  pid_t pid() const { return pid_; }
  void kill() {
    ::kill(pid_, SIGKILL);
    (void)wait();
  }
  // The status of waitpid: 0 where the function came to its end.
  int wait() {
    int status = -1;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return status;
  }

 private:
  pid_t pid_;
};

}  // namespace camshaft::queue::test
