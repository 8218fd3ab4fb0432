// SPDX-License-Identifier: MIT
// The kernel's tables and interning; the builder methods are in kernel_build.cc.
#include "codegen/ir/kernel.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "codegen/ir/kernel_facts.h"
#include "codegen/ir/kernel_rewrite.h"

namespace camshaft::ir {
namespace {

struct OpRow {
  KOp op;
  const char* name;
  int arity;
};
constexpr OpRow kOps[kKOpCount] = {
    {KOp::kIntConst, "int", 0},
    {KOp::kFloatConst, "float", 0},
    {KOp::kVar, "var", 0},
    {KOp::kLoad, "load", 1},
    {KOp::kTexel, "texel", 3},
    {KOp::kBroadcast, "broadcast", 1},
    {KOp::kRamp, "ramp", 2},
    {KOp::kReduceAdd, "reduce_add", 1},
    {KOp::kReduceMax, "reduce_max", 1},
    {KOp::kReduceMin, "reduce_min", 1},
    {KOp::kAdd, "add", 2},
    {KOp::kSub, "sub", 2},
    {KOp::kMul, "mul", 2},
    {KOp::kDiv, "div", 2},
    {KOp::kRem, "rem", 2},
    {KOp::kMin, "min", 2},
    {KOp::kMax, "max", 2},
    {KOp::kFma, "fma", 3},
    {KOp::kDot, "dot", 3},
    {KOp::kAnd, "and", 2},
    {KOp::kOr, "or", 2},
    {KOp::kXor, "xor", 2},
    {KOp::kShl, "shl", 2},
    {KOp::kShr, "shr", 2},
    {KOp::kEq, "eq", 2},
    {KOp::kLt, "lt", 2},
    {KOp::kLe, "le", 2},
    {KOp::kSelect, "select", 3},
    {KOp::kCast, "cast", 1},
    {KOp::kBitcast, "bitcast", 1},
    {KOp::kAbs, "abs", 1},
    {KOp::kNeg, "neg", 1},
    {KOp::kSqrt, "sqrt", 1},
    {KOp::kFloor, "floor", 1},
    {KOp::kCeil, "ceil", 1},
    {KOp::kRound, "round", 1},
    {KOp::kExp, "exp", 1},
    {KOp::kLog, "log", 1},
    {KOp::kSin, "sin", 1},
    {KOp::kCos, "cos", 1},
    {KOp::kAtan, "atan", 1},
    {KOp::kTanh, "tanh", 1},
    {KOp::kErf, "erf", 1},
    {KOp::kSigmoid, "sigmoid", 1},
    {KOp::kPow, "pow", 2},
};

consteval bool rows_in_order() {
  for (int i = 0; i < kKOpCount; ++i) {
    if (static_cast<int>(kOps[i].op) != i) return false;
  }
  return true;
}
static_assert(rows_in_order());

// The values of an expression other than a variable, from those of its operands.
Interval interval_of_expr(const Kernel& kernel, const Expr& node, const Interval args[3]) {
  const DType dtype = node.type.dtype;
  const Interval all = range_of(dtype);
  // The bounds of u64 values would not fit.
  if (dtype == DType::kUInt64 || base::is_float(dtype)) return all;
  switch (node.op) {
    case KOp::kIntConst:
      return {node.int_value, node.int_value};
    case KOp::kBroadcast:
    case KOp::kReduceMax:
    case KOp::kReduceMin:
      return args[0];
    case KOp::kRamp: {
      const int64_t last = int64_t{node.type.lanes} - 1;
      return interval_of(KOp::kAdd, dtype, args[0],
                         interval_of(KOp::kMul, dtype, args[1], {0, last}));
    }
    case KOp::kReduceAdd: {
      const int64_t lanes = kernel.expr(node.args[0]).type.lanes;
      return interval_of(KOp::kMul, dtype, args[0], {lanes, lanes});
    }
    case KOp::kSelect:
      return {std::min(args[1].lo, args[2].lo), std::max(args[1].hi, args[2].hi)};
    case KOp::kCast: {
      const DType from = kernel.expr(node.args[0]).type.dtype;
      const bool keeps = !base::is_float(from) && from != DType::kUInt64 && args[0].lo >= all.lo &&
                         args[0].hi <= all.hi && dtype != DType::kBool;
      return keeps ? args[0] : all;
    }
    default:
      return kop_arity(node.op) == 2 && base::is_int(dtype)
                 ? interval_of(node.op, dtype, args[0], args[1])
                 : all;
  }
}

uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
  return hash ^ (hash >> 32);
}

uint64_t hash_of(const Expr& e) {
  uint64_t hash =
      mix(static_cast<uint64_t>(e.op) << 48 ^ static_cast<uint64_t>(e.type.dtype) << 40 ^
              static_cast<uint64_t>(static_cast<uint32_t>(e.type.lanes)),
          static_cast<uint32_t>(e.array));
  hash = mix(hash, static_cast<uint64_t>(e.int_value));
  hash = mix(hash, std::bit_cast<uint64_t>(e.float_value));
  for (const ExprId arg : e.args) hash = mix(hash, static_cast<uint32_t>(arg));
  return hash;
}

}  // namespace

