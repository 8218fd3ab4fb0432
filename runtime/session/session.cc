// SPDX-License-Identifier: MIT
#include "runtime/session/session.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/nearest.h"
#include "runtime/session/extents.h"
#include "runtime/session/recording.h"
#include "runtime/session/target.h"

namespace camshaft::session {
namespace {

using base::Code;

constexpr int64_t kCloseTimeoutNs = 1'000'000'000;
constexpr Status kNotRun(Code::kInvalidArgument, "session.not_run");

// Why there are no outputs. A run that failed has said so itself.
Status no_outputs(const Status& last_run) {
  if (last_run.site() != kNotRun.site()) return last_run;
  return base::fail(last_run.code(), last_run.site(),
                    "there are no outputs before a run, nor after other memory was bound: run the "
                    "session first");
}

// Index of the entry with that name in a list of things that have names.
template <typename List>
Result<uint32_t> find_name(const List& list, std::string_view name, const char* kind) {
  std::string known;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i].name == name) return static_cast<uint32_t>(i);
    known += (known.empty() ? "'" : "', '") + list[i].name;
  }
  return base::fail(
      Code::kInvalidArgument, "session.name", "there is no %s '%.*s'%s; there is: %s", kind,
      static_cast<int>(std::min<size_t>(name.size(), 100)), name.data(),
      base::did_you_mean(name, list, [](const auto& each) -> std::string_view { return each.name; })
          .c_str(),
      known.empty() ? "none" : (known + "'").c_str());
}

}  // namespace

Slice make_slice(const plan::PlanInfo& plan, uint32_t output, uint32_t slice) {
  const plan::TensorInfo& tensor = plan.outputs[output];
  const plan::OutputSlice& info = tensor.slices[slice];
  const auto element_bytes = static_cast<uint64_t>(base::dtype_size_bytes(tensor.dtype));
  uint64_t size_bytes = element_bytes;
  for (const int64_t extent : info.shape) size_bytes *= static_cast<uint64_t>(extent);
  return Slice{.output = output,
               .offset_bytes = info.offset * element_bytes,
               .size_bytes = size_bytes,
               .info = &info};
}

Result<std::unique_ptr<Session>> Session::open(const plan::PlanFile& plan, hal::Device& device,
                                               const SessionOptions& options) {
  CAMSHAFT_TRY_ASSIGN(const plan::TargetInfo* target,
                      choose_target(plan.info(), device.info(), options.target));
  std::unique_ptr<Session> session(new Session(plan, *target, device, options.profile));
  CAMSHAFT_TRY(session->check_memory_fits());
  CAMSHAFT_TRY(session->load_program());
  CAMSHAFT_TRY(session->place_weights());
  CAMSHAFT_TRY(session->allocate_memory());
  CAMSHAFT_TRY(session->make_images());
  CAMSHAFT_TRY(session->record_entries());
  return session;
}

Session::Session(const plan::PlanFile& plan, const plan::TargetInfo& target, hal::Device& device,
                 bool profile)
    : plan_(plan), target_(target), device_(device), profile_(profile), outputs_status_(kNotRun) {}

Session::~Session() {
  if (pending_ != 0) {
    (void)device_.wait(pending_, hal::Deadline{base::mono_time_ns() + kCloseTimeoutNs});
  }
  release_recordings();
  for (const ImportedMemory& memory : imported_) device_.release(memory.buffer);
  if (program_.id != 0) device_.release(program_);
}

// What open() allocates at least. More than the device has can be asked for on some systems, and
// then ends the process when it is touched.
Status Session::check_memory_fits() const {
  const uint64_t wanted_bytes = plan::run_bytes(plan_.info(), target_);
  const hal::DeviceInfo& device = device_.info();
  if (device.memory_bytes == 0 || wanted_bytes <= device.memory_bytes) return base::ok();
  const auto gib = [](uint64_t bytes) { return static_cast<double>(bytes) / (1 << 30); };
  return base::fail(
      Code::kWrongTarget, "session.memory",
      "the plan needs %.1f GiB of memory, %.1f of them for values between kernels and the rest for "
      "inputs, outputs and states, but device %s (%s) has %.1f; run it on a larger device, or "
      "compile the model for smaller inputs (--shape) or bounds (--bound)",
      gib(wanted_bytes), gib(target_.arena_bytes), device.backend, device.name,
      gib(device.memory_bytes));
}

