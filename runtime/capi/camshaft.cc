// SPDX-License-Identifier: MIT
#include "runtime/capi/camshaft.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "devices/registry.h"
#include "runtime/base/clock.h"
#include "runtime/base/log_ring.h"
#include "runtime/base/nearest.h"
#include "runtime/base/version.h"
#include "runtime/plan/reader.h"
#include "runtime/session/session.h"

struct camshaft_plan {
  std::shared_ptr<const camshaft::plan::PlanFile> file;
};
struct camshaft_device {
  std::shared_ptr<camshaft::hal::Device> device;
};
// Keeps what it borrows, and goes before it.
struct camshaft_session {
  std::shared_ptr<const camshaft::plan::PlanFile> file;
  std::shared_ptr<camshaft::hal::Device> device;
  std::unique_ptr<camshaft::session::Session> session;
};

namespace {

using camshaft::base::Code;
using camshaft::base::Result;
using camshaft::base::Status;
namespace base = camshaft::base;
namespace hal = camshaft::hal;
namespace plan = camshaft::plan;
namespace session = camshaft::session;

static_assert(CAMSHAFT_INTERNAL == static_cast<int>(Code::kInternal));
static_assert(CAMSHAFT_BOUND_EXCEEDED == static_cast<int>(Code::kBoundExceeded));
static_assert(CAMSHAFT_BUSY == static_cast<int>(Code::kBusy));
static_assert(plan::kMaxRank <= 32);  // the bits of counted_axes
static_assert(CAMSHAFT_NOT_FOUND == static_cast<int>(Code::kNotFound));
static_assert(CAMSHAFT_BOOL == static_cast<int>(base::DType::kBool));
static_assert(CAMSHAFT_MEMORY_MEMORY_FD == static_cast<int>(hal::ForeignKind::kMemoryFd));
static_assert(CAMSHAFT_MEMORY_CL_IMAGE == static_cast<int>(hal::ForeignKind::kClImage));
static_assert(CAMSHAFT_CACHE_OWNER == static_cast<int>(hal::CacheSync::kOwner));
static_assert(CAMSHAFT_UINT8 == static_cast<int>(base::DType::kUInt8));

thread_local char last_error[base::kLogLineBytes] = "";

// One call of the API: turns its outcome into a status and, for failures, keeps the sentence that
// was written to the log ring meanwhile.
class Call {
 public:
  camshaft_status finish(Status status) const {
    if (!status.is_ok()) keep_sentence(status);
    return static_cast<camshaft_status>(status.code());
  }
  // Hands the value over where there is one.
  template <typename T, typename Store>
  camshaft_status finish(Result<T> result, Store store) const {
    if (result) store(std::move(*result));
    return finish(result.error());
  }
  camshaft_status null_argument(const char* function) const {
    return finish(base::fail(Code::kInvalidArgument, "capi.null",
                             "%s was passed a null pointer where it needs an object", function));
  }

 private:
  void keep_sentence(Status status) const {
    std::vector<base::LogLine> lines = base::log_lines_after(before_);
    std::erase_if(lines,
                  [](const base::LogLine& line) { return line.kind != base::LogKind::kFailure; });
    if (lines.empty()) {
      std::snprintf(last_error, sizeof last_error, "%s (%s)", base::code_name(status.code()),
                    status.site());
    } else {
      std::snprintf(last_error, sizeof last_error, "%s", lines.back().text.c_str());
    }
  }

