// SPDX-License-Identifier: MIT
// The demo: renders a drive, compiles roadnet, runs it frame by frame, prints estimate beside truth
// and the latency table, and writes an annotated picture and a video.
//   demo [--frames N] [--seed N] [--target T] [--model FILE] [--out FOLDER]
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "models/roadnet/drive.h"
#include "models/roadnet/overlay.h"
#include "runtime/base/file.h"
#include "runtime/base/log_ring.h"
#include "tools/demo/perception.h"
#include "tools/demo/recording.h"
#include "tools/demo/score.h"
#include "tools/demo/text.h"
#include "tools/demo/video.h"
#include "tools/io/png.h"

namespace camshaft::demo {
namespace {

constexpr roadnet::Ink kTruthInk{40, 230, 90};
constexpr roadnet::Ink kEstimateInk{255, 70, 60};
constexpr roadnet::Ink kTruthPathInk{60, 160, 255};
constexpr roadnet::Ink kEstimatePathInk{255, 200, 40};
constexpr roadnet::Ink kTextInk{240, 240, 240};
constexpr int kVideoWidth = 960;
constexpr int kVideoHeight = 600;
constexpr int kFrameRate = 20;
constexpr int64_t kBudgetNs = 50'000'000;  // one frame's time

struct Options {
  int frames = 160;
  uint64_t seed = 5;
  std::string target = "llvm";
  std::string model = "models/roadnet/roadnet.onnx";
  std::string out = "build/demo";
};

void show_progress(const char* what, int done, int count) {
  if (isatty(STDERR_FILENO) == 0) {
    if (done == count) std::fprintf(stderr, "%s: %d frames\n", what, count);
    return;
  }
  char bar[41];
  for (int i = 0; i < 40; ++i) bar[i] = i * count < 40 * done ? '#' : '.';
  bar[40] = '\0';
  std::fprintf(stderr, "\r%-10s [%s] %d/%d%s", what, bar, done, count, done == count ? "\n" : "");
}

std::string format(const char* pattern, auto... values) {
  char text[160];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

void print_line(int number, const roadnet::Truth& truth, const roadnet::Truth& seen) {
  constexpr size_t kAt20 = 7;  // kDistances_m[7] is 20 m
  const auto lead = [](const roadnet::Truth& t) {
    return t.lead_probability > 0.5f ? format("%5.1f", static_cast<double>(t.lead_distance_m))
                                     : std::string("   - ");
  };
  std::printf("%5.2f s   %+6.2f %+6.2f   %+6.2f %+6.2f   %+6.2f %+6.2f   %s %s   %6.3f\n",
              number / roadnet::kFrameRate_hz, static_cast<double>(seen.left[kAt20]),
              static_cast<double>(truth.left[kAt20]), static_cast<double>(seen.right[kAt20]),
              static_cast<double>(truth.right[kAt20]), static_cast<double>(seen.path[kAt20]),
              static_cast<double>(truth.path[kAt20]), lead(seen).c_str(), lead(truth).c_str(),
              line_error_of(truth, seen));
}

roadnet::Picture annotate(const RecordedFrame& frame, const roadnet::Truth& seen,
                          roadnet::InputBytes input, int number) {
  roadnet::Picture picture = roadnet::picture_of_frame(frame.nv12, roadnet::road_camera_layout());
  roadnet::draw_answer(picture, frame.truth, frame.camera, &frame.scene.road, kTruthInk,
                       kTruthPathInk, 7.0f);
  roadnet::draw_answer(picture, seen, frame.camera, &frame.scene.road, kEstimateInk,
                       kEstimatePathInk, 3.0f);
  roadnet::Picture inset = roadnet::picture_of_input(input);
  draw_inset(picture, picture.width - inset.width - 24, 24, inset);
  const int scale = 4;
  int y = 28;
  const auto text = [&](const std::string& line, roadnet::Ink ink) {
    draw_text(picture, 28, y, scale, line, ink);
    y += 12 * scale;
  };
  text(format("roadnet  t = %.2f s", number / roadnet::kFrameRate_hz), kTextInk);
  text("truth: lines green, path blue", kTruthInk);
  text("estimate: lines red, path yellow", kEstimateInk);
  text(format("line error to 30 m: %.3f m", line_error_of(frame.truth, seen)), kTextInk);
  if (seen.lead_probability > 0.5f || frame.truth.lead_probability > 0.5f) {
    text(format("lead: %.1f m (truth %.1f m)", static_cast<double>(seen.lead_distance_m),
                static_cast<double>(frame.truth.lead_distance_m)),
         kTextInk);
  } else {
    text("no lead", kTextInk);
  }
  return picture;
}

base::Status write_picture(const std::string& path, const roadnet::Picture& picture) {
  io::Picture png;
  png.width = picture.width;
  png.height = picture.height;
  png.channels = 3;
  png.pixels = picture.rgb;
  return io::write_png(path, png);
}

void print_score(const Score& score) {
  std::printf(
      "\nestimate against truth\n"
      "  lines, mean error up to 30 m   %6.3f m    (limit 0.100 m)\n"
      "  lines, mean error up to 60 m   %6.3f m\n"
      "  path, mean error up to 30 m    %6.3f m\n",
      score.line_error_30_m.value(), score.line_error_60_m.value(), score.path_error_30_m.value());
  if (score.lead_error.count() > 0) {
    std::printf("  lead distance, mean error      %6.1f %%    (limit 10 %%)\n",
                100 * score.lead_error.value());
  }
  std::printf(
      "  line painted or not, right     %6.1f %%\n"
      "  lead or not, right             %6.1f %%\n",
      100 * score.lines_right.value(), 100 * score.lead_right.value());
}

double ms(int64_t ns) {
  return static_cast<double>(ns) * 1e-6;
}

void print_row(const char* name, const realtime::LatencyHistogram& h) {
  std::printf("  %-10s %8.3f %8.3f %8.3f %8.3f %8.3f\n", name, ms(h.percentile_ns(50)),
              ms(h.percentile_ns(90)), ms(h.percentile_ns(99)), ms(h.percentile_ns(99.9)),
              ms(h.max_ns()));
}

void print_latency(const Perception& perception) {
  std::printf("\nlatency, ms      p50      p90      p99    p99.9      max\n");
  print_row("warp", perception.warp_times());
  print_row("network", perception.network_times());
  std::printf("  %llu frames, %d of them later than the deadline of %.0f ms\n",
              static_cast<unsigned long long>(perception.network_times().count()),
              perception.late(), ms(kBudgetNs));
}

base::Status write_summary(const std::string& path, const Score& score,
                           const Perception& perception) {
  const realtime::LatencyHistogram& network = perception.network_times();
  const std::string text =
      format("{\"frames\": %d, \"line_error_30_m\": %.6f, \"lead_error\": %.6f,\n",
             static_cast<int>(network.count()), score.line_error_30_m.value(),
             score.lead_error.value()) +
      format(
          " \"network_ms\": {\"p50\": %.4f, \"p99\": %.4f, \"p99.9\": %.4f, \"max\": %.4f}, "
          "\"late\": %d}\n",
          ms(network.percentile_ns(50)), ms(network.percentile_ns(99)),
          ms(network.percentile_ns(99.9)), ms(network.max_ns()), perception.late());
  return base::write_file_atomically(path, std::as_bytes(std::span(text)));
}

base::Status run(const Options& options) {
  std::filesystem::create_directories(options.out);
  const std::string plan_path = options.out + "/roadnet.plan";
  CAMSHAFT_TRY(compile_model(options.model, options.target, plan_path));
  CAMSHAFT_TRY_ASSIGN(const std::unique_ptr<Perception> perception, Perception::open(plan_path));
  const std::vector<RecordedFrame> frames =
      record_drive(options.seed, options.frames,
                   [&](int done) { show_progress("rendering", done, options.frames); });
  std::printf(
      "\n  time    left line at 20 m   right line       path at 20 m    lead, m       mean error\n"
      "          seen   truth     seen   truth     seen   truth    seen  truth   to 30 m, m\n");
  Score score;
  std::vector<roadnet::Truth> seen;
  for (int i = 0; i < options.frames; ++i) {
    const RecordedFrame& frame = frames[static_cast<size_t>(i)];
    CAMSHAFT_TRY_ASSIGN(const roadnet::Truth answer, perception->see(frame, kBudgetNs));
    seen.push_back(answer);
    score.add(frame.truth, answer);
    if (i % 10 == 0) print_line(i, frame.truth, answer);
  }
  print_score(score);
  print_latency(*perception);
  CAMSHAFT_TRY(write_summary(options.out + "/demo.json", score, *perception));
  const std::string video_path = options.out + "/drive.mp4";
  const std::string picture_path = options.out + "/frame.png";
  CAMSHAFT_TRY_ASSIGN(const std::unique_ptr<VideoWriter> video,
                      VideoWriter::open(video_path, kVideoWidth, kVideoHeight, kFrameRate));
  for (int i = 0; i < options.frames; ++i) {
    const RecordedFrame& frame = frames[static_cast<size_t>(i)];
    roadnet::warp_nv12_to_input(frame.nv12, roadnet::road_camera_layout(), frame.warp,
                                perception->input());
    const roadnet::Picture picture =
        annotate(frame, seen[static_cast<size_t>(i)], perception->input(), i);
    if (i == options.frames / 2) CAMSHAFT_TRY(write_picture(picture_path, picture));
    CAMSHAFT_TRY(video->add(scaled(picture, kVideoWidth, kVideoHeight)));
    show_progress("drawing", i + 1, options.frames);
  }
  CAMSHAFT_TRY(video->finish());
  std::printf("\npicture    %s\nvideo      %s\n", picture_path.c_str(), video_path.c_str());
  return base::ok();
}

}  // namespace
}  // namespace camshaft::demo

int main(int argc, char** argv) {
  using namespace camshaft;
  demo::Options options;
  CLI::App app("Renders a drive, compiles roadnet and runs it frame by frame");
  app.add_option("--frames", options.frames, "Frames to render, 20 a second")
      ->check(CLI::Range(1, 2000))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Of the drive")->capture_default_str();
  app.add_option("--target", options.target, "llvm or cpu")->capture_default_str();
  app.add_option("--model", options.model, "roadnet.onnx")->capture_default_str();
  app.add_option("--out", options.out, "Folder for plan, picture and video")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const base::Status status = demo::run(options);
  if (status.is_ok()) return 0;
  for (const base::LogLine& line : base::log_lines_after(0)) {
    std::fprintf(stderr, "demo: %s\n", line.text.c_str());
  }
  return base::exit_code(status.code());
}
