// SPDX-License-Identifier: MIT
#include "codegen/render/renderable.h"

#include <string>
#include <unordered_set>

#include "codegen/ir/kernel_passes.h"
#include "codegen/ir/kernel_rewrite.h"
#include "codegen/render/c_names.h"
#include "codegen/render/walk.h"

namespace camshaft::render {

namespace {

using base::Code;
using base::Status;
using ir::Expr;
using ir::ExprId;
using ir::Kernel;
using ir::KOp;
using ir::Stmt;

bool is_identifier(const std::string& name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (name.empty() || !is_letter(name[0])) return false;
  for (const char c : name) {
    if (!is_letter(c) && !(c >= '0' && c <= '9')) return false;
  }
  return true;
}

// What the loop or barrier needs, or null.
const char* stmt_problem(const Stmt& stmt, const CpuTarget& target) {
  if (stmt.kind == ir::StmtKind::kBarrier && !target.is_gpu) return "a barrier is for GPUs";
  if (stmt.kind != ir::StmtKind::kFor) return nullptr;
  switch (stmt.loop) {
    case ir::LoopKind::kItem:
      return target.is_gpu ? nullptr : "item loops are for GPUs";
    case ir::LoopKind::kUnrolled:
    case ir::LoopKind::kVector:
      return "unrolled and vector loops must be gone: call prepare_kernel first";
    default:
      return nullptr;
  }
}

bool has_op(KOp op, const CpuTarget& target) {
  switch (op) {
    case KOp::kFma:
      return target.math.fma;
    case KOp::kFloor:
    case KOp::kCeil:
    case KOp::kRound:
      return target.math.rounding;
    default:
      return op < KOp::kExp;
  }
}

// f64 remainders are computed with fused multiply-adds.
bool needs_fma(const Expr& expr) {
  return expr.op == KOp::kRem && expr.type.dtype == ir::DType::kFloat64;
}

Status unfinished(const Kernel& kernel) {
  return base::fail(Code::kUnsupported, "render.image",
                    "kernel %s: it uses an image as an array: call access_texels first",
                    kernel.name.c_str());
}

Status check_exprs(const Kernel& kernel, const Stmt& stmt, const CpuTarget& target,
                   StmtOrder* order) {
  for (const ExprId id : order->list(ir::exprs_of(stmt))) {
    const Expr& expr = kernel.expr(id);
    if (expr.op == KOp::kLoad && kernel.array(expr.array).is_image()) return unfinished(kernel);
    if (has_op(expr.op, target) && (target.fma || !needs_fma(expr))) continue;
    return base::fail(Code::kUnsupported, "render.op",
                      "kernel %s: %s on %s has no instruction on %s: call prepare_kernel with the "
                      "target's math, or choose another target",
                      kernel.name.c_str(), ir::kop_name(expr.op), dtype_name(expr.type.dtype),
                      target.march.c_str());
  }
  return base::ok();
}

Status check_arrays(const Kernel& kernel, const CpuTarget& target) {
  if (ir::has_images(kernel) && !target.is_gpu) {
    return base::fail(Code::kUnsupported, "render.image", "kernel %s: images are for GPUs",
                      kernel.name.c_str());
  }
  const int64_t shared = ir::array_bytes(kernel, ir::ArrayKind::kShared);
  if (shared > kMaxSharedBytes) {
    return base::fail(Code::kUnsupported, "render.shared",
                      "kernel %s: shared arrays take %lld bytes, more than the %lld of a group",
                      kernel.name.c_str(), static_cast<long long>(shared),
                      static_cast<long long>(kMaxSharedBytes));
  }
  const int64_t bytes = ir::array_bytes(kernel, ir::ArrayKind::kLocal);
  if (bytes <= kMaxLocalBytes) return base::ok();
  return base::fail(
      Code::kUnsupported, "render.locals",
      "kernel %s: local arrays take %lld bytes, more than the %lld of a worker's stack",
      kernel.name.c_str(), static_cast<long long>(bytes), static_cast<long long>(kMaxLocalBytes));
}

Status check_kernel(const Kernel& kernel, const CpuTarget& target) {
  CAMSHAFT_TRY(ir::verify_kernel(kernel));
  if (!kernel.matrices().empty() && !target.matrices) {
    return base::fail(Code::kUnsupported, "render.matrices",
                      "kernel %s: %s has no registers of matrices: choose another target",
                      kernel.name.c_str(), target.march.c_str());
  }
  CAMSHAFT_TRY(check_arrays(kernel, target));
  StmtOrder order(kernel);
  Status status = base::ok();
  for_each_stmt(kernel.body, [&](const Stmt& stmt) {
    if (!status.is_ok()) return;
    if (const char* problem = stmt_problem(stmt, target)) {
      status = base::fail(Code::kUnsupported, "render.stmt", "kernel %s: %s", kernel.name.c_str(),
                          problem);
      return;
    }
    const bool is_store = stmt.kind == ir::StmtKind::kStore;
    status = is_store && kernel.array(stmt.array).is_image()
                 ? unfinished(kernel)
                 : check_exprs(kernel, stmt, target, &order);
  });
  return status;
}

}  // namespace

Status check_renderable(const std::vector<Kernel>& kernels, const CpuTarget& target) {
  std::unordered_set<std::string> names;
  for (const Kernel& kernel : kernels) {
    if (!is_identifier(kernel.name)) {
      return base::fail(Code::kInvalidArgument, "render.kernel_name",
                        "kernel \"%s\": a name is made of letters, digits and underscores",
                        kernel.name.c_str());
    }
    if (is_reserved_in_c(kernel.name)) {
      return base::fail(Code::kInvalidArgument, "render.kernel_name",
                        "kernel %s: the name means something else in C", kernel.name.c_str());
    }
    // The C renderer makes two functions, NAME and NAME_body.
    if (!names.insert(kernel.name).second || !names.insert(kernel.name + "_body").second) {
      return base::fail(Code::kInvalidArgument, "render.kernel_name",
                        "kernel %s: another kernel has this name, or it and _body",
                        kernel.name.c_str());
    }
    CAMSHAFT_TRY(check_kernel(kernel, target));
  }
  return base::ok();
}

}  // namespace camshaft::render