const char* kop_name(KOp op) {
  return kOps[static_cast<int>(op)].name;
}
int kop_arity(KOp op) {
  return kOps[static_cast<int>(op)].arity;
}

bool Expr::operator==(const Expr& other) const {
  return op == other.op && type == other.type && array == other.array &&
         int_value == other.int_value &&
         std::bit_cast<uint64_t>(float_value) == std::bit_cast<uint64_t>(other.float_value) &&
         std::equal(std::begin(args), std::end(args), std::begin(other.args));
}

int Kernel::param_count() const {
  return static_cast<int>(std::count_if(
      arrays_.begin(), arrays_.end(), [](const Array& a) { return a.kind == ArrayKind::kParam; }));
}

ArrayId Kernel::add_param(std::string_view param_name, DType dtype, int64_t elements,
                          bool writable) {
  CAMSHAFT_CHECK(param_count() == static_cast<int>(arrays_.size()));
  arrays_.push_back({std::string(param_name), dtype, ArrayKind::kParam, writable, elements});
  return static_cast<ArrayId>(arrays_.size()) - 1;
}

ArrayId Kernel::add_local(std::string_view local_name, DType dtype, int64_t elements) {
  arrays_.push_back({std::string(local_name), dtype, ArrayKind::kLocal, true, elements});
  return static_cast<ArrayId>(arrays_.size()) - 1;
}

MatrixId Kernel::add_matrix(std::string_view matrix_name, DType dtype, int32_t rows,
                            int32_t columns) {
  matrices_.push_back({std::string(matrix_name), dtype, rows, columns});
  return static_cast<MatrixId>(matrices_.size()) - 1;
}

ArrayId Kernel::add_shared(std::string_view shared_name, DType dtype, int64_t elements) {
  arrays_.push_back({std::string(shared_name), dtype, ArrayKind::kShared, true, elements});
  return static_cast<ArrayId>(arrays_.size()) - 1;
}

VarId Kernel::add_loop_var(std::string_view var_name, int64_t lo, int64_t hi) {
  vars_.push_back({std::string(var_name), {DType::kInt64, 1}, lo, hi});
  return static_cast<VarId>(vars_.size()) - 1;
}

VarId Kernel::add_let_var(std::string_view var_name, ValueType type) {
  const Interval range = range_of(type.dtype);
  vars_.push_back({std::string(var_name), type, range.lo, range.hi});
  return static_cast<VarId>(vars_.size()) - 1;
}

VarId Kernel::add_let_var(std::string_view var_name, ExprId value) {
  const VarId id = add_let_var(var_name, expr(value).type);
  Var& added = vars_.back();
  bounds(value, &added.lo, &added.hi);
  return id;
}

ExprId Kernel::intern(const Expr& node) {
  if (2 * (exprs_.size() + 1) > table_.size()) grow_table();
  const size_t mask = table_.size() - 1;
  size_t slot = hash_of(node) & mask;
  for (; table_[slot] != kNoExpr; slot = (slot + 1) & mask) {
    if (expr(table_[slot]) == node) return table_[slot];
  }
  const ExprId id{expr_count()};
  for (int i = 0; i < 3; ++i) {
    const bool used = i < kop_arity(node.op);
    CAMSHAFT_CHECK(used ? node.args[i] > kNoExpr && node.args[i] < id : node.args[i] == kNoExpr);
  }
  table_[slot] = id;
  facts_.push_back(derive_facts(node));
  exprs_.push_back(node);
  return id;
}

void Kernel::grow_table() {
  table_.assign(std::max<size_t>(64, table_.size() * 2), kNoExpr);
  const size_t mask = table_.size() - 1;
  for (int i = 0; i < expr_count(); ++i) {
    size_t slot = hash_of(exprs_[static_cast<size_t>(i)]) & mask;
    while (table_[slot] != kNoExpr) slot = (slot + 1) & mask;
    table_[slot] = ExprId{i};
  }
}