  uint64_t before_ = base::log_sequence();
};

// The caller's options, with defaults for what an older program did not know of.
template <typename Options>
Result<Options> read_options(const Options* given) {
  Options options = {};
  if (given == nullptr) return options;
  if (given->struct_size < sizeof given->struct_size) {
    return base::fail(Code::kInvalidArgument, "capi.struct_size",
                      "an options structure has struct_size %zu: set it to sizeof the structure",
                      given->struct_size);
  }
  std::memcpy(&options, given, std::min(given->struct_size, sizeof options));
  return options;
}

hal::Deadline to_deadline(int64_t deadline_ns) {
  return deadline_ns == 0 ? hal::Deadline{} : hal::Deadline{deadline_ns};
}

Status fill_info(const std::vector<plan::TensorInfo>& tensors, uint32_t index,
                 camshaft_tensor_info* info) {
  if (index >= tensors.size()) {
    return base::fail(Code::kInvalidArgument, "capi.index",
                      "the plan has %zu of these, no number %u", tensors.size(), index);
  }
  const plan::TensorInfo& tensor = tensors[index];
  *info = {.name = tensor.name.c_str(),
           .dtype = static_cast<camshaft_dtype>(tensor.dtype),
           .rank = static_cast<uint32_t>(tensor.shape.size()),
           .shape = tensor.shape.data(),
           .size_bytes = tensor.size_bytes(),
           .unit = tensor.unit.c_str()};
  return base::ok();
}

Result<uint32_t> find_tensor(const std::vector<plan::TensorInfo>& tensors, const char* name,
                             const char* kind) {
  std::string known;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].name == name) return static_cast<uint32_t>(i);
    known += (known.empty() ? "" : ", ") + tensors[i].name;
  }
  return base::fail(Code::kInvalidArgument, "capi.name",
                    "the plan has no %s '%.100s'%s; it has: %s", kind, name,
                    base::did_you_mean(name, tensors, &plan::TensorInfo::name).c_str(),
                    known.empty() ? "none" : known.c_str());
}

const std::vector<plan::OutputSlice>* find_slices(const camshaft_plan* plan, uint32_t output) {
  const std::vector<plan::TensorInfo>& outputs = plan->file->info().outputs;
  return output < outputs.size() ? &outputs[output].slices : nullptr;
}

Result<hal::ForeignMemory> to_foreign(const camshaft_memory& memory) {
  if (memory.kind >= hal::kForeignKindCount || memory.sync > CAMSHAFT_CACHE_OWNER ||
      memory.image_dtype >= base::kDTypeCount) {
    return base::fail(Code::kInvalidArgument, "capi.memory",
                      "there is no memory kind %u, no cache rule %u or no dtype %u: see the "
                      "enumerations",
                      memory.kind, memory.sync, memory.image_dtype);
  }
  hal::ForeignMemory foreign;
  foreign.kind = static_cast<hal::ForeignKind>(memory.kind);
  foreign.handle = memory.handle;
  foreign.size_bytes = memory.size_bytes;
  foreign.offset_bytes = memory.offset_bytes;
  foreign.row_pitch_bytes = memory.row_pitch_bytes;
  foreign.format = memory.format;
  foreign.image = {.dtype = static_cast<base::DType>(memory.image_dtype),
                   .width = memory.image_width,
                   .height = memory.image_height};
  foreign.writable = memory.writable != 0;
  foreign.sync = static_cast<hal::CacheSync>(memory.sync);
  foreign.on_release = memory.on_release;
  foreign.release_context = memory.release_context;
  return foreign;
}

camshaft_run_result to_c(const session::RunResult& result) {
  return {.sequence = result.sequence,
          .done_time_ns = result.done_time_ns,
          .age_ns = result.age_ns,
          .late = result.late ? 1u : 0u};
}

auto store_result(camshaft_run_result* result) {
  return [result](const session::RunResult& value) {
    if (result != nullptr) *result = to_c(value);
  };
}

}  // namespace

const char* camshaft_version(void) {
  static_assert(CAMSHAFT_VERSION_MAJOR == 0 && CAMSHAFT_VERSION_MINOR == 1 &&
                CAMSHAFT_VERSION_PATCH == 0);
  return camshaft::base::kVersion;
}

const char* camshaft_status_name(camshaft_status status) {
  const bool is_known = status >= CAMSHAFT_OK && status <= CAMSHAFT_BUSY;
  return is_known ? base::code_name(static_cast<Code>(status)) : "unknown status";
}

const char* camshaft_last_error(void) {
  return last_error;
}

int64_t camshaft_now_ns(void) {
  return base::mono_time_ns();
}

