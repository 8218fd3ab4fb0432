// SPDX-License-Identifier: MIT
#include "codegen/onnx/extents.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "codegen/ir/literal.h"
#include "codegen/onnx/builder.h"

namespace camshaft::onnx {

using ir::Op;
using Counts = std::map<int, Value>;

namespace {

const Counts& counts_of(Value x) {
  static const Counts kNone;
  return x ? x.builder()->counts(x.index()) : kNone;
}

int64_t product(Shape::const_iterator begin, Shape::const_iterator end) {
  return std::accumulate(begin, end, int64_t{1}, std::multiplies<int64_t>());
}

// Decides the counts of one operation's result.
class Carrier {
 public:
  Carrier(Op op, const ir::Attrs& attrs, std::vector<Value>* operands, Counts* counts)
      : op_(op), attrs_(attrs), operands_(*operands), counts_(*counts) {}

  bool carry() {
    if (ir::is_elementwise(op_)) {
      for (const Value& operand : operands_) merge(counts_of(operand));
      return true;
    }
    return ir::is_movement(op_) ? carry_movement() : carry_structured();
  }

 private:
  template <typename T>
  const T& as() const {
    return std::get<T>(attrs_);
  }
  Value& operand(size_t i) { return operands_[i]; }
  void merge(const Counts& counts) { counts_.insert(counts.begin(), counts.end()); }
  bool refuse(const char* what) {
    operands_[0].builder()->fail(
        std::string(ir::op_info(op_).name) + ": " + what +
            " is not possible where the extent of that axis depends on data; give the model a "
            "fixed "
            "number of elements there, such as by TopK or by Slice of padded data",
        base::Code::kUnsupported);
    return false;
  }

  bool carry_movement() {
    const Counts& own = counts_of(operand(0));
    switch (op_) {
      case Op::kReshape:
        return carry_reshape();
      case Op::kTranspose: {
        const std::vector<int>& perm = as<ir::TransposeAttrs>().perm;
        for (size_t i = 0; i < perm.size(); ++i) {
          if (own.contains(perm[i])) counts_[static_cast<int>(i)] = own.at(perm[i]);
        }
        return true;
      }
      case Op::kBroadcast:
        for (const auto& [axis, count] : own) {
          if (as<ir::BroadcastAttrs>().shape[static_cast<size_t>(axis)] == operand(0).dim(axis)) {
            counts_[axis] = count;
          }
        }
        return true;
      case Op::kSlice:
        for (const auto& [axis, count] : own) {
          const auto& slice = as<ir::SliceAttrs>();
          const auto i = static_cast<size_t>(axis);
          if (slice.begin[i] != 0 || slice.step[i] != 1) return refuse("this slice");
          counts_[axis] = slice.extent[i] == operand(0).dim(axis)
                              ? count
                              : min(count, static_cast<double>(slice.extent[i]));
        }
        return true;
      case Op::kPad:
        for (const auto& [axis, count] : own) {
          const auto i = static_cast<size_t>(axis);
          if (as<ir::PadAttrs>().before[i] != 0 || as<ir::PadAttrs>().after[i] != 0) {
            return refuse("padding");
          }
        }
        merge(own);
        return true;
      default:
        for (const Value& piece : operands_) {
          if (has_count(piece, as<ir::ConcatAttrs>().axis)) return refuse("concatenation");
          merge(counts_of(piece));
        }
        return true;
    }
  }

  // Axes are compared group by group. Within a group, an axis with a count must be the outermost
  // one: then the elements that count are a prefix of the group, before and after.
  bool carry_reshape() {
    const Shape& from = operand(0).shape();
    const Shape& to = as<ir::ReshapeAttrs>().shape;
    size_t i = 0;
    size_t j = 0;
    while (i < from.size() || j < to.size()) {
      const size_t first_i = i;
      const size_t first_j = j;
      int64_t a = i < from.size() ? from[i++] : 1;
      int64_t b = j < to.size() ? to[j++] : 1;
      while (a != b) {
        if (a < b && i < from.size()) {
          a *= from[i++];
        } else if (j < to.size()) {
          b *= to[j++];
        } else {
          return true;  // not a reshape: infer_type() will say so
        }
      }
      if (!carry_group(first_i, i, first_j, j)) return false;
    }
    return true;
  }

