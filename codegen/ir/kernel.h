// SPDX-License-Identifier: MIT
// The kernel IR: loop programs on scalars and vectors. The compiler's third representation, one for
// all backends; strategies (codegen/lower) write it, renderers (codegen/render) print it.
//
// Semantics
// ---------
// - A kernel has parameters (pointers to typed, non-overlapping arrays, except that a writable
//   parameter may be listed as `may_alias` one read-only parameter at equal indices: in-place
//   elementwise), local arrays (private to one iteration of the thread loop), shared arrays (see
//   kItem), and a list of statements.
// - Values have a dtype and a lane count (1: scalar). Elementwise ops take operands of equal type;
//   a scalar is widened only by an explicit kBroadcast. Index arithmetic is i64.
// - Expressions are pure and shared (hash-consed by the Kernel): equal ones have equal ExprId.
//   A load reads memory when the statement that contains it executes. Both sides of a kSelect are
//   evaluated, so every load must be in bounds whatever the condition: clamp the index.
// - Loops run from begin to end (exclusive) by 1. kUnrolled and kVector loops have constant bounds.
//   kVector: the iterations are independent and the body is straight-line (Let, Store, nested
//   kUnrolled and kSerial loops) on scalars; vectorize_loops() turns it into lanes. kThread: at
//   most one, the outermost statement (Lets may stand before it); its iterations are independent,
//   it runs from 0 to thread_extent and the runtime splits [0, thread_extent) among threads: the
//   rendered function is `void name(void* const* params, int64_t begin, int64_t end)`. A kernel
//   without a thread loop has thread extent 1.
// - kItem: for GPUs. Inside the thread loop, whose iteration is then a work-group; loops from 0 to
//   the same constant, the items of the group, one after another but never in each other. An item's
//   iterations of all these loops have the same local arrays; shared arrays are the group's.
//   Outside of item loops a group computes indices and bounds only: it stores nothing and has no
//   local array. The iterations of one item loop are independent; where one item loop reads what
//   another item wrote in an earlier one, a Barrier stands between the two loops, never inside one.
// - Each variable is defined by one statement, before and outside of which nothing uses it.
// - Float arithmetic is IEEE, not contracted: a fused multiply-add happens exactly where there is a
//   kFma (hence the C and the LLVM renderer give equal bits). kMin is `a < b ? a : b`, kMax is
//   `a > b ? a : b` (b if either is NaN): one x86 instruction; lowering arranges operands where the
//   graph's NaN rule needs it. Integer kDiv and kRem truncate; the divisor is never 0.
// - A Prefetch is a hint that the cache line which holds an element will be read soon; it changes
//   no value.
// - Matrices are registers that hold a small matrix each, of f32 (sums) or bf16 (operands), of one
//   shape throughout. A Matrix statement clears one, loads or stores one (its row r lies from
//   element index + r * pitch of an array on), or adds a product:
//     c[m][n] += sum over k of a[m][2k] * b[k][2n] + a[m][2k+1] * b[k][2n+1]
//   so a row of b has pairs of columns that lie together. It may be loaded from an array of u32,
//   too, each of which is such a pair, the first one lowest. The sum is in f32, in the machine's
//   own order, and takes denormals as 0. What a matrix holds where a thread iteration begins is
//   undefined. Few targets have them (render::CpuTarget::matrices).
// - f16 and bf16 exist in memory only: load or store through kCast to f32.
// - Images, for GPUs: a parameter of f32, f16 or u8 may be one, which is rows of texels of four
//   elements each (ImageShape). Strategies load and store its elements like any array's, but none
//   behind a row's width; access_texels(), a pass, makes that what texture units do: kTexel loads,
//   and StoreTexel statements that store all four elements at once. Halves become f32 on the way,
//   and back. Outside of its columns and rows an image reads as zeros, so no border needs a check.
//   A kernel does not both read and write an image.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/image.h"
#include "runtime/base/status.h"