camshaft_status camshaft_plan_open(const char* path, const uint8_t* public_key,
                                   camshaft_plan** out) {
  const Call call;
  if (path == nullptr || out == nullptr) return call.null_argument(__func__);
  plan::ReadOptions options;
  if (public_key != nullptr) {
    std::copy_n(public_key, options.public_key.emplace().size(), options.public_key->begin());
  }
  return call.finish(plan::PlanFile::open(path, options), [&](plan::PlanFile&& file) {
    *out = new camshaft_plan{std::make_shared<const plan::PlanFile>(std::move(file))};
  });
}

void camshaft_plan_close(camshaft_plan* plan) {
  delete plan;
}

uint32_t camshaft_plan_input_count(const camshaft_plan* plan) {
  return plan == nullptr ? 0 : static_cast<uint32_t>(plan->file->info().inputs.size());
}

uint32_t camshaft_plan_output_count(const camshaft_plan* plan) {
  return plan == nullptr ? 0 : static_cast<uint32_t>(plan->file->info().outputs.size());
}

camshaft_status camshaft_plan_input(const camshaft_plan* plan, uint32_t index,
                                    camshaft_tensor_info* info) {
  const Call call;
  if (plan == nullptr || info == nullptr) return call.null_argument(__func__);
  return call.finish(fill_info(plan->file->info().inputs, index, info));
}

camshaft_status camshaft_plan_output(const camshaft_plan* plan, uint32_t index,
                                     camshaft_tensor_info* info) {
  const Call call;
  if (plan == nullptr || info == nullptr) return call.null_argument(__func__);
  return call.finish(fill_info(plan->file->info().outputs, index, info));
}

uint32_t camshaft_plan_slice_count(const camshaft_plan* plan, uint32_t output) {
  const auto* slices = plan == nullptr ? nullptr : find_slices(plan, output);
  return slices == nullptr ? 0 : static_cast<uint32_t>(slices->size());
}

camshaft_status camshaft_plan_slice(const camshaft_plan* plan, uint32_t output, uint32_t index,
                                    camshaft_slice_info* info) {
  const Call call;
  if (plan == nullptr || info == nullptr) return call.null_argument(__func__);
  const auto* slices = find_slices(plan, output);
  if (slices == nullptr || index >= slices->size()) {
    return call.finish(base::fail(Code::kInvalidArgument, "capi.slice",
                                  "the plan's output %u has no slice %u", output, index));
  }
  const session::Slice slice = session::make_slice(plan->file->info(), output, index);
  *info = {.name = slice.info->name.c_str(),
           .rank = static_cast<uint32_t>(slice.info->shape.size()),
           .shape = slice.info->shape.data(),
           .offset_bytes = slice.offset_bytes,
           .size_bytes = slice.size_bytes,
           .unit = slice.info->unit.c_str()};
  return CAMSHAFT_OK;
}

camshaft_status camshaft_plan_input_index(const camshaft_plan* plan, const char* name,
                                          uint32_t* index) {
  const Call call;
  if (plan == nullptr || name == nullptr || index == nullptr) return call.null_argument(__func__);
  return call.finish(find_tensor(plan->file->info().inputs, name, "input"),
                     [&](uint32_t found) { *index = found; });
}

camshaft_status camshaft_plan_output_index(const camshaft_plan* plan, const char* name,
                                           uint32_t* index) {
  const Call call;
  if (plan == nullptr || name == nullptr || index == nullptr) return call.null_argument(__func__);
  return call.finish(find_tensor(plan->file->info().outputs, name, "output"),
                     [&](uint32_t found) { *index = found; });
}

camshaft_status camshaft_device_open(const char* name, const camshaft_device_options* given,
                                     camshaft_device** out) {
  const Call call;
  if (name == nullptr || out == nullptr) return call.null_argument(__func__);
  const Result<camshaft_device_options> options = read_options(given);
  if (!options) return call.finish(options.error());
  hal::OpenOptions open_options;
  open_options.threads = options->threads;
  if (options->cpus != nullptr) open_options.cpus = {options->cpus, options->cpu_count};
  open_options.huge_pages = options->no_huge_pages == 0;
  return call.finish(hal::open_device(camshaft::devices::backends(), name, open_options),
                     [&](std::unique_ptr<hal::Device>&& device) {
                       *out = new camshaft_device{std::move(device)};
                     });
}