Status Session::load_program() {
  if (target_.kernels.empty()) return base::ok();  // a plan of copies only
  std::vector<std::string_view> names;
  for (const plan::KernelInfo& kernel : target_.kernels) names.push_back(kernel.symbol);
  std::vector<hal::DriverBinaryView> driver_binaries;
  for (const plan::DriverBinaryInfo& binary : target_.driver_binaries) {
    driver_binaries.push_back({binary.driver, binary.digest, plan_.driver_binary(binary)});
  }
  CAMSHAFT_TRY_ASSIGN(program_, device_.load({.format = target_.binary_format,
                                              .bytes = plan_.binary(target_),
                                              .kernels = names,
                                              .features = target_.features,
                                              .driver_binaries = driver_binaries}));
  return base::ok();
}

Result<std::vector<hal::DriverBinary>> Session::driver_binaries() {
  if (program_.id == 0) return std::vector<hal::DriverBinary>();
  return device_.driver_binaries(program_);
}

std::string Session::describe(uint32_t entry) {
  return entry < entries_.size() ? device_.describe(entries_[entry].list) : std::string();
}

// In place where the device can use the mapped file; otherwise copied, once.
Status Session::place_weights() {
  const base::Bytes bytes = plan_.weights(target_);
  if (bytes.empty()) return base::ok();
  hal::ForeignMemory memory;
  memory.handle = reinterpret_cast<uint64_t>(bytes.data());
  memory.size_bytes = bytes.size();
  memory.sync = hal::CacheSync::kOwner;  // nobody writes to it
  if (Result<hal::Buffer> imported = device_.import_memory(memory)) {
    weights_ = *imported;
    return base::ok();
  }
  CAMSHAFT_TRY_ASSIGN(weights_copy_,
                      OwnedBuffer::allocate(device_, bytes.size(), hal::MemoryKind::kDevice));
  return upload(device_, weights_copy_.buffer(), bytes);
}

Status Session::allocate_memory() {
  // At least something, for arguments without bytes to point to.
  CAMSHAFT_TRY_ASSIGN(
      arena_, OwnedBuffer::allocate(device_, std::max(target_.arena_bytes, plan::kBufferAlignment),
                                    hal::MemoryKind::kDevice));
  for (const plan::StateInfo& state : target_.states) {
    CAMSHAFT_TRY_ASSIGN(OwnedBuffer buffer, OwnedBuffer::allocate(device_, state.size_bytes,
                                                                  hal::MemoryKind::kHostVisible));
    states_.push_back(std::move(buffer));
  }
  for (const plan::TensorInfo& info : plan_.info().inputs) {
    CAMSHAFT_TRY_ASSIGN(Port port, make_port(device_, info, false));
    inputs_.push_back(std::move(port));
  }
  for (const plan::TensorInfo& info : plan_.info().outputs) {
    CAMSHAFT_TRY_ASSIGN(Port port, make_port(device_, info, true));
    outputs_.push_back(std::move(port));
  }
  bindings_.resize(inputs_.size() + outputs_.size());
  return base::ok();
}

Status Session::make_images() {
  const ImageMemory memory = {
      .arena = arena_.buffer(), .weights = weights_buffer(), .inputs = inputs_};
  CAMSHAFT_TRY_ASSIGN(images_, Images::make(device_, target_, memory));
  for (uint32_t i = 0; i < inputs_.size(); ++i) {
    Port& port = inputs_[i];
    port.image = input_image(target_, i);
    if (port.image.is_image()) port.own_image = images_.find_input(i);
    update_binding(port, i);
  }
  for (uint32_t i = 0; i < outputs_.size(); ++i) update_binding(outputs_[i], i);
  return base::ok();
}

Status Session::record_entries() {
  const Placement placement = {
      .program = program_,
      .arena = arena_.buffer(),
      .weights = weights_buffer(),
      .states = states_,
      .images = &images_,
      .input_count = static_cast<uint32_t>(inputs_.size()),
      .slot_count = static_cast<uint32_t>(bindings_.size()),
  };
  for (const plan::EntryPoint& point : target_.entry_points) {
    Entry entry;
    if (profile_) {
      CAMSHAFT_TRY_ASSIGN(
          entry.stamps,
          OwnedBuffer::allocate(device_, (uint64_t{point.command_count} + 1) * sizeof(uint64_t),
                                hal::MemoryKind::kHostVisible));
      entry.times.resize(point.command_count);
    }
    CAMSHAFT_TRY_ASSIGN(entry.list,
                        record_entry(device_, target_, point, placement, entry.stamps.buffer()));
    entries_.push_back(std::move(entry));
  }
  return base::ok();
}