namespace camshaft::ir {

using base::DType;

inline constexpr int32_t kMaxLanes = 64;

struct ValueType {
  DType dtype = DType::kFloat32;
  int32_t lanes = 1;  // a power of two, at most kMaxLanes
  bool operator==(const ValueType&) const = default;
};

enum class KOp : uint8_t {
  // Leaves
  kIntConst,    // int_value; any integer dtype or bool
  kFloatConst,  // float_value
  kVar,         // int_value = VarId: a loop variable (i64) or a Let (any type)
  kLoad,        // array = ArrayId; args[0] = index (i64) of the first element, in elements.
                //   index lanes 1, result lanes n: n consecutive elements; index lanes n: a gather
  kTexel,  // array = an image; args: column x, row y (in texels), which element of the texel, in
           //   [0, 4). The last has the result's lanes, the others these or 1. f32 of f16
  // Lanes
  kBroadcast,  // scalar -> lanes
  kRamp,       // scalar base args[0] + {0,1,2,...} * scalar stride args[1]
  kReduceAdd,  // lanes -> scalar, pairwise: halves added until one is left
  kReduceMax,  // as kMax, pairwise
  kReduceMin,
  // Arithmetic
  kAdd,
  kSub,
  kMul,
  kDiv,
  kRem,  // integers: sign of the dividend; floats: fmod
  kMin,
  kMax,
  kFma,  // args[0] * args[1] + args[2], rounded once; floats
  kDot,  // i32: args[0] plus four products, wrapping: of each byte of args[1], a u8, and the byte
         // at
         // the same place of args[2], an i8
  kAnd,  // integers and bool
  kOr,
  kXor,
  kShl,  // amounts are in [0, bits of the type)
  kShr,  // arithmetic for signed, logical for unsigned
  // Comparison -> bool
  kEq,
  kLt,
  kLe,
  // Choice and conversion
  kSelect,   // args: bool condition, then, else
  kCast,     // to `type.dtype`; float -> integer truncates and saturates, NaN gives 0; integer ->
             //   narrower integer wraps; to bool is x != 0
  kBitcast,  // same size; not bool
  // Math on floats; a target that lacks one gets it by decompose_math()
  kAbs,
  kNeg,
  kSqrt,
  kFloor,
  kCeil,
  kRound,  // to nearest, ties to even
  kExp,
  kLog,
  kSin,
  kCos,
  kAtan,
  kTanh,
  kErf,
  kSigmoid,  // 1 / (1 + exp(-x))
  kPow,
};
inline constexpr int kKOpCount = static_cast<int>(KOp::kPow) + 1;
// "add", "load", ...; arity 0 to 3. Static storage.
const char* kop_name(KOp op);
int kop_arity(KOp op);

// Of its own type, so that add(x, 1) is not add(x, expression number 1).
enum class ExprId : int32_t {};
using VarId = int32_t;
using ArrayId = int32_t;  // parameters first, then locals: see Kernel::arrays
inline constexpr ExprId kNoExpr{-1};

struct Expr {
  KOp op = KOp::kIntConst;
  ValueType type;
  ArrayId array = -1;
  int64_t int_value = 0;
  double float_value = 0;
  ExprId args[3] = {kNoExpr, kNoExpr, kNoExpr};
  // Bit by bit: -0.0 differs from 0.0, and a NaN equals itself.
  bool operator==(const Expr& other) const;
};

// A loop variable or a Let. `lo` and `hi` bound an integer variable's values (inclusive); the
// simplifier trusts them.
struct Var {
  std::string name;
  ValueType type;
  int64_t lo = INT64_MIN;
  int64_t hi = INT64_MAX;
};

// How the elements of an image lie in memory: `height` rows of `width` texels, which begin `pitch`
// texels apart. width 0: it is no image.
struct ImageShape {
  int64_t width = 0;
  int64_t height = 0;
  int64_t pitch = 0;  // at least width
  int64_t elements() const { return height * pitch * base::kTexelElements; }
  bool operator==(const ImageShape&) const = default;
};

inline constexpr int64_t kMaxImageExtent = 1 << 16;  // of any device, by far

enum class ArrayKind : uint8_t { kParam, kLocal, kShared };
struct Array {
  std::string name;
  DType dtype = DType::kFloat32;
  ArrayKind kind = ArrayKind::kParam;
  bool writable = false;
  int64_t elements = 0;    // accesses stay in [0, elements)
  ArrayId may_alias = -1;  // a writable parameter that may be the same memory as this read-only one
  ImageShape image = {};   // of an image, all of which are its elements

