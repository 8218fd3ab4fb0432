// SPDX-License-Identifier: MIT
#include "devices/hal/trace.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <utility>

#include "runtime/base/clock.h"

namespace camshaft::hal {
namespace {

std::string json_string(const char* text) {
  std::string quoted = "\"";
  for (; *text != 0; ++text) {
    const unsigned char c = static_cast<unsigned char>(*text);
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, c < 0x20 || c == '"' || c == '\\' ? "\\u%04x" : "%c", c);
    quoted += escaped;
  }
  return quoted + '"';
}

}  // namespace

TraceDevice::TraceDevice(std::unique_ptr<Device> inner, uint32_t capacity)
    : inner_(std::move(inner)), ring_(std::max(capacity, 1u)) {}

TraceEntry& TraceDevice::add(Call call, int64_t start_ns, Status status, uint32_t handle,
                             uint64_t detail) noexcept {
  TraceEntry& entry = ring_[last_sequence_ % ring_.size()];
  entry = TraceEntry{.sequence = ++last_sequence_,
                     .start_ns = start_ns,
                     .duration_ns = base::mono_time_ns() - start_ns,
                     .detail = detail,
                     .handle = handle,
                     .call = call,
                     .code = status.code()};
  return entry;
}

std::vector<TraceEntry> TraceDevice::entries() const {
  std::vector<TraceEntry> ordered;
  const uint64_t count = std::min<uint64_t>(last_sequence_, ring_.size());
  for (uint64_t i = last_sequence_ - count; i < last_sequence_; ++i) {
    ordered.push_back(ring_[i % ring_.size()]);
  }
  return ordered;
}

std::string TraceDevice::to_text() const {
  std::string text;
  for (const TraceEntry& e : entries()) {
    char copies[24] = "";
    if (e.copies != 0) std::snprintf(copies, sizeof copies, ", copies: %" PRIu32, e.copies);
    char line[264];
    std::snprintf(line, sizeof line,
                  "%8" PRIu64 " %18.9f s %12.3f us  %-20s handle %-6" PRIu32 " %-12" PRIu64
                  " %s%s%s%s\n",
                  e.sequence, static_cast<double>(e.start_ns) * 1e-9,
                  static_cast<double>(e.duration_ns) * 1e-3, call_name(e.call), e.handle, e.detail,
                  base::code_name(e.code), copies, e.note[0] == 0 ? "" : "  ", e.note);
    text += line;
  }
  return text;
}

std::string TraceDevice::to_json() const {
  std::string json = "{\"device\": " + json_string(info().name) + ", \"calls\": [";
  const char* separator = "\n";
  for (const TraceEntry& e : entries()) {
    char object[288];
    std::snprintf(object, sizeof object,
                  "%s{\"sequence\": %" PRIu64 ", \"call\": \"%s\", \"start_ns\": %" PRId64
                  ", \"duration_ns\": %" PRId64 ", \"handle\": %" PRIu32 ", \"copies\": %" PRIu32
                  ", \"detail\": %" PRIu64 ", \"result\": \"%s\"",
                  separator, e.sequence, call_name(e.call), e.start_ns, e.duration_ns, e.handle,
                  e.copies, e.detail, base::code_name(e.code));
    json += object;
    if (e.note[0] != 0) json += ", \"note\": " + json_string(e.note);
    json += '}';
    separator = ",\n";
  }
  return json + "\n]}\n";
}

Result<Allocation> TraceDevice::allocate(uint64_t size_bytes, MemoryKind kind) {
  const int64_t start_ns = base::mono_time_ns();
  Result<Allocation> result = inner_->allocate(size_bytes, kind);
  add(Call::kAllocate, start_ns, result.error(), result ? result->buffer.id : 0, size_bytes);
  return result;
}

Result<Buffer> TraceDevice::import_memory(const ForeignMemory& memory) {
  const int64_t start_ns = base::mono_time_ns();
  Result<Buffer> result = inner_->import_memory(memory);
  add(Call::kImportMemory, start_ns, result.error(), result ? result->id : 0, memory.size_bytes);
  return result;
}

Result<Buffer> TraceDevice::make_image(const ImageSource& source) {
  const int64_t start_ns = base::mono_time_ns();
  Result<Buffer> result = inner_->make_image(source);
  add(Call::kMakeImage, start_ns, result.error(), result ? result->id : 0,
      source.shape.size_bytes());
  return result;
}

Result<Program> TraceDevice::load(const ProgramImage& image) {
  const int64_t start_ns = base::mono_time_ns();
  Result<Program> result = inner_->load(image);
  add(Call::kLoad, start_ns, result.error(), result ? result->id : 0, image.bytes.size());
  return result;
}

Result<CommandList> TraceDevice::record(std::span<const Command> commands, uint32_t slot_count) {
  const int64_t start_ns = base::mono_time_ns();
  Result<CommandList> result = inner_->record(commands, slot_count);
  TraceEntry& entry =
      add(Call::kRecord, start_ns, result.error(), result ? result->id : 0, commands.size());
  entry.copies = static_cast<uint32_t>(
      std::count_if(commands.begin(), commands.end(),
                    [](const Command& command) { return command.kind == CommandKind::kCopy; }));
  if (result) {
    std::snprintf(entry.note, sizeof entry.note, "%s", inner_->describe(*result).c_str());
  }
  return result;
}

void TraceDevice::release(Buffer buffer) {
  const int64_t start_ns = base::mono_time_ns();
  inner_->release(buffer);
  add(Call::kReleaseBuffer, start_ns, base::ok(), buffer.id, 0);
}

void TraceDevice::release(Program program) {
  const int64_t start_ns = base::mono_time_ns();
  inner_->release(program);
  add(Call::kReleaseProgram, start_ns, base::ok(), program.id, 0);
}

void TraceDevice::release(CommandList list) {
  const int64_t start_ns = base::mono_time_ns();
  inner_->release(list);
  add(Call::kReleaseCommandList, start_ns, base::ok(), list.id, 0);
}

Result<Ticket> TraceDevice::submit(CommandList list, std::span<const Binding> bindings) noexcept {
  const int64_t start_ns = base::mono_time_ns();
  Result<Ticket> result = inner_->submit(list, bindings);
  add(Call::kSubmit, start_ns, result.error(), list.id, result ? *result : 0);
  return result;
}

Status TraceDevice::wait(Ticket ticket, Deadline deadline) noexcept {
  const int64_t start_ns = base::mono_time_ns();
  const Status status = inner_->wait(ticket, deadline);
  add(Call::kWait, start_ns, status, 0, ticket);
  return status;
}

Status TraceDevice::reset() {
  const int64_t start_ns = base::mono_time_ns();
  const Status status = inner_->reset();
  add(Call::kReset, start_ns, status, 0, 0);
  return status;
}

}  // namespace camshaft::hal
