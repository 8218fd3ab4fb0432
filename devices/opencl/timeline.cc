// SPDX-License-Identifier: MIT
#include "devices/opencl/timeline.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "runtime/base/clock.h"

namespace camshaft::opencl {
namespace {

constexpr int64_t kSleepNs = 50'000;

void sleep_at_most(int64_t duration_ns) noexcept {
  const timespec duration = {.tv_sec = 0, .tv_nsec = std::clamp<int64_t>(duration_ns, 0, kSleepNs)};
  nanosleep(&duration, nullptr);
}

}  // namespace

cl_int Timeline::mark(cl_command_queue queue, cl_event last, hal::Ticket* ticket) noexcept {
  cl_event event = last;
  if (event == nullptr) {
    const cl_int error = api_.clEnqueueMarkerWithWaitList(queue, 0, nullptr, &event);
    if (error != CL_SUCCESS) return error;
  }
  if (count_ == kMostEvents) --count_;
  marks_[count_++] = {.ticket = ++last_, .event = Object<cl_event>(event, api_.clReleaseEvent)};
  *ticket = last_;
  return CL_SUCCESS;
}

cl_int Timeline::poll(const Mark& mark, bool* is_done) const noexcept {
  cl_int status = CL_QUEUED;
  const cl_int error = api_.clGetEventInfo(mark.event.get(), CL_EVENT_COMMAND_EXECUTION_STATUS,
                                           sizeof status, &status, nullptr);
  *is_done = status <= CL_COMPLETE;
  return error != CL_SUCCESS ? error : std::min(status, CL_SUCCESS);
}

// The queue is in order: what is before a mark that is reached is reached, too.
void Timeline::drop_until(size_t count) noexcept {
  reached_ = marks_[count - 1].ticket;
  std::move(marks_.begin() + static_cast<std::ptrdiff_t>(count),
            marks_.begin() + static_cast<std::ptrdiff_t>(count_), marks_.begin());
  for (size_t i = count_ - count; i < count_; ++i) marks_[i] = {};
  count_ -= count;
}

cl_int Timeline::wait(hal::Ticket ticket, hal::Deadline deadline, bool* is_reached) noexcept {
  *is_reached = ticket <= reached_;
  if (*is_reached) return CL_SUCCESS;
  size_t index = 0;
  while (marks_[index].ticket < ticket) ++index;
  const Mark& mark = marks_[index];
  if (deadline.mono_time_ns == INT64_MAX) {
    const cl_event event = mark.event.get();
    const cl_int error = api_.clWaitForEvents(1, &event);
    if (error != CL_SUCCESS) return error;
  }
  const int64_t start_ns = base::mono_time_ns();
  for (;;) {
    const cl_int error = poll(mark, is_reached);
    if (error != CL_SUCCESS || *is_reached) {
      drop_until(index + 1);
      return error;
    }
    const int64_t now_ns = base::mono_time_ns();
    if (now_ns >= deadline.mono_time_ns) return CL_SUCCESS;
    if (now_ns - start_ns >= spin_ns_) sleep_at_most(deadline.mono_time_ns - now_ns);
  }
}

void Timeline::abandon() {
  if (count_ > 0) drop_until(count_);
}

}  // namespace camshaft::opencl
