// SPDX-License-Identifier: MIT
// A device that breaks on demand, so that tests can see what the code above does about it: calls
// that fail, come late, or are lost.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "devices/hal/call.h"
#include "devices/hal/device.h"

namespace camshaft::hal {

enum class FaultAction : uint8_t {
  kFail,   // the call returns `code` without reaching the wrapped device
  kDelay,  // the call blocks for `delay_ns` first
  kDrop,   // submit only: succeeds, but the work never runs and its ticket is never reached
};
struct Fault {
  Call call = Call::kSubmit;
  uint64_t first = 1;  // which call of that kind, counted from 1 since arm()
  uint64_t count = 1;  // how many in a row; UINT64_MAX: all from there on
  FaultAction action = FaultAction::kFail;
  // kFail. kDeviceFault from submit or wait is sticky until reset(), as the contract says.
  base::Code code = base::Code::kDeviceFault;
  int64_t delay_ns = 0;  // kDelay
};

// Tickets are this device's own, so dropped work leaves no hole in the wrapped device's timeline.
class FaultDevice final : public Device {
 public:
  static constexpr int kMaxFaults = 16;
  // A wait without a deadline for dropped work gives up after this long rather than hang a test.
  static constexpr int64_t kLongestWaitNs = 1'000'000'000;

  explicit FaultDevice(std::unique_ptr<Device> inner) : inner_(std::move(inner)) {}

  // Adds a fault; at most kMaxFaults at once.
  void arm(const Fault& fault);
  // Removes all faults. A sticky device fault stays until reset().
  void disarm();

  const DeviceInfo& info() const override { return inner_->info(); }
  Result<Allocation> allocate(uint64_t size_bytes, MemoryKind kind) override;
  Result<Buffer> import_memory(const ForeignMemory& memory) override;
  Result<Buffer> make_image(const ImageSource& source) override;
  Result<Program> load(const ProgramImage& image) override;
  Result<std::vector<DriverBinary>> driver_binaries(Program program) override {
    return inner_->driver_binaries(program);
  }
  Result<CommandList> record(std::span<const Command> commands, uint32_t slot_count) override;
  std::string describe(CommandList list) override { return inner_->describe(list); }
  void release(Buffer buffer) override { inner_->release(buffer); }
  void release(Program program) override { inner_->release(program); }
  void release(CommandList list) override { inner_->release(list); }
  Result<Ticket> submit(CommandList list, std::span<const Binding> bindings) noexcept override;
  Status wait(Ticket ticket, Deadline deadline) noexcept override;
  Status reset() override;

 private:
  struct Armed {
    Fault fault;
    uint64_t calls_seen = 0;
  };
  // Counts the call; sleeps, fails or reports a drop as the armed faults say.
  Status strike(Call call, bool* drop = nullptr) noexcept;
  Status strike_hot(Call call, bool* drop) noexcept;

  std::unique_ptr<Device> inner_;
  std::array<Armed, kMaxFaults> armed_ = {};
  int armed_count_ = 0;
  Status sticky_;
  Ticket last_ticket_ = 0;
  Ticket first_dropped_ = 0;  // 0: none since the last reset
  // How far our tickets are ahead of the wrapped device's: now, and for those before the first
  // drop.
  uint64_t dropped_ = 0;
  uint64_t dropped_at_reset_ = 0;
};

}  // namespace camshaft::hal
