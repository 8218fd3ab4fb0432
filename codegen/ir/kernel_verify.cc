// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>
#include <vector>

#include "codegen/ir/kernel.h"
#include "codegen/ir/kernel_rewrite.h"
#include "codegen/ir/kernel_types.h"

namespace camshaft::ir {
namespace {

using base::Code;
using base::Status;

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel)
      : kernel_(kernel),
        items_(group_items(kernel)),
        checked_(static_cast<size_t>(kernel.expr_count())),
        var_states_(kernel.vars().size(), VarState::kUndefined),
        attained_(kernel.vars().size()) {}

  Status verify() {
    CAMSHAFT_TRY(verify_arrays());
    CAMSHAFT_TRY(verify_matrices());
    if (kernel_.thread_extent < 1) return fail("its thread extent is below 1");
    CAMSHAFT_TRY(verify_body(kernel_.body, {}));
    if (!has_thread_loop_ && kernel_.thread_extent != 1) {
      return fail("it has a thread extent but no thread loop");
    }
    return base::ok();
  }

 private:
  enum class VarState : uint8_t { kUndefined, kInScope, kGone };
  struct Context {
    bool top = true;         // directly in the kernel
    bool in_vector = false;  // inside a vector loop
    bool in_thread = false;  // inside the thread loop
    bool in_item = false;    // inside an item loop
    bool in_if = false;      // values may be narrower than their bounds say
    bool never_runs = false;
  };

  Status fail(const std::string& problem) const {
    return base::fail(Code::kInternal, "kernel.verify", "kernel \"%s\": %s", kernel_.name.c_str(),
                      problem.c_str());
  }
  const std::string& var_name(VarId id) const { return kernel_.var_info(id).name; }

  Status verify_arrays() const {
    const auto count = static_cast<ArrayId>(kernel_.arrays().size());
    for (ArrayId id = 0; id < count; ++id) {
      const Array& array = kernel_.array(id);
      const std::string named = "array " + array.name;
      if (array.elements < 0) return fail(named + " has a negative size");
      if (array.kind == ArrayKind::kParam && id >= kernel_.param_count()) {
        return fail("parameter " + array.name + " follows a local array");
      }
      CAMSHAFT_TRY(verify_image(array));
      if (array.may_alias < 0) continue;
      if (array.may_alias >= kernel_.param_count() || array.writable ||
          array.kind != ArrayKind::kParam || !kernel_.array(array.may_alias).writable) {
        return fail(named + " may alias something other than a writable parameter");
      }
    }
    return base::ok();
  }

  Status verify_image(const Array& array) const {
    if (array.image == ImageShape()) return base::ok();
    const ImageShape& image = array.image;
    const bool has_dtype = array.dtype == DType::kFloat32 || array.dtype == DType::kFloat16 ||
                           array.dtype == DType::kUInt8;
    if (array.kind != ArrayKind::kParam || !has_dtype || array.may_alias >= 0) {
      return fail("image " + array.name + " is no parameter of its own, or not of f32, f16 or u8");
    }
    if (image.width < 1 || image.height < 1 || image.pitch < image.width ||
        image.width > kMaxImageExtent || image.height > kMaxImageExtent ||
        image.pitch > kMaxImageExtent || array.elements != image.elements()) {
      return fail("image " + array.name +
                  " has a shape that is none, or another one than its size");
    }
    return base::ok();
  }

  Status verify_body(const std::vector<Stmt>& body, Context context) {
    std::vector<VarId> lets;
    for (const Stmt& stmt : body) {
      CAMSHAFT_TRY(verify_uses(stmt, context));
      switch (stmt.kind) {
        case StmtKind::kFor:
          CAMSHAFT_TRY(verify_for(stmt, context));
          break;
        case StmtKind::kIf:
          CAMSHAFT_TRY(verify_if(stmt, context));
          break;
        case StmtKind::kLet:
          CAMSHAFT_TRY(verify_let(stmt));
          lets.push_back(stmt.var);
          break;
        case StmtKind::kStore:
          CAMSHAFT_TRY(verify_store(stmt, context));
          break;
        case StmtKind::kStoreTexel:
          CAMSHAFT_TRY(verify_store_texel(stmt, context));
          break;
        case StmtKind::kBarrier:
          if (context.in_vector) return fail("a barrier is inside a vector loop");
          if (context.in_item) return fail("a barrier is inside an item loop");
          if (items_ == 0) return fail("a barrier is in a kernel without item loops");
          break;
        case StmtKind::kPrefetch:
          CAMSHAFT_TRY(verify_prefetch(stmt, context));
          break;
        case StmtKind::kMatrix:
          CAMSHAFT_TRY(verify_matrix(stmt, context));
          break;
      }
    }
    for (const VarId id : lets) leave(id);
    return base::ok();
  }

