// SPDX-License-Identifier: MIT
#include "devices/opencl/replay.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/base/log_ring.h"

namespace camshaft::opencl {
namespace {

constexpr const char* kCommandBuffer = "cl_khr_command_buffer";
constexpr const char* kRecordableQueues = "cl_qcom_recordable_queues";
constexpr cl_device_info kMostRecordedLaunches = 0x41de;  // of cl_qcom_recordable_queues
// A launch alone is no faster in a replay.
constexpr size_t kFewestLaunches = 2;

template <typename T>
bool ask(const Api& api, cl_device_id device, cl_device_info what, T* value) {
  return api.clGetDeviceInfo(device, what, sizeof *value, value, nullptr) == CL_SUCCESS;
}

// The extension is provisional: calls may change with its minor version.
bool has_known_revision(const Api& api, cl_device_id device) {
  size_t size_bytes = 0;
  if (api.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS_WITH_VERSION_KHR, 0, nullptr, &size_bytes) !=
      CL_SUCCESS) {
    return false;
  }
  std::vector<cl_name_version_khr> extensions(size_bytes / sizeof(cl_name_version_khr));
  if (api.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS_WITH_VERSION_KHR, size_bytes,
                          extensions.data(), nullptr) != CL_SUCCESS) {
    return false;
  }
  return std::any_of(extensions.begin(), extensions.end(), [](const cl_name_version_khr& each) {
    return std::string_view(each.name) == kCommandBuffer &&
           CL_VERSION_MAJOR_KHR(each.version) == 0 && CL_VERSION_MINOR_KHR(each.version) == 9;
  });
}

template <typename Call>
bool find_call(const Api& api, cl_platform_id platform, const char* name, Call* call) {
  *call = reinterpret_cast<Call>(api.clGetExtensionFunctionAddressForPlatform(platform, name));
  return *call != nullptr;
}

bool can_replay(const CommandSteps& list, size_t step) {
  const auto is_here = [&](const Patch& patch) { return patch.step == step; };
  return list.steps[step].kind == hal::CommandKind::kLaunch &&
         std::none_of(list.patches.begin(), list.patches.end(), is_here);
}

size_t count_launches(const CommandSteps& list) {
  return static_cast<size_t>(
      std::count_if(list.steps.begin(), list.steps.end(),
                    [](const Step& step) { return step.kind == hal::CommandKind::kLaunch; }));
}

}  // namespace

Replayer::Replayer(const Api& api, const FoundDevice& device, cl_context context)
    : api_(api), device_(device) {
  if (!find_command_buffers(device.platform)) create_ = nullptr;
  if (create_ == nullptr && !find_recordings(device.platform, context)) recordable_ = {};
}

const char* Replayer::form() const {
  return create_ != nullptr ? kCommandBuffer : recordable_ ? kRecordableQueues : nullptr;
}

bool Replayer::find_command_buffers(cl_platform_id platform) {
  if (!has_extension(device_, kCommandBuffer) || !has_known_revision(api_, device_.device)) {
    return false;
  }
  cl_device_command_buffer_capabilities_khr capabilities = 0;
  if (!ask(api_, device_.device, CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR, &capabilities) ||
      !ask(api_, device_.device, CL_DEVICE_COMMAND_BUFFER_REQUIRED_QUEUE_PROPERTIES_KHR,
           &needed_)) {
    return false;
  }
  may_overlap_ = (capabilities & CL_COMMAND_BUFFER_CAPABILITY_SIMULTANEOUS_USE_KHR) != 0;
  return find_call(api_, platform, "clCreateCommandBufferKHR", &create_) &&
         find_call(api_, platform, "clCommandNDRangeKernelKHR", &add_launch_) &&
         find_call(api_, platform, "clFinalizeCommandBufferKHR", &finalize_) &&
         find_call(api_, platform, "clEnqueueCommandBufferKHR", &enqueue_) &&
         find_call(api_, platform, "clReleaseCommandBufferKHR", &release_);
}

bool Replayer::find_recordings(cl_platform_id platform, cl_context context) {
  may_overlap_ = false;
  needed_ = 0;
  if (!has_extension(device_, kRecordableQueues) ||
      !find_call(api_, platform, "clNewRecordingQCOM", &new_recording_) ||
      !find_call(api_, platform, "clEndRecordingQCOM", &end_recording_) ||
      !find_call(api_, platform, "clEnqueueRecordingQCOM", &enqueue_recording_) ||
      !find_call(api_, platform, "clReleaseRecordingQCOM", &release_recording_)) {
    return false;
  }
  cl_uint most = 0;
  if (ask(api_, device_.device, kMostRecordedLaunches, &most) && most > 0) most_launches_ = most;
  cl_int error = CL_SUCCESS;
  recordable_ = Object<cl_command_queue>(
      api_.clCreateCommandQueue(context, device_.device, kRecordableQueue, &error),
      api_.clReleaseCommandQueue);
  return error == CL_SUCCESS;
}

