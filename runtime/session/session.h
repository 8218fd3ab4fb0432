// SPDX-License-Identifier: MIT
// A plan that runs: everything is loaded, allocated and recorded by open(), and what is left for
// each frame is to set inputs, run, and read outputs.
//
//   auto session = std::move(*Session::open(plan, device, {}));     // a Result: check it first
//   uint32_t image = *session->input_index("image");
//   for each frame:
//     memcpy(session->input_span(image)->data(), ...);      // or set_input, or bind_input
//     auto result = session->run({.deadline = ..., .input_time_ns = frame_time});
//     if (result) use(*session->output(0), result->late, result->age_ns);
//
// A device may work in a queue of the caller's (hal::open_device_on), on memory that the caller
// made there.
//
// Lifetimes: the PlanFile and the Device outlive the Session (weights are used where the file is
// mapped). Spans live until the session ends. One thread at a time; several sessions may share a
// device from one thread.
//
// The calls marked "hot path" are noexcept, do not allocate and, on a CPU device with one thread,
// make no system call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "devices/hal/device.h"
#include "runtime/base/bytes.h"
#include "runtime/base/status.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/reader.h"
#include "runtime/session/device_memory.h"
#include "runtime/session/images.h"
#include "runtime/session/port.h"

namespace camshaft::session {

using base::Result;
using base::Status;

struct SessionOptions {
  std::string_view target =
      {};  // as choose_target() takes it; empty: the first that fits the device
  // Records a time stamp between commands, for command_times(). Costs a barrier and a clock read
  // each; without it nothing is recorded and nothing is spent.
  bool profile = false;
};

// A tensor of the caller's: dense, row-major.
struct TensorView {
  base::DType dtype = base::DType::kFloat32;
  std::span<const int64_t> shape = {};
  base::Bytes data = {};
};

struct RunOptions {
  hal::Deadline deadline = {};  // absolute; by default none
  int64_t input_time_ns =
      0;               // when the inputs were captured, base::mono_time_ns(); 0: when run began
  uint32_t entry = 0;  // entry_index(); 0 is "run"
};

struct RunResult {
  uint64_t sequence = 0;     // of this run, from 1; runs that failed have used a number too
  int64_t done_time_ns = 0;  // base::mono_time_ns()
  int64_t age_ns = 0;        // from input_time_ns to done_time_ns
  bool late = false;         // done after the deadline
};

// A named part of an output.
struct Slice {
  uint32_t output = 0;
  uint64_t offset_bytes = 0;
  uint64_t size_bytes = 0;
  const plan::OutputSlice* info = nullptr;  // borrowed from the plan: shape and unit
};

// Slice number `slice` of an output; both must be there. Borrows from `plan`.
Slice make_slice(const plan::PlanInfo& plan, uint32_t output, uint32_t slice);

class Session {
 public:
  // Load time. Fails as choose_target() does, also where the plan needs more memory than the device
  // has; with kCorrupt or kUnsupported where the device refuses the program; with kOutOfMemory.
  static Result<std::unique_ptr<Session>> open(const plan::PlanFile& plan, hal::Device& device,
                                               const SessionOptions& options);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  // Waits for a run that is still going on (at most a second) and releases everything.
  ~Session();

  const plan::PlanInfo& info() const { return plan_.info(); }
  const plan::TargetInfo& target() const { return target_; }

  // By name. Fail with kInvalidArgument and a sentence that lists the names there are.
  Result<uint32_t> input_index(std::string_view name) const;
  Result<uint32_t> output_index(std::string_view name) const;
  Result<uint32_t> entry_index(std::string_view name) const;
  Result<Slice> find_slice(std::string_view output, std::string_view slice) const;

  // Copies a tensor into the session's own buffer of an input. kInvalidArgument, with a sentence
  // that says what is expected, for a wrong index, dtype, shape or size. hot path.
  Status set_input(uint32_t index, const TensorView& tensor) noexcept;
  // The session's own buffer of an input, 64-byte aligned, to be written in place between runs.
  // What it holds stays there from run to run. hot path.
  Result<std::span<std::byte>> input_span(uint32_t index) noexcept;

