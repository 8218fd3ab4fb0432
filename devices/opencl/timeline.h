// SPDX-License-Identifier: MIT
// Tickets of a queue that runs its commands in order: one event a submit, released when it is
// reached.
#pragma once

#include <array>
#include <cstdint>

#include "devices/hal/device.h"
#include "devices/opencl/api.h"

namespace camshaft::opencl {

class Timeline {
 public:
  // `spin_ns`: how long a wait with a deadline polls before it sleeps between polls.
  Timeline(const Api& api, int64_t spin_ns) : api_(api), spin_ns_(spin_ns) {}

  // hot path. Gives all that was enqueued since the last mark a ticket. `last` is the event of the
  // last of it, which is then the timeline's, or null.
  cl_int mark(cl_command_queue queue, cl_event last, hal::Ticket* ticket) noexcept;

  // hot path. Blocks until the ticket is reached or the deadline has passed, and says which. An
  // error is that of the device's work.
  cl_int wait(hal::Ticket ticket, hal::Deadline deadline, bool* is_reached) noexcept;

  hal::Ticket reached() const noexcept { return reached_; }
  // Counts all work as reached, done or not: of a queue that is given up.
  void abandon();

 private:
  // More submits than this in flight share events: earlier ones are then reached with later ones.
  static constexpr size_t kMostEvents = 32;
  struct Mark {
    hal::Ticket ticket = 0;
    Object<cl_event> event;
  };

  cl_int poll(const Mark& mark, bool* is_done) const noexcept;
  void drop_until(size_t count) noexcept;

  const Api& api_;
  int64_t spin_ns_;
  std::array<Mark, kMostEvents> marks_;  // the first count_, rising
  size_t count_ = 0;
  hal::Ticket last_ = 0;
  hal::Ticket reached_ = 0;
};

}  // namespace camshaft::opencl
