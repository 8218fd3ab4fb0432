// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>
#include <utility>

#include "codegen/ir/infer_type_rules.h"

namespace camshaft::ir {
namespace {

TypeResult infer_reduce(const TypeQuery& query) {
  TensorType type = query.operand(0);
  int previous = -1;
  for (const int axis : query.as<ReduceAttrs>().axes) {
    if (axis <= previous || axis >= type.rank()) {
      return reject(query, "axes must be sorted, unique and below the rank %d", type.rank());
    }
    type.shape[static_cast<size_t>(axis)] = 1;
    previous = axis;
  }
  if (!is_numeric(type.dtype)) return reject(query, "is not defined on bool");
  return type;
}

// The axis of ArgReduce and Scan.
base::Status check_axis(const TypeQuery& query, int axis) {
  if (axis < 0 || axis >= query.operand(0).rank()) {
    return reject(query, "axis %d is not one of the %d axes", axis, query.operand(0).rank());
  }
  if (!is_numeric(query.operand(0).dtype)) return reject(query, "is not defined on bool");
  return base::ok();
}

TypeResult infer_arg_reduce(const TypeQuery& query) {
  const auto& attrs = query.as<ArgReduceAttrs>();
  CAMSHAFT_TRY(check_axis(query, attrs.axis));
  if (attrs.kind != ReduceKind::kMax && attrs.kind != ReduceKind::kMin) {
    return reject(query, "kind must be max or min");
  }
  TensorType type{DType::kInt64, query.operand(0).shape};
  int64_t& extent = type.shape[static_cast<size_t>(attrs.axis)];
  if (extent == 0) return reject(query, "axis %d is empty: it has no largest element", attrs.axis);
  extent = 1;
  return checked_type(query, std::move(type));
}

TypeResult infer_scan(const TypeQuery& query) {
  const auto& attrs = query.as<ScanAttrs>();
  CAMSHAFT_TRY(check_axis(query, attrs.axis));
  if (attrs.kind != ReduceKind::kSum && attrs.kind != ReduceKind::kProd) {
    return reject(query, "kind must be sum or prod");
  }
  return query.operand(0);
}

bool are_bytes(DType a, DType b) {
  return a == DType::kUInt8 && b == DType::kInt8;
}

// Sums of halves are f32, and those of bytes, which are unsigned on the left and signed on the
// right, i32.
DType product_dtype(DType a, DType b) {
  return are_bytes(a, b) ? DType::kInt32 : is_half(a) ? DType::kFloat32 : a;
}

base::Status check_product_dtypes(const TypeQuery& query, DType a, DType b) {
  if (are_bytes(a, b) || (a == b && is_numeric(a))) return base::ok();
  return reject(query, "operands must be of one numeric dtype, or u8 and i8");
}

TypeResult infer_matmul(const TypeQuery& query) {
  const TensorType& a = query.operand(0);
  const TensorType& b = query.operand(1);
  CAMSHAFT_TRY(check_product_dtypes(query, a.dtype, b.dtype));
  const size_t rank = a.shape.size();
  if (rank < 2 || b.shape.size() != rank)
    return reject(query, "ranks must be equal and at least 2");
  if (!std::equal(a.shape.begin(), a.shape.end() - 2, b.shape.begin())) {
    return reject(query, "batch axes must be equal (broadcasting is explicit)");
  }
  if (a.shape[rank - 1] != b.shape[rank - 2]) {
    return reject(query, "inner extents differ: %lld and %lld",
                  static_cast<long long>(a.shape[rank - 1]),
                  static_cast<long long>(b.shape[rank - 2]));
  }
  TensorType type{product_dtype(a.dtype, b.dtype), a.shape};
  type.shape[rank - 1] = b.shape[rank - 1];
  return checked_type(query, std::move(type));
}

// What Conv and Pool share: a window that walks over the padded spatial axes.
struct Window {
  const Shape& strides;
  const Shape& dilations;
  const Shape& pads_begin;
  const Shape& pads_end;
  bool ceil_mode;
};

base::Status check_window(const TypeQuery& query, const Window& window, const int64_t* kernel,
                          size_t spatial) {
  for (const Shape* field :
       {&window.strides, &window.dilations, &window.pads_begin, &window.pads_end}) {
    if (field->size() != spatial) {
      return reject(query, "strides, dilations and pads need %zu entries, one a spatial axis",
                    spatial);
    }
  }
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t smallest = std::min({window.strides[i], window.dilations[i], kernel[i]});
    if (smallest < 1 || std::min(window.pads_begin[i], window.pads_end[i]) < 0) {
      return reject(query,
                    "spatial axis %zu: kernel, stride and dilation must be at least 1, pads 0", i);
    }
    int64_t span = 0;
    if (__builtin_mul_overflow(kernel[i], window.dilations[i], &span) ||
        std::max({span, window.strides[i], window.pads_begin[i], window.pads_end[i]}) >
            kMaxTensorBytes) {
      return reject(query, "spatial axis %zu: the window is too large", i);
    }
  }
  return base::ok();
}

// Positions of the window on spatial axis i. With ceil_mode a last, partial window counts if it
// starts before the padding at the end, even where it is the only one.
base::Result<int64_t> window_positions(const TypeQuery& query, const Window& window, int64_t input,
                                       int64_t kernel, size_t i) {
  const int64_t span = (kernel - 1) * window.dilations[i] + 1;
  const int64_t padded = input + window.pads_begin[i] + window.pads_end[i];
  const int64_t stride = window.strides[i];
  if (padded < span) {
    if (window.ceil_mode && span - padded < stride) return 1;
    return reject(query,
                  "spatial axis %zu: the window of %lld is larger than the padded input %lld", i,
                  static_cast<long long>(span), static_cast<long long>(padded));
  }
  int64_t positions = (padded - span) / stride + 1;
  if (window.ceil_mode && (padded - span) % stride != 0 &&
      positions * stride < input + window.pads_begin[i]) {
    ++positions;
  }
  return positions;
}

TypeResult infer_windowed(const TypeQuery& query, const Window& window, const int64_t* kernel,
                          int64_t channels, DType dtype) {
  const TensorType& x = query.operand(0);
  const size_t spatial = x.shape.size() - 2;
  CAMSHAFT_TRY(check_window(query, window, kernel, spatial));
  TensorType type{dtype, {x.shape[0], channels}};
  for (size_t i = 0; i < spatial; ++i) {
    CAMSHAFT_TRY_ASSIGN(const int64_t positions,
                        window_positions(query, window, x.shape[i + 2], kernel[i], i));
    type.shape.push_back(positions);
  }
  return checked_type(query, std::move(type));
}

TypeResult infer_conv(const TypeQuery& query) {
  const TensorType& x = query.operand(0);
  const TensorType& w = query.operand(1);
  const auto& attrs = query.as<ConvAttrs>();
  CAMSHAFT_TRY(check_product_dtypes(query, x.dtype, w.dtype));
  if (x.rank() < 3 || w.rank() != x.rank()) {
    return reject(query, "ranks must be equal and at least 3: [N, C, spatial...]");
  }
  if (attrs.groups < 1 || w.shape[0] % attrs.groups != 0 || x.shape[1] % attrs.groups != 0 ||
      w.shape[1] != x.shape[1] / attrs.groups) {
    return reject(query,
                  "%lld groups: weights must be [O, C/groups, kernel...], O and C multiples of it",
                  static_cast<long long>(attrs.groups));
  }
  const Window window{attrs.strides, attrs.dilations, attrs.pads_begin, attrs.pads_end, false};
  return infer_windowed(query, window, w.shape.data() + 2, w.shape[0],
                        product_dtype(x.dtype, w.dtype));
}

TypeResult infer_pool(const TypeQuery& query) {
  const TensorType& x = query.operand(0);
  const auto& attrs = query.as<PoolAttrs>();
  if (x.rank() < 3 || attrs.kernel.size() != x.shape.size() - 2) {
    return reject(query, "needs [N, C, spatial...] and a kernel extent for each spatial axis");
  }
  const bool average = attrs.kind == PoolKind::kAverage;
  if (average ? !base::is_float(x.dtype) : !is_numeric(x.dtype)) {
    return reject(query, "this kind is not defined on %s", base::dtype_name(x.dtype));
  }
  const Window window{attrs.strides, attrs.dilations, attrs.pads_begin, attrs.pads_end,
                      attrs.ceil_mode};
  return infer_windowed(query, window, attrs.kernel.data(), x.shape[1], x.dtype);
}

TypeResult infer_gather(const TypeQuery& query) {
  const TensorType& data = query.operand(0);
  const TensorType& indices = query.operand(1);
  const int axis = query.as<GatherAttrs>().axis;
  if (!base::is_int(indices.dtype)) return reject(query, "indices must be integers");
  if (axis < 0 || axis >= data.rank()) {
    return reject(query, "axis %d is not one of the %d axes", axis, data.rank());
  }
  TensorType type{data.dtype, {data.shape.begin(), data.shape.begin() + axis}};
  type.shape.insert(type.shape.end(), indices.shape.begin(), indices.shape.end());
  type.shape.insert(type.shape.end(), data.shape.begin() + axis + 1, data.shape.end());
  return checked_type(query, std::move(type));
}

TypeResult infer_scatter(const TypeQuery& query) {
  const TensorType& data = query.operand(0);
  const TensorType& rows = query.operand(1);
  const TensorType& updates = query.operand(2);
  if (!base::is_int(rows.dtype) || rows.rank() != 1) {
    return reject(query, "row numbers must be integers with one axis");
  }
  if (data.rank() < 1 || updates.dtype != data.dtype) {
    return reject(query, "data and updates must be of one dtype, with at least one axis");
  }
  TensorType fitting = data;
  fitting.shape[0] = rows.shape[0];
  if (updates != fitting) {
    return reject(query, "updates must be %s: a row for each row number",
                  to_string(fitting).c_str());
  }
  const bool is_arithmetic = query.as<ScatterAttrs>().kind != ScatterKind::kReplace;
  if (is_arithmetic && !is_numeric(data.dtype)) return reject(query, "is not defined on bool");
  return data;
}

TypeResult infer_top_k(const TypeQuery& query) {
  const auto& attrs = query.as<TopKAttrs>();
  CAMSHAFT_TRY(check_axis(query, attrs.axis));
  TensorType type{DType::kInt64, query.operand(0).shape};
  int64_t& extent = type.shape[static_cast<size_t>(attrs.axis)];
  if (attrs.count < 0 || attrs.count > extent) {
    return reject(query, "can't take %lld of %lld elements", static_cast<long long>(attrs.count),
                  static_cast<long long>(extent));
  }
  extent = attrs.count;
  return checked_type(query, std::move(type));
}

TypeResult infer_suppress(const TypeQuery& query) {
  const TensorType& boxes = query.operand(0);
  const TensorType& candidates = query.operand(1);
  if (boxes.dtype != DType::kFloat32 || boxes.rank() != 3 || boxes.shape[2] != 4) {
    return reject(query, "boxes must be f32 [groups, boxes, 4]");
  }
  const TensorType fitting{DType::kBool, {boxes.shape[0], boxes.shape[1]}};
  if (candidates != fitting || query.operand(2) != TensorType{DType::kFloat32, {}}) {
    return reject(query, "candidates must be %s and the threshold f32[]",
                  to_string(fitting).c_str());
  }
  return candidates;
}

}  // namespace

TypeResult infer_structured(const TypeQuery& query) {
  switch (query.op) {
    case Op::kReduce:
      return infer_reduce(query);
    case Op::kArgReduce:
      return infer_arg_reduce(query);
    case Op::kScan:
      return infer_scan(query);
    case Op::kMatMul:
      return infer_matmul(query);
    case Op::kConv:
      return infer_conv(query);
    case Op::kPool:
      return infer_pool(query);
    case Op::kGather:
      return infer_gather(query);
    case Op::kScatter:
      return infer_scatter(query);
    case Op::kTopK:
      return infer_top_k(query);
    default:
      CAMSHAFT_CHECK(query.op == Op::kSuppress);
      return infer_suppress(query);
  }
}

}  // namespace camshaft::ir