  // Makes memory of the caller's usable as inputs and outputs, without a copy: once for each camera
  // buffer, say. Fails with kUnsupported where the device can't; the caller may then copy. The
  // memory is the session's to use until release_memory(), recover() or the session's end, which
  // call on_release, once. Tensors are dense: a row pitch of plain bytes says what the memory's is,
  // and bind_input() checks that the tensor has it. Load time.
  Result<hal::Buffer> import_memory(const hal::ForeignMemory& memory);
  // Ends that; the memory must not be bound. Load time.
  Status release_memory(hal::Buffer buffer);
  // Lets the next runs read or write imported memory instead of the session's own buffer.
  // kInvalidArgument where it is too small, of another row pitch, not this session's or released,
  // or read-only for an output, and for the output that says whether a bound was exceeded, which
  // stays in the session's keeping. Nothing is made or copied: an input may be bound to another
  // memory for every run. hot path.
  Status bind_input(uint32_t index, hal::Buffer imported) noexcept;
  Status bind_output(uint32_t index, hal::Buffer imported) noexcept;
  // Goes back to the session's own buffer. hot path.
  Status unbind_input(uint32_t index) noexcept;
  Status unbind_output(uint32_t index) noexcept;

  // Runs an entry point and waits for it. Fails with kDeadlineExceeded where the device could not
  // finish in time (the work goes on: see collect()), with kBoundExceeded where the run needed more
  // than a bound that the plan was compiled with, so that its outputs are not what the model means,
  // and with kDeviceFault. A CPU always finishes, and may be late. hot path.
  Result<RunResult> run(const RunOptions& options) noexcept;
  // Waits for a run that missed its deadline; its result is late. kInvalidArgument if there is
  // none. Until it is collected, inputs can't be set, and run() fails with kDeadlineExceeded if it
  // is still going on. hot path.
  Result<RunResult> collect(hal::Deadline deadline) noexcept;

  // What the last run wrote. Where it failed, its Status, and never an older run's data. For output
  // memory of the caller's that has no host address: kUnsupported. hot path.
  Result<base::Bytes> output(uint32_t index) const noexcept;
  Result<base::Bytes> output(const Slice& slice) const noexcept;
  // How long each axis of an output was in the last run: as its shape says, except where that
  // depends on data (plan::TensorInfo::counted_axes), and never longer. Elements beyond mean
  // nothing. `extents` has an element an axis. Fails as output() does. hot path.
  Status output_extents(uint32_t index, std::span<int64_t> extents) const noexcept;

  // Zeroes all states, as at open(): for a new drive. hot path.
  Status reset_states() noexcept;
  // After a device fault: resets the device and makes the session ready again, or says why it
  // can't. States are zero; imported memory is gone and must be imported anew. Load time.
  Status recover();

  // What the device's driver made of the plan's program, to be kept in the plan. Some drivers finish
  // their work in a first run. kUnsupported where there is no such thing. Load time.
  Result<std::vector<hal::DriverBinary>> driver_binaries();
  // In which form the device plays an entry point, for people; may be empty. Load time.
  std::string describe(uint32_t entry);

  // With SessionOptions::profile: nanoseconds that each command of the entry point took in its last
  // run, in order; otherwise empty. Overwritten by the next call. hot path.
  std::span<const int64_t> command_times(uint32_t entry) noexcept;

 private:
  struct Entry {
    hal::CommandList list;
    OwnedBuffer stamps;  // with profile: one more than commands
    std::vector<int64_t> times;
  };

  Session(const plan::PlanFile& plan, const plan::TargetInfo& target, hal::Device& device,
          bool profile);
  Status check_memory_fits() const;
  Status load_program();
  Status place_weights();
  Status allocate_memory();
  Status make_images();
  Status record_entries();
  void release_recordings();
  hal::Buffer weights_buffer() const {
    return weights_.id != 0 ? weights_ : weights_copy_.buffer();
  }
  Status check_idle() noexcept;
  Result<Port*> find_port(std::vector<Port>& ports, uint32_t index) noexcept;
  Status bind(std::vector<Port>& ports, uint32_t index, hal::Buffer imported) noexcept;
  Status unbind(std::vector<Port>& ports, uint32_t index) noexcept;
  void update_binding(const Port& port, uint32_t index) noexcept;
  Result<RunResult> finish(hal::Deadline deadline) noexcept;
  void clear_exceeded() noexcept;
  Status check_exceeded() const noexcept;

  const plan::PlanFile& plan_;
  const plan::TargetInfo& target_;
  hal::Device& device_;
  bool profile_;

  hal::Program program_;
  hal::Buffer weights_;       // the plan file's own bytes, or, where the device can't use those,
  OwnedBuffer weights_copy_;  // this
  OwnedBuffer arena_;
  std::vector<OwnedBuffer> states_;
  std::vector<Port> inputs_;
  std::vector<Port> outputs_;
  Images images_;  // of the memory above
  std::vector<ImportedMemory> imported_;
  std::vector<Entry> entries_;
  std::vector<hal::Binding> bindings_;  // a slot for each input, then for each output

  Status outputs_status_;
  uint64_t sequence_ = 0;
  hal::Ticket pending_ = 0;  // of a run that is not known to be done; 0: none
  RunOptions pending_options_;
};

}  // namespace camshaft::session
