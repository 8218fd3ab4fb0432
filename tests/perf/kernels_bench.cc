// SPDX-License-Identifier: MIT
// Speed of single kernels on one core, as a share of the core's measured multiply-add peak. Each
// row is a shape from a real network.
// Usage: kernels_bench [target] [filter] [strategy] [knobs]: shapes whose name holds `filter`, the
// named strategy where it matches ("" for the usual choice), with its first `knobs` knobs, one a
// row.
#include <dlfcn.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "codegen/ir/kernel_passes.h"
#include "codegen/ir/literal.h"
#include "codegen/lower/lower.h"
#include "codegen/render/render.h"
#include "runtime/base/log_ring.h"

namespace camshaft {
namespace {

using KernelFunction = void (*)(void* const*, int64_t, int64_t);

struct ConvShape {
  const char* name;
  int in, out, height, width, kernel, stride, groups;
};
constexpr ConvShape kShapes[] = {
    {"resnet stem 7x7", 3, 64, 224, 224, 7, 2, 1},
    {"resnet 3x3 56", 64, 64, 56, 56, 3, 1, 1},
    {"resnet 3x3 28", 128, 128, 28, 28, 3, 1, 1},
    {"resnet 3x3 14", 256, 256, 14, 14, 3, 1, 1},
    {"resnet 3x3 7", 512, 512, 7, 7, 3, 1, 1},
    {"resnet 3x3 s2", 128, 256, 28, 28, 3, 2, 1},
    {"resnet50 3x3 s2 56", 128, 128, 56, 56, 3, 2, 1},
    {"resnet50 3x3 s2 14", 512, 512, 14, 14, 3, 2, 1},
    {"resnet50 1x1 s2 56", 256, 512, 56, 56, 1, 2, 1},
    {"resnet50 1x1 s2 28", 512, 1024, 28, 28, 1, 2, 1},
    {"resnet50 1x1 56", 64, 256, 56, 56, 1, 1, 1},
    {"resnet50 1x1 14", 1024, 256, 14, 14, 1, 1, 1},
    {"resnet50 1x1 7", 512, 2048, 7, 7, 1, 1, 1},
    {"mobilenet 1x1 112", 32, 16, 112, 112, 1, 1, 1},
    {"mobilenet 1x1 14", 96, 576, 14, 14, 1, 1, 1},
    {"mobilenet dw 112", 96, 96, 112, 112, 3, 2, 96},
    {"mobilenet dw 14", 576, 576, 14, 14, 3, 1, 576},
    {"efficientnet dw5 28", 240, 240, 28, 28, 5, 1, 240},
    {"squeeze 1x1", 672, 28, 1, 1, 1, 1, 1},
};

ir::Graph make_graph(const ConvShape& s) {
  const int pad = (s.kernel - 1) / 2;
  ir::Graph graph;
  const ir::NodeId x = graph.add_input("x", {ir::DType::kFloat32, {1, s.in, s.height, s.width}});
  // Elementwise neighbours put both sides of the convolution in the layout that it has in a
  // network.
  const auto pointwise = [&](ir::NodeId from, int channels) {
    const ir::NodeId w = graph.add_constant(
        ir::seeded_literal({ir::DType::kFloat32, {channels, channels, 1, 1}}, 3));
    return graph.add(ir::Op::kConv, {from, w}, ir::ConvAttrs{{1, 1}, {1, 1}, {0, 0}, {0, 0}, 1});
  };
  const ir::NodeId before = s.in % 4 == 0 ? pointwise(x, s.in) : x;
  const ir::NodeId w = graph.add_constant(
      ir::seeded_literal({ir::DType::kFloat32, {s.out, s.in / s.groups, s.kernel, s.kernel}}, 4));
  const ir::NodeId conv = graph.add(
      ir::Op::kConv, {before, w},
      ir::ConvAttrs{{s.stride, s.stride}, {1, 1}, {pad, pad}, {pad, pad}, s.groups}, "this");
  const ir::TensorType type = graph.node(conv).type;
  const ir::NodeId bias =
      graph.add_constant(ir::seeded_literal({ir::DType::kFloat32, {1, s.out, 1, 1}}, 5));
  const ir::NodeId sum = graph.add(
      ir::Op::kAdd, {conv, graph.add(ir::Op::kBroadcast, {bias}, ir::BroadcastAttrs{type.shape})});
  const ir::NodeId relu = graph.add(ir::Op::kMax, {sum, graph.add_splat(type, 0)});
  graph.add_output("y", pointwise(relu, s.out));
  return graph;
}

void fail_with_log(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  for (const base::LogLine& line : base::log_lines_after(0)) {
    std::fprintf(stderr, "  %s\n", line.text.c_str());
  }
  std::exit(1);
}

// Of this thread: other programs on the machine don't count.
int64_t cpu_time_ns() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

// Loads a shared object from memory; it stays loaded.
KernelFunction load_kernel(const std::vector<std::byte>& bytes, const char* name) {
  const int fd = memfd_create("kernel", 0);
  if (write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::exit(1);
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail_with_log(dlerror());
  return reinterpret_cast<KernelFunction>(dlsym(library, name));
}

typedef float Vector __attribute__((vector_size(32)));

// GFLOP/s of independent multiply-adds on 8 lanes, in registers.
__attribute__((target("avx2,fma"))) double peak_once() {
  Vector acc[12];
  for (int i = 0; i < 12; ++i) acc[i] = Vector{} + static_cast<float>(i);
  Vector a = Vector{} + 0.999f;
  Vector b = Vector{} + 1e-3f;
  asm volatile("" : "+x"(a), "+x"(b));
  constexpr int kRounds = 400'000;
  const int64_t start = cpu_time_ns();
  for (int r = 0; r < kRounds; ++r) {
    for (Vector& sum : acc) {
      asm volatile("vfmadd213ps %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
    }
  }
  const double seconds = static_cast<double>(cpu_time_ns() - start) * 1e-9;
  return 12.0 * kRounds * 16 / seconds * 1e-9;
}

struct Bench {
  lower::LoweredKernel lowered;
  KernelFunction function = nullptr;
  std::vector<void*> params;
  double flops = 0;

  ~Bench() {
    for (void* param : params) std::free(param);
  }

  double run_once() {
    const int64_t start = cpu_time_ns();
    function(params.data(), 0, lowered.kernel.thread_extent);
    return static_cast<double>(cpu_time_ns() - start) * 1e-9;
  }
};

int64_t argument_bytes(const lower::Argument& argument, const schedule::Schedule& schedule) {
  if (argument.scratch_bytes > 0) return argument.scratch_bytes;
  if (argument.value == ir::kNoNode) return static_cast<int64_t>(argument.constant.size());
  return schedule.type(argument.value).size_bytes();
}

void compile_and_load(Bench& bench, const schedule::Schedule& schedule,
                      const render::CpuTarget& target) {
  bench.lowered.kernel.name = "kernel";
  const ir::Kernel kernel =
      ir::prepare_kernel(bench.lowered.kernel, target.lanes(ir::DType::kFloat32), target.math);
  const auto object = render::compile_shared_object({kernel}, target);
  if (!object.has_value()) fail_with_log("compilation failed");
  if (std::getenv("CAMSHAFT_BENCH_ASM") != nullptr) {
    const auto text = render::render_assembly(kernel, target);
    if (text.has_value()) std::puts(text->c_str());
  }
  bench.function = load_kernel(*object, "kernel");
  for (const lower::Argument& argument : bench.lowered.arguments) {
    const auto size = static_cast<size_t>(argument_bytes(argument, schedule));
    void* data = std::aligned_alloc(64, (size + 63) / 64 * 64);
    std::memset(data, 0, size);
    if (!argument.constant.empty()) std::memcpy(data, argument.constant.data(), size);
    bench.params.push_back(data);
  }
}

// Reads more than the caches hold, so that the next run finds its weights in memory, as in a large
// network.
void empty_caches() {
  static std::vector<char> other(64 << 20, 1);
  int64_t sum = 0;
  for (size_t i = 0; i < other.size(); i += 64) sum += other[i];
  asm volatile("" : : "r"(sum));
}

void print_speed(const char* name, Bench& bench) {
  std::vector<double> seconds;
  std::vector<double> cold;
  std::vector<double> peaks;
  for (int i = 0; i < 40; ++i) {
    if (i % 4 == 0) peaks.push_back(peak_once());
    seconds.push_back(bench.run_once());
  }
  for (int i = 0; i < 10; ++i) {
    empty_caches();
    cold.push_back(bench.run_once());
  }
  std::sort(seconds.begin(), seconds.end());
  std::sort(cold.begin(), cold.end());
  std::sort(peaks.begin(), peaks.end());
  const double median = seconds[seconds.size() / 2];
  const double rate = bench.flops / median * 1e-9;
  std::printf("%-22s %-16s %-18s %9.1f %9.1f %9.1f %9.1f %7.1f\n", name,
              bench.lowered.strategy.c_str(), lower::to_string(bench.lowered.knobs).c_str(),
              median * 1e6, seconds[2] * 1e6, cold[2] * 1e6, rate,
              100 * rate / peaks[peaks.size() / 2]);
}

// The region named "this", with the first `count` knobs of a strategy.
void measure(const ConvShape& shape, const render::CpuTarget& target, const std::string& strategy,
             size_t count) {
  const schedule::Schedule schedule =
      schedule::make_schedule(make_graph(shape), {target.lanes(ir::DType::kFloat32), true});
  for (const schedule::Region& region : schedule.regions) {
    const lower::Task task{schedule, region, target};
    if (region.root == ir::kNoNode || task.node(region.root).name != "this") continue;
    const std::string name = strategy.empty() ? lower::lower_region(task).strategy : strategy;
    const lower::Strategy* chosen = lower::find_strategy(name);
    if (chosen == nullptr || !chosen->matches(task)) continue;
    std::vector<lower::Knobs> knobs = chosen->knobs(task);
    knobs.resize(std::min(knobs.size(), count));
    for (const lower::Knobs& these : knobs) {
      Bench bench;
      bench.lowered = chosen->emit(task, these);
      bench.flops = static_cast<double>(lower::region_flops(task));
      compile_and_load(bench, schedule, target);
      print_speed(shape.name, bench);
    }
  }
}

}  // namespace
}  // namespace camshaft

int main(int argc, char** argv) {
  using namespace camshaft;
  const std::string filter = argc > 2 ? argv[2] : "";
  const std::string strategy = argc > 3 ? argv[3] : "";
  const size_t knobs = argc > 4 ? static_cast<size_t>(std::atoi(argv[4])) : 1;
  const auto target = render::make_cpu_target(argc > 1 ? argv[1] : "llvm");
  if (!target.has_value()) fail_with_log("unknown target");
  std::printf("target %s:%s\n%-22s %-16s %-18s %9s %9s %9s %9s %7s\n", target->backend.c_str(),
              target->march.c_str(), "shape", "strategy", "knobs", "us", "least us", "cold us",
              "GFLOP/s", "% peak");
  for (const ConvShape& shape : kShapes) {
    if (std::string(shape.name).find(filter) == std::string::npos) continue;
    measure(shape, *target, strategy, knobs);
  }
  return 0;
}
