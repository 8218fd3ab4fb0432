// SPDX-License-Identifier: MIT
// Runs of launches that the driver keeps in a form of its own and starts with one call: a command
// buffer (cl_khr_command_buffer, revisions 0.9) or a recording (cl_qcom_recordable_queues). What is
// in it is fixed, so copies, time stamps and launches with arguments in slots stay calls. Where a
// device has neither, or refuses, all are.
#pragma once

#include <string>

#include "devices/opencl/api.h"
#include "devices/opencl/command_list.h"
#include "devices/opencl/device_list.h"

namespace camshaft::opencl {

// cl_qcom_recordable_queues: a queue that runs nothing, but adds launches to its recording.
inline constexpr cl_command_queue_properties kRecordableQueue = 1u << 30;
using NewRecording = Recording(CL_API_CALL*)(cl_command_queue queue, cl_int* error);
using EndRecording = cl_int(CL_API_CALL*)(Recording recording);
using ReleaseRecording = cl_int(CL_API_CALL*)(Recording recording);
// The arrays replace arguments, offsets, grids and groups of some launches; none are here.
using EnqueueRecording = cl_int(CL_API_CALL*)(cl_command_queue queue, Recording recording,
                                              size_t arguments, const void*, size_t offsets,
                                              const void*, size_t grids, const void*, size_t groups,
                                              const void*, cl_uint waits, const cl_event* wait_list,
                                              cl_event* event);

// What one device offers.
class Replayer {
 public:
  // Load time.
  Replayer(const Api& api, const FoundDevice& device, cl_context context);

  // The extension's name, or null.
  const char* form() const;
  // Load time. Makes `list.replays` for this queue; what was there before must not be at work.
  void record(cl_command_queue queue, CommandSteps& list) const;
  // hot path.
  cl_int enqueue(cl_command_queue queue, const Replay& replay) const noexcept;
  // Whether a replay may be started while its last run goes on.
  bool may_overlap() const { return may_overlap_; }

 private:
  bool find_command_buffers(cl_platform_id platform);
  bool find_recordings(cl_platform_id platform, cl_context context);
  cl_int record_one(cl_command_queue queue, const CommandSteps& list, Replay& replay) const;
  cl_int record_buffer(cl_command_queue queue, const CommandSteps& list, Replay& replay) const;
  cl_int record_recording(const CommandSteps& list, Replay& replay) const;
  bool suits(cl_command_queue queue) const;

  const Api& api_;
  const FoundDevice& device_;
  bool may_overlap_ = false;
  size_t most_launches_ = SIZE_MAX;  // of a replay
  cl_command_queue_properties needed_ = 0;

  clCreateCommandBufferKHR_fn create_ = nullptr;
  clCommandNDRangeKernelKHR_fn add_launch_ = nullptr;
  clFinalizeCommandBufferKHR_fn finalize_ = nullptr;
  clEnqueueCommandBufferKHR_fn enqueue_ = nullptr;
  clReleaseCommandBufferKHR_fn release_ = nullptr;

  Object<cl_command_queue> recordable_;
  NewRecording new_recording_ = nullptr;
  EndRecording end_recording_ = nullptr;
  EnqueueRecording enqueue_recording_ = nullptr;
  ReleaseRecording release_recording_ = nullptr;
};

// "11 of 12 launches by cl_khr_command_buffer", "12 launches, one by one", ... For people.
std::string describe_list(const Replayer& replayer, const CommandSteps& list);

}  // namespace camshaft::opencl
