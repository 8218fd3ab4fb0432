// SPDX-License-Identifier: MIT
#include "codegen/lower/frame.h"

#include <cmath>
#include <limits>

#include "codegen/lower/pairs.h"

namespace camshaft::lower {

using ir::DType;
using ir::KOp;

Frame::Frame(const Task& region_task, const char* strategy, const Knobs& knobs,
             const std::set<NodeId>& packed)
    : task(region_task) {
  lowered.strategy = strategy;
  lowered.knobs = knobs;
  int number = 0;
  for (NodeId leaf : task.region.leaves) {
    if (packed.count(leaf) > 0) continue;
    arrays[leaf] = add_value(leaf, "x" + std::to_string(number++), false);
    lowered.arguments.push_back({leaf, {}, false});
  }
  output = add_value(task.region.output, "out", true);
  lowered.arguments.push_back({task.region.output, {}, true});
  if (task.region.pooled == ir::kNoNode) return;
  pooled = add_value(task.region.pooled, "pooled", true);
  lowered.arguments.push_back({task.region.pooled, {}, true});
}

ir::ArrayId Frame::add_value(NodeId value, std::string_view name, bool writable) {
  const ir::TensorType& type = task.type(value);
  const ir::ImageShape image = task.schedule.buffer(value).image;
  const int64_t elements = image.width > 0 ? image.elements() : type.elements();
  const ir::ArrayId id = kernel().add_param(name, type.dtype, elements, writable);
  kernel().array(id).image = image;
  return id;
}

ir::ArrayId Frame::add_constant(std::string_view name, DType dtype, std::vector<std::byte> bytes) {
  const int64_t elements = static_cast<int64_t>(bytes.size()) / base::dtype_size_bytes(dtype);
  lowered.arguments.push_back({ir::kNoNode, std::move(bytes), false});
  return kernel().add_param(name, dtype, elements, false);
}

ir::ArrayId Frame::add_scratch(std::string_view name, DType dtype, int64_t elements) {
  lowered.arguments.push_back({ir::kNoNode, {}, true, elements * base::dtype_size_bytes(dtype)});
  return kernel().add_param(name, dtype, elements, true);
}

ir::ArrayId Frame::add_words(NodeId leaf) {
  lowered.arguments.push_back({leaf, {}, false});
  const ir::TensorType& type = task.type(leaf);
  return kernel().add_param("words", word_dtype(type.dtype), type.size_bytes() / 4, false);
}

std::vector<Stmt> loop(Kernel& kernel, const char* name, int64_t extent, ir::LoopKind kind,
                       const Body& body) {
  if (extent <= 0) return {};
  if (extent == 1) return body(kernel.int_const(0));
  const ir::VarId var = kernel.add_loop_var(name, 0, extent - 1);
  std::vector<Stmt> inside = body(kernel.var(var));
  return {
      ir::make_for(var, kernel.int_const(0), kernel.int_const(extent), kind, std::move(inside))};
}

std::vector<Stmt> loop_between(Kernel& kernel, const char* name, ExprId begin, ExprId end,
                               int64_t lo, int64_t hi, const Body& body) {
  const ir::VarId var = kernel.add_loop_var(name, lo, hi);
  std::vector<Stmt> inside = body(kernel.var(var));
  return {ir::make_for(var, begin, end, ir::LoopKind::kSerial, std::move(inside))};
}

void set_thread_loop(Kernel& kernel, int64_t extent, const Body& body) {
  kernel.thread_extent = extent;
  const ir::VarId var = kernel.add_loop_var("t", 0, std::max<int64_t>(extent - 1, 0));
  std::vector<Stmt> inside = body(extent == 1 ? kernel.int_const(0) : kernel.var(var));
  kernel.body = {ir::make_for(var, kernel.int_const(0), kernel.int_const(extent),
                              ir::LoopKind::kThread, std::move(inside))};
}

std::vector<Stmt> loop_nest(Kernel& kernel, const ir::Shape& shape,
                            const std::function<std::vector<Stmt>(const Index&)>& body) {
  const std::function<std::vector<Stmt>(Index)> nest = [&](Index index) -> std::vector<Stmt> {
    if (index.size() == shape.size()) return body(index);
    return loop(kernel, "i", shape[index.size()], ir::LoopKind::kSerial, [&](ExprId at) {
      Index longer = index;
      longer.push_back(at);
      return nest(longer);
    });
  };
  return nest({});
}

ExprId let(Kernel& kernel, std::vector<Stmt>& body, const char* name, ExprId value) {
  const ir::VarId var = kernel.add_let_var(name, value);
  body.push_back(ir::make_let(var, value));
  return kernel.var(var);
}

void append(std::vector<Stmt>& to, std::vector<Stmt> more) {
  for (Stmt& statement : more) to.push_back(std::move(statement));
}

ExprId reduce_identity(Kernel& kernel, ir::ReduceKind kind, ir::ValueType type) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (kind == ir::ReduceKind::kSum) return kernel.splat(0, type);
  if (kind == ir::ReduceKind::kProd) return kernel.splat(1, type);
  const bool is_max = kind == ir::ReduceKind::kMax;
  if (base::is_float(type.dtype)) return kernel.splat(is_max ? -infinity : infinity, type);
  const int64_t bits = base::dtype_size_bytes(type.dtype) * 8;
  int64_t lowest = 0;
  int64_t highest = type.dtype == DType::kBool ? 1 : -1;  // u64: all ones
  if (base::is_signed_int(type.dtype)) {
    lowest = bits == 64 ? INT64_MIN : -(int64_t{1} << (bits - 1));
    highest = bits == 64 ? INT64_MAX : (int64_t{1} << (bits - 1)) - 1;
  } else if (bits < 64 && type.dtype != DType::kBool) {
    highest = (int64_t{1} << bits) - 1;
  }
  return kernel.broadcast(kernel.int_const(is_max ? lowest : highest, type.dtype), type.lanes);
}