Kernel::Facts Kernel::derive_facts(const Expr& node) const {
  Facts facts;
  facts.has_load = node.op == KOp::kLoad || node.op == KOp::kTexel;
  Interval args[3];
  for (int i = 0; i < kop_arity(node.op); ++i) {
    const Facts& arg = facts_[static_cast<size_t>(node.args[i])];
    args[i] = {arg.lo, arg.hi};
    facts.vars |= arg.vars;
    facts.newest_var = std::max(facts.newest_var, arg.newest_var);
    facts.has_load |= arg.has_load;
  }
  Interval range;
  if (node.op == KOp::kVar) {
    const auto id = static_cast<VarId>(node.int_value);
    CAMSHAFT_CHECK(id >= 0 && id < static_cast<VarId>(vars_.size()));
    facts.vars = var_bit(id);
    facts.newest_var = id;
    range = {var_info(id).lo, var_info(id).hi};
  } else {
    range = interval_of_expr(*this, node, args);
  }
  facts.lo = range.lo;
  facts.hi = range.hi;
  return facts;
}

bool Kernel::is_int_const(ExprId id, int64_t* value) const {
  const Expr& e = expr(id);
  if (e.op != KOp::kIntConst) return false;
  if (value != nullptr) *value = e.int_value;
  return true;
}

void Kernel::bounds(ExprId id, int64_t* lo, int64_t* hi) const {
  *lo = facts_[static_cast<size_t>(id)].lo;
  *hi = facts_[static_cast<size_t>(id)].hi;
}

ExprId Kernel::substitute(ExprId id, VarId from, ExprId to) {
  Substituter substituter(this);
  substituter.map(from, to);
  return substituter.rewrite(id);
}

Stmt make_for(VarId var, ExprId begin, ExprId end, LoopKind kind, std::vector<Stmt> body) {
  Stmt stmt;
  stmt.kind = StmtKind::kFor;
  stmt.loop = kind;
  stmt.var = var;
  stmt.begin = begin;
  stmt.end = end;
  stmt.body = std::move(body);
  return stmt;
}

Stmt make_if(ExprId condition, std::vector<Stmt> body) {
  Stmt stmt;
  stmt.kind = StmtKind::kIf;
  stmt.condition = condition;
  stmt.body = std::move(body);
  return stmt;
}

Stmt make_let(VarId var, ExprId value) {
  Stmt stmt;
  stmt.kind = StmtKind::kLet;
  stmt.var = var;
  stmt.value = value;
  return stmt;
}

Stmt make_store(ArrayId array, ExprId index, ExprId value) {
  Stmt stmt;
  stmt.kind = StmtKind::kStore;
  stmt.array = array;
  stmt.index = index;
  stmt.value = value;
  return stmt;
}

Stmt make_store_texel(ArrayId array, ExprId x, ExprId y, ExprId value) {
  Stmt stmt = make_store(array, x, value);
  stmt.kind = StmtKind::kStoreTexel;
  stmt.row = y;
  return stmt;
}

Stmt make_barrier() {
  Stmt stmt;
  stmt.kind = StmtKind::kBarrier;
  return stmt;
}

Stmt make_prefetch(ArrayId array, ExprId index) {
  Stmt stmt;
  stmt.kind = StmtKind::kPrefetch;
  stmt.array = array;
  stmt.index = index;
  return stmt;
}

namespace {

Stmt make_matrix(MatrixStep step, ArrayId array, ExprId index) {
  Stmt stmt;
  stmt.kind = StmtKind::kMatrix;
  stmt.array = array;
  stmt.index = index;
  stmt.matrix = step;
  return stmt;
}

int64_t items_of(const Kernel& kernel, const std::vector<Stmt>& body) {
  for (const Stmt& stmt : body) {
    int64_t items = 0;
    if (stmt.kind == StmtKind::kFor && stmt.loop == LoopKind::kItem) {
      return kernel.is_int_const(stmt.end, &items) ? items : -1;
    }
    items = items_of(kernel, stmt.body);
    if (items != 0) return items;
  }
  return 0;
}

}  // namespace

Stmt make_matrix_clear(MatrixId matrix) {
  return make_matrix({MatrixOp::kClear, matrix}, -1, kNoExpr);
}

Stmt make_matrix_load(MatrixId matrix, ArrayId array, ExprId index, int64_t pitch) {
  return make_matrix({MatrixOp::kLoad, matrix, -1, -1, pitch}, array, index);
}

Stmt make_matrix_store(MatrixId matrix, ArrayId array, ExprId index, int64_t pitch) {
  return make_matrix({MatrixOp::kStore, matrix, -1, -1, pitch}, array, index);
}

Stmt make_matrix_multiply(MatrixId sum, MatrixId a, MatrixId b) {
  return make_matrix({MatrixOp::kMultiply, sum, a, b}, -1, kNoExpr);
}

int64_t group_items(const Kernel& kernel) {
  return items_of(kernel, kernel.body);
}

int64_t array_bytes(const Kernel& kernel, ArrayKind kind) {
  int64_t bytes = 0;
  for (const Array& array : kernel.arrays()) {
    if (array.kind == kind) bytes += array.elements * base::dtype_size_bytes(array.dtype);
  }
  return bytes;
}

}  // namespace camshaft::ir
