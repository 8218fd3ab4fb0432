// SPDX-License-Identifier: MIT
// What every strategy needs: the kernel under construction with its parameters, and loop makers.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/lower/evaluator.h"
#include "codegen/lower/lower.h"

namespace camshaft::lower {

// A kernel whose parameters are the region's leaves (but for those in `packed`, which the strategy
// provides in its own form) and its output; further ones may follow by add_constant().
struct Frame {
  Frame(const Task& task, const char* strategy, const Knobs& knobs,
        const std::set<NodeId>& packed = {});

  Kernel& kernel() { return lowered.kernel; }
  // A read-only parameter with these bytes. Before any local array.
  ir::ArrayId add_constant(std::string_view name, ir::DType dtype, std::vector<std::byte> bytes);
  // Scratch memory, shared by all threads. Before any local array.
  ir::ArrayId add_scratch(std::string_view name, ir::DType dtype, int64_t elements);

  // A leaf of narrow numbers as words: see pairs.h. Before any local array.
  ir::ArrayId add_words(NodeId leaf);

  const Task& task;
  LoweredKernel lowered;
  std::map<NodeId, ir::ArrayId> arrays;
  ir::ArrayId output = -1;
  ir::ArrayId pooled = -1;  // of a region with such

 private:
  ir::ArrayId add_value(NodeId value, std::string_view name, bool writable);
};

// A loop over [0, extent) with `body(variable)`; extent 1 gives the body with 0, extent 0 nothing.
using Body = std::function<std::vector<Stmt>(ExprId)>;
std::vector<Stmt> loop(Kernel& kernel, const char* name, int64_t extent, ir::LoopKind kind,
                       const Body& body);
// The same with bounds that are expressions; `lo` and `hi` bound the variable (inclusive).
std::vector<Stmt> loop_between(Kernel& kernel, const char* name, ExprId begin, ExprId end,
                               int64_t lo, int64_t hi, const Body& body);
// The thread loop, the kernel's outermost statement; sets kernel.thread_extent.
void set_thread_loop(Kernel& kernel, int64_t extent, const Body& body);
// Serial loops over all indices of `shape`, innermost last.
std::vector<Stmt> loop_nest(Kernel& kernel, const ir::Shape& shape,
                            const std::function<std::vector<Stmt>(const Index&)>& body);

// Adds a variable of this value to `body`; returns the variable.
ExprId let(Kernel& kernel, std::vector<Stmt>& body, const char* name, ExprId value);

void append(std::vector<Stmt>& to, std::vector<Stmt> more);

// The neutral element and the combination of a reduction, in `type`.
ExprId reduce_identity(Kernel& kernel, ir::ReduceKind kind, ir::ValueType type);
ExprId reduce_combine(Kernel& kernel, ir::ReduceKind kind, ExprId a, ExprId b);
// array[0] = its first `elements`, a power of two, combined: halves of them until one is left.
std::vector<Stmt> fold(Kernel& kernel, ir::ReduceKind kind, ir::ArrayId array, int64_t elements);
// Accumulator dtype: floats in f32 or f64, integers in their own type.
ir::DType accumulator_dtype(ir::DType dtype);

}  // namespace camshaft::lower
