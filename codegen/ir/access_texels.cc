// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>

#include "codegen/ir/kernel_passes.h"
#include "codegen/ir/kernel_rewrite.h"

namespace camshaft::ir {
namespace {

constexpr int64_t kElements = base::kTexelElements;

// Makes loads of images kTexels.
class TexelLoads final : public ExprRewriter {
 public:
  explicit TexelLoads(Kernel* kernel) : ExprRewriter(kernel) {}

  // Element `index` of an image, by the texel's column and row. `index` may have lanes.
  struct Place {
    ExprId x = kNoExpr;
    ExprId y = kNoExpr;
  };
  Place place(ArrayId array, ExprId index) {
    const int64_t pitch = kernel().array(array).image.pitch;
    return {over(KOp::kRem, over(KOp::kDiv, index, kElements), pitch),
            over(KOp::kDiv, index, kElements * pitch)};
  }
  // Whether four elements from `index` on are surely one texel.
  bool is_whole(ExprId index) {
    int64_t rest = 1;
    return kernel().expr(index).type.lanes == 1 &&
           kernel().is_int_const(kernel().mod(index, kElements), &rest) && rest == 0;
  }

 protected:
  bool keeps(ExprId id) const override { return !kernel().has_load(id); }
  ExprId replace(ExprId id, const ExprId args[3]) override {
    const Expr node = kernel().expr(id);
    const bool loads_image = node.op == KOp::kLoad && kernel().array(node.array).is_image();
    if (loads_image) return load(node, args[0]);
    // A half that comes as f32 was to become that.
    const Expr operand = args[0] == kNoExpr ? node : kernel().expr(args[0]);
    if (node.op == KOp::kCast && is_narrowed_texel(operand)) {
      return kernel().cast(operand.args[0], node.type.dtype);
    }
    return std::equal(std::begin(node.args), std::end(node.args), args)
               ? id
               : rebuild_expr(kernel(), node, args);
  }

 private:
  bool is_narrowed_texel(const Expr& e) const {
    return e.op == KOp::kCast && e.type.dtype == DType::kFloat16 &&
           kernel().expr(e.args[0]).op == KOp::kTexel;
  }

  ExprId over(KOp op, ExprId index, int64_t divisor) {
    const int32_t lanes = kernel().expr(index).type.lanes;
    return kernel().binary(op, index, kernel().broadcast(kernel().int_const(divisor), lanes));
  }

  ExprId load(const Expr& node, ExprId index) {
    const int32_t lanes = node.type.lanes;
    ExprId element = kNoExpr;
    if (lanes == kElements && is_whole(index)) {
      element = kernel().ramp(kernel().int_const(0), kernel().int_const(1), lanes);
    } else {
      if (kernel().expr(index).type.lanes < lanes) {
        index = kernel().ramp(index, kernel().int_const(1), lanes);
      }
      element = over(KOp::kRem, index, kElements);
    }
    const Place at = place(node.array, index);
    return kernel().cast(kernel().texel(node.array, at.x, at.y, element), node.type.dtype);
  }
};

class TexelStores {
 public:
  explicit TexelStores(Kernel* kernel) : kernel_(*kernel), loads_(kernel) {}

  // False where a store is not of a whole texel.
  bool run(std::vector<Stmt>& body) {
    std::erase_if(body, [&](const Stmt& stmt) {
      return stmt.kind == StmtKind::kPrefetch && is_image(stmt.array);
    });
    for (Stmt& stmt : body) {
      loads_.rewrite_exprs(stmt);
      const bool is_known = stmt.kind != StmtKind::kMatrix || !is_image(stmt.array);
      if (!is_known || !run(stmt.body) || !store(stmt)) return false;
    }
    return true;
  }

 private:
  bool is_image(ArrayId id) const { return id >= 0 && kernel_.array(id).is_image(); }

  bool store(Stmt& stmt) {
    if (stmt.kind != StmtKind::kStore || !is_image(stmt.array)) return true;
    if (kernel_.expr(stmt.value).type.lanes != kElements || !loads_.is_whole(stmt.index)) {
      return false;
    }
    const TexelLoads::Place at = loads_.place(stmt.array, stmt.index);
    stmt = make_store_texel(stmt.array, at.x, at.y, widened(stmt.value));
    return true;
  }

  // The f32 that a half was made of, which the texture unit narrows.
  ExprId widened(ExprId value) {
    const Expr e = kernel_.expr(value);
    if (e.type.dtype != DType::kFloat16) return value;
    const bool is_narrowed =
        e.op == KOp::kCast && kernel_.expr(e.args[0]).type.dtype == DType::kFloat32;
    return is_narrowed ? e.args[0] : kernel_.cast(value, DType::kFloat32);
  }

  Kernel& kernel_;
  TexelLoads loads_;
};

}  // namespace

bool has_images(const Kernel& kernel) {
  return std::any_of(kernel.arrays().begin(), kernel.arrays().end(),
                     [](const Array& array) { return array.is_image(); });
}

std::optional<Kernel> access_texels(Kernel kernel) {
  std::vector<Stmt> body = std::move(kernel.body);
  if (!TexelStores(&kernel).run(body)) return std::nullopt;
  kernel.body = std::move(body);
  return kernel;
}

}  // namespace camshaft::ir