camshaft_status camshaft_device_open_on(const char* name, const camshaft_queue* given,
                                        camshaft_device** out) {
  const Call call;
  if (name == nullptr || given == nullptr || out == nullptr) return call.null_argument(__func__);
  const Result<camshaft_queue> queue = read_options(given);
  if (!queue) return call.finish(queue.error());
  const hal::CallerQueue caller = {
      .context = queue->context, .device = queue->device, .queue = queue->queue};
  return call.finish(hal::open_device_on(camshaft::devices::backends(), name, caller, {}),
                     [&](std::unique_ptr<hal::Device>&& device) {
                       *out = new camshaft_device{std::move(device)};
                     });
}

void camshaft_device_close(camshaft_device* device) {
  delete device;
}

camshaft_status camshaft_session_open(camshaft_plan* plan, camshaft_device* device,
                                      const camshaft_session_options* given,
                                      camshaft_session** out) {
  const Call call;
  if (plan == nullptr || device == nullptr || out == nullptr) return call.null_argument(__func__);
  const Result<camshaft_session_options> options = read_options(given);
  if (!options) return call.finish(options.error());
  session::SessionOptions session_options;
  if (options->target != nullptr) session_options.target = options->target;
  return call.finish(session::Session::open(*plan->file, *device->device, session_options),
                     [&](std::unique_ptr<session::Session>&& opened) {
                       *out = new camshaft_session{plan->file, device->device, std::move(opened)};
                     });
}

void camshaft_session_close(camshaft_session* session) {
  delete session;
}

camshaft_status camshaft_session_entry_index(const camshaft_session* session, const char* name,
                                             uint32_t* entry) {
  const Call call;
  if (session == nullptr || name == nullptr || entry == nullptr) {
    return call.null_argument(__func__);
  }
  return call.finish(session->session->entry_index(name), [&](uint32_t found) { *entry = found; });
}

camshaft_status camshaft_session_set_input(camshaft_session* session, uint32_t input,
                                           camshaft_dtype dtype, const int64_t* shape,
                                           uint32_t rank, const void* data, uint64_t size_bytes) {
  const Call call;
  if (session == nullptr || (data == nullptr && size_bytes != 0) ||
      (shape == nullptr && rank != 0)) {
    return call.null_argument(__func__);
  }
  if (dtype >= base::kDTypeCount) {
    return call.finish(
        base::fail(Code::kInvalidArgument, "capi.dtype", "there is no dtype %u", dtype));
  }
  return call.finish(session->session->set_input(
      input, {.dtype = static_cast<base::DType>(dtype),
              .shape = {shape, rank},
              .data = {static_cast<const std::byte*>(data), size_bytes}}));
}

camshaft_status camshaft_session_input_data(camshaft_session* session, uint32_t input, void** data,
                                            uint64_t* size_bytes) {
  const Call call;
  if (session == nullptr || data == nullptr || size_bytes == nullptr) {
    return call.null_argument(__func__);
  }
  return call.finish(session->session->input_span(input), [&](std::span<std::byte> bytes) {
    *data = bytes.data();
    *size_bytes = bytes.size();
  });
}

camshaft_status camshaft_session_import_host(camshaft_session* session, void* data,
                                             uint64_t size_bytes, uint32_t writable,
                                             uint32_t* memory) {
  const Call call;
  if (session == nullptr || data == nullptr || memory == nullptr)
    return call.null_argument(__func__);
  hal::ForeignMemory foreign;
  foreign.handle = reinterpret_cast<uint64_t>(data);
  foreign.size_bytes = size_bytes;
  foreign.writable = writable != 0;
  return call.finish(session->session->import_memory(foreign),
                     [&](hal::Buffer buffer) { *memory = buffer.id; });
}