  void leave(VarId id) { var_states_[static_cast<size_t>(id)] = VarState::kGone; }

  // Which expressions a statement must have, and that they are sound and in scope.
  Status verify_uses(const Stmt& stmt, Context context) {
    const bool is_for = stmt.kind == StmtKind::kFor;
    const bool is_texel = stmt.kind == StmtKind::kStoreTexel;
    const bool is_store = stmt.kind == StmtKind::kStore || is_texel;
    const bool has_index = is_store || stmt.kind == StmtKind::kPrefetch ||
                           (stmt.kind == StmtKind::kMatrix && matrix_moves(stmt.matrix.op));
    const bool has_value = is_store || stmt.kind == StmtKind::kLet;
    const bool given[] = {is_for,    is_for,   stmt.kind == StmtKind::kIf,
                          has_index, is_texel, has_value};
    const std::vector<ExprId> roots = exprs_of(stmt);
    for (size_t i = 0; i < roots.size(); ++i) {
      if ((roots[i] != kNoExpr) != given[i]) {
        return fail("a statement lacks an expression or has one too many");
      }
      if (roots[i] < kNoExpr || roots[i] >= ExprId{kernel_.expr_count()}) {
        return fail("a statement uses an expression that does not exist");
      }
    }
    for (const ExprId id : reachable_exprs(kernel_, roots)) {
      CAMSHAFT_TRY(verify_expr(id, context));
    }
    return base::ok();
  }

  Status verify_expr(ExprId id, Context context) {
    const Expr& e = kernel_.expr(id);
    if (!checked_[static_cast<size_t>(id)]) {
      const char* error = expr_type_error(kernel_, e);
      if (error != nullptr) return fail(std::string(kop_name(e.op)) + ": " + error);
      checked_[static_cast<size_t>(id)] = true;
    }
    if (e.op == KOp::kVar) {
      const auto var = static_cast<VarId>(e.int_value);
      if (var_states_[static_cast<size_t>(var)] != VarState::kInScope) {
        return fail("variable " + var_name(var) + " is used outside of its scope");
      }
    }
    if (context.in_vector && e.type.lanes != 1) return fail("a vector loop computes on lanes");
    int64_t divisor = 1;
    if ((e.op == KOp::kDiv || e.op == KOp::kRem) && kernel_.is_int_const(e.args[1], &divisor) &&
        divisor == 0) {
      return fail("an integer is divided by 0");
    }
    if (e.op == KOp::kTexel) return verify_texel(e, context);
    if (e.op != KOp::kLoad) return base::ok();
    return verify_access(e.array, e.args[0], e.type.lanes, context, "load from ");
  }

  // Any column and row will do, but an image that is written is not read.
  Status verify_texel(const Expr& e, Context context) const {
    const Array& image = kernel_.array(e.array);
    if (image.writable) return fail("image " + image.name + " is written and read");
    int64_t lo = 0, hi = 0;
    kernel_.bounds(e.args[2], &lo, &hi);
    const bool leaves =
        hi < 0 || lo >= base::kTexelElements ||
        (!context.in_if && (lo < 0 || hi >= base::kTexelElements) && attains_bounds(e.args[2]));
    if (!leaves || context.never_runs) return base::ok();
    return fail("element " + std::to_string(lo) + ".." + std::to_string(hi) + " of a texel of " +
                image.name);
  }

  // An access is refused if all its elements are outside of the array, or if one certainly is.
  Status verify_access(ArrayId id, ExprId index, int64_t lanes, Context context,
                       const char* what) const {
    const Array& array = kernel_.array(id);
    if (array.kind == ArrayKind::kShared && items_ == 0) {
      return fail("shared array " + array.name + " is in a kernel without item loops");
    }
    if (array.kind != ArrayKind::kParam && items_ > 0 && !context.in_item) {
      return fail(std::string(what) + array.name + " is outside of the item loops");
    }
    if (context.never_runs) return base::ok();
    int64_t lo = 0, hi = 0;
    kernel_.bounds(index, &lo, &hi);
    const int64_t width = kernel_.expr(index).type.lanes == 1 ? lanes : 1;
    const int64_t limit = array.elements - width;
    const bool never_inside = hi < 0 || lo > limit;
    const bool leaves = !context.in_if && (lo < 0 || hi > limit) && attains_bounds(index);
    if (!never_inside && !leaves) return base::ok();
    return fail(std::string(what) + array.name + " at " + std::to_string(lo) + ".." +
                std::to_string(hi) + (width > 1 ? " x" + std::to_string(width) : "") +
                " leaves its " + std::to_string(array.elements) + " elements");
  }

