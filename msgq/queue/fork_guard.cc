// SPDX-License-Identifier: MIT
#include "msgq/queue/fork_guard.h"

#include <pthread.h>
#include <sys/mman.h>

#include "runtime/base/check.h"

namespace camshaft::queue {

// The guards of this process. Locked while it forks, so that the child finds the list whole.
struct ForkGuards {
  static void lock() noexcept { ::pthread_mutex_lock(&mutex); }
  static void unlock() noexcept { ::pthread_mutex_unlock(&mutex); }

  static void run_in_child() noexcept {
    for (ForkGuard* guard = first; guard != nullptr; guard = guard->next_) {
      guard->let_go_(guard->object_);
    }
    unlock();  // by the thread that locked it
  }
  static void add(ForkGuard& guard) noexcept {
    lock();
    if (!are_handlers_set) {
      CAMSHAFT_CHECK(::pthread_atfork(lock, unlock, run_in_child) == 0);
      are_handlers_set = true;
    }
    guard.next_ = first;
    if (first != nullptr) first->previous_ = &guard;
    first = &guard;
    unlock();
  }
  static void remove(ForkGuard& guard) noexcept {
    lock();
    (guard.previous_ != nullptr ? guard.previous_->next_ : first) = guard.next_;
    if (guard.next_ != nullptr) guard.next_->previous_ = guard.previous_;
    unlock();
  }

  static pthread_mutex_t mutex;
  static ForkGuard* first;
  static bool are_handlers_set;
};
pthread_mutex_t ForkGuards::mutex = PTHREAD_MUTEX_INITIALIZER;
ForkGuard* ForkGuards::first = nullptr;
bool ForkGuards::are_handlers_set = false;

ForkGuard::ForkGuard(LetGo let_go, void* object) : let_go_(let_go), object_(object) {
  ForkGuards::add(*this);
}

void ForkGuard::end() noexcept {
  if (is_listed_) ForkGuards::remove(*this);
  is_listed_ = false;
}

void replace_by_zeros(void* pages, unsigned long bytes) noexcept {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
  CAMSHAFT_CHECK(::mmap(pages, bytes, PROT_READ | PROT_WRITE, kFlags, -1, 0) != MAP_FAILED);
}

}  // namespace camshaft::queue
