// SPDX-License-Identifier: MIT
// Strategy `gemv`: matrix products [M, K] x [K, N] of few rows with a right side that is computed
// or given, so that it can't be packed at compile time, and is read but once (streamed_product.h).
// An item of the thread loop is a chunk of the columns of a batch: it copies the left side's rows,
// sums, and passes over the sums with the region's epilogue.
#include <algorithm>

#include "codegen/lower/frame.h"
#include "codegen/lower/strategy_list.h"
#include "codegen/lower/streamed_product.h"
#include "codegen/lower/tile.h"
#include "codegen/lower/weights.h"

namespace camshaft::lower {
namespace {

using ir::DType;
using ir::KOp;
using ir::LoopKind;
using ir::Op;

// Rows of the left side that are copied together first; longer ones are read where they lie.
constexpr int64_t kMostLeftBytes = render::kMaxLocalBytes - (48 << 10);
// Sums of a chunk, which pass through the first level of the caches many times.
constexpr int64_t kMostChunkBytes = 16 << 10;
constexpr int64_t kLine = 16;  // columns of a chunk are a multiple of it
// Of a hundred parts of the time, what threads may wait for the busiest one.
constexpr int64_t kMostIdlePercent = 10;

struct Product {
  NodeId a = ir::kNoNode, b = ir::kNoNode;
  DType dtype = DType::kFloat32;
  ir::Shape batch_shape;
  int64_t batches = 1;
  int64_t rows = 0, inner = 0, columns = 0;

  int64_t element_bytes() const { return base::dtype_size_bytes(dtype); }
};

Product make_product(const Task& task) {
  Product p;
  const ir::Node& node = task.node(task.region.root);
  p.a = node.inputs[0];
  p.b = node.inputs[1];
  p.dtype = node.type.dtype;
  const ir::Shape& a = task.type(p.a).shape;
  p.batch_shape.assign(a.begin(), a.end() - 2);
  for (const int64_t extent : p.batch_shape) p.batches *= extent;
  p.rows = a[a.size() - 2];
  p.inner = a.back();
  p.columns = node.type.shape.back();
  return p;
}

// Columns of an item: so many that the threads have equal shares, and that sums stay near.
int64_t chunk_columns(const Task& task, const Product& p) {
  const int64_t most = std::max(kMostChunkBytes / (p.rows * p.element_bytes()), kLine);
  for (int64_t chunks = ceil_div(p.columns, most);; ++chunks) {
    const int64_t columns = ceil_div(ceil_div(p.columns, chunks), kLine) * kLine;
    const int64_t items = p.batches * ceil_div(p.columns, columns);
    const int64_t busiest = ceil_div(items, task.threads) * task.threads;
    const bool is_even = busiest * 100 <= items * (100 + kMostIdlePercent);
    if (is_even || columns <= kLine || chunks >= 4 * task.threads) {
      return std::min(columns, p.columns);
    }
  }
}

class Emitter {
 public:
  Emitter(const Task& task, const Knobs& knobs)
      : p_(make_product(task)),
        frame_(task, "gemv", knobs),
        kernel_(frame_.kernel()),
        evaluator_(kernel_, task, frame_.arrays) {
    chunk_ = chunk_columns(task, p_);
    product_.shape = with_knobs(streamed_shape(task, p_.rows, p_.b), knobs);
    if (p_.rows * p_.inner * p_.element_bytes() <= kMostLeftBytes) {
      rows_ = kernel_.add_local("x", p_.dtype, p_.rows * p_.inner);
      product_.left = rows_of(kernel_, rows_, p_.inner);
    } else {
      product_.left = [this](int64_t row, ExprId k) { return left(kernel_.int_const(row), k); };
    }
    product_.result = kernel_.add_local("y", p_.dtype, p_.rows * chunk_);
    product_.result_pitch = chunk_;
    const int64_t sums = product_.shape.sums();
    if (sums > 0) product_.sums = kernel_.add_local("sums", p_.dtype, sums);
  }

  LoweredKernel emit() {
    const int64_t chunks = ceil_div(p_.columns, chunk_);
    set_thread_loop(kernel_, p_.batches * chunks, [&](ExprId t) {
      batch_ = kernel_.div(t, chunks);
      std::vector<Stmt> body = copy_rows();
      append(body, chunk(kernel_.mod(t, chunks), chunks));
      return body;
    });
    return std::move(frame_.lowered);
  }

