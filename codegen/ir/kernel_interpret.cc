// SPDX-License-Identifier: MIT
// The kernel interpreter: every op on one lane at a time, every access checked; of shared arrays
// also that a barrier stands between accesses of different items.
#include <algorithm>
#include <cstddef>
#include <vector>

#include "codegen/ir/kernel.h"
#include "codegen/ir/kernel_rewrite.h"
#include "codegen/ir/kernel_scalar.h"

namespace camshaft::ir {
namespace {

using base::Code;
using base::Status;

// What a local array holds before anything was stored there.
constexpr std::byte kUnwritten{0xa5};
// And a matrix: it shows up in any sum.
constexpr float kUnset = 1e30F;

class Interpreter {
 public:
  Interpreter(const Kernel& kernel, void* const* params)
      : kernel_(kernel), items_(group_items(kernel)) {
    size_t lanes = 0;
    for (int i = 0; i < kernel.expr_count(); ++i) {
      first_lane_.push_back(lanes);
      lanes += static_cast<size_t>(kernel.expr(ExprId{i}).type.lanes);
    }
    lanes_.resize(lanes);
    variables_.resize(kernel.vars().size() * kMaxLanes);
    for (const Array& array : kernel.arrays()) {
      const auto size = static_cast<size_t>(array.elements * base::dtype_size_bytes(array.dtype));
      const bool param = array.kind == ArrayKind::kParam;
      const auto copies =
          static_cast<size_t>(array.kind == ArrayKind::kLocal ? std::max<int64_t>(items_, 1) : 1);
      locals_.emplace_back(param ? 0 : size * copies, kUnwritten);
      memory_.push_back(param ? static_cast<std::byte*>(*params++) : locals_.back().data());
      const bool shared = array.kind == ArrayKind::kShared;
      touched_.emplace_back(shared ? static_cast<size_t>(array.elements) : 0);
    }
    for (const Matrix& matrix : kernel.matrices()) {
      matrices_.emplace_back(static_cast<size_t>(matrix.rows * matrix.columns), kUnset);
    }
  }

  Status run(int64_t begin, int64_t end) {
    std::vector<Step> steps = make_steps(kernel_.body);
    const bool threads = std::any_of(steps.begin(), steps.end(), is_thread_loop);
    if (!threads && (begin > 0 || end < 1)) return base::ok();
    begin_ = begin;
    end_ = end;
    return run_steps(steps);
  }

 private:
  // A statement with what it has to compute, operands first.
  struct Step {
    const Stmt* stmt = nullptr;
    std::vector<ExprId> tape;
    std::vector<Step> body;
  };

  static bool is_thread_loop(const Step& step) {
    return step.stmt->kind == StmtKind::kFor && step.stmt->loop == LoopKind::kThread;
  }

  std::vector<Step> make_steps(const std::vector<Stmt>& body) const {
    std::vector<Step> steps;
    for (const Stmt& stmt : body) {
      steps.push_back({&stmt, reachable_exprs(kernel_, exprs_of(stmt)), make_steps(stmt.body)});
    }
    return steps;
  }

  Status run_steps(const std::vector<Step>& steps) {
    for (const Step& step : steps) CAMSHAFT_TRY(run_step(step));
    return base::ok();
  }

  Status run_step(const Step& step) {
    const Stmt& stmt = *step.stmt;
    for (const ExprId id : step.tape) CAMSHAFT_TRY(evaluate(id));
    switch (stmt.kind) {
      case StmtKind::kFor:
        return run_for(step);
      case StmtKind::kIf:
        return *lanes_of(stmt.condition) != 0 ? run_steps(step.body) : base::ok();
      case StmtKind::kLet:
        std::copy_n(lanes_of(stmt.value), kernel_.expr(stmt.value).type.lanes, variable(stmt.var));
        return base::ok();
      case StmtKind::kStore:
        return run_store(stmt);
      case StmtKind::kStoreTexel:
        return run_store_texel(stmt);
      case StmtKind::kBarrier:
        forget_touches();
        return base::ok();
      case StmtKind::kPrefetch:
        return element(stmt.array, stmt.index, 0) != nullptr ? base::ok()
                                                             : outside(stmt.array, stmt.index);
      case StmtKind::kMatrix:
        return run_matrix(stmt);
    }
    return base::ok();
  }