  bool is_image() const { return image.width > 0; }
};

// A register: rows of `columns` elements of f32 or bf16, of at most kMaxMatrixRowBytes.
struct Matrix {
  std::string name;
  DType dtype = DType::kFloat32;
  int32_t rows = 1;  // at most kMaxMatrixRows
  int32_t columns = 1;
};
// How many of a matrix's elements make one of the array that it is loaded from or stored to: 1, or
// 2 where pairs are loaded as words; 0 if it can't be.
inline int64_t matrix_elements_in(const Array& array, const Matrix& matrix) {
  if (array.dtype == matrix.dtype) return 1;
  return array.dtype == DType::kUInt32 && matrix.dtype == DType::kBFloat16 ? 2 : 0;
}
using MatrixId = int32_t;
inline constexpr int32_t kMaxMatrices = 8;
inline constexpr int32_t kMaxMatrixRows = 16;
inline constexpr int32_t kMaxMatrixRowBytes = 64;

enum class MatrixOp : uint8_t { kClear, kLoad, kStore, kMultiply };
// What a Matrix statement does, beside the array and index of a load or store.
struct MatrixStep {
  MatrixOp op = MatrixOp::kClear;
  MatrixId matrix = -1;  // that is cleared, loaded, stored or added to
  MatrixId a = -1;       // kMultiply
  MatrixId b = -1;       // kMultiply
  int64_t pitch = 0;     // kLoad, kStore: elements from one row to the next
};

enum class LoopKind : uint8_t { kSerial, kUnrolled, kVector, kThread, kItem };
enum class StmtKind : uint8_t {
  kFor,
  kIf,
  kLet,
  kStore,
  kBarrier,
  kPrefetch,
  kMatrix,
  kStoreTexel
};

struct Stmt {
  StmtKind kind = StmtKind::kStore;
  LoopKind loop = LoopKind::kSerial;
  VarId var = -1;              // kFor, kLet
  ExprId begin = kNoExpr;      // kFor
  ExprId end = kNoExpr;        // kFor
  ExprId condition = kNoExpr;  // kIf: scalar bool
  ArrayId array = -1;          // kStore, kStoreTexel, kPrefetch, kMatrix that loads or stores
  // i64. kStore: lanes 1 stores `value`'s lanes consecutively, lanes n scatters. kPrefetch,
  // kMatrix: scalar, an element of the array. kStoreTexel: scalar, the texel's column.
  ExprId index = kNoExpr;
  ExprId row = kNoExpr;    // kStoreTexel: likewise, its row
  ExprId value = kNoExpr;  // kLet, kStore; kStoreTexel: four lanes, f32 for f16
  MatrixStep matrix;       // kMatrix
  std::vector<Stmt> body;  // kFor, kIf
};

// A kernel and the builder of its expressions. Builder methods check types (CAMSHAFT_CHECK: a
// mistake is a bug in a strategy), fold constants, and keep integer sums in a canonical order, so
// that equal index expressions get equal ids. div and mod of i64 by a positive constant use the
// variables' ranges: (8*i + j) / 8 is i and (8*i + j) % 8 is j where 0 <= j < 8. Only rules that
// are exact are used: an i64 sum may wrap, a float expression keeps every rounding. The operands of
// an expression have smaller ids than the expression itself. Not thread-safe. Copyable.
class Kernel {
 public:
  std::string name;
  std::vector<Stmt> body;
  int64_t thread_extent = 1;

