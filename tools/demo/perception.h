// SPDX-License-Identifier: MIT
// roadnet as a user of Camshaft runs it: the model compiled, a session on the CPU, a frame warped
// into the session's own input buffer, the answer read from named output slices.
#pragma once

#include <memory>
#include <string>

#include "devices/hal/device.h"
#include "models/roadnet/truth.h"
#include "runtime/base/status.h"
#include "runtime/plan/reader.h"
#include "runtime/realtime/histogram.h"
#include "runtime/session/session.h"
#include "tools/demo/recording.h"

namespace camshaft::demo {

// Compiles `model` for `target` and writes the plan; prints what came of it.
base::Status compile_model(const std::string& model, const std::string& target,
                           const std::string& plan_path);

class Perception {
 public:
  static base::Result<std::unique_ptr<Perception>> open(const std::string& plan_path);

  // Warps the frame and runs the network, which should be done within `budget_ns` of the call.
  base::Result<roadnet::Truth> see(const RecordedFrame& frame, int64_t budget_ns);
  // The network's input as the last see() filled it.
  roadnet::InputBytes input();

  const realtime::LatencyHistogram& warp_times() const { return warp_times_; }
  const realtime::LatencyHistogram& network_times() const { return network_times_; }
  int late() const { return late_; }

 private:
  explicit Perception(plan::PlanFile plan) : plan_(std::move(plan)) {}
  base::Status find_slices();

  plan::PlanFile plan_;
  std::unique_ptr<hal::Device> device_;
  std::unique_ptr<session::Session> session_;
  session::Slice slices_[7] = {};
  realtime::LatencyHistogram warp_times_;
  realtime::LatencyHistogram network_times_;
  int late_ = 0;
};

}  // namespace camshaft::demo