 private:
  Index index(ExprId row, ExprId column) {
    return matrix_index(kernel_, p_.batch_shape, batch_, row, column);
  }

  ExprId left(ExprId row, ExprId k) {
    return kernel_.cast(evaluator_.value(p_.a, index(row, k)), p_.dtype);
  }

  std::vector<Stmt> copy_rows() {
    if (rows_ < 0) return {};
    return loop(kernel_, "r", p_.rows, LoopKind::kSerial, [&](ExprId row) {
      return loop(kernel_, "k", p_.inner, LoopKind::kVector, [&](ExprId k) {
        const ExprId at = kernel_.add(kernel_.mul(row, p_.inner), k);
        return std::vector<Stmt>{ir::make_store(rows_, at, left(row, k))};
      });
    });
  }

  std::vector<Stmt> chunk(ExprId number, int64_t chunks) {
    const int64_t rest = p_.columns - (chunks - 1) * chunk_;
    const ExprId last = kernel_.int_const(chunks - 1);
    if (rest == chunk_) return columns(number, chunk_);
    return {ir::make_if(kernel_.binary(KOp::kLt, number, last), columns(number, chunk_)),
            ir::make_if(kernel_.binary(KOp::kEq, number, last), columns(last, rest))};
  }

  std::vector<Stmt> columns(ExprId number, int64_t count) {
    const ExprId first = kernel_.mul(number, chunk_);
    product_.shape.columns = count;
    product_.right = [&, first](ExprId step, ExprId column) {
      const Index at = index(step, kernel_.add(first, column));
      return kernel_.cast(evaluator_.value(p_.b, at), p_.dtype);
    };
    std::vector<Stmt> body = streamed_product(kernel_, product_);
    append(body, loop(kernel_, "r", p_.rows, LoopKind::kSerial, [&](ExprId row) {
             return loop(kernel_, "n", count, LoopKind::kVector,
                         [&](ExprId n) { return store(row, first, n); });
           }));
    return body;
  }

  std::vector<Stmt> store(ExprId row, ExprId first, ExprId column) {
    const Region& region = frame_.task.region;
    const ExprId sum = kernel_.load(product_.result, kernel_.add(kernel_.mul(row, chunk_), column));
    evaluator_.bind(region.root, [sum](const Index&) { return sum; });
    const Index at = index(row, kernel_.add(first, column));
    std::vector<Stmt> body = {
        evaluator_.store_output(frame_.output, at, evaluator_.value(region.output, at))};
    evaluator_.unbind(region.root);
    return body;
  }

  Product p_;
  Frame frame_;
  Kernel& kernel_;
  Evaluator evaluator_;
  StreamedProduct product_;
  ir::ArrayId rows_ = -1;  // the left side's, where they are copied
  int64_t chunk_ = 1;
  ExprId batch_ = ir::kNoExpr;
};

}  // namespace

bool matches_gemv(const Task& task) {
  const Region& region = task.region;
  if (!task.has_root(Op::kMatMul) || task.target.is_gpu || task.has_images() ||
      region.inner != ir::kNoNode || region.pooled != ir::kNoNode) {
    return false;
  }
  const ir::Node& node = task.node(region.root);
  if (!has_tiles(node.type.dtype) || !base::is_float(node.type.dtype)) return false;
  const Product p = make_product(task);
  if (node.type.elements() == 0 || p.inner == 0 || p.rows > kMostStreamedRows) return false;
  if (shared_matrix(task, p.b) != ir::kNoNode) return false;
  return streamed_shape(task, p.rows, p.b).is_possible();
}

bool pays_gemv(const Task& task) {
  if (!matches_gemm(task)) return true;
  const Product p = make_product(task);
  const StreamedShape shape = streamed_shape(task, p.rows, p.b);
  const Knobs packed = knobs_gemm(task).front();
  const int64_t vectors = ceil_div(p.columns, packed.lanes);
  const double step = reduction_step_cycles(task.target, {{p.rows, 1}}, vectors, packed);
  return streamed_cycles(task.target, shape) <=
         panel_cycles(shape.side, p.inner, p.columns) + static_cast<double>(p.inner) * step;
}

std::vector<Knobs> knobs_gemv(const Task& task) {
  const Product p = make_product(task);
  return rank_streamed(task.target, streamed_shape(task, p.rows, p.b));
}

LoweredKernel emit_gemv(const Task& task, const Knobs& knobs) {
  return Emitter(task, knobs).emit();
}

}  // namespace camshaft::lower