  const Expr& expr(ExprId id) const { return exprs_[static_cast<size_t>(id)]; }
  int expr_count() const { return static_cast<int>(exprs_.size()); }
  const Array& array(ArrayId id) const { return arrays_[static_cast<size_t>(id)]; }
  Array& array(ArrayId id) { return arrays_[static_cast<size_t>(id)]; }
  const std::vector<Array>& arrays() const { return arrays_; }
  const Var& var_info(VarId id) const { return vars_[static_cast<size_t>(id)]; }
  const std::vector<Var>& vars() const { return vars_; }
  int param_count() const;

  // Parameters must be added before the others.
  ArrayId add_param(std::string_view param_name, DType dtype, int64_t elements, bool writable);
  ArrayId add_local(std::string_view local_name, DType dtype, int64_t elements);
  ArrayId add_shared(std::string_view shared_name, DType dtype, int64_t elements);
  const Matrix& matrix(MatrixId id) const { return matrices_[static_cast<size_t>(id)]; }
  const std::vector<Matrix>& matrices() const { return matrices_; }
  MatrixId add_matrix(std::string_view matrix_name, DType dtype, int32_t rows, int32_t columns);
  VarId add_loop_var(std::string_view var_name, int64_t lo, int64_t hi);  // i64
  VarId add_let_var(std::string_view var_name, ValueType type);
  VarId add_let_var(std::string_view var_name, ExprId value);  // type and range of `value`

  // Raw: interns the node as it is, without simplification (parser, passes).
  ExprId intern(const Expr& node);

  ExprId int_const(int64_t value, DType dtype = DType::kInt64);
  ExprId float_const(double value, DType dtype = DType::kFloat32);
  // A constant of `type.dtype`, broadcast to `type.lanes`.
  ExprId splat(double value, ValueType type);
  ExprId var(VarId id);
  ExprId load(ArrayId array, ExprId index, int32_t lanes = 1);  // lanes follow from a vector index
  ExprId texel(ArrayId array, ExprId x, ExprId y, ExprId element);
  ExprId broadcast(ExprId scalar, int32_t lanes);  // lanes 1: the scalar itself
  ExprId ramp(ExprId base, ExprId stride, int32_t lanes);
  ExprId unary(KOp op, ExprId a);  // math and kReduceX; kNeg, kAbs of integers become kSub, kMax
  ExprId binary(KOp op, ExprId a, ExprId b);
  ExprId fma(ExprId a, ExprId b, ExprId c);
  ExprId dot(ExprId sum, ExprId a, ExprId b);
  ExprId select(ExprId condition, ExprId then_value, ExprId else_value);
  ExprId cast(ExprId a, DType to);
  ExprId bitcast(ExprId a, DType to);

  ExprId add(ExprId a, ExprId b) { return binary(KOp::kAdd, a, b); }
  ExprId sub(ExprId a, ExprId b) { return binary(KOp::kSub, a, b); }
  ExprId mul(ExprId a, ExprId b) { return binary(KOp::kMul, a, b); }
  ExprId add(ExprId a, int64_t b) { return add(a, int_const(b)); }
  ExprId mul(ExprId a, int64_t b) { return mul(a, int_const(b)); }
  ExprId div(ExprId a, int64_t b) { return binary(KOp::kDiv, a, int_const(b)); }
  ExprId mod(ExprId a, int64_t b) { return binary(KOp::kRem, a, int_const(b)); }

