// SPDX-License-Identifier: MIT
// What the renderers' code reaches on this machine, and how long they take to make it.
//
//   renderers_bench [TARGET...]     default: llvm and cpu
//
// Prints, for each target, GFLOP/s of register tiles (rows x vectors of a matrix multiplication
// that stays in the first-level cache) beside that of multiply-adds on registers alone, and the
// time to compile 60 different kernels of about 300 multiply-adds each.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "codegen/ir/kernel.h"
#include "codegen/render/render.h"
#include "runtime/base/clock.h"

using namespace camshaft;
using namespace camshaft::ir;

namespace {

constexpr int64_t kRows = 16;  // of tiles

struct Tile {
  int32_t rows, vectors, unroll;
};

// out = a * b over `depth`, tile by tile; what there is less of, rows or vectors, is held.
Kernel tile_kernel(const std::string& name, const Tile& tile, int32_t lanes, int64_t depth) {
  const int64_t columns = int64_t{tile.vectors} * lanes;
  const int32_t count = tile.rows * tile.vectors;
  Kernel k;
  k.name = name;
  k.thread_extent = kRows;
  const ArrayId a = k.add_param("a", DType::kFloat32, kRows * tile.rows * depth, false);
  const ArrayId b = k.add_param("b", DType::kFloat32, depth * columns, false);
  const ArrayId out = k.add_param("out", DType::kFloat32, kRows * tile.rows * columns, true);
  const ArrayId acc = k.add_local("acc", DType::kFloat32, tile.rows * columns);
  const VarId t = k.add_loop_var("t", 0, kRows - 1);
  const VarId p = k.add_loop_var("p", 0, depth / tile.unroll - 1);
  std::vector<Stmt> body, inner, last;
  for (int32_t i = 0; i < count; ++i) {
    const ExprId place = k.int_const(int64_t{i} * lanes);
    body.push_back(make_store(acc, place, k.splat(0, {DType::kFloat32, lanes})));
    last.push_back(make_store(out, k.add(k.mul(k.var(t), tile.rows * columns), int64_t{i} * lanes),
                              k.load(acc, place, lanes)));
  }
  for (int32_t i = 0; i < count * tile.unroll; ++i) {
    const int32_t step = i % count;
    const bool holds_rows = tile.rows < tile.vectors;
    const int32_t row = holds_rows ? step % tile.rows : step / tile.vectors;
    const int32_t vector = holds_rows ? step / tile.rows : step % tile.vectors;
    const ExprId place = k.int_const((int64_t{row} * tile.vectors + vector) * lanes);
    const ExprId at = k.add(k.mul(k.var(p), tile.unroll), i / count);
    const ExprId line = k.add(k.mul(k.var(t), tile.rows), row);
    const ExprId left = k.broadcast(k.load(a, k.add(k.mul(line, depth), at)), lanes);
    const ExprId right = k.load(b, k.add(k.mul(at, columns), int64_t{vector} * lanes), lanes);
    inner.push_back(make_store(acc, place, k.fma(left, right, k.load(acc, place, lanes))));
  }
  body.push_back(make_for(p, k.int_const(0), k.int_const(depth / tile.unroll), LoopKind::kSerial,
                          std::move(inner)));
  body.insert(body.end(), last.begin(), last.end());
  k.body.push_back(make_for(t, k.int_const(0), k.int_const(kRows), LoopKind::kThread, body));
  return k;
}

// `count` independent chains of multiply-adds, nothing loaded.
Kernel register_kernel(int32_t count, int32_t lanes, int64_t steps) {
  Kernel k;
  k.name = "registers";
  k.thread_extent = kRows;
  const ArrayId a = k.add_param("a", DType::kFloat32, 2 * lanes, false);
  const ArrayId b = k.add_param("b", DType::kFloat32, 1, false);
  const ArrayId out = k.add_param("out", DType::kFloat32, int64_t{count} * lanes, true);
  const ArrayId acc = k.add_local("acc", DType::kFloat32, int64_t{count} * lanes);
  const VarId x = k.add_let_var("x", {DType::kFloat32, lanes});
  const VarId y = k.add_let_var("y", {DType::kFloat32, lanes});
  const VarId t = k.add_loop_var("t", 0, kRows - 1);
  const VarId p = k.add_loop_var("p", 0, steps - 1);
  std::vector<Stmt> body = {make_let(x, k.load(a, k.int_const(0), lanes)),
                            make_let(y, k.add(k.load(a, k.int_const(lanes), lanes),
                                              k.broadcast(k.load(b, k.int_const(0)), lanes)))};
  std::vector<Stmt> inner, last;
  for (int32_t i = 0; i < count; ++i) {
    const ExprId place = k.int_const(int64_t{i} * lanes);
    const ExprId sum = k.load(acc, place, lanes);
    body.push_back(make_store(acc, place, k.splat(i, {DType::kFloat32, lanes})));
    inner.push_back(make_store(acc, place, k.fma(sum, k.var(x), k.var(y))));
    last.push_back(make_store(out, place, sum));
  }
  body.push_back(make_for(p, k.int_const(0), k.int_const(steps), LoopKind::kSerial, inner));
  body.insert(body.end(), last.begin(), last.end());
  k.body.push_back(make_for(t, k.int_const(0), k.int_const(kRows), LoopKind::kThread, body));
  return k;
}

// GFLOP/s of the kernel, the best of many runs; 0 if it can't be compiled or loaded.
double measure(const Kernel& kernel, const render::CpuTarget& target, double flops) {
  const auto bytes = render::compile_shared_object({kernel}, target);
  const int fd = ::memfd_create("kernel", MFD_CLOEXEC);
  if (!bytes || fd < 0 ||
      ::write(fd, bytes->data(), bytes->size()) != static_cast<ssize_t>(bytes->size())) {
    return 0;
  }
  void* handle = ::dlopen(("/proc/self/fd/" + std::to_string(fd)).c_str(), RTLD_NOW | RTLD_LOCAL);
  ::close(fd);
  if (handle == nullptr) return 0;
  using Function = void (*)(void* const*, int64_t, int64_t);
  const auto function = reinterpret_cast<Function>(::dlsym(handle, kernel.name.c_str()));
  std::vector<void*> params;
  for (int i = 0; i < kernel.param_count(); ++i) {
    const auto count = static_cast<size_t>((kernel.array(i).elements + 15) / 16 * 16);
    auto* data = static_cast<float*>(std::aligned_alloc(64, count * sizeof(float)));
    std::fill_n(data, count, 0.5f);
    params.push_back(data);
  }
  int64_t best_ns = INT64_MAX;
  for (int run = 0; run < 2000; ++run) {
    const int64_t start_ns = base::mono_time_ns();
    function(params.data(), 0, kRows);
    best_ns = std::min(best_ns, base::mono_time_ns() - start_ns);
  }
  for (void* data : params) std::free(data);
  ::dlclose(handle);
  return flops / static_cast<double>(best_ns);
}

void report_tiles(const render::CpuTarget& target) {
  constexpr int64_t kDepth = 192;
  const int32_t lanes = target.lanes(DType::kFloat32);
  const bool has_many_registers = target.vector_registers == 32;
  const int32_t chains = has_many_registers ? 24 : 12;
  constexpr int64_t kSteps = 4096;
  const double peak = measure(register_kernel(chains, lanes, kSteps), target,
                              2.0 * chains * lanes * kSteps * kRows);
  std::printf("%s:%s, %d lanes\n  registers alone    %7.1f GFLOP/s\n", target.backend.c_str(),
              target.march.c_str(), lanes, peak);
  const std::vector<Tile> tiles =
      has_many_registers ? std::vector<Tile>{{14, 2, 1}, {9, 3, 1}, {9, 3, 4}, {3, 8, 1}}
                         : std::vector<Tile>{{6, 2, 1}, {6, 2, 8}, {4, 3, 1}, {3, 4, 1}, {2, 6, 1}};
  for (const Tile& tile : tiles) {
    const double rate = measure(tile_kernel("tile", tile, lanes, kDepth), target,
                                2.0 * tile.rows * tile.vectors * lanes * kDepth * kRows);
    std::printf("  %2d x %d, unroll %d   %7.1f GFLOP/s  %5.1f %%\n", tile.rows, tile.vectors,
                tile.unroll, rate, peak > 0 ? 100 * rate / peak : 0);
  }
}

void report_compile_time(const render::CpuTarget& target) {
  const int32_t lanes = target.lanes(DType::kFloat32);
  std::vector<Kernel> kernels;
  for (int i = 0; i < 60; ++i) {
    kernels.push_back(tile_kernel("tile_" + std::to_string(i), {6, 2, 24}, lanes, 24 * (i + 4)));
  }
  const int64_t start_ns = base::mono_time_ns();
  const auto bytes = render::compile_shared_object(kernels, target);
  const double seconds = static_cast<double>(base::mono_time_ns() - start_ns) * 1e-9;
  std::printf("  60 kernels of 288 multiply-adds: %.2f s, %zu bytes\n", seconds,
              bytes ? bytes->size() : size_t{0});
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> specs(argv + 1, argv + argc);
  if (specs.empty()) specs = {"llvm", "cpu"};
  for (const std::string& spec : specs) {
    const auto target = render::make_cpu_target(spec);
    if (!target || !target->fma) {
      std::fprintf(stderr, "%s: no such target, or one without fused multiply-add\n", spec.c_str());
      return 2;
    }
    report_tiles(*target);
    report_compile_time(*target);
  }
  return 0;
}
