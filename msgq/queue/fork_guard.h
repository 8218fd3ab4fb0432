// SPDX-License-Identifier: MIT
// What a child made by fork() does with what its parent holds. Open files are shared by both, and
// with them locks and connections, which would outlive the parent; shared memory would be written
// by two who each think that they alone do so. So the child lets go, before anything else runs in
// it, and what it has inherited says so when it is used.
#pragma once

namespace camshaft::queue {

// Calls `let_go(object)` in every child of this process that fork() makes while the guard is there.
// It may only do what a signal handler may: close, map memory; no allocation, no lock. Made and
// ended at load time, by any thread. Children that exec need none of this; those that clone() makes
// without the C library get none.
class ForkGuard {
 public:
  using LetGo = void (*)(void* object) noexcept;

  ForkGuard(LetGo let_go, void* object);
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;
  ~ForkGuard() { end(); }

  // From here on nothing is called. To come first when the object is destroyed.
  void end() noexcept;

 private:
  friend struct ForkGuards;

  LetGo let_go_;
  void* object_;
  bool is_listed_ = true;
  ForkGuard* previous_ = nullptr;
  ForkGuard* next_ = nullptr;
};

// Puts zeros of this process's own where shared pages were mapped. Allowed in let_go().
void replace_by_zeros(void* pages, unsigned long bytes) noexcept;

}  // namespace camshaft::queue