  // The value if `id` is a scalar integer constant.
  bool is_int_const(ExprId id, int64_t* value = nullptr) const;
  // Bounds of an integer expression (over all lanes), inclusive; the range of its type where
  // nothing better is known; INT64_MIN/MAX for i64, u64 and floats.
  void bounds(ExprId id, int64_t* lo, int64_t* hi) const;
  // Whether the expression reads memory: if not, it may be computed anywhere its variables are
  // known.
  bool has_load(ExprId id) const { return facts_[static_cast<size_t>(id)].has_load; }
  // Exact if it says false; true may be a false alarm. O(1).
  bool may_use_var(ExprId id, VarId var_id) const {
    return (facts_[static_cast<size_t>(id)].vars & var_bit(var_id)) != 0;
  }
  // `id` with variable `from` replaced by `to` everywhere, re-simplified; `to` may be a ramp, which
  // widens whatever depends on it.
  ExprId substitute(ExprId id, VarId from, ExprId to);

  // For passes: a set of variables as may_use_var sees it, and the newest variable (-1: none) used.
  static uint64_t var_bit(VarId id) { return uint64_t{1} << (static_cast<uint32_t>(id) % 64); }
  uint64_t var_bits(ExprId id) const { return facts_[static_cast<size_t>(id)].vars; }
  VarId newest_var(ExprId id) const { return facts_[static_cast<size_t>(id)].newest_var; }

 private:
  struct Facts {
    int64_t lo = INT64_MIN;
    int64_t hi = INT64_MAX;
    uint64_t vars = 0;
    VarId newest_var = -1;
    bool has_load = false;
  };

  ExprId checked(const Expr& node);  // intern() of a well-typed node
  Facts derive_facts(const Expr& node) const;
  void grow_table();

  std::vector<Expr> exprs_;
  std::vector<Facts> facts_;   // of exprs_
  std::vector<ExprId> table_;  // open addressing by hash; kNoExpr where empty
  std::vector<Var> vars_;
  std::vector<Array> arrays_;
  std::vector<Matrix> matrices_;
};

// Statement makers. Bodies are given ready.
Stmt make_for(VarId var, ExprId begin, ExprId end, LoopKind kind, std::vector<Stmt> body);
Stmt make_if(ExprId condition, std::vector<Stmt> body);
Stmt make_let(VarId var, ExprId value);
Stmt make_store(ArrayId array, ExprId index, ExprId value);
Stmt make_store_texel(ArrayId array, ExprId x, ExprId y, ExprId value);
Stmt make_prefetch(ArrayId array, ExprId index);
Stmt make_barrier();
Stmt make_matrix_clear(MatrixId matrix);
Stmt make_matrix_load(MatrixId matrix, ArrayId array, ExprId index, int64_t pitch);
Stmt make_matrix_store(MatrixId matrix, ArrayId array, ExprId index, int64_t pitch);
Stmt make_matrix_multiply(MatrixId sum, MatrixId a, MatrixId b);

// The kernel as text, and back. Example:
//   kernel "add_relu" threads 16 {
//     param a: f32[1024]
//     param out: f32[1024] writable
//     local acc: f32[8]
//     for t in 0..16 thread {
//       for i in 0..64 vector {  // loop kinds: serial unrolled vector thread item
//         let x: f32 = load(a, t * 64 + i)
//         store(out, t * 64 + i, max(x, 0.0))
//       }
//     }
//   }
// The exact grammar is at the top of kernel_parse.cc; print_kernel's result parses back to the same
// text.
std::string print_kernel(const Kernel& kernel);
base::Result<Kernel> parse_kernel(std::string_view text);

// Items of a group: the extent of the item loops; 0 where there are none.
int64_t group_items(const Kernel& kernel);
// What all arrays of a kind take.
int64_t array_bytes(const Kernel& kernel, ArrayKind kind);

// Checks types, definitions before use, loop rules, and (where bounds() can tell) that accesses are
// inside their arrays. The first broken rule goes to the log ring.
base::Status verify_kernel(const Kernel& kernel);

// Runs iterations [begin, end) of the thread loop on host memory: the reference for the renderers.
// `params[i]` points to the i-th parameter's elements.
base::Status interpret_kernel(const Kernel& kernel, void* const* params, int64_t begin,
                              int64_t end);

}  // namespace camshaft::ir