  bool carry_group(size_t first_i, size_t last_i, size_t first_j, size_t last_j) {
    const Counts& own = counts_of(operand(0));
    const Shape& from = operand(0).shape();
    const Shape& to = as<ir::ReshapeAttrs>().shape;
    size_t counted = last_i;
    for (size_t i = first_i; i < last_i; ++i) {
      if (!own.contains(static_cast<int>(i))) continue;
      if (counted != last_i) return refuse("merging two axes");
      counted = i;
    }
    if (counted == last_i) return true;
    const auto at = [](const Shape& shape, size_t i) {
      return shape.begin() + static_cast<ptrdiff_t>(i);
    };
    if (product(at(from, first_i), at(from, counted)) != 1) return refuse("merging axes");
    size_t outer = first_j;
    while (outer + 1 < last_j && to[outer] == 1) ++outer;
    if (outer == last_j) return refuse("dropping an axis");
    const int64_t inner_from = product(at(from, counted + 1), at(from, last_i));
    const int64_t inner_to = product(at(to, outer + 1), at(to, last_j));
    Value count = own.at(static_cast<int>(counted));
    if (inner_to != 0 && inner_from % inner_to == 0) {
      if (inner_from != inner_to) count = count * static_cast<double>(inner_from / inner_to);
    } else if (inner_from != 0 && inner_to % inner_from == 0) {
      count = count / static_cast<double>(inner_to / inner_from);
    } else {
      return refuse("this split");
    }
    counts_[static_cast<int>(outer)] = count;
    return true;
  }

  void merge_except(const Counts& counts, const std::vector<int>& axes) {
    for (const auto& [axis, count] : counts) {
      if (std::count(axes.begin(), axes.end(), axis) == 0) counts_[axis] = count;
    }
  }

  static double identity(ir::ReduceKind kind, DType dtype) {
    switch (kind) {
      case ir::ReduceKind::kSum:
        return 0;
      case ir::ReduceKind::kProd:
        return 1;
      case ir::ReduceKind::kMax:
        return lowest(dtype);
      default:
        return highest(dtype);
    }
  }

  bool carry_structured() {
    const Counts own = counts_of(operand(0));
    const DType dtype = operand(0).dtype();
    switch (op_) {
      case Op::kReduce: {
        const auto& attrs = as<ir::ReduceAttrs>();
        merge_except(own, attrs.axes);
        operand(0) = filled(operand(0), attrs.axes, identity(attrs.kind, dtype));
        return true;
      }
      case Op::kArgReduce: {
        const auto& attrs = as<ir::ArgReduceAttrs>();
        merge_except(own, {attrs.axis});
        operand(0) = filled(operand(0), {attrs.axis}, identity(attrs.kind, dtype));
        return true;
      }
      case Op::kScan: {
        const auto& attrs = as<ir::ScanAttrs>();
        merge(own);
        if (attrs.reverse) {
          operand(0) = filled(operand(0), {attrs.axis}, identity(attrs.kind, dtype));
        }
        return true;
      }
      case Op::kMatMul:
        return carry_matmul();
      case Op::kConv:
      case Op::kPool: {
        const int free_axes = op_ == Op::kPool ? 2 : 1;
        for (const auto& [axis, count] : own) {
          if (axis >= free_axes) return refuse("a window");
        }
        if (op_ == Op::kConv && has_counts(operand(1))) return refuse("a filter");
        merge(own);
        return true;
      }
      case Op::kGather:
        return carry_gather();
      case Op::kScatter:
        return carry_scatter();
      case Op::kTopK: {
        const auto& attrs = as<ir::TopKAttrs>();
        merge(own);
        if (!own.contains(attrs.axis)) return true;
        operand(0) =
            filled(operand(0), {attrs.axis}, attrs.largest ? lowest(dtype) : highest(dtype));
        counts_[attrs.axis] = min(own.at(attrs.axis), static_cast<double>(attrs.count));
        return true;
      }
      default:
        CAMSHAFT_CHECK(op_ == Op::kSuppress);
        merge_except(own, {2});
        merge(counts_of(operand(1)));
        for (const auto& [axis, count] : counts_) {
          operand(1) = with_count(without_counts(operand(1)), axis, count);
        }
        operand(1) = filled(operand(1), {0, 1}, 0);
        return true;
    }
  }

  // Rows and columns pass on; both operands are zero beyond the count of the inner axis.
  bool carry_matmul() {
    const int rank = operand(0).rank();
    const Counts& a = counts_of(operand(0));
    const Counts& b = counts_of(operand(1));
    merge_except(a, {rank - 1});
    merge_except(b, {rank - 2});
    const Value inner = a.contains(rank - 1)   ? a.at(rank - 1)
                        : b.contains(rank - 2) ? b.at(rank - 2)
                                               : Value();
    if (!inner) return true;
    operand(0) = filled(with_count(operand(0), rank - 1, inner), {rank - 1}, 0);
    operand(1) = filled(with_count(operand(1), rank - 2, inner), {rank - 2}, 0);
    return true;
  }

  bool carry_gather() {
    const int at = as<ir::GatherAttrs>().axis;
    if (has_count(operand(0), at)) return refuse("gathering");
    const int more = operand(1).rank() - 1;
    for (const auto& [axis, count] : counts_of(operand(0))) {
      counts_[axis < at ? axis : axis + more] = count;
    }
    std::vector<int> counted;
    for (const auto& [axis, count] : counts_of(operand(1))) {
      counts_[at + axis] = count;
      counted.push_back(axis);
    }
    operand(1) = filled(operand(1), counted, 0);  // places beyond a count might not exist
    return true;
  }

