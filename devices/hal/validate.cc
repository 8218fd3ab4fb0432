// SPDX-License-Identifier: MIT
#include "devices/hal/validate.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <utility>

#include "runtime/base/bytes.h"
#include "runtime/base/log_ring.h"

namespace camshaft::hal {
namespace {

using base::is_aligned;
using base::range_fits;

void log_sentence(const char* format, va_list arguments) {
  char sentence[base::kLogLineBytes];
  std::vsnprintf(sentence, sizeof sentence, format, arguments);
  base::log_failure("%s", sentence);
}

unsigned long long wide(uint64_t value) {
  return value;
}

}  // namespace

Status ValidatingDevice::wrong(const char* site, const char* format, ...) noexcept {
  ++error_count_;
  va_list arguments;
  va_start(arguments, format);
  log_sentence(format, arguments);
  va_end(arguments);
  return Status(base::Code::kInvalidArgument, site);
}

Status ValidatingDevice::broken(const char* site, const char* format, ...) noexcept {
  ++error_count_;
  va_list arguments;
  va_start(arguments, format);
  log_sentence(format, arguments);
  va_end(arguments);
  return Status(base::Code::kInternal, site);
}

Result<Allocation> ValidatingDevice::allocate(uint64_t size_bytes, MemoryKind kind) {
  if (size_bytes == 0) return wrong("validate.size", "allocate: a buffer of 0 bytes");
  CAMSHAFT_TRY_ASSIGN(const Allocation made, inner_->allocate(size_bytes, kind));
  if (!buffers_.add_as(made.buffer.id, Memory{.size_bytes = size_bytes})) {
    return broken("validate.handle", "the %s device gave out buffer %u again", info().backend,
                  made.buffer.id);
  }
  if (kind == MemoryKind::kHostVisible && made.host_ptr == nullptr) {
    return broken("validate.host_ptr", "the %s device maps no host-visible memory", info().backend);
  }
  if (!is_aligned(reinterpret_cast<uintptr_t>(made.host_ptr), info().buffer_alignment)) {
    return broken("validate.alignment", "the %s device promises %u-byte alignment but gave %p",
                  info().backend, info().buffer_alignment, made.host_ptr);
  }
  return made;
}

Result<Buffer> ValidatingDevice::import_memory(const ForeignMemory& memory) {
  const bool is_image = memory.kind == ForeignKind::kClImage;
  if (memory.size_bytes == 0 && !is_image) {
    return wrong("validate.import", "import_memory: 0 bytes");
  }
  if (!is_image && memory.image.is_image()) {
    return wrong("validate.import", "import_memory: an image's shape for bytes");
  }
  const uint32_t alignment =
      memory.kind == ForeignKind::kHostPointer ? info().import_alignment : info().buffer_alignment;
  if (!is_aligned(memory.offset_bytes, alignment)) {
    return wrong("validate.import",
                 "import_memory: offset %llu is not a multiple of the device's %u bytes",
                 wide(memory.offset_bytes), alignment);
  }
  CAMSHAFT_TRY_ASSIGN(const Buffer buffer, inner_->import_memory(memory));
  const Memory kept = {
      .size_bytes = memory.size_bytes, .writable = memory.writable, .image = memory.image};
  if (!buffers_.add_as(buffer.id, kept)) {
    return broken("validate.handle", "the %s device gave out buffer %u again", info().backend,
                  buffer.id);
  }
  return buffer;
}

Result<Buffer> ValidatingDevice::make_image(const ImageSource& source) {
  const ImageShape& shape = source.shape;
  const Memory* bytes = buffers_.find(source.buffer.id);
  if (bytes == nullptr || bytes->image.is_image()) {
    return wrong("validate.image", "make_image: there is no buffer %u of bytes", source.buffer.id);
  }
  if (!base::is_image_dtype(shape.dtype) || !shape.is_image() || shape.height == 0 ||
      shape.row_pitch_bytes < shape.width * shape.texel_bytes() ||
      shape.row_pitch_bytes % shape.texel_bytes() != 0 ||
      (info().max_image_width > 0 &&
       (shape.width > info().max_image_width || shape.height > info().max_image_height))) {
    return wrong("validate.image", "make_image: the %s device has no image of %u x %u texels",
                 info().backend, shape.width, shape.height);
  }
  if (!is_aligned(source.offset_bytes, info().buffer_alignment) ||
      !range_fits(source.offset_bytes, shape.size_bytes(), bytes->size_bytes)) {
    return wrong("validate.image", "make_image: bytes %llu + %llu of buffer %u, which has %llu",
                 wide(source.offset_bytes), wide(shape.size_bytes()), source.buffer.id,
                 wide(bytes->size_bytes));
  }
  const Memory kept = {
      .size_bytes = shape.size_bytes(), .writable = bytes->writable, .image = shape};
  CAMSHAFT_TRY_ASSIGN(const Buffer image, inner_->make_image(source));
  if (!buffers_.add_as(image.id, kept)) {
    return broken("validate.handle", "the %s device gave out buffer %u again", info().backend,
                  image.id);
  }
  return image;
}

Result<Program> ValidatingDevice::load(const ProgramImage& image) {
  CAMSHAFT_TRY_ASSIGN(const Program program, inner_->load(image));
  Loaded kept;
  kept.argument_counts.assign(image.kernels.size(), kUnknownCount);
  if (!programs_.add_as(program.id, std::move(kept))) {
    return broken("validate.handle", "the %s device gave out program %u again", info().backend,
                  program.id);
  }
  return program;
}

Result<CommandList> ValidatingDevice::record(std::span<const Command> commands,
                                             uint32_t slot_count) {
  Recorded kept;
  kept.slots.resize(slot_count);
  for (const Command& command : commands) CAMSHAFT_TRY(check_command(command, kept));
  CAMSHAFT_TRY_ASSIGN(const CommandList list, inner_->record(commands, slot_count));
  if (!lists_.add_as(list.id, std::move(kept))) {
    return broken("validate.handle", "the %s device gave out command list %u again", info().backend,
                  list.id);
  }
  return list;
}

Status ValidatingDevice::check_command(const Command& command, Recorded& list) {
  switch (command.kind) {
    case CommandKind::kLaunch:
      return check_launch(command, list);
    case CommandKind::kCopy:
      return check_copy(command, list);
    case CommandKind::kTimestamp:
      if (!is_aligned(command.destination.offset_bytes, sizeof(uint64_t))) {
        return wrong("validate.timestamp", "record: a timestamp's destination must be 8-aligned");
      }
      return check_memory(command.destination, sizeof(uint64_t), true, list);
    case CommandKind::kBarrier:
      return base::ok();
  }
  return wrong("validate.command", "record: no command has kind %d",
               static_cast<int>(command.kind));
}

Status ValidatingDevice::check_launch(const Command& command, Recorded& list) {
  Loaded* program = programs_.find(command.program.id);
  if (program == nullptr) {
    return wrong("validate.program", "record: there is no program %u", command.program.id);
  }
  if (command.kernel >= program->argument_counts.size()) {
    return wrong("validate.kernel", "record: program %u has %zu kernels, so no kernel %u",
                 command.program.id, program->argument_counts.size(), command.kernel);
  }
  const uint32_t* sizes[] = {command.grid, command.group};
  for (const uint32_t* size : sizes) {
    if (size[0] == 0 || size[1] == 0 || size[2] == 0) {
      return wrong("validate.grid", "record: a launch with a grid or group of 0");
    }
  }
  if (command.parts == 0) return wrong("validate.parts", "record: a launch in 0 parts");
  uint32_t& expected = program->argument_counts[command.kernel];
  if (expected == kUnknownCount) expected = static_cast<uint32_t>(command.args.size());
  if (expected != command.args.size()) {
    return wrong("validate.args", "record: kernel %u took %u arguments before, now %zu",
                 command.kernel, expected, command.args.size());
  }
  for (const KernelArg& arg : command.args) {
    if (arg.kind == ArgKind::kScalar) continue;
    if (!is_aligned(arg.offset_bytes, info().buffer_alignment)) {
      return wrong("validate.alignment",
                   "record: a kernel argument's offset %llu is not a multiple of %u",
                   wide(arg.offset_bytes), info().buffer_alignment);
    }
    CAMSHAFT_TRY(check_memory(arg, 1, false, list));
  }
  list.programs.push_back(command.program.id);
  return base::ok();
}

Status ValidatingDevice::check_copy(const Command& command, Recorded& list) {
  if (command.size_bytes == 0) return wrong("validate.copy", "record: a copy of 0 bytes");
  CAMSHAFT_TRY(check_memory(command.source, command.size_bytes, false, list));
  CAMSHAFT_TRY(check_memory(command.destination, command.size_bytes, true, list));
  const KernelArg& a = command.source;
  const KernelArg& b = command.destination;
  const bool same =
      a.kind == b.kind && (a.kind == ArgKind::kBuffer ? a.buffer == b.buffer : a.slot == b.slot);
  if (same && a.offset_bytes < b.offset_bytes + command.size_bytes &&
      b.offset_bytes < a.offset_bytes + command.size_bytes) {
    return wrong("validate.copy", "record: a copy whose source and destination overlap");
  }
  return base::ok();
}

Status ValidatingDevice::check_image(const KernelArg& arg, Recorded& list) {
  if (arg.offset_bytes != 0) {
    return wrong("validate.image", "record: an image at offset %llu", wide(arg.offset_bytes));
  }
  if (arg.kind == ArgKind::kSlot) {
    if (arg.slot >= list.slots.size()) {
      return wrong("validate.slot", "record: slot %u of a list that has %zu", arg.slot,
                   list.slots.size());
    }
    Slot& slot = list.slots[arg.slot];
    if (slot.size_bytes != 0 && !slot.image.has_texels_of(arg.image)) {
      return wrong("validate.image", "record: slot %u is used as something else, too", arg.slot);
    }
    slot.image = arg.image;
    slot.size_bytes = 1;
    return base::ok();
  }
  const Memory* memory = buffers_.find(arg.buffer.id);
  if (memory == nullptr || !memory->image.has_texels_of(arg.image)) {
    return wrong("validate.image", "record: buffer %u is no image of %u x %u texels", arg.buffer.id,
                 arg.image.width, arg.image.height);
  }
  list.buffers.push_back(arg.buffer.id);
  return base::ok();
}

Status ValidatingDevice::check_memory(const KernelArg& arg, uint64_t size_bytes, bool written,
                                      Recorded& list) {
  if (arg.image.is_image()) return check_image(arg, list);
  if (arg.kind == ArgKind::kSlot) {
    if (arg.slot >= list.slots.size()) {
      return wrong("validate.slot", "record: slot %u of a list that has %zu", arg.slot,
                   list.slots.size());
    }
    const std::optional<uint64_t> end = base::checked_add(arg.offset_bytes, size_bytes);
    if (!end) return wrong("validate.bounds", "record: an offset of %llu", wide(arg.offset_bytes));
    Slot& slot = list.slots[arg.slot];
    if (slot.image.is_image()) {
      return wrong("validate.image", "record: slot %u is used as an image, too", arg.slot);
    }
    slot.size_bytes = std::max(slot.size_bytes, *end);
    slot.written |= written;
    return base::ok();
  }
  if (arg.kind != ArgKind::kBuffer) {
    return wrong("validate.argument", "record: a scalar where memory is needed");
  }
  const Memory* memory = buffers_.find(arg.buffer.id);
  if (memory == nullptr) {
    return wrong("validate.buffer", "record: there is no buffer %u", arg.buffer.id);
  }
  if (memory->image.is_image()) {
    return wrong("validate.image", "record: buffer %u is an image, used as bytes", arg.buffer.id);
  }
  if (!range_fits(arg.offset_bytes, size_bytes, memory->size_bytes)) {
    return wrong("validate.bounds", "record: bytes %llu + %llu of buffer %u, which has %llu",
                 wide(arg.offset_bytes), wide(size_bytes), arg.buffer.id, wide(memory->size_bytes));
  }
  if (written && !memory->writable) {
    return wrong("validate.read_only", "record: buffer %u was imported read-only", arg.buffer.id);
  }
  list.buffers.push_back(arg.buffer.id);
  return base::ok();
}

template <typename T>
bool ValidatingDevice::may_release(HandleTable<T>& table, uint32_t id, const char* kind) {
  const T* entry = table.find(id);
  if (entry == nullptr) {
    (void)wrong("validate.release", "release: there is no %s %u (released twice?)", kind, id);
    return false;
  }
  if (entry->last_use > last_reached_) {
    (void)wrong("validate.release", "release: %s %u is in use until ticket %llu; wait for it", kind,
                id, wide(entry->last_use));
    return false;
  }
  (void)table.take(id);
  return true;
}

void ValidatingDevice::release(Buffer buffer) {
  if (may_release(buffers_, buffer.id, "buffer")) inner_->release(buffer);
}

void ValidatingDevice::release(Program program) {
  if (may_release(programs_, program.id, "program")) inner_->release(program);
}

void ValidatingDevice::release(CommandList list) {
  if (may_release(lists_, list.id, "command list")) inner_->release(list);
}

Status ValidatingDevice::check_list(const Recorded& list) noexcept {
  for (const uint32_t id : list.buffers) {
    if (buffers_.find(id) == nullptr) {
      return wrong("validate.released", "submit: the list uses buffer %u, which was released", id);
    }
  }
  for (const uint32_t id : list.programs) {
    if (programs_.find(id) == nullptr) {
      return wrong("validate.released", "submit: the list uses program %u, which was released", id);
    }
  }
  return base::ok();
}

Status ValidatingDevice::check_bindings(const Recorded& list,
                                        std::span<const Binding> bindings) noexcept {
  if (bindings.size() != list.slots.size()) {
    return wrong("validate.bindings", "submit: %zu bindings for a list with %zu slots",
                 bindings.size(), list.slots.size());
  }
  for (size_t i = 0; i < bindings.size(); ++i) {
    const Slot& slot = list.slots[i];
    const Binding& binding = bindings[i];
    if (slot.size_bytes == 0) continue;
    const Memory* memory = buffers_.find(binding.buffer.id);
    if (memory == nullptr) {
      return wrong("validate.binding", "submit: slot %zu is bound to buffer %u, which is not there",
                   i, binding.buffer.id);
    }
    if (!memory->image.has_texels_of(slot.image)) {
      return wrong("validate.image", "submit: slot %zu takes %s, and buffer %u is %s", i,
                   slot.image.is_image() ? "an image of another shape" : "bytes", binding.buffer.id,
                   memory->image.is_image() ? "an image" : "bytes");
    }
    if (slot.image.is_image()) continue;
    if (!is_aligned(binding.offset_bytes, info().buffer_alignment)) {
      return wrong("validate.alignment", "submit: slot %zu has offset %llu, not a multiple of %u",
                   i, wide(binding.offset_bytes), info().buffer_alignment);
    }
    if (!range_fits(binding.offset_bytes, slot.size_bytes, memory->size_bytes)) {
      return wrong(
          "validate.bounds",
          "submit: slot %zu needs %llu bytes from offset %llu of buffer %u, which has %llu", i,
          wide(slot.size_bytes), wide(binding.offset_bytes), binding.buffer.id,
          wide(memory->size_bytes));
    }
    if (slot.written && !memory->writable) {
      return wrong("validate.read_only", "submit: slot %zu is written, but buffer %u is read-only",
                   i, binding.buffer.id);
    }
  }
  return base::ok();
}

void ValidatingDevice::note_use(Recorded& list, std::span<const Binding> bindings,
                                Ticket ticket) noexcept {
  list.last_use = ticket;
  for (const uint32_t id : list.buffers) buffers_.find(id)->last_use = ticket;
  for (const uint32_t id : list.programs) programs_.find(id)->last_use = ticket;
  for (const Binding& binding : bindings) {
    if (Memory* memory = buffers_.find(binding.buffer.id)) memory->last_use = ticket;
  }
}

Result<Ticket> ValidatingDevice::submit(CommandList list,
                                        std::span<const Binding> bindings) noexcept {
  Recorded* recorded = lists_.find(list.id);
  if (recorded == nullptr) {
    return wrong("validate.list", "submit: there is no command list %u", list.id);
  }
  CAMSHAFT_TRY(check_list(*recorded));
  CAMSHAFT_TRY(check_bindings(*recorded, bindings));
  CAMSHAFT_TRY_ASSIGN(const Ticket ticket, inner_->submit(list, bindings));
  if (ticket <= last_submitted_) {
    return broken("validate.ticket", "the %s device gave ticket %llu after %llu", info().backend,
                  wide(ticket), wide(last_submitted_));
  }
  last_submitted_ = ticket;
  note_use(*recorded, bindings, ticket);
  return ticket;
}

Status ValidatingDevice::wait(Ticket ticket, Deadline deadline) noexcept {
  if (ticket > last_submitted_) {
    return wrong("validate.wait", "wait: ticket %llu, but the last submit gave %llu", wide(ticket),
                 wide(last_submitted_));
  }
  CAMSHAFT_TRY(inner_->wait(ticket, deadline));
  last_reached_ = std::max(last_reached_, ticket);
  return base::ok();
}

Status ValidatingDevice::reset() {
  CAMSHAFT_TRY(inner_->reset());
  last_reached_ = last_submitted_;  // a reset device has no work in flight
  return base::ok();
}

}  // namespace camshaft::hal
