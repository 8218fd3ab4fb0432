// SPDX-License-Identifier: MIT
#include "devices/hal/fault.h"

#include <time.h>

#include <algorithm>
#include <cerrno>

#include "runtime/base/clock.h"

namespace camshaft::hal {
namespace {

void sleep_until(int64_t mono_time_ns) noexcept {
  const timespec until = {.tv_sec = static_cast<time_t>(mono_time_ns / 1'000'000'000),
                          .tv_nsec = static_cast<long>(mono_time_ns % 1'000'000'000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

}  // namespace

void FaultDevice::arm(const Fault& fault) {
  CAMSHAFT_CHECK(armed_count_ < kMaxFaults);
  CAMSHAFT_CHECK(fault.action != FaultAction::kDrop || fault.call == Call::kSubmit);
  armed_[static_cast<size_t>(armed_count_++)] = Armed{.fault = fault};
}

void FaultDevice::disarm() {
  armed_count_ = 0;
}

Status FaultDevice::strike(Call call, bool* drop) noexcept {
  Status status;
  for (Armed& armed : std::span(armed_).first(static_cast<size_t>(armed_count_))) {
    const Fault& fault = armed.fault;
    if (fault.call != call) continue;
    const uint64_t number = ++armed.calls_seen;
    if (number < fault.first || number - fault.first >= fault.count) continue;
    if (fault.action == FaultAction::kDelay) sleep_until(base::mono_time_ns() + fault.delay_ns);
    if (fault.action == FaultAction::kDrop) *drop = true;
    if (fault.action == FaultAction::kFail) {
      status = base::fail(fault.code, "fault.injected", "Injected: %s number %llu fails",
                          call_name(call), static_cast<unsigned long long>(number));
    }
  }
  return status;
}

// As strike(), for calls whose device fault is sticky.
Status FaultDevice::strike_hot(Call call, bool* drop) noexcept {
  if (!sticky_.is_ok()) return sticky_;
  const Status status = strike(call, drop);
  if (status.code() == base::Code::kDeviceFault) sticky_ = status;
  return status;
}

Result<Allocation> FaultDevice::allocate(uint64_t size_bytes, MemoryKind kind) {
  CAMSHAFT_TRY(sticky_);
  CAMSHAFT_TRY(strike(Call::kAllocate));
  return inner_->allocate(size_bytes, kind);
}

Result<Buffer> FaultDevice::import_memory(const ForeignMemory& memory) {
  CAMSHAFT_TRY(sticky_);
  CAMSHAFT_TRY(strike(Call::kImportMemory));
  return inner_->import_memory(memory);
}

Result<Buffer> FaultDevice::make_image(const ImageSource& source) {
  CAMSHAFT_TRY(sticky_);
  CAMSHAFT_TRY(strike(Call::kMakeImage));
  return inner_->make_image(source);
}

Result<Program> FaultDevice::load(const ProgramImage& image) {
  CAMSHAFT_TRY(sticky_);
  CAMSHAFT_TRY(strike(Call::kLoad));
  return inner_->load(image);
}

Result<CommandList> FaultDevice::record(std::span<const Command> commands, uint32_t slot_count) {
  CAMSHAFT_TRY(sticky_);
  CAMSHAFT_TRY(strike(Call::kRecord));
  return inner_->record(commands, slot_count);
}

Result<Ticket> FaultDevice::submit(CommandList list, std::span<const Binding> bindings) noexcept {
  bool drop = false;
  CAMSHAFT_TRY(strike_hot(Call::kSubmit, &drop));
  if (drop) {
    ++dropped_;
    if (first_dropped_ == 0) first_dropped_ = last_ticket_ + 1;
    return ++last_ticket_;
  }
  CAMSHAFT_TRY_ASSIGN(const Ticket inner_ticket, inner_->submit(list, bindings));
  last_ticket_ = inner_ticket + dropped_;
  return last_ticket_;
}

Status FaultDevice::wait(Ticket ticket, Deadline deadline) noexcept {
  CAMSHAFT_TRY(strike_hot(Call::kWait, nullptr));
  if (first_dropped_ == 0 || ticket < first_dropped_) {
    return inner_->wait(ticket > dropped_at_reset_ ? ticket - dropped_at_reset_ : 0, deadline);
  }
  const int64_t now_ns = base::mono_time_ns();
  sleep_until(std::min(deadline.mono_time_ns, now_ns + kLongestWaitNs));
  return Status(base::Code::kDeadlineExceeded, "fault.dropped");
}

Status FaultDevice::reset() {
  CAMSHAFT_TRY(strike(Call::kReset));
  CAMSHAFT_TRY(inner_->reset());
  sticky_ = base::ok();
  first_dropped_ = 0;
  dropped_at_reset_ = dropped_;
  return base::ok();
}

}  // namespace camshaft::hal