// What refers to memory that is not ours.
void Session::release_recordings() {
  for (const Entry& entry : entries_) device_.release(entry.list);
  entries_.clear();
  images_ = {};
  if (weights_.id != 0) device_.release(weights_);
  weights_ = {};
}

Result<uint32_t> Session::input_index(std::string_view name) const {
  return find_name(plan_.info().inputs, name, "input");
}

Result<uint32_t> Session::output_index(std::string_view name) const {
  return find_name(plan_.info().outputs, name, "output");
}

Result<uint32_t> Session::entry_index(std::string_view name) const {
  return find_name(target_.entry_points, name, "entry point");
}

Result<Slice> Session::find_slice(std::string_view output, std::string_view slice) const {
  CAMSHAFT_TRY_ASSIGN(const uint32_t index, output_index(output));
  CAMSHAFT_TRY_ASSIGN(const uint32_t position,
                      find_name(plan_.info().outputs[index].slices, slice, "slice"));
  return make_slice(plan_.info(), index, position);
}

Result<Port*> Session::find_port(std::vector<Port>& ports, uint32_t index) noexcept {
  if (index < ports.size()) return &ports[index];
  return base::fail(Code::kInvalidArgument, "session.index", "there is no %s %u; the plan has %zu",
                    &ports == &inputs_ ? "input" : "output", index, ports.size());
}

// The memory of inputs and outputs belongs to the device while a run goes on.
Status Session::check_idle() noexcept {
  if (pending_ == 0) return base::ok();
  const Status status = device_.wait(pending_, hal::Deadline{0});
  if (status.is_ok()) pending_ = 0;  // nobody wanted the late result
  return status;
}

Status Session::set_input(uint32_t index, const TensorView& tensor) noexcept {
  CAMSHAFT_TRY_ASSIGN(const Port* port, find_port(inputs_, index));
  CAMSHAFT_TRY(check_tensor(*port, tensor.dtype, tensor.shape, tensor.data.size()));
  CAMSHAFT_TRY_ASSIGN(const std::span<std::byte> bytes, input_span(index));
  if (!bytes.empty()) std::memcpy(bytes.data(), tensor.data.data(), bytes.size());
  return base::ok();
}

Result<std::span<std::byte>> Session::input_span(uint32_t index) noexcept {
  CAMSHAFT_TRY_ASSIGN(const Port* port, find_port(inputs_, index));
  if (port->is_bound()) {
    return base::fail(Code::kInvalidArgument, "session.bound",
                      "the input '%.100s' reads imported memory: write there, or unbind it first",
                      port->info->name.c_str());
  }
  CAMSHAFT_TRY(check_idle());
  return port->own.bytes().first(port->size_bytes);
}

Result<hal::Buffer> Session::import_memory(const hal::ForeignMemory& memory) {
  hal::ForeignMemory foreign = memory;
  if (memory.kind != hal::ForeignKind::kClImage) foreign.row_pitch_bytes = 0;  // checked by bind()
  CAMSHAFT_TRY_ASSIGN(const hal::Buffer buffer, device_.import_memory(foreign));
  ImportedMemory imported = {.buffer = buffer,
                             .size_bytes = memory.size_bytes,
                             .row_pitch_bytes = memory.row_pitch_bytes,
                             .writable = memory.writable,
                             .image = memory.image};
  if (memory.kind == hal::ForeignKind::kHostPointer) {
    imported.host_ptr = reinterpret_cast<std::byte*>(memory.handle + memory.offset_bytes);
  }
  imported_.push_back(imported);
  return buffer;
}

Status Session::release_memory(hal::Buffer buffer) {
  CAMSHAFT_TRY(check_idle());
  const auto is_used = [&](const Port& port) { return port.bound.buffer == buffer; };
  const auto found = std::find_if(imported_.begin(), imported_.end(),
                                  [&](const ImportedMemory& m) { return m.buffer == buffer; });
  if (found == imported_.end() || std::any_of(inputs_.begin(), inputs_.end(), is_used) ||
      std::any_of(outputs_.begin(), outputs_.end(), is_used)) {
    return base::fail(
        Code::kInvalidArgument, "session.release",
        "memory %u is not imported by this session, or is still bound: unbind it first", buffer.id);
  }
  imported_.erase(found);
  device_.release(buffer);
  return base::ok();
}