ExprId reduce_combine(Kernel& kernel, ir::ReduceKind kind, ExprId a, ExprId b) {
  const DType dtype = kernel.expr(a).type.dtype;
  switch (kind) {
    case ir::ReduceKind::kSum:
      return dtype == DType::kBool ? kernel.binary(KOp::kOr, a, b) : kernel.add(a, b);
    case ir::ReduceKind::kProd:
      return dtype == DType::kBool ? kernel.binary(KOp::kAnd, a, b) : kernel.mul(a, b);
    default: {
      const KOp op = kind == ir::ReduceKind::kMax ? KOp::kMax : KOp::kMin;
      if (dtype == DType::kBool) {
        return kernel.binary(kind == ir::ReduceKind::kMax ? KOp::kOr : KOp::kAnd, a, b);
      }
      if (!base::is_float(dtype)) return kernel.binary(op, a, b);
      // A NaN in `a` (the new value or the running one) wins; kMax gives `b` if either is NaN.
      return kernel.select(kernel.binary(KOp::kEq, a, a), kernel.binary(op, a, b), a);
    }
  }
}

std::vector<Stmt> fold(Kernel& kernel, ir::ReduceKind kind, ir::ArrayId array, int64_t elements) {
  std::vector<Stmt> body;
  for (int64_t width = elements / 2; width >= 1; width /= 2) {
    append(body,
           loop(kernel, "v", width, ir::LoopKind::kVector, [&](ExprId v) -> std::vector<Stmt> {
             const ExprId low = kernel.load(array, v);
             const ExprId high = kernel.load(array, kernel.add(v, width));
             return {ir::make_store(array, v, reduce_combine(kernel, kind, high, low))};
           }));
  }
  return body;
}

DType accumulator_dtype(DType dtype) {
  return compute_dtype(dtype);
}

}  // namespace camshaft::lower
