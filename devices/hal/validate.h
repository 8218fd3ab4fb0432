// SPDX-License-Identifier: MIT
// A device that checks every call before it passes it on, and every answer of the device it wraps:
// handles, bounds, alignment, slots, kernels, use after release. Backends check none of this.
// Always on in tests; costs a few look-ups a call, and no allocation on the hot path.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "devices/hal/device.h"
#include "devices/hal/handle_table.h"

namespace camshaft::hal {

class ValidatingDevice final : public Device {
 public:
  explicit ValidatingDevice(std::unique_ptr<Device> inner) : inner_(std::move(inner)) {}

  // Mistakes found so far: of the caller (these calls fail with kInvalidArgument, or do nothing
  // where they can't fail) and of the wrapped device (kInternal). Each has a sentence in the log
  // ring.
  uint64_t error_count() const { return error_count_; }

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
  struct Memory {
    uint64_t size_bytes = 0;
    bool writable = true;
    ImageShape image = {};
    Ticket last_use = 0;  // the last submit whose work may touch it
  };
  struct Loaded {
    std::vector<uint32_t> argument_counts;  // of each kernel; kUnknownCount until its first launch
    Ticket last_use = 0;
  };
  // What a list needs of the memory that a submit binds to a slot.
  struct Slot {
    uint64_t size_bytes = 0;  // 0: the list does not use the slot
    bool written = false;
    ImageShape image = {};
  };
  struct Recorded {
    std::vector<Slot> slots;
    std::vector<uint32_t> buffers;
    std::vector<uint32_t> programs;
    Ticket last_use = 0;
  };
  static constexpr uint32_t kUnknownCount = UINT32_MAX;

  // Count the mistake, write the sentence to the log ring, and return the status to hand up.
  Status wrong(const char* site, const char* format, ...) noexcept
      __attribute__((format(printf, 3, 4)));
  Status broken(const char* site, const char* format, ...) noexcept
      __attribute__((format(printf, 3, 4)));

  Status check_command(const Command& command, Recorded& list);
  Status check_launch(const Command& command, Recorded& list);
  Status check_copy(const Command& command, Recorded& list);
  // That [offset, offset + size_bytes) of the argument's memory is there; a slot's is noted in
  // `list`.
  Status check_memory(const KernelArg& arg, uint64_t size_bytes, bool written, Recorded& list);
  // The same of an image.
  Status check_image(const KernelArg& arg, Recorded& list);
  Status check_list(const Recorded& list) noexcept;
  Status check_bindings(const Recorded& list, std::span<const Binding> bindings) noexcept;
  void note_use(Recorded& list, std::span<const Binding> bindings, Ticket ticket) noexcept;
  template <typename T>
  bool may_release(HandleTable<T>& table, uint32_t id, const char* kind);

  std::unique_ptr<Device> inner_;
  HandleTable<Memory> buffers_;  // under the wrapped device's numbers, as are the other two
  HandleTable<Loaded> programs_;
  HandleTable<Recorded> lists_;
  uint64_t error_count_ = 0;
  Ticket last_submitted_ = 0;
  Ticket last_reached_ = 0;
};

}  // namespace camshaft::hal