  // Whether both bounds of `index` are values that it really has: it uses each variable once, takes
  // all of these over their whole range, and is monotonic in them.
  bool attains_bounds(ExprId index) const {
    std::vector<ExprId> pending{index};
    std::vector<VarId> vars;
    while (!pending.empty()) {
      const Expr& e = kernel_.expr(pending.back());
      pending.pop_back();
      const bool product = e.op == KOp::kMul || e.op == KOp::kDiv;
      switch (e.op) {
        case KOp::kIntConst:
          continue;
        case KOp::kVar: {
          const auto var = static_cast<VarId>(e.int_value);
          if (!attained_[static_cast<size_t>(var)]) return false;
          if (std::find(vars.begin(), vars.end(), var) != vars.end()) return false;
          vars.push_back(var);
          continue;
        }
        case KOp::kAdd:
        case KOp::kSub:
        case KOp::kMin:
        case KOp::kMax:
        case KOp::kMul:
        case KOp::kDiv:
        case KOp::kRamp:
        case KOp::kBroadcast:
          break;
        default:
          return false;
      }
      if (product && !kernel_.is_int_const(e.args[1])) return false;
      for (int i = 0; i < kop_arity(e.op); ++i) pending.push_back(e.args[i]);
    }
    return true;
  }

  Status define(VarId id, ValueType type) {
    if (id < 0 || id >= static_cast<VarId>(kernel_.vars().size())) {
      return fail("a statement defines a variable that does not exist");
    }
    VarState& state = var_states_[static_cast<size_t>(id)];
    if (state != VarState::kUndefined)
      return fail("variable " + var_name(id) + " is defined twice");
    if (kernel_.var_info(id).type != type) {
      return fail("variable " + var_name(id) + " has another type than its definition");
    }
    state = VarState::kInScope;
    return base::ok();
  }

  Status verify_let(const Stmt& stmt) { return define(stmt.var, kernel_.expr(stmt.value).type); }

  Status verify_for(const Stmt& stmt, Context context) {
    CAMSHAFT_TRY(verify_loop_kind(stmt, context));
    const ValueType index{DType::kInt64, 1};
    CAMSHAFT_TRY(define(stmt.var, index));
    const Var& var = kernel_.var_info(stmt.var);
    if (kernel_.expr(stmt.begin).type != index || kernel_.expr(stmt.end).type != index) {
      return fail("loop " + var.name + " has bounds that are not scalar i64");
    }
    int64_t begin = 0, end = 0;
    const bool constant =
        kernel_.is_int_const(stmt.begin, &begin) && kernel_.is_int_const(stmt.end, &end);
    if ((stmt.loop == LoopKind::kUnrolled || stmt.loop == LoopKind::kVector) && !constant) {
      return fail("loop " + var.name + " is unrolled or vector but has no constant bounds");
    }
    if (constant && begin < end && (var.lo > begin || var.hi < end - 1)) {
      return fail("loop " + var.name + " leaves the range of its variable");
    }
    attained_[static_cast<size_t>(stmt.var)] =
        constant && begin < end && var.lo == begin && var.hi == end - 1;
    Context inner = context;
    inner.top = false;
    inner.in_if |= !constant || begin >= end;  // the body may never run
    inner.in_vector |= stmt.loop == LoopKind::kVector;
    inner.in_thread |= stmt.loop == LoopKind::kThread;
    inner.in_item |= stmt.loop == LoopKind::kItem;
    inner.never_runs |= constant && begin >= end;
    CAMSHAFT_TRY(verify_body(stmt.body, inner));
    leave(stmt.var);
    return base::ok();
  }

