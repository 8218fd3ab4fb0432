// SPDX-License-Identifier: MIT
#include "devices/cpu/cpu_backend.h"

#include <sys/sysinfo.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "devices/cpu/elf_image.h"
#include "devices/cpu/host_cpu.h"
#include "devices/cpu/host_memory.h"
#include "devices/cpu/loaded_program.h"
#include "devices/cpu/record.h"
#include "devices/cpu/thread_pool.h"
#include "devices/cpu/tile_registers.h"
#include "devices/hal/foreign_lease.h"
#include "devices/hal/handle_table.h"
#include "runtime/base/bytes.h"

namespace camshaft::cpu {
namespace {

using base::Code;
using hal::Result;
using hal::Status;

// Kernels load and store whole vectors at the start of a parameter.
constexpr uint32_t kAlignment = 64;

hal::DeviceInfo describe_cpu(uint32_t threads) {
  hal::DeviceInfo info;
  const HostCpu& cpu = host_cpu();
  info.backend = "cpu";
  std::snprintf(info.name, sizeof info.name, "%s", cpu.name);
  std::snprintf(info.arch, sizeof info.arch, "%s", cpu.arch);
  info.features = cpu.features;
  struct sysinfo system = {};
  if (sysinfo(&system) == 0) info.memory_bytes = uint64_t{system.totalram} * system.mem_unit;
  info.buffer_alignment = kAlignment;
  info.import_alignment = kAlignment;
  info.max_parts = threads;
  info.raw_addresses = true;
  info.imports = hal::import_bit(hal::ForeignKind::kHostPointer);
  return info;
}

struct Memory {
  std::byte* data = nullptr;
  HostMemory owned;
  hal::ForeignLease lease;
};

struct Kernels {
  LoadedProgram program;
  std::vector<KernelFunction> functions;  // by the index that launches use
};

Status check_import(const hal::ForeignMemory& memory) {
  if (memory.kind != hal::ForeignKind::kHostPointer) {
    return base::fail(
        Code::kUnsupported, "cpu.import",
        "the CPU device uses memory in place by its host address only: map this memory "
        "into the process and import the pointer");
  }
  if (memory.row_pitch_bytes != 0 || memory.format != 0) {
    return base::fail(
        Code::kUnsupported, "cpu.import",
        "the CPU device imports plain bytes, not images: leave pitch and format 0; the "
        "plan's kernels know the layout");
  }
  const auto address = base::checked_add(memory.handle, memory.offset_bytes);
  if (memory.handle == 0 || !address || !base::checked_add(*address, memory.size_bytes)) {
    return base::fail(Code::kInvalidArgument, "cpu.import",
                      "%llu bytes at address %#llx can't be memory of this process",
                      static_cast<unsigned long long>(memory.size_bytes),
                      static_cast<unsigned long long>(memory.handle));
  }
  if (!base::is_aligned(*address, kAlignment)) {
    return base::fail(
        Code::kUnsupported, "cpu.import",
        "memory at address %#llx can't be used in place: kernels need addresses that are "
        "multiples of %u",
        static_cast<unsigned long long>(*address), kAlignment);
  }
  return base::ok();
}

class CpuDevice final : public hal::Device, private HandleLookup {
 public:
  CpuDevice(std::unique_ptr<ThreadPool> pool, const MemoryPolicy& policy, hwio::MemoryCalls& calls)
      : info_(describe_cpu(pool->thread_count())),
        policy_(policy),
        calls_(calls),
        pool_(std::move(pool)) {}

  const hal::DeviceInfo& info() const override { return info_; }
  Result<hal::Allocation> allocate(uint64_t size_bytes, hal::MemoryKind kind) override;
  Result<hal::Buffer> import_memory(const hal::ForeignMemory& memory) override;
  Result<hal::Program> load(const hal::ProgramImage& image) override;
  Result<hal::CommandList> record(std::span<const hal::Command> commands,
                                  uint32_t slot_count) override;
  void release(hal::Buffer buffer) override { (void)buffers_.take(buffer.id); }
  void release(hal::Program program) override { (void)programs_.take(program.id); }
  void release(hal::CommandList list) override { (void)lists_.take(list.id); }
  Result<hal::Ticket> submit(hal::CommandList list,
                             std::span<const hal::Binding> bindings) noexcept override;
  Status wait(hal::Ticket ticket, hal::Deadline /*deadline*/) noexcept override {
    CAMSHAFT_DCHECK(ticket <= last_ticket_);  // submit() ran it
    return base::ok();
  }
  Status reset() override { return base::ok(); }

 private:
  std::byte* memory_of(hal::Buffer buffer) override {
    const Memory* memory = buffers_.find(buffer.id);
    return memory == nullptr ? nullptr : memory->data;
  }
  KernelFunction kernel_of(hal::Program program, uint32_t kernel) override {
    const Kernels* kernels = programs_.find(program.id);
    return kernels == nullptr ? nullptr : kernels->functions[kernel];
  }

