// SPDX-License-Identifier: MIT
// Movement and structured operations on values.
#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "codegen/onnx/builder.h"
#include "codegen/onnx/extents.h"
#include "codegen/onnx/value.h"

namespace camshaft::onnx {

Value reshape(Value x, Shape shape) {
  if (!x || x.shape() == shape) return x;
  return x.builder()->add(ir::Op::kReshape, {x}, ir::ReshapeAttrs{std::move(shape)});
}

Value transpose(Value x, std::vector<int> perm) {
  if (!x || (static_cast<int>(perm.size()) == x.rank() &&
             std::is_sorted(perm.begin(), perm.end()) && (perm.empty() || perm[0] == 0))) {
    return x;
  }
  return x.builder()->add(ir::Op::kTranspose, {x}, ir::TransposeAttrs{std::move(perm)});
}

Value broadcast_to(Value x, const Shape& shape) {
  if (!x || x.shape() == shape) return x;
  const Shape& own = x.shape();
  if (own.size() < shape.size()) {
    Shape aligned(shape.size() - own.size(), 1);
    aligned.insert(aligned.end(), own.begin(), own.end());
    return broadcast_to(reshape(x, std::move(aligned)), shape);
  }
  return x.builder()->add(ir::Op::kBroadcast, {x}, ir::BroadcastAttrs{shape});
}

Value slice_axis(Value x, int axis, int64_t begin, int64_t extent, int64_t step) {
  if (!x || (begin == 0 && step == 1 && extent == x.dim(axis))) return x;
  ir::SliceAttrs attrs{Shape(x.shape().size(), 0), x.shape(), Shape(x.shape().size(), 1)};
  const auto i = static_cast<size_t>(axis);
  CAMSHAFT_CHECK(i < attrs.begin.size());
  attrs.begin[i] = begin;
  attrs.extent[i] = extent;
  attrs.step[i] = step;
  return x.builder()->add(ir::Op::kSlice, {x}, std::move(attrs));
}

Value flip(Value x, int axis) {
  const int64_t extent = x.dim(axis);
  return extent < 2 ? x : slice_axis(x, axis, extent - 1, extent, -1);
}

Value pad(Value x, ir::PadAttrs attrs) {
  const auto is_zero = [](int64_t amount) { return amount == 0; };
  if (!x || (std::all_of(attrs.before.begin(), attrs.before.end(), is_zero) &&
             std::all_of(attrs.after.begin(), attrs.after.end(), is_zero))) {
    return x;
  }
  return x.builder()->add(ir::Op::kPad, {x}, std::move(attrs));
}

Value concat(const std::vector<Value>& parts, int axis) {
  if (parts.empty() || !parts[0]) return {};
  if (parts.size() == 1) return parts[0];
  return parts[0].builder()->add(ir::Op::kConcat, parts, ir::ConcatAttrs{axis});
}

Value place_axes(Value x, const std::vector<int>& axes, int rank) {
  if (!x) return x;
  CAMSHAFT_CHECK(static_cast<int>(axes.size()) == x.rank());
  Shape shape(static_cast<size_t>(rank), 1);
  for (size_t i = 0; i < axes.size(); ++i) shape[static_cast<size_t>(axes[i])] = x.shape()[i];
  return reshape(x, std::move(shape));
}

Value insert_axis(Value x, int axis) {
  if (!x) return x;
  Shape shape = x.shape();
  CAMSHAFT_CHECK(axis >= 0 && axis <= x.rank());
  shape.insert(shape.begin() + axis, 1);
  return reshape(x, std::move(shape));
}

Value drop_axes(Value x, const std::vector<int>& axes) {
  if (!x) return x;
  Shape shape;
  for (int i = 0; i < x.rank(); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), i)) shape.push_back(x.dim(i));
  }
  return reshape(x, std::move(shape));
}

Value reduce(ir::ReduceKind kind, Value x, const std::vector<int>& axes) {
  if (!x || axes.empty()) return x;
  return x.builder()->add(ir::Op::kReduce, {x}, ir::ReduceAttrs{kind, axes});
}

