// SPDX-License-Identifier: MIT
// The one table of targets, most of them CPUs: what the code for each may use, and the numbers that
// strategies plan with. Cache sizes are those of one core (L3: of the cores that share one);
// throughputs are of the widest vector that the kernels use. Sources: the vendors' optimisation
// guides and software.intel.com, agner.org and uops.info tables.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "codegen/render/host.h"
#include "codegen/render/render.h"
#include "runtime/base/nearest.h"

namespace camshaft::render {

namespace {

// LLVM's feature names beyond the architecture's base (SSE2; NEON), comma-separated. Only features
// that code for kernels can use are named, so that a plan runs wherever it can.
#define CAMSHAFT_V2 "popcnt,sse3,sse4.1,sse4.2,ssse3"
#define CAMSHAFT_V3 CAMSHAFT_V2 ",avx,avx2,bmi,bmi2,f16c,fma,lzcnt,movbe"
#define CAMSHAFT_V4 CAMSHAFT_V3 ",avx512bw,avx512cd,avx512dq,avx512f,avx512vl"
#define CAMSHAFT_ICELAKE CAMSHAFT_V4 ",avx512vbmi,avx512vbmi2,avx512vnni"
#define CAMSHAFT_ARM8_2 "dotprod,fullfp16"
#define CAMSHAFT_ARM8_6 CAMSHAFT_ARM8_2 ",bf16,i8mm"

constexpr const char* kX86 = "x86_64-unknown-linux-gnu";
constexpr const char* kArm = "aarch64-unknown-linux-gnu";
constexpr int32_t kKiB = 1 << 10;
constexpr int32_t kMiB = 1 << 20;

struct March {
  const char* name;
  const char* triple;
  const char* features;
  int32_t l1_bytes, l2_bytes, l3_bytes;
  int32_t fma_per_cycle, loads_per_cycle, fma_latency;
};

// Rows without a maker's name come first in each architecture, from poor to rich: an unknown host
// is taken as the last of them whose features it has.
constexpr March kMarches[] = {
    {"x86-64", kX86, "", 32 * kKiB, 256 * kKiB, 4 * kMiB, 1, 1, 4},
    {"x86-64-v2", kX86, CAMSHAFT_V2, 32 * kKiB, 256 * kKiB, 8 * kMiB, 1, 2, 4},
    {"x86-64-v3", kX86, CAMSHAFT_V3, 32 * kKiB, 256 * kKiB, 8 * kMiB, 2, 2, 5},
    {"x86-64-v4", kX86, CAMSHAFT_V4, 32 * kKiB, kMiB, 16 * kMiB, 2, 2, 4},
    {"haswell", kX86, CAMSHAFT_V3, 32 * kKiB, 256 * kKiB, 8 * kMiB, 2, 2, 5},
    {"broadwell", kX86, CAMSHAFT_V3, 32 * kKiB, 256 * kKiB, 8 * kMiB, 2, 2, 5},
    {"skylake", kX86, CAMSHAFT_V3, 32 * kKiB, 256 * kKiB, 8 * kMiB, 2, 2, 4},
    {"alderlake", kX86, CAMSHAFT_V3 ",avxvnni", 48 * kKiB, 1280 * kKiB, 30 * kMiB, 2, 3, 4},
    {"skylake-avx512", kX86, CAMSHAFT_V4, 32 * kKiB, kMiB, 24 * kMiB, 2, 2, 4},
    {"cascadelake", kX86, CAMSHAFT_V4 ",avx512vnni", 32 * kKiB, kMiB, 32 * kMiB, 2, 2, 4},
    {"icelake-client", kX86, CAMSHAFT_ICELAKE, 48 * kKiB, 512 * kKiB, 8 * kMiB, 1, 2, 4},
    {"tigerlake", kX86, CAMSHAFT_ICELAKE, 48 * kKiB, 1280 * kKiB, 12 * kMiB, 1, 2, 4},
    {"icelake-server", kX86, CAMSHAFT_ICELAKE, 48 * kKiB, 1280 * kKiB, 48 * kMiB, 2, 2, 4},
    {"sapphirerapids", kX86, CAMSHAFT_ICELAKE ",amx-bf16,amx-tile,avx512bf16,avx512fp16,avxvnni",
     48 * kKiB, 2 * kMiB, 96 * kMiB, 2, 2, 4},
    {"znver1", kX86, CAMSHAFT_V3, 32 * kKiB, 512 * kKiB, 8 * kMiB, 1, 1, 5},
    {"znver2", kX86, CAMSHAFT_V3, 32 * kKiB, 512 * kKiB, 16 * kMiB, 2, 2, 5},
    {"znver3", kX86, CAMSHAFT_V3, 32 * kKiB, 512 * kKiB, 32 * kMiB, 2, 2, 4},
    {"znver4", kX86, CAMSHAFT_ICELAKE ",avx512bf16", 32 * kKiB, kMiB, 32 * kMiB, 1, 1, 4},
    {"znver5", kX86, CAMSHAFT_ICELAKE ",avx512bf16,avxvnni", 48 * kKiB, kMiB, 32 * kMiB, 2, 2, 4},
    {"generic", kArm, "", 32 * kKiB, 512 * kKiB, 2 * kMiB, 1, 1, 4},
    {"cortex-a72", kArm, "", 32 * kKiB, kMiB, 0, 1, 1, 7},
    {"cortex-a76", kArm, CAMSHAFT_ARM8_2, 64 * kKiB, 512 * kKiB, 4 * kMiB, 2, 2, 4},
    {"cortex-a78", kArm, CAMSHAFT_ARM8_2, 64 * kKiB, 512 * kKiB, 4 * kMiB, 2, 3, 4},
    {"neoverse-n1", kArm, CAMSHAFT_ARM8_2, 64 * kKiB, kMiB, 32 * kMiB, 2, 2, 4},
    {"neoverse-v1", kArm, CAMSHAFT_ARM8_6, 64 * kKiB, kMiB, 32 * kMiB, 4, 3, 4},
    {"neoverse-n2", kArm, CAMSHAFT_ARM8_6, 64 * kKiB, kMiB, 32 * kMiB, 2, 3, 4},
    {"apple-m1", kArm, CAMSHAFT_ARM8_2, 128 * kKiB, 12 * kMiB, 8 * kMiB, 4, 3, 4},
};

#if defined(__x86_64__)
constexpr const char* kHostTriple = kX86;
#elif defined(__aarch64__)
constexpr const char* kHostTriple = kArm;
#else
#error "a row with this architecture's triple is needed"
#endif

using Names = std::vector<std::string>;

Names split(std::string_view list) {
  Names result;
  while (!list.empty()) {
    const size_t comma = list.find(',');
    result.emplace_back(list.substr(0, comma));
    list = comma == std::string_view::npos ? "" : list.substr(comma + 1);
  }
  return result;
}

bool contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const March* find_march(std::string_view name) {
  for (const March& row : kMarches) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

// Everything that follows from the features.
void set_vector_unit(const Names& features, bool is_x86, CpuTarget* target) {
  const bool avx512 = contains(features, "avx512vl") && contains(features, "avx512bw") &&
                      contains(features, "avx512dq");
  const bool avx2 = contains(features, "avx2");
  target->vector_bytes = avx512 ? 64 : avx2 ? 32 : 16;
  target->vector_registers = avx512 || !is_x86 ? 32 : 16;
  target->gather = avx2;
  target->fma = !is_x86 || contains(features, "fma");
  target->math.fma = target->fma;
  target->narrows_bf16 = avx512 && contains(features, "avx512bf16");
  target->matrices = target->narrows_bf16 && contains(features, "amx-bf16");
  target->math.rounding = !is_x86 || contains(features, "sse4.1");
}

CpuTarget target_of(const March& row, std::string_view backend, Names features) {
  CpuTarget target;
  target.backend = backend;
  target.march = row.name;
  target.triple = row.triple;
  std::sort(features.begin(), features.end());
  for (const std::string& feature : features) {
    target.features += (target.features.empty() ? "+" : ",+") + feature;
  }
  set_vector_unit(features, row.triple == kX86, &target);
  target.l1_bytes = row.l1_bytes;
  target.l2_bytes = row.l2_bytes;
  target.l3_bytes = row.l3_bytes;
  target.fma_per_cycle = row.fma_per_cycle;
  target.loads_per_cycle = row.loads_per_cycle;
  target.fma_latency = row.fma_latency;
  return target;
}

// The host's own row, or the richest general one; with the features that the machine really has (a
// hypervisor may hide some).
base::Result<CpuTarget> host_target(std::string_view backend) {
  CAMSHAFT_TRY_ASSIGN(const HostCpu host, detect_host_cpu());
  const auto present = [&](const Names& wanted) {
    Names result;
    for (const std::string& name : wanted) {
      if (contains(host.features, name)) result.push_back(name);
    }
    return result;
  };
  const March* row = find_march(host.march);
  if (row == nullptr || row->triple != std::string_view(kHostTriple)) {
    for (const March& general : kMarches) {
      const std::string_view name = general.name;
      if (general.triple != std::string_view(kHostTriple)) continue;
      if (!name.starts_with("x86-64") && name != "generic") continue;
      const Names wanted = split(general.features);
      if (present(wanted).size() == wanted.size()) row = &general;
    }
  }
  return target_of(*row, backend, present(split(row->features)));
}

// The names like `name`, or all if none is.
std::string suggestions(std::string_view name) {
  std::string near, all;
  for (const March& row : kMarches) {
    const std::string_view known = row.name;
    const size_t letters = std::max(known.size(), name.size());
    const bool is_near = base::edit_distance(name, known) * 3 <= letters ||
                         (name.size() >= 3 && known.find(name) != std::string_view::npos);
    if (is_near) near += (near.empty() ? "" : ", ") + std::string(known);
    all += (all.empty() ? "" : ", ") + std::string(known);
  }
  return near.empty() ? all : near;
}

// Devices whose texture units are their fast way to memory: Qualcomm's Adreno.
constexpr std::string_view kQualcomm = "qcom";

// What any device with OpenCL 1.2 has. Vectors of eight elements, in halves, are what GPUs load at
// once; a tile of 16 of them leaves registers for enough items in flight.
CpuTarget opencl_target(std::string_view device_class) {
  CpuTarget target;
  target.backend = "opencl";
  target.vector_bytes = 32;
  target.vector_registers = 16;
  target.gather = false;
  target.is_gpu = true;
  target.march = device_class;
  target.prefers_images = device_class == kQualcomm;
  return target;
}

}  // namespace

base::Result<CpuTarget> make_target(std::string_view spec) {
  if (spec == "opencl") return opencl_target("");
  if (spec == "opencl:qcom") return opencl_target(kQualcomm);
  const std::string_view backend = spec.substr(0, spec.find(':'));
  if (backend == "cpu" || backend == "llvm") return make_cpu_target(spec);
  constexpr std::array kNames = {"cpu", "llvm", "opencl", "opencl:qcom"};
  return base::fail(base::Code::kInvalidArgument, "render.target",
                    "there is no target \"%s\"%s; use cpu or llvm, either with :MARCH or without, "
                    "opencl, or opencl:qcom for Adreno GPUs",
                    std::string(spec).c_str(), base::did_you_mean(spec, kNames).c_str());
}

base::Result<CpuTarget> make_cpu_target(std::string_view spec) {
  const size_t colon = spec.find(':');
  const std::string_view backend = spec.substr(0, colon);
  if (backend != "cpu" && backend != "llvm") {
    return base::fail(base::Code::kInvalidArgument, "render.target",
                      "target \"%s\": not a CPU; use cpu or llvm, or either with :MARCH",
                      std::string(spec).c_str());
  }
  if (colon == std::string_view::npos) return host_target(backend);
  const std::string name(spec.substr(colon + 1));
  const March* row = find_march(name);
  if (row == nullptr) {
    return base::fail(base::Code::kInvalidArgument, "render.target",
                      "target \"%s\": unknown CPU \"%s\"; known: %s", std::string(spec).c_str(),
                      name.c_str(), suggestions(name).c_str());
  }
  return target_of(*row, backend, split(row->features));
}

}  // namespace camshaft::render