  Status verify_loop_kind(const Stmt& stmt, Context context) {
    const bool plain = stmt.loop == LoopKind::kSerial || stmt.loop == LoopKind::kUnrolled;
    if (context.in_vector && !plain) {
      return fail("a vector loop holds a loop that is neither serial nor unrolled");
    }
    if (stmt.loop == LoopKind::kItem) return verify_item_loop(stmt, context);
    if (stmt.loop != LoopKind::kThread) return base::ok();
    if (!context.top) return fail("the thread loop is not the outermost statement");
    if (has_thread_loop_) return fail("it has two thread loops");
    has_thread_loop_ = true;
    for (const Stmt& other : kernel_.body) {
      if (&other != &stmt && other.kind != StmtKind::kLet) {
        return fail("something other than a Let stands beside the thread loop");
      }
    }
    int64_t begin = -1, end = -1;
    if (!kernel_.is_int_const(stmt.begin, &begin) || !kernel_.is_int_const(stmt.end, &end) ||
        begin != 0 || end != kernel_.thread_extent) {
      return fail("the thread loop does not run from 0 to the thread extent");
    }
    return base::ok();
  }

  Status verify_item_loop(const Stmt& stmt, Context context) {
    if (!context.in_thread) return fail("an item loop is outside of the thread loop");
    if (context.in_item) return fail("an item loop is inside another one");
    int64_t begin = -1, end = -1;
    if (!kernel_.is_int_const(stmt.begin, &begin) || !kernel_.is_int_const(stmt.end, &end) ||
        begin != 0 || end != items_ || items_ < 1) {
      return fail("the item loops do not all run from 0 to the same constant");
    }
    return base::ok();
  }

  Status verify_if(const Stmt& stmt, Context context) {
    if (context.in_vector) return fail("an If is inside a vector loop");
    if (kernel_.expr(stmt.condition).type != ValueType{DType::kBool, 1}) {
      return fail("the condition of an If is not a scalar bool");
    }
    int64_t holds = 1;
    context.never_runs |= kernel_.is_int_const(stmt.condition, &holds) && holds == 0;
    context.top = false;
    context.in_if = true;
    return verify_body(stmt.body, context);
  }

  Status verify_prefetch(const Stmt& stmt, Context context) {
    if (context.in_vector) return fail("a prefetch is inside a vector loop");
    if (stmt.array < 0 || stmt.array >= static_cast<ArrayId>(kernel_.arrays().size())) {
      return fail("a prefetch is of an array that does not exist");
    }
    if (kernel_.expr(stmt.index).type != ValueType{DType::kInt64, 1}) {
      return fail("a prefetch of " + kernel_.array(stmt.array).name + " has a wrong index type");
    }
    return verify_access(stmt.array, stmt.index, 1, context, "prefetch of ");
  }

  static bool matrix_moves(MatrixOp op) { return op == MatrixOp::kLoad || op == MatrixOp::kStore; }

  Status verify_matrices() const {
    if (kernel_.matrices().size() > kMaxMatrices) return fail("it has too many matrices");
    for (const Matrix& matrix : kernel_.matrices()) {
      const bool known = matrix.dtype == DType::kFloat32 || matrix.dtype == DType::kBFloat16;
      const int64_t row_bytes = matrix.columns * base::dtype_size_bytes(matrix.dtype);
      if (known && matrix.rows >= 1 && matrix.rows <= kMaxMatrixRows && row_bytes >= 4 &&
          row_bytes % 4 == 0 && row_bytes <= kMaxMatrixRowBytes) {
        continue;
      }
      return fail("matrix " + matrix.name + " has a shape or dtype that there is not");
    }
    return base::ok();
  }

  bool has_matrix(MatrixId id) const {
    return id >= 0 && id < static_cast<MatrixId>(kernel_.matrices().size());
  }

  Status verify_matrix(const Stmt& stmt, Context context) const {
    const MatrixStep& step = stmt.matrix;
    if (context.in_vector) return fail("a matrix is used inside a vector loop");
    const bool multiplies = step.op == MatrixOp::kMultiply;
    if (!has_matrix(step.matrix) || (multiplies && !(has_matrix(step.a) && has_matrix(step.b)))) {
      return fail("a statement uses a matrix that does not exist");
    }
    const Matrix& matrix = kernel_.matrix(step.matrix);
    if (multiplies) return verify_product(matrix, kernel_.matrix(step.a), kernel_.matrix(step.b));
    if (step.op == MatrixOp::kClear) return base::ok();
    if (stmt.array < 0 || stmt.array >= static_cast<ArrayId>(kernel_.arrays().size())) {
      return fail("matrix " + matrix.name + " is of an array that does not exist");
    }
    const Array& array = kernel_.array(stmt.array);
    const bool writes = step.op == MatrixOp::kStore;
    if (writes && array.kind == ArrayKind::kParam && !array.writable) {
      return fail("a matrix is stored to the read-only parameter " + array.name);
    }
    const int64_t in_element = matrix_elements_in(array, matrix);
    if (in_element == 0 || (in_element > 1 && writes) || step.pitch < 0 ||
        kernel_.expr(stmt.index).type != ValueType{DType::kInt64, 1}) {
      return fail("matrix " + matrix.name + " does not fit array " + array.name +
                  ", its index or its pitch");
    }
    const int64_t reach = (matrix.rows - 1) * step.pitch + matrix.columns / in_element;
    return verify_access(stmt.array, stmt.index, reach, context, "matrix in ");
  }