void Session::update_binding(const Port& port, uint32_t index) noexcept {
  const size_t first = port.is_output ? inputs_.size() : 0;
  bindings_[first + index] = hal::Binding{.buffer = port.buffer()};
}

Status Session::bind(std::vector<Port>& ports, uint32_t index, hal::Buffer imported) noexcept {
  CAMSHAFT_TRY_ASSIGN(Port * port, find_port(ports, index));
  CAMSHAFT_TRY(check_idle());
  const auto found = std::find_if(imported_.begin(), imported_.end(),
                                  [&](const ImportedMemory& m) { return m.buffer == imported; });
  if (found == imported_.end()) {
    return base::fail(Code::kInvalidArgument, "session.bind",
                      "memory %u was not imported by this session", imported.id);
  }
  CAMSHAFT_TRY(check_memory(*port, *found));
  port->bound = *found;
  update_binding(*port, index);
  return base::ok();
}

Status Session::unbind(std::vector<Port>& ports, uint32_t index) noexcept {
  CAMSHAFT_TRY_ASSIGN(Port * port, find_port(ports, index));
  CAMSHAFT_TRY(check_idle());
  port->bound = {};
  update_binding(*port, index);
  return base::ok();
}

Status Session::bind_input(uint32_t index, hal::Buffer imported) noexcept {
  return bind(inputs_, index, imported);
}

// What an output holds belongs to the memory it was written to.
Status Session::bind_output(uint32_t index, hal::Buffer imported) noexcept {
  if (plan_.info().exceeded_output == index) {
    return base::fail(Code::kInvalidArgument, "session.bind",
                      "output '%.100s' says whether a bound was exceeded and can't be bound to "
                      "other memory",
                      plan_.info().outputs[index].name.c_str());
  }
  CAMSHAFT_TRY(bind(outputs_, index, imported));
  outputs_status_ = kNotRun;
  return base::ok();
}

Status Session::unbind_input(uint32_t index) noexcept {
  return unbind(inputs_, index);
}

Status Session::unbind_output(uint32_t index) noexcept {
  CAMSHAFT_TRY(unbind(outputs_, index));
  outputs_status_ = kNotRun;
  return base::ok();
}

Result<RunResult> Session::run(const RunOptions& options) noexcept {
  if (options.entry >= entries_.size()) {
    return base::fail(Code::kInvalidArgument, "session.entry",
                      "there is no entry point %u; the plan has %zu", options.entry,
                      entries_.size());
  }
  CAMSHAFT_TRY(check_idle());
  pending_options_ = options;
  if (options.input_time_ns == 0) pending_options_.input_time_ns = base::mono_time_ns();
  ++sequence_;
  clear_exceeded();
  const Result<hal::Ticket> ticket = device_.submit(entries_[options.entry].list, bindings_);
  if (!ticket) {
    outputs_status_ = ticket.error();
    return ticket.error();
  }
  pending_ = *ticket;
  return finish(options.deadline);
}

Result<RunResult> Session::collect(hal::Deadline deadline) noexcept {
  if (pending_ == 0) {
    return base::fail(Code::kInvalidArgument, "session.collect",
                      "no run is waiting to be collected");
  }
  return finish(deadline);
}

Result<RunResult> Session::finish(hal::Deadline deadline) noexcept {
  outputs_status_ = device_.wait(pending_, deadline);
  if (outputs_status_.code() != Code::kDeadlineExceeded) pending_ = 0;
  if (outputs_status_.is_ok()) outputs_status_ = check_exceeded();
  CAMSHAFT_TRY(outputs_status_);
  const int64_t now_ns = base::mono_time_ns();
  return RunResult{.sequence = sequence_,
                   .done_time_ns = now_ns,
                   .age_ns = now_ns - pending_options_.input_time_ns,
                   .late = now_ns > pending_options_.deadline.mono_time_ns};
}

// An entry point that does not write the output leaves it so.
void Session::clear_exceeded() noexcept {
  const std::optional<uint32_t> index = plan_.info().exceeded_output;
  if (index) outputs_[*index].own.bytes()[0] = std::byte{0};
}

