// SPDX-License-Identifier: MIT
// Strategy `conv_winograd`: 3x3 convolutions of stride 1 in three phases for each block of tiles:
//   input:    x -> V [n * n][input block][tile][lane]
//   products: M[place] = V[place] * U[place] for each of the n * n places, by register tiles
//   output:   M [n * n][output vector][tile][lane] -> outputs, with the region's epilogue
// U, the transformed weights, is packed at compile time in the order in which the products read it:
//   [group][place][vectors of output channels][input channel][vector][lane]
// V and M are scratch memory. Patches that reach beyond the image: the columns that are outside are
// known at compile time for each column of tiles, the rows are the bounds of a loop.
#include "codegen/lower/strategy_list.h"
#include "codegen/lower/tile.h"
#include "codegen/lower/winograd_emitter.h"

namespace camshaft::lower {

using ir::DType;
using ir::KOp;

namespace {

// Floats from one place of V or M to the next: whole cache lines, and an odd number of them, so
// that the n * n places of a tile don't fall into one set of the caches.
int64_t place_stride(int64_t floats) {
  const int64_t line = line_elements(DType::kFloat32);
  const int64_t lines = (floats + line - 1) / line;
  return (lines | 1) * line;
}

}  // namespace

WinogradEmitter::WinogradEmitter(const Task& task, const WinogradConv& conv, const Knobs& knobs)
    : task_(task),
      knobs_(knobs),
      conv_(conv),
      winograd_(make_winograd(knobs.winograd)),
      cut_(cut_winograd(conv, knobs, task.threads)),
      lanes_(conv.lanes),
      n_(winograd_.size()),
      places_(n_ * n_),
      group_vectors_(conv.out_vectors() / cut_.groups),
      v_stride_(place_stride(conv.in_channels * cut_.block)),
      m_stride_(place_stride(group_vectors_ * lanes_ * cut_.block)),
      frame_(task, "conv_winograd", knobs, {conv.w}),
      kernel_(frame_.kernel()),
      evaluator_(kernel_, task, frame_.arrays) {
  u_ = frame_.add_constant("u", DType::kFloat32, pack());
  const int64_t items = cut_.chunks * cut_.groups;
  v_ = frame_.add_scratch("v", DType::kFloat32, items * places_ * v_stride_);
  m_ = frame_.add_scratch("m", DType::kFloat32, items * places_ * m_stride_);
  acc_ = kernel_.add_local("acc", DType::kFloat32, knobs.pixels * knobs.vectors * lanes_);
  half_ = kernel_.add_local("half", DType::kFloat32, places_ * lanes_);
  line_ = kernel_.add_local("line", DType::kFloat32, winograd_.outputs * lanes_);
}

LoweredKernel WinogradEmitter::emit() {
  set_thread_loop(kernel_, cut_.chunks * cut_.groups, [&](ExprId t) {
    item_ = t;
    group_ = kernel_.mod(t, cut_.groups);
    const ExprId chunk = kernel_.div(t, cut_.groups);
    const int64_t per_chunk = cut_.blocks_per_chunk();
    const ExprId begin = kernel_.mul(chunk, per_chunk);
    const ExprId end = minimum(kernel_.add(begin, per_chunk), cut_.blocks);
    return loop_between(kernel_, "block", begin, end, 0, cut_.blocks - 1, [&](ExprId block) {
      const ExprId first = kernel_.mul(block, cut_.block);
      std::vector<Stmt> body = input_phase(first);
      append(body, product_phase());
      append(body, output_phase(first));
      return body;
    });
  });
  return std::move(frame_.lowered);
}

// Neighbouring columns of tiles that have the same elements are one entry.
std::vector<WinogradEmitter::Columns> WinogradEmitter::columns_of(
    const std::function<Columns(int64_t)>& of_column) const {
  std::vector<Columns> result;
  for (int64_t column = 0; column < conv_.tile_columns(winograd_.outputs); ++column) {
    const Columns next = of_column(column);
    if (!result.empty() && result.back().begin == next.begin && result.back().end == next.end) {
      result.back().last = column;
    } else {
      result.push_back(next);
    }
  }
  return result;
}

std::vector<Stmt> WinogradEmitter::for_columns(
    const std::vector<Columns>& all, ExprId column,
    const std::function<std::vector<Stmt>(const Columns&)>& body) {
  if (all.size() == 1) return body(all[0]);
  std::vector<Stmt> result;
  for (const Columns& columns : all) {
    const ExprId from = kernel_.binary(KOp::kLe, kernel_.int_const(columns.first), column);
    const ExprId to = kernel_.binary(KOp::kLe, column, kernel_.int_const(columns.last));
    result.push_back(ir::make_if(kernel_.binary(KOp::kAnd, from, to), body(columns)));
  }
  return result;
}

WinogradEmitter::Place WinogradEmitter::place_of(VectorOps& ops, ExprId tile) {
  const int64_t columns = conv_.tile_columns(winograd_.outputs);
  const int64_t rows = conv_.tile_rows(winograd_.outputs);
  const ExprId line = ops.let(kernel_.div(tile, columns));
  const ExprId image = conv_.batch == 1 ? kernel_.int_const(0) : ops.let(kernel_.div(line, rows));
  const ExprId row = conv_.batch == 1 ? line : ops.let(kernel_.mod(line, rows));
  return {image, row, ops.let(kernel_.mod(tile, columns))};
}

std::vector<ExprId> WinogradEmitter::load_line(VectorOps& ops, ir::ArrayId array, ExprId base,
                                               int64_t stride, int64_t count) {
  std::vector<ExprId> line;
  for (int64_t i = 0; i < count; ++i) {
    line.push_back(ops.let(kernel_.load(array, kernel_.add(base, i * stride), lanes_)));
  }
  return line;
}

// Its items work through many tiles each, with scratch memory of their own: too few for a GPU.
bool matches_conv_winograd(const Task& task) {
  return !task.target.is_gpu && find_winograd_conv(task).has_value();
}

std::vector<Knobs> knobs_conv_winograd(const Task& task) {
  return rank_winograd(task, *find_winograd_conv(task));
}

LoweredKernel emit_conv_winograd(const Task& task, const Knobs& knobs) {
  const WinogradConv conv = *find_winograd_conv(task);
  LoweredKernel lowered = WinogradEmitter(task, conv, knobs).emit();
  lowered.relative_error =
      winograd_error(make_winograd(knobs.winograd), winograd_weights(task, conv).data(),
                     conv.out_channels, conv.in_channels);
  return lowered;
}

}  // namespace camshaft::lower