  Status run_for(const Step& step) {
    const bool threads = is_thread_loop(step);
    const auto begin = static_cast<int64_t>(*lanes_of(step.stmt->begin));
    const auto end = static_cast<int64_t>(*lanes_of(step.stmt->end));
    const int64_t first = threads ? std::max(begin, begin_) : begin;
    const int64_t last = threads ? std::min(end, end_) : end;
    for (int64_t i = first; i < last; ++i) {
      if (threads) {
        for (auto& local : locals_) std::fill(local.begin(), local.end(), kUnwritten);
        for (auto& matrix : matrices_) std::fill(matrix.begin(), matrix.end(), kUnset);
        forget_touches();
      }
      if (step.stmt->loop == LoopKind::kItem) enter_item(i);
      *variable(step.stmt->var) = static_cast<LaneBits>(i);
      CAMSHAFT_TRY(run_steps(step.body));
    }
    return base::ok();
  }

  // Local arrays are the item's from here on.
  void enter_item(int64_t item) {
    item_ = item;
    for (size_t id = 0; id < memory_.size(); ++id) {
      if (kernel_.array(static_cast<ArrayId>(id)).kind != ArrayKind::kLocal) continue;
      const size_t size = locals_[id].size() / static_cast<size_t>(items_);
      memory_[id] = locals_[id].data() + static_cast<size_t>(item) * size;
    }
  }

  void forget_touches() {
    for (auto& touches : touched_) std::fill(touches.begin(), touches.end(), Touch());
  }

  // Notes an access to an element of a shared array, which must not meet another item's.
  Status touch(ArrayId id, const std::byte* place, bool writes) {
    if (kernel_.array(id).kind != ArrayKind::kShared) return base::ok();
    const auto index = static_cast<size_t>(place - memory_[static_cast<size_t>(id)]) /
                       static_cast<size_t>(base::dtype_size_bytes(kernel_.array(id).dtype));
    Touch& last = touched_[static_cast<size_t>(id)][index];
    const bool is_others = last.item != item_ && last.item != kNobody;
    if (is_others && (writes || last.wrote)) {
      return base::fail(Code::kInternal, "kernel.interpret",
                        "kernel \"%s\": items %lld and %lld use %s[%zu] without a barrier between",
                        kernel_.name.c_str(), static_cast<long long>(last.item),
                        static_cast<long long>(item_), kernel_.array(id).name.c_str(), index);
    }
    last = {.item = item_, .wrote = writes || (last.wrote && !is_others)};
    return base::ok();
  }

  // The address of lane `lane` of an access, or null if that is outside of the array.
  std::byte* element(ArrayId id, ExprId index, int lane) {
    const bool vector_index = kernel_.expr(index).type.lanes > 1;
    const auto first = static_cast<int64_t>(lanes_of(index)[vector_index ? lane : 0]);
    const int64_t at = first + (vector_index ? 0 : lane);
    const Array& array = kernel_.array(id);
    if (at < 0 || at >= array.elements) return nullptr;
    return memory_[static_cast<size_t>(id)] + at * base::dtype_size_bytes(array.dtype);
  }

  Status outside(ArrayId id, ExprId index) {
    return base::fail(Code::kInternal, "kernel.interpret",
                      "kernel \"%s\": access to %s[%lld] is outside of its %lld elements",
                      kernel_.name.c_str(), kernel_.array(id).name.c_str(),
                      static_cast<long long>(*lanes_of(index)),
                      static_cast<long long>(kernel_.array(id).elements));
  }

  Status run_store(const Stmt& stmt) {
    for (int lane = 0; lane < kernel_.expr(stmt.value).type.lanes; ++lane) {
      std::byte* place = element(stmt.array, stmt.index, lane);
      if (place == nullptr) return outside(stmt.array, stmt.index);
      CAMSHAFT_TRY(touch(stmt.array, place, /*writes=*/true));
      write_element(place, kernel_.array(stmt.array).dtype, lanes_of(stmt.value)[lane]);
    }
    return base::ok();
  }

  // Where element `element` of a texel is in memory; null outside of the image.
  std::byte* texel_element(ArrayId id, LaneBits x, LaneBits y, int64_t element) {
    const Array& array = kernel_.array(id);
    const auto column = static_cast<int64_t>(x);
    const auto row = static_cast<int64_t>(y);
    if (column < 0 || column >= array.image.width || row < 0 || row >= array.image.height) {
      return nullptr;
    }
    const int64_t at = (row * array.image.pitch + column) * base::kTexelElements + element;
    return memory_[static_cast<size_t>(id)] + at * base::dtype_size_bytes(array.dtype);
  }