Value mean(Value x, const std::vector<int>& axes) {
  if (!x || axes.empty()) return x;
  const bool is_half = x.dtype() == DType::kFloat16 || x.dtype() == DType::kBFloat16;
  if (is_half) return cast(mean(cast(x, DType::kFloat32), axes), x.dtype());
  const Value sum = reduce(ir::ReduceKind::kSum, x, axes);
  double count = 1;
  Value counted;
  for (const int axis : axes) {
    if (has_count(x, axis)) {
      counted = counted ? counted * extent_of(x, axis) : extent_of(x, axis);
    } else {
      count *= static_cast<double>(x.dim(axis));
    }
  }
  return counted ? sum / cast(counted * count, x.dtype()) : sum / count;
}

Value arg_reduce(Value x, ir::ArgReduceAttrs attrs) {
  if (!x) return {};
  const Value place = x.builder()->add(ir::Op::kArgReduce, {x}, attrs);
  if (!attrs.select_last || !has_count(x, attrs.axis)) return place;
  // What fills the elements beyond the count equals the extreme if all that count do.
  return min(place, max(extent_of(x, attrs.axis) - 1.0, 0.0));
}

Value scan(Value x, ir::ScanAttrs attrs) {
  return x ? x.builder()->add(ir::Op::kScan, {x}, attrs) : Value();
}

namespace {

// In the operands' dtype: the graph sums halves in f32.
Value product(ir::Op op, Value a, Value b, ir::Attrs attrs) {
  return cast(a.builder()->add(op, {a, b}, std::move(attrs)), a.dtype());
}

}  // namespace

Value matmul(Value a, Value b) {
  if (!a || !b) return {};
  CAMSHAFT_CHECK(a.rank() >= 2 && b.rank() >= 2);
  Shape batch_a(a.shape().begin(), a.shape().end() - 2);
  Shape batch_b(b.shape().begin(), b.shape().end() - 2);
  const int64_t k = a.dim(-1);
  const int64_t n = b.dim(-1);
  const bool one_matrix =
      std::all_of(batch_b.begin(), batch_b.end(), [](auto e) { return e == 1; });
  if (one_matrix && b.elements() > 0 && batch_b.size() <= batch_a.size() && !batch_a.empty()) {
    // One matrix for all batches: the batch axes are more rows, and the weights stay as they are.
    const int64_t rows =
        std::accumulate(batch_a.begin(), batch_a.end(), a.dim(-2), std::multiplies<int64_t>());
    Shape shape = a.shape();
    shape.back() = n;
    return reshape(product(ir::Op::kMatMul, reshape(a, {rows, k}), reshape(b, {b.dim(-2), n}), {}),
                   std::move(shape));
  }
  std::optional<Shape> batch = broadcast_shapes(batch_a, batch_b);
  if (!batch) {
    return a.builder()->fail("batches " + shape_text(batch_a) + " and " + shape_text(batch_b) +
                             " can't be broadcast together");
  }
  Shape shape_a = *batch;
  Shape shape_b = std::move(*batch);
  shape_a.insert(shape_a.end(), {a.dim(-2), k});
  shape_b.insert(shape_b.end(), {b.dim(-2), n});
  return product(ir::Op::kMatMul, broadcast_to(a, shape_a), broadcast_to(b, shape_b), {});
}

Value conv(Value x, Value w, ir::ConvAttrs attrs) {
  return x && w ? product(ir::Op::kConv, x, w, std::move(attrs)) : Value();
}

Value pool(Value x, ir::PoolAttrs attrs) {
  return x ? x.builder()->add(ir::Op::kPool, {x}, std::move(attrs)) : Value();
}

Value gather(Value data, Value indices, int axis) {
  if (!data || !indices) return {};
  return data.builder()->add(ir::Op::kGather, {data, indices}, ir::GatherAttrs{axis});
}

Value scatter(Value data, Value rows, Value updates, ir::ScatterKind kind) {
  if (!data || !rows || !updates) return {};
  return data.builder()->add(ir::Op::kScatter, {data, rows, updates}, ir::ScatterAttrs{kind});
}

Value top_k(Value x, ir::TopKAttrs attrs) {
  return x ? x.builder()->add(ir::Op::kTopK, {x}, attrs) : Value();
}

Value suppress(Value boxes, Value candidates, Value threshold, int64_t max_kept) {
  if (!boxes || !candidates || !threshold) return {};
  return boxes.builder()->add(ir::Op::kSuppress, {boxes, candidates, threshold},
                              ir::SuppressAttrs{max_kept});
}

}  // namespace camshaft::onnx
