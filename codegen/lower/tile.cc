// SPDX-License-Identifier: MIT
#include "codegen/lower/tile.h"

#include <algorithm>
#include <utility>

namespace camshaft::lower {

using ir::ExprId;
using ir::Stmt;

namespace {

constexpr int64_t kLineBytes = 64;

// Weights pass once a tile and are seldom in the first level of the caches: what the second gives.
constexpr double kWeightBytesPerCycle = 24;

// Cycles of one reduction step of a tile.
double step_cycles(const CpuTarget& target, int64_t pixels, int64_t vectors) {
  const double multiply_adds = static_cast<double>(pixels * vectors);
  const double fma_cycles = multiply_adds / target.fma_per_cycle;
  const double load_cycles = static_cast<double>(pixels + vectors) / target.loads_per_cycle;
  const double weight_cycles =
      static_cast<double>(vectors * target.vector_bytes) / kWeightBytesPerCycle;
  return std::max(
      {fma_cycles, load_cycles, weight_cycles, static_cast<double>(target.fma_latency)});
}

double strip_cycles(const CpuTarget& target, int64_t rows, int64_t vectors, const Knobs& knobs) {
  const auto row_cycles = [&](int64_t width) {
    double cycles = 0;
    for (const TileRun& run : split_evenly(rows, knobs.pixels)) {
      cycles += static_cast<double>(run.count) * step_cycles(target, run.rows, width);
    }
    return cycles;
  };
  double cycles = static_cast<double>(vectors / knobs.vectors) * row_cycles(knobs.vectors);
  if (vectors % knobs.vectors > 0) cycles += row_cycles(vectors % knobs.vectors);
  return cycles;
}

}  // namespace

bool has_tiles(ir::DType dtype) {
  return base::dtype_size_bytes(dtype) >= 4;
}

int32_t output_lanes(const Task& task, int64_t channels) {
  const int32_t widest = task.target.lanes(task.type(task.region.root).dtype);
  const int32_t block = task.schedule.buffer(task.region.output).layout.channel_block;
  int32_t lanes = std::min(block, widest);
  while (lanes < widest && lanes < channels) lanes *= 2;
  return lanes;
}

ExprId multiply_add(ir::Kernel& kernel, ExprId x, ExprId w, ExprId sum) {
  if (base::is_float(kernel.expr(sum).type.dtype)) return kernel.fma(x, w, sum);
  return kernel.add(sum, kernel.mul(x, w));
}

int64_t line_elements(ir::DType dtype) {
  return kLineBytes / base::dtype_size_bytes(dtype);
}

std::vector<Stmt> prefetch_lines(ir::Kernel& kernel, ir::ArrayId array, ExprId first,
                                 int64_t lines) {
  const int64_t elements = kernel.array(array).elements;
  const int64_t length = line_elements(kernel.array(array).dtype);
  const ExprId last = kernel.int_const(std::max<int64_t>(elements - lines * length, 0));
  const ExprId limited = kernel.binary(ir::KOp::kMin, first, last);
  std::vector<Stmt> body;
  for (int64_t line = 0; line < lines && line * length < elements; ++line) {
    body.push_back(ir::make_prefetch(array, kernel.add(limited, line * length)));
  }
  return body;
}

std::vector<TileRun> split_evenly(int64_t rows, int64_t most) {
  if (rows <= 0) return {};
  const int64_t tiles = (rows + most - 1) / most;
  const int64_t larger = rows % tiles;
  std::vector<TileRun> runs;
  if (larger > 0) runs.push_back({rows / tiles + 1, larger});
  runs.push_back({rows / tiles, tiles - larger});
  return runs;
}

double reduction_step_cycles(const CpuTarget& target, const std::vector<Strip>& strips,
                             int64_t vectors, const Knobs& knobs) {
  double cycles = 0;
  for (const Strip& strip : strips) {
    cycles += static_cast<double>(strip.count) * strip_cycles(target, strip.rows, vectors, knobs);
  }
  return cycles;
}

std::vector<Knobs> cheapest_first(const std::vector<RatedKnobs>& candidates) {
  std::vector<std::pair<double, size_t>> order;
  for (size_t i = 0; i < candidates.size(); ++i) order.emplace_back(candidates[i].cycles, i);
  std::sort(order.begin(), order.end());
  std::vector<Knobs> ranked;
  for (const auto& [cycles, i] : order) ranked.push_back(candidates[i].knobs);
  return ranked;
}

std::vector<Knobs> rank_tiles(const CpuTarget& target, const std::vector<Strip>& strips,
                              int64_t vectors, int32_t lanes) {
  std::vector<RatedKnobs> candidates;
  int64_t longest = 1;
  for (const Strip& strip : strips) longest = std::max(longest, strip.rows);
  const int32_t registers = target.vector_registers;
  for (int32_t pixels = 1; pixels <= std::min<int64_t>(longest, 28); ++pixels) {
    for (int32_t width = 1; width <= std::min<int64_t>(vectors, 14); ++width) {
      if (pixels * width + std::min(pixels, width) + 1 > registers) continue;
      Knobs knobs;
      knobs.lanes = lanes;
      knobs.pixels = pixels;
      knobs.vectors = width;
      double cycles = reduction_step_cycles(target, strips, vectors, knobs);
      // Among equals prefer less traffic from the caches: whole vectors of weights for each pixel,
      // numbers of the input for each vector.
      cycles *= 1.0 + 0.06 / pixels + 0.02 / width;
      candidates.push_back({cycles, knobs});
    }
  }
  return cheapest_first(candidates);
}

std::vector<Stmt> in_register_order(std::vector<std::vector<Stmt>> by_pixel) {
  const size_t pixels = by_pixel.size();
  const size_t vectors = pixels == 0 ? 0 : by_pixel[0].size();
  const bool holds_pixels = pixels < vectors;
  std::vector<Stmt> body;
  for (size_t i = 0; i < pixels * vectors; ++i) {
    const size_t pixel = holds_pixels ? i % pixels : i / vectors;
    const size_t vector = holds_pixels ? i / pixels : i % vectors;
    body.push_back(std::move(by_pixel[pixel][vector]));
  }
  return body;
}

std::vector<Stmt> TileAccumulators::clear() {
  std::vector<Stmt> body;
  for (int64_t pixel = 0; pixel < pixels_; ++pixel) {
    for (int64_t vector = 0; vector < vectors_; ++vector) {
      body.push_back(ir::make_store(
          array_, place(pixel, vector),
          kernel_.splat(0, {kernel_.array(array_).dtype, static_cast<int32_t>(lanes_)})));
    }
  }
  return body;
}

Stmt TileAccumulators::multiply_add(int64_t pixel, int64_t vector, ExprId x, ExprId w) {
  return multiply_add_vectors(pixel, vector, kernel_.broadcast(x, static_cast<int32_t>(lanes_)), w);
}

Stmt TileAccumulators::multiply_add_vectors(int64_t pixel, int64_t vector, ExprId x, ExprId w) {
  const ExprId at = place(pixel, vector);
  const ExprId sum = kernel_.load(array_, at, static_cast<int32_t>(lanes_));
  return ir::make_store(array_, at, lower::multiply_add(kernel_, x, w, sum));
}

Stmt TileAccumulators::add_dot(int64_t pixel, int64_t vector, ExprId x, ExprId w) {
  const ExprId at = place(pixel, vector);
  const auto count = static_cast<int32_t>(lanes_);
  const ExprId sum = kernel_.load(array_, at, count);
  return ir::make_store(array_, at, kernel_.dot(sum, kernel_.broadcast(x, count), w));
}

Stmt TileAccumulators::scale(int64_t pixel, int64_t vector, ExprId factor) {
  const ExprId factors = kernel_.broadcast(factor, static_cast<int32_t>(lanes_));
  return ir::make_store(array_, place(pixel, vector), kernel_.mul(value(pixel, vector), factors));
}

ExprId TileAccumulators::value(int64_t pixel, int64_t vector) {
  return kernel_.load(array_, place(pixel, vector), static_cast<int32_t>(lanes_));
}

ExprId TileAccumulators::element(ExprId pixel, int64_t vector, ExprId lane) {
  const ExprId before = kernel_.add(kernel_.mul(pixel, vectors_), vector);
  return kernel_.load(array_, kernel_.add(kernel_.mul(before, lanes_), lane));
}

}  // namespace camshaft::lower