camshaft_status camshaft_session_import(camshaft_session* session, const camshaft_memory* given,
                                        uint32_t* imported) {
  const Call call;
  if (session == nullptr || given == nullptr || imported == nullptr) {
    return call.null_argument(__func__);
  }
  const Result<camshaft_memory> memory = read_options(given);
  if (!memory) return call.finish(memory.error());
  const Result<hal::ForeignMemory> foreign = to_foreign(*memory);
  if (!foreign) return call.finish(foreign.error());
  return call.finish(session->session->import_memory(*foreign),
                     [&](hal::Buffer buffer) { *imported = buffer.id; });
}

camshaft_status camshaft_session_release(camshaft_session* session, uint32_t memory) {
  const Call call;
  if (session == nullptr) return call.null_argument(__func__);
  return call.finish(session->session->release_memory(hal::Buffer{memory}));
}

camshaft_status camshaft_session_bind_input(camshaft_session* session, uint32_t input,
                                            uint32_t memory) {
  const Call call;
  if (session == nullptr) return call.null_argument(__func__);
  return call.finish(memory == 0 ? session->session->unbind_input(input)
                                 : session->session->bind_input(input, hal::Buffer{memory}));
}

camshaft_status camshaft_session_bind_output(camshaft_session* session, uint32_t output,
                                             uint32_t memory) {
  const Call call;
  if (session == nullptr) return call.null_argument(__func__);
  return call.finish(memory == 0 ? session->session->unbind_output(output)
                                 : session->session->bind_output(output, hal::Buffer{memory}));
}

camshaft_status camshaft_session_run(camshaft_session* session, const camshaft_run_options* given,
                                     camshaft_run_result* result) {
  const Call call;
  if (session == nullptr) return call.null_argument(__func__);
  const Result<camshaft_run_options> options = read_options(given);
  if (!options) return call.finish(options.error());
  return call.finish(session->session->run({.deadline = to_deadline(options->deadline_ns),
                                            .input_time_ns = options->input_time_ns,
                                            .entry = options->entry}),
                     store_result(result));
}

camshaft_status camshaft_session_collect(camshaft_session* session, int64_t deadline_ns,
                                         camshaft_run_result* result) {
  const Call call;
  if (session == nullptr) return call.null_argument(__func__);
  return call.finish(session->session->collect(to_deadline(deadline_ns)), store_result(result));
}

camshaft_status camshaft_session_output(const camshaft_session* session, uint32_t output,
                                        const void** data, uint64_t* size_bytes) {
  const Call call;
  if (session == nullptr || data == nullptr || size_bytes == nullptr) {
    return call.null_argument(__func__);
  }
  return call.finish(session->session->output(output), [&](base::Bytes bytes) {
    *data = bytes.data();
    *size_bytes = bytes.size();
  });
}

camshaft_status camshaft_session_output_extents(const camshaft_session* session, uint32_t output,
                                                int64_t* extents, uint32_t rank,
                                                uint32_t* counted_axes) {
  const Call call;
  if (session == nullptr) return call.null_argument(__func__);
  const std::vector<plan::TensorInfo>& outputs = session->session->info().outputs;
  if (output >= outputs.size()) {
    return call.finish(base::fail(Code::kInvalidArgument, "capi.index",
                                  "the plan has %zu outputs, no number %u", outputs.size(),
                                  output));
  }
  if (extents != nullptr) {
    const Status status = session->session->output_extents(output, {extents, rank});
    if (!status.is_ok()) return call.finish(status);
  }
  if (counted_axes != nullptr) {
    *counted_axes = 0;
    for (const int64_t axis : outputs[output].counted_axes) *counted_axes |= 1u << axis;
  }
  return CAMSHAFT_OK;
}

camshaft_status camshaft_session_reset_states(camshaft_session* session) {
  const Call call;
  if (session == nullptr) return call.null_argument(__func__);
  return call.finish(session->session->reset_states());
}

camshaft_status camshaft_session_recover(camshaft_session* session) {
  const Call call;
  if (session == nullptr) return call.null_argument(__func__);
  return call.finish(session->session->recover());
}