  Status run_store_texel(const Stmt& stmt) {
    const DType dtype = kernel_.array(stmt.array).dtype;
    for (int64_t i = 0; i < base::kTexelElements; ++i) {
      std::byte* place = texel_element(stmt.array, *lanes_of(stmt.index), *lanes_of(stmt.row), i);
      if (place == nullptr) return outside(stmt.array, stmt.index);
      const LaneBits value = lanes_of(stmt.value)[i];
      write_element(place, dtype, evaluate_cast(value, dtype_of(stmt.value), dtype));
    }
    return base::ok();
  }

  // Lane `lane` of a kTexel: 0 outside of the image.
  Status evaluate_texel(const Expr& e, int lane, LaneBits* result) {
    const auto arg = [&](int i) {
      return lanes_of(e.args[i])[kernel_.expr(e.args[i]).type.lanes == 1 ? 0 : lane];
    };
    const auto element = static_cast<int64_t>(arg(2));
    if (element < 0 || element >= base::kTexelElements) return outside(e.array, e.args[2]);
    const std::byte* place = texel_element(e.array, arg(0), arg(1), element);
    const DType dtype = kernel_.array(e.array).dtype;
    *result = place == nullptr ? 0 : evaluate_cast(read_element(place, dtype), dtype, e.type.dtype);
    return base::ok();
  }

  Status run_matrix(const Stmt& stmt) {
    const MatrixStep& step = stmt.matrix;
    std::vector<float>& numbers = matrices_[static_cast<size_t>(step.matrix)];
    switch (step.op) {
      case MatrixOp::kClear:
        std::fill(numbers.begin(), numbers.end(), 0.0F);
        return base::ok();
      case MatrixOp::kMultiply:
        add_product(step, numbers);
        return base::ok();
      default:
        return move_matrix(stmt, numbers);
    }
  }

  Status move_matrix(const Stmt& stmt, std::vector<float>& numbers) {
    const Matrix& matrix = kernel_.matrix(stmt.matrix.matrix);
    const Array& array = kernel_.array(stmt.array);
    const auto first = static_cast<int64_t>(*lanes_of(stmt.index));
    const int64_t in_element = matrix_elements_in(array, matrix);
    for (int64_t i = 0; i < matrix.rows * matrix.columns; ++i) {
      const int64_t row = i / matrix.columns;
      const int64_t column = i % matrix.columns;
      const int64_t at = first + row * stmt.matrix.pitch + column / in_element;
      if (at < 0 || at >= array.elements) return outside(stmt.array, stmt.index);
      std::byte* place = memory_[static_cast<size_t>(stmt.array)] +
                         at * base::dtype_size_bytes(array.dtype) +
                         column % in_element * base::dtype_size_bytes(matrix.dtype);
      float& number = numbers[static_cast<size_t>(i)];
      if (stmt.matrix.op == MatrixOp::kStore) {
        write_element(place, array.dtype, float_bits(static_cast<double>(number), array.dtype));
      } else {
        const LaneBits wide =
            evaluate_cast(read_element(place, matrix.dtype), matrix.dtype, DType::kFloat32);
        number = static_cast<float>(float_value(wide, DType::kFloat32));
      }
    }
    return base::ok();
  }

  void add_product(const MatrixStep& step, std::vector<float>& sums) const {
    const Matrix& b = kernel_.matrix(step.b);
    const std::vector<float>& left = matrices_[static_cast<size_t>(step.a)];
    const std::vector<float>& right = matrices_[static_cast<size_t>(step.b)];
    const int64_t columns = kernel_.matrix(step.matrix).columns;
    for (size_t i = 0; i < sums.size(); ++i) {
      const int64_t m = static_cast<int64_t>(i) / columns;
      const int64_t n = static_cast<int64_t>(i) % columns;
      for (int64_t k = 0; k < 2 * b.rows; ++k) {
        const float x = left[static_cast<size_t>(m * 2 * b.rows + k)];
        const float y = right[static_cast<size_t>(k / 2 * b.columns + 2 * n + k % 2)];
        sums[i] += x * y;
      }
    }
  }

