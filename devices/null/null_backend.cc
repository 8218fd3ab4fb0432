// SPDX-License-Identifier: MIT
#include "devices/null/null_backend.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "devices/hal/foreign_lease.h"
#include "devices/hal/handle_table.h"
#include "runtime/base/bytes.h"
#include "runtime/base/clock.h"

namespace camshaft::null {
namespace {

using base::Code;
using hal::Result;
using hal::Status;

constexpr uint32_t kAlignment = 64;

const hal::DeviceInfo kInfo = {
    .backend = "null",
    .name = "null device",
    .arch = "null",
    .features = {},
    .buffer_alignment = kAlignment,
    .import_alignment = kAlignment,
    .raw_addresses = true,
    .imports = hal::import_bit(hal::ForeignKind::kHostPointer),
};

struct Free {
  void operator()(std::byte* data) const { std::free(data); }
};

// What a buffer is: memory of our own, or somebody else's on a lease.
struct Memory {
  std::byte* data = nullptr;
  std::unique_ptr<std::byte, Free> owned;
  hal::ForeignLease lease;
};

// What record() keeps of a command. Memory that is fixed at record() is an address already; a
// slot's is completed by submit().
struct Place {
  std::byte* address = nullptr;  // null: a slot
  uint32_t slot = 0;
  uint64_t offset_bytes = 0;

  std::byte* resolve(std::span<std::byte* const> slots) const noexcept {
    return (address != nullptr ? address : slots[slot]) + offset_bytes;
  }
};
struct Step {
  hal::CommandKind kind = hal::CommandKind::kBarrier;
  Place source;
  Place destination;
  uint64_t size_bytes = 0;
};
struct StepList {
  std::vector<Step> steps;
  std::vector<std::byte*> slots;  // filled by each submit()
};

class NullDevice final : public hal::Device {
 public:
  const hal::DeviceInfo& info() const override { return kInfo; }

  Result<hal::Allocation> allocate(uint64_t size_bytes, hal::MemoryKind kind) override {
    const auto rounded = base::checked_align_up(size_bytes, kAlignment);
    Memory memory;
    memory.data =
        rounded ? static_cast<std::byte*>(std::aligned_alloc(kAlignment, *rounded)) : nullptr;
    memory.owned.reset(memory.data);
    if (memory.data == nullptr) {
      return base::fail(Code::kOutOfMemory, "null.allocate", "no memory for %llu bytes",
                        static_cast<unsigned long long>(size_bytes));
    }
    std::memset(memory.data, 0, *rounded);
    void* host_ptr = kind == hal::MemoryKind::kHostVisible ? memory.data : nullptr;
    CAMSHAFT_TRY_ASSIGN(const uint32_t id, buffers_.add(std::move(memory)));
    return hal::Allocation{.buffer = {id}, .host_ptr = host_ptr};
  }

  Result<hal::Buffer> import_memory(const hal::ForeignMemory& memory) override {
    const uint64_t address = memory.handle + memory.offset_bytes;
    if (memory.kind != hal::ForeignKind::kHostPointer || !base::is_aligned(address, kAlignment)) {
      return base::fail(
          Code::kUnsupported, "null.import",
          "the null device uses host memory in place where it is %u-byte aligned, and "
          "nothing else: copy into a buffer of the device",
          kAlignment);
    }
    CAMSHAFT_TRY_ASSIGN(const uint32_t id,
                        buffers_.add(Memory{.data = reinterpret_cast<std::byte*>(address),
                                            .owned = nullptr,
                                            .lease = hal::ForeignLease(memory)}));
    return hal::Buffer{id};
  }

  Result<hal::Program> load(const hal::ProgramImage& image) override {
    CAMSHAFT_TRY_ASSIGN(const uint32_t id, programs_.add(image.kernels.size()));
    return hal::Program{id};
  }

  Result<hal::CommandList> record(std::span<const hal::Command> commands,
                                  uint32_t slot_count) override {
    auto list = std::make_unique<StepList>();
    list->slots.resize(slot_count);
    for (const hal::Command& command : commands) {
      list->steps.push_back(Step{.kind = command.kind,
                                 .source = place(command.source),
                                 .destination = place(command.destination),
                                 .size_bytes = command.size_bytes});
    }
    CAMSHAFT_TRY_ASSIGN(const uint32_t id, lists_.add(std::move(list)));
    return hal::CommandList{id};
  }

  void release(hal::Buffer buffer) override { (void)buffers_.take(buffer.id); }
  void release(hal::Program program) override { (void)programs_.take(program.id); }
  void release(hal::CommandList list) override { (void)lists_.take(list.id); }

  Result<hal::Ticket> submit(hal::CommandList list,
                             std::span<const hal::Binding> bindings) noexcept override {
    StepList& steps = **lists_.find(list.id);
    for (size_t i = 0; i < bindings.size(); ++i) {
      const Memory* memory = buffers_.find(bindings[i].buffer.id);
      // A slot that no command uses may be left unbound.
      steps.slots[i] = memory == nullptr ? nullptr : memory->data + bindings[i].offset_bytes;
    }
    for (const Step& step : steps.steps) run(step, steps.slots);
    return ++last_ticket_;
  }

  // submit() runs everything, so each ticket is reached when it is handed out.
  Status wait(hal::Ticket /*ticket*/, hal::Deadline /*deadline*/) noexcept override {
    return base::ok();
  }
  Status reset() override { return base::ok(); }

 private:
  Place place(const hal::KernelArg& arg) {
    const Memory* memory =
        arg.kind == hal::ArgKind::kBuffer ? buffers_.find(arg.buffer.id) : nullptr;
    return Place{.address = memory == nullptr ? nullptr : memory->data,
                 .slot = arg.slot,
                 .offset_bytes = arg.offset_bytes};
  }

  static void run(const Step& step, std::span<std::byte* const> slots) noexcept {
    switch (step.kind) {
      case hal::CommandKind::kLaunch:   // a kernel for this device computes nothing
      case hal::CommandKind::kBarrier:  // commands run one after the other anyway
        return;
      case hal::CommandKind::kCopy:
        std::memcpy(step.destination.resolve(slots), step.source.resolve(slots), step.size_bytes);
        return;
      case hal::CommandKind::kTimestamp: {
        const auto now_ns = static_cast<uint64_t>(base::mono_time_ns());
        std::memcpy(step.destination.resolve(slots), &now_ns, sizeof now_ns);
        return;
      }
    }
  }

  hal::HandleTable<Memory> buffers_;
  hal::HandleTable<size_t> programs_;  // how many kernels each has
  hal::HandleTable<std::unique_ptr<StepList>> lists_;
  hal::Ticket last_ticket_ = 0;
};

}  // namespace

std::vector<hal::DeviceInfo> probe() {
  return {kInfo};
}

Result<std::unique_ptr<hal::Device>> open(const hal::OpenOptions& /*options*/) {
  return std::unique_ptr<hal::Device>(std::make_unique<NullDevice>());
}

}  // namespace camshaft::null