  hal::DeviceInfo info_;
  MemoryPolicy policy_;
  hwio::MemoryCalls& calls_;
  hal::HandleTable<Memory> buffers_;
  hal::HandleTable<Kernels> programs_;
  hal::HandleTable<std::unique_ptr<StepList>> lists_;
  hal::Ticket last_ticket_ = 0;
  std::unique_ptr<ThreadPool> pool_;  // last, so that its threads end first
};

Result<hal::Allocation> CpuDevice::allocate(uint64_t size_bytes, hal::MemoryKind kind) {
  Memory memory;
  CAMSHAFT_TRY_ASSIGN(memory.owned, HostMemory::allocate(size_bytes, policy_, calls_));
  memory.data = memory.owned.data();
  void* host_ptr = kind == hal::MemoryKind::kHostVisible ? memory.data : nullptr;
  CAMSHAFT_TRY_ASSIGN(const uint32_t id, buffers_.add(std::move(memory)));
  return hal::Allocation{.buffer = {id}, .host_ptr = host_ptr};
}

Result<hal::Buffer> CpuDevice::import_memory(const hal::ForeignMemory& memory) {
  CAMSHAFT_TRY(check_import(memory));
  CAMSHAFT_TRY_ASSIGN(
      const uint32_t id,
      buffers_.add(Memory{.data = reinterpret_cast<std::byte*>(memory.handle + memory.offset_bytes),
                          .owned = {},
                          .lease = hal::ForeignLease(memory)}));
  return hal::Buffer{id};
}

Result<hal::Program> CpuDevice::load(const hal::ProgramImage& image) {
  if (image.format != "elf-shared-object") {
    return base::fail(Code::kUnsupported, "cpu.format",
                      "the CPU device loads 'elf-shared-object' programs, not '%.*s'",
                      static_cast<int>(image.format.size()), image.format.data());
  }
  if (std::any_of(image.features.begin(), image.features.end(), needs_tile_registers)) {
    CAMSHAFT_TRY(ask_for_tile_registers());
  }
  CAMSHAFT_TRY_ASSIGN(const ElfImage elf, parse_elf(image.bytes, hwio::page_size_bytes()));
  CAMSHAFT_TRY_ASSIGN(LoadedProgram program, LoadedProgram::map(elf, calls_));
  std::vector<KernelFunction> functions;
  for (const std::string_view name : image.kernels) {
    const ElfFunction* function = elf.find(name);
    if (function == nullptr) {
      return base::fail(Code::kCorrupt, "cpu.kernel",
                        "the plan's kernel binary has no function '%.*s', which the plan launches",
                        static_cast<int>(name.size()), name.data());
    }
    functions.push_back(program.function(*function));
  }
  CAMSHAFT_TRY_ASSIGN(const uint32_t id, programs_.add(Kernels{.program = std::move(program),
                                                               .functions = std::move(functions)}));
  return hal::Program{id};
}

Result<hal::CommandList> CpuDevice::record(std::span<const hal::Command> commands,
                                           uint32_t slot_count) {
  CAMSHAFT_TRY_ASSIGN(std::unique_ptr<StepList> list, record_steps(commands, slot_count, *this));
  CAMSHAFT_TRY_ASSIGN(const uint32_t id, lists_.add(std::move(list)));
  return hal::CommandList{id};
}

Result<hal::Ticket> CpuDevice::submit(hal::CommandList list,
                                      std::span<const hal::Binding> bindings) noexcept {
  std::unique_ptr<StepList>* found = lists_.find(list.id);
  CAMSHAFT_DCHECK(found != nullptr);
  StepList& steps = **found;
  CAMSHAFT_DCHECK(bindings.size() == steps.slots.size());
  for (size_t i = 0; i < bindings.size(); ++i) {
    std::byte* memory =
        memory_of(bindings[i].buffer);  // none for a slot that the list leaves alone
    steps.slots[i] = memory == nullptr ? nullptr : memory + bindings[i].offset_bytes;
  }
  steps.apply_patches();
  pool_->run(steps);
  return ++last_ticket_;
}

}  // namespace

std::vector<hal::DeviceInfo> probe() {
  return {describe_cpu(std::min(usable_cpu_count(), kMaxThreads))};
}

Result<std::unique_ptr<hal::Device>> open(const hal::OpenOptions& options) {
  return open_with(options, hwio::system_memory_calls());
}

Result<std::unique_ptr<hal::Device>> open_with(const hal::OpenOptions& options,
                                               hwio::MemoryCalls& calls) {
  uint32_t threads = options.threads;
  if (threads == 0) threads = static_cast<uint32_t>(options.cpus.size());
  if (threads == 0) threads = std::min(usable_cpu_count(), kMaxThreads);
  CAMSHAFT_TRY_ASSIGN(
      std::unique_ptr<ThreadPool> pool,
      ThreadPool::start({.threads = threads, .cpus = options.cpus, .spin_ns = options.spin_ns}));
  const MemoryPolicy policy = {.huge_pages = options.huge_pages, .prefault = options.prefault};
  return std::unique_ptr<hal::Device>(std::make_unique<CpuDevice>(std::move(pool), policy, calls));
}

}  // namespace camshaft::cpu