Status Session::check_exceeded() const noexcept {
  const std::optional<uint32_t> index = plan_.info().exceeded_output;
  if (!index || outputs_[*index].own.bytes()[0] == std::byte{0}) return base::ok();
  char bounds[200] = "";
  int length = 0;
  for (const plan::BoundInfo& bound : plan_.info().bounds) {
    const int room = static_cast<int>(sizeof bounds) - length;
    if (room < 60) break;
    length += std::snprintf(bounds + length, static_cast<size_t>(room), "%s%.30s=%lld",
                            length == 0 ? "" : ", ", bound.name.c_str(),
                            static_cast<long long>(bound.most));
  }
  const auto run = static_cast<unsigned long long>(sequence_);
  if (length == 0) {
    return base::fail(
        Code::kBoundExceeded, "session.extents",
        "run %llu gives operands extents that the model's operation does not take (its "
        "inputs decide them), so there are no outputs; check the inputs",
        run);
  }
  return base::fail(Code::kBoundExceeded, "session.bound",
                    "run %llu needs more than a bound allows that the plan was compiled with (%s), "
                    "or gives operands extents that don't fit, so its outputs are not what the "
                    "model means; compile with a larger --bound, or check the inputs",
                    run, bounds);
}

Status Session::output_extents(uint32_t index, std::span<int64_t> extents) const noexcept {
  if (!outputs_status_.is_ok()) return no_outputs(outputs_status_);
  if (index >= outputs_.size()) {
    return base::fail(Code::kInvalidArgument, "session.extents",
                      "there is no output %u; the plan has %zu", index, outputs_.size());
  }
  const plan::TensorInfo& info = *outputs_[index].info;
  if (extents.size() != info.shape.size()) {
    return base::fail(Code::kInvalidArgument, "session.extents",
                      "the output '%.100s' has %zu extents, and there is room for %zu: give as "
                      "many",
                      info.name.c_str(), info.shape.size(), extents.size());
  }
  base::Bytes counts;
  if (!info.counted_axes.empty()) {
    CAMSHAFT_TRY_ASSIGN(counts, output(info.count_output));
  }
  read_extents(info, counts, extents);
  return base::ok();
}

Result<base::Bytes> Session::output(uint32_t index) const noexcept {
  if (!outputs_status_.is_ok()) return no_outputs(outputs_status_);
  if (index >= outputs_.size()) {
    return base::fail(Code::kInvalidArgument, "session.index",
                      "there is no output %u; the plan has %zu", index, outputs_.size());
  }
  const Port& port = outputs_[index];
  if (port.host_ptr() == nullptr) return Status(Code::kUnsupported, "session.no_host_address");
  return base::Bytes(port.host_ptr(), port.size_bytes);
}

Result<base::Bytes> Session::output(const Slice& slice) const noexcept {
  CAMSHAFT_TRY_ASSIGN(const base::Bytes whole, output(slice.output));
  return base::slice(whole, slice.offset_bytes, slice.size_bytes);
}

Status Session::reset_states() noexcept {
  CAMSHAFT_TRY(check_idle());
  for (const OwnedBuffer& state : states_) {
    std::memset(state.bytes().data(), 0, state.size_bytes());
  }
  return base::ok();
}

Status Session::recover() {
  pending_ = 0;
  outputs_status_ = kNotRun;
  CAMSHAFT_TRY(device_.reset());
  for (std::vector<Port>* ports : {&inputs_, &outputs_}) {
    for (uint32_t i = 0; i < ports->size(); ++i) CAMSHAFT_TRY(unbind(*ports, i));
  }
  release_recordings();
  for (const ImportedMemory& memory : imported_) device_.release(memory.buffer);
  imported_.clear();
  weights_copy_ = {};
  CAMSHAFT_TRY(place_weights());
  CAMSHAFT_TRY(make_images());
  CAMSHAFT_TRY(record_entries());
  return reset_states();
}

std::span<const int64_t> Session::command_times(uint32_t entry) noexcept {
  if (entry >= entries_.size() || !outputs_status_.is_ok()) return {};
  Entry& timed = entries_[entry];
  const std::span<const std::byte> stamps = timed.stamps.bytes();
  for (size_t i = 0; i < timed.times.size(); ++i) {
    timed.times[i] = base::load_le<int64_t>(stamps.data() + (i + 1) * sizeof(int64_t)) -
                     base::load_le<int64_t>(stamps.data() + i * sizeof(int64_t));
  }
  return timed.times;
}

}  // namespace camshaft::session