  Status evaluate(ExprId id) {
    const Expr& e = kernel_.expr(id);
    LaneBits* result = lanes_of(id);
    if (is_elementwise(e.op)) {
      const LaneBits* args[3] = {result, result, result};
      for (int i = 0; i < kop_arity(e.op); ++i) args[i] = lanes_of(e.args[i]);
      const DType operand = e.op == KOp::kSelect ? e.type.dtype : dtype_of(e.args[0]);
      evaluate_op(e.op, operand, args, result, e.type.lanes);
      return base::ok();
    }
    for (int lane = 0; lane < e.type.lanes; ++lane) {
      if (e.op == KOp::kLoad) {
        const std::byte* place = element(e.array, e.args[0], lane);
        if (place == nullptr) return outside(e.array, e.args[0]);
        CAMSHAFT_TRY(touch(e.array, place, /*writes=*/false));
        result[lane] = read_element(place, e.type.dtype);
      } else if (e.op == KOp::kTexel) {
        CAMSHAFT_TRY(evaluate_texel(e, lane, &result[lane]));
      } else {
        result[lane] = evaluate_lane(e, lane);
      }
    }
    return base::ok();
  }

  static bool is_elementwise(KOp op) {
    return op >= KOp::kAdd && op != KOp::kCast && op != KOp::kBitcast;
  }

  LaneBits evaluate_lane(const Expr& e, int lane) {
    switch (e.op) {
      case KOp::kIntConst:
        return static_cast<LaneBits>(e.int_value);
      case KOp::kFloatConst:
        return float_bits(e.float_value, e.type.dtype);
      case KOp::kVar:
        return variable(static_cast<VarId>(e.int_value))[lane];
      case KOp::kBroadcast:
        return *lanes_of(e.args[0]);
      case KOp::kRamp:
        return *lanes_of(e.args[0]) + static_cast<LaneBits>(lane) * *lanes_of(e.args[1]);
      case KOp::kReduceAdd:
        return reduce(KOp::kAdd, e.args[0]);
      case KOp::kReduceMax:
        return reduce(KOp::kMax, e.args[0]);
      case KOp::kReduceMin:
        return reduce(KOp::kMin, e.args[0]);
      case KOp::kCast:
        return evaluate_cast(lanes_of(e.args[0])[lane], dtype_of(e.args[0]), e.type.dtype);
      default:
        CAMSHAFT_CHECK(e.op == KOp::kBitcast);
        return evaluate_bitcast(lanes_of(e.args[0])[lane], dtype_of(e.args[0]), e.type.dtype);
    }
  }

  LaneBits reduce(KOp op, ExprId id) {
    const int count = kernel_.expr(id).type.lanes;
    LaneBits values[kMaxLanes];
    std::copy_n(lanes_of(id), count, values);
    for (int half = count / 2; half >= 1; half /= 2) {
      for (int i = 0; i < half; ++i) {
        values[i] = evaluate_op(op, dtype_of(id), values[i], values[i + half], 0);
      }
    }
    return values[0];
  }

  DType dtype_of(ExprId id) const { return kernel_.expr(id).type.dtype; }
  LaneBits* lanes_of(ExprId id) { return lanes_.data() + first_lane_[static_cast<size_t>(id)]; }
  LaneBits* variable(VarId id) {
    return variables_.data() + static_cast<size_t>(id) * static_cast<size_t>(kMaxLanes);
  }

  static constexpr int64_t kNobody = -1;
  // The last access to a shared element since the last barrier.
  struct Touch {
    int64_t item = kNobody;
    bool wrote = false;
  };

  const Kernel& kernel_;
  const int64_t items_;  // of a group; 0: no groups
  int64_t item_ = kNobody;
  std::vector<std::vector<Touch>> touched_;  // by ArrayId
  std::vector<size_t> first_lane_;           // by ExprId, in lanes_
  std::vector<LaneBits> lanes_;              // values of expressions
  std::vector<LaneBits> variables_;          // values of variables, kMaxLanes each
  std::vector<std::vector<std::byte>> locals_;
  std::vector<std::byte*> memory_;  // by ArrayId
  std::vector<std::vector<float>> matrices_;
  int64_t begin_ = 0;  // thread iterations to run
  int64_t end_ = 0;
};

}  // namespace

Status interpret_kernel(const Kernel& kernel, void* const* params, int64_t begin, int64_t end) {
  return Interpreter(kernel, params).run(begin, end);
}

}  // namespace camshaft::ir