  bool carry_scatter() {
    merge(counts_of(operand(0)));
    const Value rows = has_count(operand(1), 0)   ? operand(1)
                       : has_count(operand(2), 0) ? operand(2)
                                                  : Value();
    if (!rows) return true;
    if (base::is_unsigned_int(operand(1).dtype())) operand(1) = cast(operand(1), DType::kInt64);
    operand(1) = filled(with_count(operand(1), 0, extent_of(rows, 0)), {0}, -1);
    return true;
  }

  const Op op_;
  const ir::Attrs& attrs_;
  std::vector<Value>& operands_;
  Counts& counts_;
};

}  // namespace

double lowest(DType dtype) {
  if (base::is_float(dtype)) return -std::numeric_limits<double>::infinity();
  if (!base::is_signed_int(dtype)) return 0;
  return -std::ldexp(1.0, base::dtype_size_bytes(dtype) * 8 - 1);
}

double highest(DType dtype) {
  if (base::is_float(dtype)) return std::numeric_limits<double>::infinity();
  if (dtype == DType::kBool) return 1;
  const int bits = base::dtype_size_bytes(dtype) * 8 - (base::is_signed_int(dtype) ? 1 : 0);
  return std::ldexp(1.0, bits);  // rounded up and saturated for 64 bits
}

bool has_count(Value x, int axis) {
  return counts_of(x).contains(axis);
}

bool has_counts(Value x) {
  return !counts_of(x).empty();
}

Value extent_of(Value x, int axis) {
  if (!x) return x;
  const auto found = counts_of(x).find(axis);
  if (found != counts_of(x).end()) return found->second;
  return x.builder()->scalar(DType::kInt64, static_cast<double>(x.dim(axis)));
}

Value with_count(Value x, int axis, Value count) {
  if (!x || !count) return {};
  if (const std::optional<Shape> known = count.known_ints()) {
    const int64_t extent = std::clamp<int64_t>(known->front(), 0, x.dim(axis));
    return slice_axis(x, axis, 0, extent);
  }
  Counts counts = counts_of(x);
  counts[axis] = x.builder()->with_bound(
      min(reshape(cast(count, DType::kInt64), {}), static_cast<double>(x.dim(axis))), x.dim(axis));
  return x.builder()->with_counts(x, std::move(counts));
}

Value with_counts_of(Value x, Value like) {
  return x && has_counts(like) ? x.builder()->with_counts(x, counts_of(like)) : x;
}

Value without_counts(Value x) {
  return has_counts(x) ? x.builder()->with_counts(x, {}) : x;
}

void watch_equal(Value a, int axis_of_a, Value b, int axis_of_b) {
  if (!has_count(a, axis_of_a) && !has_count(b, axis_of_b)) return;
  const Value extent = extent_of(a, axis_of_a);
  const Value other = extent_of(b, axis_of_b);
  if (extent.index() == other.index()) return;
  a.builder()->watch_extents(logical_not(equal(extent, other)));
}

void watch_indices(Value indices, Value extent) {
  if (!indices || !extent || indices.elements() == 0) return;
  indices = cast(indices, DType::kInt64);
  std::vector<int> axes(static_cast<size_t>(indices.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  const auto furthest = [&](ir::ReduceKind kind) {
    return reshape(axes.empty() ? indices : reduce(kind, indices, axes), {});
  };
  const Value is_low = less(furthest(ir::ReduceKind::kMin), 0.0);
  const Value is_high = less_equal(extent, furthest(ir::ReduceKind::kMax));
  extent.builder()->watch_extents(logical_or(is_low, is_high));
}

Value is_counted(Value x, int axis) {
  if (!has_count(x, axis)) return {};
  return less(place_axes(x.builder()->iota(x.dim(axis)), {axis}, x.rank()),
              reshape(extent_of(x, axis), Shape(static_cast<size_t>(x.rank()), 1)));
}

Value filled(Value x, const std::vector<int>& axes, double fill) {
  if (!x) return x;
  Value counted;
  for (const int axis : axes) {
    const Value here = is_counted(x, axis);
    if (here) counted = counted ? logical_and(counted, here) : here;
  }
  return counted ? select(counted, x, splat_like(x, fill)) : x;
}

bool carry_counts(Op op, const ir::Attrs& attrs, std::vector<Value>* operands, Counts* counts) {
  for (const Value& operand : *operands) {
    if (!operand) return true;
  }
  if (std::none_of(operands->begin(), operands->end(), has_counts)) return true;
  return Carrier(op, attrs, operands, counts).carry();
}

}  // namespace camshaft::onnx
