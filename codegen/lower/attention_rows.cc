// SPDX-License-Identifier: MIT
// Strategy `attention_rows`: an attention of few rows (attention_plan.h), as with a cache of keys
// and values of which each step reads all. An item of the thread loop is a batch, or some that
// share K and V: Q's rows are copied together, scores are products with K where it lies, softmax
// passes over them in place, and they are multiplied by V where that lies (streamed_product.h).
#include <algorithm>

#include "codegen/lower/attention_plan.h"
#include "codegen/lower/attention_strip.h"
#include "codegen/lower/frame.h"
#include "codegen/lower/strategy_list.h"

namespace camshaft::lower {
namespace {

using ir::DType;
using ir::LoopKind;

class Emitter {
 public:
  Emitter(const Task& task, const Knobs& knobs)
      : a_(*find_attention(task)),
        plan_(plan_attention_rows(task, a_)),
        frame_(task, "attention_rows", knobs),
        kernel_(frame_.kernel()),
        evaluator_(kernel_, task, frame_.arrays),
        strip_(frame_, evaluator_, a_) {
    strip_.add_arrays(plan_.rows, plan_.pitch);
    scores_.shape = with_knobs(plan_.scores, knobs);
    rows_ = local("rows", plan_.rows * a_.depth);
    scores_.left = rows_of(kernel_, rows_, a_.depth);
    scores_.result = strip_.array();
    scores_.result_pitch = plan_.pitch;
    scores_.right = right_side(a_.k);
    product_.shape = plan_.product;
    product_.left = rows_of(kernel_, strip_.array(), plan_.pitch);
    product_.result = local("sums", plan_.rows * a_.columns);
    product_.result_pitch = a_.columns;
    product_.right = right_side(a_.v);
    const int64_t dots = std::max(scores_.shape.sums(), product_.shape.sums());
    if (dots > 0) scores_.sums = product_.sums = local("dots", dots);
  }

  LoweredKernel emit() {
    set_thread_loop(kernel_, a_.batches / plan_.batches, [&](ExprId t) {
      batch_ = kernel_.mul(t, plan_.batches);
      strip_.begin(batch_, kernel_.int_const(0));
      std::vector<Stmt> body = copy_rows();
      append(body, streamed_product(kernel_, scores_));
      append(body, strip_.logits(plan_.rows));
      append(body, strip_.softmax(plan_.rows));
      append(body, streamed_product(kernel_, product_));
      append(body, store());
      return body;
    });
    return std::move(frame_.lowered);
  }

 private:
  ir::ArrayId local(const char* name, int64_t elements) {
    return kernel_.add_local(name, DType::kFloat32, elements);
  }

  ExprId f32_value(NodeId node, const Index& at) {
    return kernel_.cast(evaluator_.value(node, at), DType::kFloat32);
  }
  std::function<ExprId(ExprId, ExprId)> right_side(NodeId node) {
    return [this, node](ExprId step, ExprId column) {
      return f32_value(node, strip_.index(step, column));
    };
  }
  // Of Q or the product, where rows run through all batches of the item.
  Index row_index(ExprId row, ExprId column) {
    const ExprId batch = kernel_.add(batch_, kernel_.div(row, a_.rows));
    return matrix_index(kernel_, a_.batch_shape, batch, kernel_.mod(row, a_.rows), column);
  }

  std::vector<Stmt> copy_rows() {
    return loop(kernel_, "r", plan_.rows, LoopKind::kSerial, [&](ExprId row) {
      return loop(kernel_, "k", a_.depth, LoopKind::kVector, [&](ExprId k) {
        const ExprId at = kernel_.add(kernel_.mul(row, a_.depth), k);
        return std::vector<Stmt>{ir::make_store(rows_, at, f32_value(a_.q, row_index(row, k)))};
      });
    });
  }

  std::vector<Stmt> store() {
    const Region& region = frame_.task.region;
    return loop(kernel_, "r", plan_.rows, LoopKind::kSerial, [&](ExprId row) {
      std::vector<Stmt> body =
          loop(kernel_, "n", a_.columns, LoopKind::kVector, [&](ExprId column) {
            const ExprId at = kernel_.add(kernel_.mul(row, a_.columns), column);
            ExprId sum = kernel_.load(product_.result, at);
            if (a_.divisor != ir::kNoNode) sum = kernel_.mul(sum, strip_.factor(row));
            evaluator_.bind(region.root, [sum](const Index&) { return sum; });
            const Index to = strip_.output_index(row_index(row, column));
            return std::vector<Stmt>{
                evaluator_.store_output(frame_.output, to, evaluator_.value(region.output, to))};
          });
      evaluator_.unbind(region.root);
      return body;
    });
  }

  Attention a_;
  AttentionRowsPlan plan_;
  Frame frame_;
  Kernel& kernel_;
  Evaluator evaluator_;
  AttentionStrip strip_;
  StreamedProduct scores_, product_;
  ir::ArrayId rows_ = -1;       // of Q
  ExprId batch_ = ir::kNoExpr;  // the item's first one
};

}  // namespace

bool matches_attention_rows(const Task& task) {
  const std::optional<Attention> attention = find_attention(task);
  return attention && plan_attention_rows(task, *attention).is_possible;
}

bool pays_attention_rows(const Task& task) {
  const Attention attention = *find_attention(task);
  const Task alone = {task.schedule, task.region, task.target, 1};
  const std::vector<Knobs> ranked = rank_attention(alone, attention);
  return ranked.empty() || plan_attention_rows(alone, attention).cycles <=
                               attention_cycles(alone, attention, ranked.front());
}

std::vector<Knobs> knobs_attention_rows(const Task& task) {
  const AttentionRowsPlan plan = plan_attention_rows(task, *find_attention(task));
  return rank_streamed(task.target, plan.scores);
}

LoweredKernel emit_attention_rows(const Task& task, const Knobs& knobs) {
  return Emitter(task, knobs).emit();
}

}  // namespace camshaft::lower
