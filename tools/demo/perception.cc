// SPDX-License-Identifier: MIT
#include "tools/demo/perception.h"

#include <cstdio>
#include <cstring>

#include "codegen/emit/compile.h"
#include "devices/registry.h"
#include "runtime/base/clock.h"
#include "runtime/base/file.h"
#include "runtime/plan/writer.h"

namespace camshaft::demo {
namespace {

// Where each slice of the output goes.
struct Field {
  const char* slice;
  size_t offset;
  size_t size;
};
#define CAMSHAFT_FIELD(slice, member) \
  {slice, offsetof(roadnet::Truth, member), sizeof(roadnet::Truth::member)}
constexpr Field kFields[] = {
    CAMSHAFT_FIELD("left_line", left),
    CAMSHAFT_FIELD("right_line", right),
    CAMSHAFT_FIELD("path", path),
    CAMSHAFT_FIELD("lead_distance", lead_distance_m),
    CAMSHAFT_FIELD("left_line_probability", left_probability),
    CAMSHAFT_FIELD("right_line_probability", right_probability),
    CAMSHAFT_FIELD("lead_probability", lead_probability),
};
#undef CAMSHAFT_FIELD

}  // namespace

base::Status compile_model(const std::string& model, const std::string& target,
                           const std::string& plan_path) {
  emit::CompileOptions options;
  options.targets = {target};
  emit::CompileReport report;
  std::vector<onnx::Problem> problems;
  auto contents = emit::compile_onnx(model, options, &report, &problems);
  for (const onnx::Problem& problem : problems) {
    std::fprintf(stderr, "%s\n", onnx::to_string(problem).c_str());
  }
  if (!contents.has_value()) return contents.error();
  CAMSHAFT_TRY_ASSIGN(const std::vector<std::byte> bytes, plan::write_plan(*contents));
  CAMSHAFT_TRY(base::write_file_atomically(plan_path, bytes));
  const emit::TargetReport& done = report.targets.front();
  std::printf(
      "compiled   %s for %s in %.1f s: %d nodes, %d launches of %d kernels, %.0f MFLOP,\n"
      "           arena %.1f MiB, weights %.1f MiB, plan %.1f MiB\n",
      model.c_str(), done.target.c_str(), done.seconds, done.nodes, done.regions, done.kernels,
      static_cast<double>(done.flops) * 1e-6, static_cast<double>(done.arena_bytes) / (1 << 20),
      static_cast<double>(done.weight_bytes) / (1 << 20),
      static_cast<double>(bytes.size()) / (1 << 20));
  return base::ok();
}

base::Result<std::unique_ptr<Perception>> Perception::open(const std::string& plan_path) {
  const int64_t start_ns = base::mono_time_ns();
  CAMSHAFT_TRY_ASSIGN(plan::PlanFile plan, plan::PlanFile::open(plan_path, {}));
  auto perception = std::unique_ptr<Perception>(new Perception(std::move(plan)));
  CAMSHAFT_TRY_ASSIGN(perception->device_, hal::open_device(devices::backends(), "cpu", {}));
  CAMSHAFT_TRY_ASSIGN(perception->session_,
                      session::Session::open(perception->plan_, *perception->device_, {}));
  CAMSHAFT_TRY(perception->find_slices());
  std::printf("loaded     on %s in %.1f ms, every byte checked\n", perception->device_->info().name,
              static_cast<double>(base::mono_time_ns() - start_ns) * 1e-6);
  return perception;
}

base::Status Perception::find_slices() {
  const std::string& output = session_->info().outputs.at(0).name;
  for (size_t i = 0; i < std::size(kFields); ++i) {
    CAMSHAFT_TRY_ASSIGN(slices_[i], session_->find_slice(output, kFields[i].slice));
    if (slices_[i].size_bytes != kFields[i].size) {
      return base::fail(base::Code::kInvalidArgument, "demo.slice",
                        "output slice '%s' has %llu bytes, not %zu: is this plan of roadnet.onnx?",
                        kFields[i].slice, static_cast<unsigned long long>(slices_[i].size_bytes),
                        kFields[i].size);
    }
  }
  return base::ok();
}

roadnet::InputBytes Perception::input() {
  const auto span = session_->input_span(0);
  CAMSHAFT_CHECK(span.has_value() && span->size() == roadnet::kInputBytes);
  return roadnet::InputBytes(reinterpret_cast<uint8_t*>(span->data()), roadnet::kInputBytes);
}

base::Result<roadnet::Truth> Perception::see(const RecordedFrame& frame, int64_t budget_ns) {
  const int64_t start_ns = base::mono_time_ns();
  roadnet::warp_nv12_to_input(frame.nv12, roadnet::road_camera_layout(), frame.warp, input());
  const int64_t warped_ns = base::mono_time_ns();
  session::RunOptions options;
  options.deadline.mono_time_ns = start_ns + budget_ns;
  options.input_time_ns = start_ns;
  CAMSHAFT_TRY_ASSIGN(const session::RunResult result, session_->run(options));
  warp_times_.record(warped_ns - start_ns);
  network_times_.record(result.done_time_ns - warped_ns);
  late_ += result.late ? 1 : 0;
  roadnet::Truth answer;
  for (size_t i = 0; i < std::size(kFields); ++i) {
    CAMSHAFT_TRY_ASSIGN(const base::Bytes bytes, session_->output(slices_[i]));
    std::memcpy(reinterpret_cast<std::byte*>(&answer) + kFields[i].offset, bytes.data(),
                bytes.size());
  }
  return answer;
}

}  // namespace camshaft::demo