bool Replayer::suits(cl_command_queue queue) const {
  cl_command_queue_properties properties = 0;
  return needed_ == 0 || (api_.clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties,
                                                     &properties, nullptr) == CL_SUCCESS &&
                          (needed_ & ~properties) == 0);
}

void Replayer::record(cl_command_queue queue, CommandSteps& list) const {
  list.replays.clear();
  if (form() == nullptr || !suits(queue)) return;
  for (size_t first = 0; first < list.steps.size();) {
    size_t end = first;
    while (end < list.steps.size() && end - first < most_launches_ && can_replay(list, end)) ++end;
    if (end - first >= kFewestLaunches) {
      Replay replay;
      replay.first = first;
      replay.count = end - first;
      const cl_int error = record_one(queue, list, replay);
      if (error != CL_SUCCESS) {
        base::log_line("%s refuses to record with %s (%s): each launch is a call instead",
                       device_.info.name, form(), error_name(error));
        list.replays.clear();
        return;
      }
      list.replays.push_back(std::move(replay));
    }
    first = std::max(end, first + 1);
  }
}

cl_int Replayer::record_one(cl_command_queue queue, const CommandSteps& list,
                            Replay& replay) const {
  return create_ != nullptr ? record_buffer(queue, list, replay) : record_recording(list, replay);
}

cl_int Replayer::record_buffer(cl_command_queue queue, const CommandSteps& list,
                               Replay& replay) const {
  const cl_command_buffer_properties_khr overlapping[] = {
      CL_COMMAND_BUFFER_FLAGS_KHR, CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR, 0};
  cl_int error = CL_SUCCESS;
  replay.buffer = Object<cl_command_buffer_khr>(
      create_(1, &queue, may_overlap_ ? overlapping : nullptr, &error), release_);
  // The queue is in order, and so are its commands.
  for (size_t i = 0; i < replay.count && error == CL_SUCCESS; ++i) {
    const Step& step = list.steps[replay.first + i];
    error = add_launch_(replay.buffer.get(), nullptr, nullptr, step.kernel.get(), 3, nullptr,
                        step.items, step.has_group ? step.group : nullptr, 0, nullptr, nullptr,
                        nullptr);
  }
  return error == CL_SUCCESS ? finalize_(replay.buffer.get()) : error;
}

cl_int Replayer::record_recording(const CommandSteps& list, Replay& replay) const {
  cl_int error = CL_SUCCESS;
  replay.recording =
      Object<Recording>(new_recording_(recordable_.get(), &error), release_recording_);
  for (size_t i = 0; i < replay.count && error == CL_SUCCESS; ++i) {
    const Step& step = list.steps[replay.first + i];
    error =
        api_.clEnqueueNDRangeKernel(recordable_.get(), step.kernel.get(), 3, nullptr, step.items,
                                    step.has_group ? step.group : nullptr, 0, nullptr, nullptr);
  }
  return error == CL_SUCCESS ? end_recording_(replay.recording.get()) : error;
}

cl_int Replayer::enqueue(cl_command_queue queue, const Replay& replay) const noexcept {
  if (replay.buffer) {
    return enqueue_(1, &queue, replay.buffer.get(), 0, nullptr, nullptr);
  }
  return enqueue_recording_(queue, replay.recording.get(), 0, nullptr, 0, nullptr, 0, nullptr, 0,
                            nullptr, 0, nullptr, nullptr);
}

std::string describe_list(const Replayer& replayer, const CommandSteps& list) {
  const size_t launches = count_launches(list);
  const std::string all = std::to_string(launches) + (launches == 1 ? " launch" : " launches");
  if (list.single) return "one kernel for the whole list";
  if (list.replays.empty()) return launches > 1 ? all + ", one by one" : all;
  size_t replayed = 0;
  for (const Replay& replay : list.replays) replayed += replay.count;
  const std::string parts =
      list.replays.size() > 1 ? ", in " + std::to_string(list.replays.size()) + " parts" : "";
  return std::to_string(replayed) + " of " + all + " by " + replayer.form() + parts;
}

}  // namespace camshaft::opencl
