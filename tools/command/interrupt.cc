// SPDX-License-Identifier: MIT
#include "tools/command/interrupt.h"

#include <signal.h>

#include <atomic>

namespace camshaft::command {
namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void note_interrupt(int) {
  interrupted.store(true, std::memory_order_relaxed);
}

}  // namespace

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = note_interrupt;
  action.sa_flags = SA_RESETHAND;
  for (const int signal : {SIGINT, SIGTERM}) ::sigaction(signal, &action, nullptr);
}

bool is_interrupted() {
  return interrupted.load(std::memory_order_relaxed);
}

}  // namespace camshaft::command
