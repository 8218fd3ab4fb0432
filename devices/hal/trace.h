// SPDX-License-Identifier: MIT
// A device that writes down every call of the one it wraps: what, how long, with which result. In
// fixed memory, so that it can stay on in a vehicle and be dumped after something went wrong.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "devices/hal/call.h"
#include "devices/hal/device.h"

namespace camshaft::hal {

struct TraceEntry {
  uint64_t sequence = 0;  // 1 for the first call
  int64_t start_ns = 0;   // base::mono_time_ns()
  int64_t duration_ns = 0;
  // What the number means: allocate, import_memory, make_image: bytes; load: bytes of the image;
  // record: commands; submit, wait: the ticket; otherwise 0.
  uint64_t detail = 0;
  uint32_t copies = 0;  // record: how many of the commands are copies
  uint32_t handle = 0;  // returned by the call or passed to it; 0: none
  Call call = Call::kAllocate;
  base::Code code = base::Code::kOk;
  char note[64] = "";  // record: what the device says of the list (Device::describe)
};

class TraceDevice final : public Device {
 public:
  // Keeps the newest `capacity` calls (at least 1), allocated here.
  TraceDevice(std::unique_ptr<Device> inner, uint32_t capacity);

  // The entries that are still there, oldest first. Allocates.
  std::vector<TraceEntry> entries() const;
  // One line an entry, for people.
  std::string to_text() const;
  // {"device": NAME, "calls": [{"sequence": ..., "call": "submit", "start_ns": ..., ...}, ...]}
  std::string to_json() const;

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
  void release(Buffer buffer) override;
  void release(Program program) override;
  void release(CommandList list) override;
  Result<Ticket> submit(CommandList list, std::span<const Binding> bindings) noexcept override;
  Status wait(Ticket ticket, Deadline deadline) noexcept override;
  Status reset() override;

 private:
  TraceEntry& add(Call call, int64_t start_ns, Status status, uint32_t handle,
                  uint64_t detail) noexcept;

  std::unique_ptr<Device> inner_;
  std::vector<TraceEntry> ring_;
  uint64_t last_sequence_ = 0;
};

}  // namespace camshaft::hal
