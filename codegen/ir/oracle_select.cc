// SPDX-License-Identifier: MIT
// Scatter, TopK and Suppress.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "codegen/ir/oracle_eval.h"

namespace camshaft::ir {
namespace {

ReduceKind to_reduce_kind(ScatterKind kind) {
  switch (kind) {
    case ScatterKind::kProd:
      return ReduceKind::kProd;
    case ScatterKind::kMax:
      return ReduceKind::kMax;
    case ScatterKind::kMin:
      return ReduceKind::kMin;
    default:
      return ReduceKind::kSum;
  }
}

// combine(before, update) for each element of each update whose row exists.
template <typename T, typename Combine>
void scatter_rows(const Evaluation& eval, std::vector<T>& to, Combine&& combine_two) {
  const OracleTensor& rows = eval.operand(1);
  const std::vector<T>& updates = values_of(eval.operand(2), T{});
  const Shape& shape = eval.node.type.shape;
  const int64_t inner = count_of(shape, 1, shape.size());
  to = values_of(eval.operand(0), T{});
  for (size_t j = 0; j < rows.ints.size(); ++j) {
    const int64_t row = rows.ints[j];
    if (row < 0 || row >= shape[0]) continue;  // a u64 beyond i64 looks negative: outside as well
    for (int64_t k = 0; k < inner; ++k) {
      T& slot = to[static_cast<size_t>(row * inner + k)];
      slot = combine_two(slot, updates[j * static_cast<size_t>(inner) + static_cast<size_t>(k)]);
    }
  }
}

struct Box {
  double y1, x1, y2, x2;
  double area() const { return (y2 - y1) * (x2 - x1); }
};

double intersection_over_union(const Box& a, const Box& b) {
  const double height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  const double width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  if (!(height > 0) || !(width > 0)) return 0;
  const double shared = height * width;
  return shared / (a.area() + b.area() - shared);
}

}  // namespace

void evaluate_scatter(const Evaluation& eval, OracleTensor& result) {
  const ScatterKind kind = eval.node.as<ScatterAttrs>().kind;
  const DType dtype = result.type.dtype;
  const bool replaces = kind == ScatterKind::kReplace;
  const ReduceKind reduce = to_reduce_kind(kind);
  if (base::is_float(dtype)) {
    scatter_rows(eval, result.floats,
                 [&](double a, double b) { return replaces ? b : combine(reduce, a, b); });
  } else {
    scatter_rows(eval, result.ints,
                 [&](int64_t a, int64_t b) { return replaces ? b : combine(reduce, a, b, dtype); });
  }
}

void evaluate_top_k(const Evaluation& eval, OracleTensor& result) {
  const auto& attrs = eval.node.as<TopKAttrs>();
  const OracleTensor& x = eval.operand(0);
  const AxisView view(x.type.shape, attrs.axis);
  const auto less = [&](size_t a, size_t b) {
    if (!base::is_float(x.type.dtype)) return int_less(x.ints[a], x.ints[b], x.type.dtype);
    return std::isnan(x.floats[b]) ? !std::isnan(x.floats[a]) : x.floats[a] < x.floats[b];
  };
  std::vector<int64_t> order(static_cast<size_t>(view.extent));
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t n = 0; n < view.inner; ++n) {
      std::iota(order.begin(), order.end(), 0);
      std::sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
        const size_t a = view.offset(o, i, n);
        const size_t b = view.offset(o, j, n);
        const bool before = attrs.largest ? less(b, a) : less(a, b);
        const bool after = attrs.largest ? less(a, b) : less(b, a);
        return before || (!after && i < j);
      });
      for (int64_t k = 0; k < attrs.count; ++k) {
        result.ints[static_cast<size_t>((o * attrs.count + k) * view.inner + n)] =
            order[static_cast<size_t>(k)];
      }
    }
  }
}

void evaluate_suppress(const Evaluation& eval, OracleTensor& result) {
  const OracleTensor& boxes = eval.operand(0);
  const OracleTensor& candidates = eval.operand(1);
  const double threshold = eval.operand(2).floats[0];
  const int64_t count = result.type.shape[1];
  const auto box = [&](int64_t at) {
    const double* corner = boxes.floats.data() + at * 4;
    return Box{corner[0], corner[1], corner[2], corner[3]};
  };
  for (int64_t group = 0; group < result.type.shape[0]; ++group) {
    std::vector<int64_t> kept;
    for (int64_t at = group * count; at < (group + 1) * count; ++at) {
      const bool overlaps = std::any_of(kept.begin(), kept.end(), [&](int64_t other) {
        return intersection_over_union(box(other), box(at)) > threshold;
      });
      const bool keeps = candidates.ints[static_cast<size_t>(at)] != 0 && !overlaps &&
                         static_cast<int64_t>(kept.size()) < eval.node.as<SuppressAttrs>().max_kept;
      if (keeps) kept.push_back(at);
      result.ints[static_cast<size_t>(at)] = keeps ? 1 : 0;
    }
  }
}

}  // namespace camshaft::ir
