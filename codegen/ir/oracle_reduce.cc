// SPDX-License-Identifier: MIT
// Reduce, ArgReduce, Scan and Gather.
#include <algorithm>
#include <limits>

#include "codegen/ir/oracle_eval.h"

namespace camshaft::ir {
namespace {

// Where each element of an operand goes in a result whose reduced axes have extent 1.
std::vector<Shape> reduced_offsets(const Shape& from, const Shape& to,
                                   const std::vector<int>& axes) {
  const Shape strides = strides_of(to);
  std::vector<Shape> offsets(from.size());
  for (size_t axis = 0; axis < from.size(); ++axis) {
    const bool reduced = std::count(axes.begin(), axes.end(), static_cast<int>(axis)) > 0;
    for (int64_t i = 0; i < from[axis]; ++i)
      offsets[axis].push_back(reduced ? 0 : i * strides[axis]);
  }
  return offsets;
}

template <typename T, typename Combine>
void scan_axis(const AxisView& view, const ScanAttrs& attrs, const std::vector<T>& from, T identity,
               Combine&& combine_two, std::vector<T>& to) {
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t n = 0; n < view.inner; ++n) {
      T running = identity;
      for (int64_t step = 0; step < view.extent; ++step) {
        const size_t at = view.offset(o, attrs.reverse ? view.extent - 1 - step : step, n);
        const T before = running;
        running = combine_two(running, from[at]);
        to[at] = attrs.exclusive ? before : running;
      }
    }
  }
}

template <typename Wins>
int64_t best_index(int64_t extent, bool select_last, Wins&& wins) {
  int64_t best = 0;
  for (int64_t i = 1; i < extent; ++i) {
    if (wins(i, best) || (select_last && !wins(best, i))) best = i;
  }
  return best;
}

template <typename T>
void gather_rows(const AxisView& view, const std::vector<int64_t>& rows, const std::vector<T>& from,
                 std::vector<T>& to) {
  auto out = to.begin();
  for (int64_t o = 0; o < view.outer; ++o) {
    for (const int64_t row : rows) {
      const auto begin = from.begin() + static_cast<ptrdiff_t>(view.offset(o, row, 0));
      out = std::copy(begin, begin + view.inner, out);
    }
  }
}

}  // namespace

void evaluate_reduce(const Evaluation& eval, OracleTensor& result) {
  const auto& attrs = eval.node.as<ReduceAttrs>();
  const OracleTensor& x = eval.operand(0);
  const DType dtype = x.type.dtype;
  const std::vector<Shape> offsets = reduced_offsets(x.type.shape, result.type.shape, attrs.axes);
  if (base::is_float(dtype)) {
    std::fill(result.floats.begin(), result.floats.end(), float_identity(attrs.kind));
    for_each_offset(x.type.shape, offsets, [&](int64_t i, int64_t offset) {
      double& slot = result.floats[static_cast<size_t>(offset)];
      slot = combine(attrs.kind, slot, x.floats[static_cast<size_t>(i)]);
    });
  } else {
    std::fill(result.ints.begin(), result.ints.end(), int_identity(attrs.kind, dtype));
    for_each_offset(x.type.shape, offsets, [&](int64_t i, int64_t offset) {
      int64_t& slot = result.ints[static_cast<size_t>(offset)];
      slot = combine(attrs.kind, slot, x.ints[static_cast<size_t>(i)], dtype);
    });
  }
}

void evaluate_arg_reduce(const Evaluation& eval, OracleTensor& result) {
  const auto& attrs = eval.node.as<ArgReduceAttrs>();
  const OracleTensor& x = eval.operand(0);
  const AxisView view(x.type.shape, attrs.axis);
  const bool floats = base::is_float(x.type.dtype);
  const bool smallest = attrs.kind == ReduceKind::kMin;
  size_t slot = 0;
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t n = 0; n < view.inner; ++n) {
      const auto less = [&](int64_t i, int64_t j) {
        const size_t a = view.offset(o, i, n);
        const size_t b = view.offset(o, j, n);
        return floats ? x.floats[a] < x.floats[b] : int_less(x.ints[a], x.ints[b], x.type.dtype);
      };
      result.ints[slot++] = best_index(
          view.extent, attrs.select_last,
          [&](int64_t i, int64_t best) { return smallest ? less(i, best) : less(best, i); });
    }
  }
}

void evaluate_scan(const Evaluation& eval, OracleTensor& result) {
  const auto& attrs = eval.node.as<ScanAttrs>();
  const OracleTensor& x = eval.operand(0);
  const DType dtype = x.type.dtype;
  const AxisView view(x.type.shape, attrs.axis);
  if (base::is_float(dtype)) {
    scan_axis(
        view, attrs, x.floats, float_identity(attrs.kind),
        [&](double a, double b) { return combine(attrs.kind, a, b); }, result.floats);
  } else {
    scan_axis(
        view, attrs, x.ints, int_identity(attrs.kind, dtype),
        [&](int64_t a, int64_t b) { return combine(attrs.kind, a, b, dtype); }, result.ints);
  }
}

base::Status evaluate_gather(const Evaluation& eval, OracleTensor& result) {
  const OracleTensor& data = eval.operand(0);
  const OracleTensor& indices = eval.operand(1);
  const AxisView view(data.type.shape, eval.node.as<GatherAttrs>().axis);
  std::vector<int64_t> rows;
  for (const int64_t index : indices.ints) {
    // A u64 index beyond the largest i64 would look negative.
    const bool negative = int_less(index, 0, indices.type.dtype);
    rows.push_back(negative ? index + view.extent : index);
    if (rows.back() < 0 || rows.back() >= view.extent) {
      return base::fail(base::Code::kInvalidArgument, "oracle.gather",
                        "gather: index %lld is outside the %lld rows of its axis",
                        static_cast<long long>(index), static_cast<long long>(view.extent));
    }
  }
  if (base::is_float(data.type.dtype)) {
    gather_rows(view, rows, data.floats, result.floats);
  } else {
    gather_rows(view, rows, data.ints, result.ints);
  }
  return base::ok();
}

}  // namespace camshaft::ir
