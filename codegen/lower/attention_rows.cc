// SPDX-License-Identifier: MIT
// Strategy `attention_rows`: an attention of few rows (attention_plan.h), as with a cache of keys
// and values of which each step reads all. An item of the thread loop is a batch: Q's rows are
// copied together, scores are products with K where it lies, softmax passes over them in place, and
// they are multiplied by V where that lies (streamed_product.h).
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
    strip_.add_arrays(a_.rows, plan_.pitch);
    scores_.shape = with_knobs(plan_.scores, knobs);
    scores_.left = local("rows", a_.rows * a_.depth);
    scores_.left_pitch = a_.depth;
    scores_.result = strip_.array();
    scores_.result_pitch = plan_.pitch;
    scores_.right = [this](ExprId step, ExprId column) { return f32_value(a_.k, step, column); };
    product_.shape = plan_.product;
    product_.left = strip_.array();
    product_.left_pitch = plan_.pitch;
    product_.result = local("sums", a_.rows * a_.columns);
    product_.result_pitch = a_.columns;
    product_.right = [this](ExprId step, ExprId column) { return f32_value(a_.v, step, column); };
    const int64_t dots = std::max(scores_.shape.sums(), product_.shape.sums());
    if (dots > 0) scores_.sums = product_.sums = local("dots", dots);
  }

  LoweredKernel emit() {
    set_thread_loop(kernel_, a_.batches, [&](ExprId batch) {
      strip_.begin(batch, kernel_.int_const(0));
      std::vector<Stmt> body = copy_rows();
      append(body, streamed_product(kernel_, scores_));
      append(body, strip_.logits(a_.rows));
      append(body, strip_.softmax(a_.rows));
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

  ExprId f32_value(NodeId node, ExprId row, ExprId column) {
    return kernel_.cast(evaluator_.value(node, strip_.index(row, column)), DType::kFloat32);
  }

  std::vector<Stmt> copy_rows() {
    return loop(kernel_, "r", a_.rows, LoopKind::kSerial, [&](ExprId row) {
      return loop(kernel_, "k", a_.depth, LoopKind::kVector, [&](ExprId k) {
        const ExprId at = kernel_.add(kernel_.mul(row, a_.depth), k);
        return std::vector<Stmt>{ir::make_store(scores_.left, at, f32_value(a_.q, row, k))};
      });
    });
  }

  std::vector<Stmt> store() {
    const Region& region = frame_.task.region;
    return loop(kernel_, "r", a_.rows, LoopKind::kSerial, [&](ExprId row) {
      std::vector<Stmt> body =
          loop(kernel_, "n", a_.columns, LoopKind::kVector, [&](ExprId column) {
            const ExprId at = kernel_.add(kernel_.mul(row, a_.columns), column);
            ExprId sum = kernel_.load(product_.result, at);
            if (a_.divisor != ir::kNoNode) sum = kernel_.mul(sum, strip_.factor(row));
            evaluator_.bind(region.root, [sum](const Index&) { return sum; });
            const Index to = strip_.output_index(strip_.index(row, column));
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