  Status verify_product(const Matrix& sum, const Matrix& a, const Matrix& b) const {
    const bool fits = sum.dtype == DType::kFloat32 && a.dtype == DType::kBFloat16 &&
                      b.dtype == DType::kBFloat16 && a.rows == sum.rows &&
                      a.columns == 2 * b.rows && b.columns == 2 * sum.columns;
    return fits ? base::ok() : fail("matrices of shapes or dtypes that have no product");
  }

  Status verify_store(const Stmt& stmt, Context context) {
    if (stmt.array < 0 || stmt.array >= static_cast<ArrayId>(kernel_.arrays().size())) {
      return fail("a store goes to an array that does not exist");
    }
    const Array& array = kernel_.array(stmt.array);
    if (items_ > 0 && !context.in_item) {
      return fail("a store to " + array.name + " is outside of the item loops");
    }
    const ValueType index = kernel_.expr(stmt.index).type;
    const ValueType value = kernel_.expr(stmt.value).type;
    if (array.kind == ArrayKind::kParam && !array.writable) {
      return fail("a store goes to the read-only parameter " + array.name);
    }
    if (value.dtype != array.dtype) return fail("a store to " + array.name + " has another dtype");
    if (index.dtype != DType::kInt64 || (index.lanes != 1 && index.lanes != value.lanes)) {
      return fail("a store to " + array.name + " has a wrong index type");
    }
    return verify_access(stmt.array, stmt.index, value.lanes, context, "store to ");
  }

  Status verify_store_texel(const Stmt& stmt, Context context) const {
    const bool exists =
        stmt.array >= 0 && stmt.array < static_cast<ArrayId>(kernel_.arrays().size());
    if (!exists || !kernel_.array(stmt.array).is_image()) {
      return fail("a texel is stored to something that is no image");
    }
    const Array& image = kernel_.array(stmt.array);
    if (context.in_vector) return fail("a texel is stored inside a vector loop");
    if (items_ > 0 && !context.in_item) {
      return fail("a store to " + image.name + " is outside of the item loops");
    }
    if (!image.writable) return fail("a texel is stored to the read-only image " + image.name);
    const ValueType place{DType::kInt64, 1};
    const DType dtype = image.dtype == DType::kFloat16 ? DType::kFloat32 : image.dtype;
    if (kernel_.expr(stmt.index).type != place || kernel_.expr(stmt.row).type != place ||
        kernel_.expr(stmt.value).type != ValueType{dtype, base::kTexelElements}) {
      return fail("a texel stored to " + image.name + " has a wrong place or value type");
    }
    CAMSHAFT_TRY(verify_extent(stmt.index, image.image.width, image, context));
    return verify_extent(stmt.row, image.image.height, image, context);
  }

  Status verify_extent(ExprId place, int64_t extent, const Array& image, Context context) const {
    int64_t lo = 0, hi = 0;
    kernel_.bounds(place, &lo, &hi);
    const bool never_inside = hi < 0 || lo >= extent;
    const bool leaves = !context.in_if && (lo < 0 || hi >= extent) && attains_bounds(place);
    if (context.never_runs || (!never_inside && !leaves)) return base::ok();
    return fail("a texel is stored at " + std::to_string(lo) + ".." + std::to_string(hi) + " of " +
                std::to_string(extent) + " columns or rows of " + image.name);
  }

  const Kernel& kernel_;
  const int64_t items_;        // of a group; 0: no item loops
  std::vector<bool> checked_;  // by ExprId: well-typed
  std::vector<VarState> var_states_;
  std::vector<bool> attained_;  // by VarId: a loop variable that takes all values of its range
  bool has_thread_loop_ = false;
};

}  // namespace

Status verify_kernel(const Kernel& kernel) {
  return Verifier(kernel).verify();
}

}  // namespace camshaft::ir
