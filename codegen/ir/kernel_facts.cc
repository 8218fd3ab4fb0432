// SPDX-License-Identifier: MIT
#include "codegen/ir/kernel_facts.h"

#include <algorithm>

namespace camshaft::ir {
namespace {

using Wide = __int128;

// The smallest interval that holds the corner values, or the dtype's range if one of them is
// outside of it.
Interval hull(DType dtype, std::initializer_list<Wide> corners) {
  const auto [lo, hi] = std::minmax(corners);
  const Interval range = range_of(dtype);
  if (lo < range.lo || hi > range.hi) return range;
  return {static_cast<int64_t>(lo), static_cast<int64_t>(hi)};
}

Interval divide(DType dtype, Interval a, Interval b) {
  if (b.lo < 1) return range_of(dtype);
  return hull(dtype, {a.lo / b.lo, a.lo / b.hi, a.hi / b.lo, a.hi / b.hi});
}

Interval remainder(DType dtype, Interval a, Interval b) {
  if (b.lo < 1) return range_of(dtype);
  const int64_t largest = b.hi - 1;
  const Interval result{a.lo >= 0 ? 0 : std::max(a.lo, -largest),
                        a.hi <= 0 ? 0 : std::min(a.hi, largest)};
  return b.lo == b.hi && a.lo > -b.lo && a.hi < b.lo ? a : result;
}

// All ones below the highest bit of `value`.
int64_t mask_over(int64_t value) {
  uint64_t mask = static_cast<uint64_t>(value);
  for (int shift = 1; shift < 64; shift *= 2) mask |= mask >> shift;
  return static_cast<int64_t>(mask);
}

Interval bitwise(KOp op, DType dtype, Interval a, Interval b) {
  if (op == KOp::kAnd) {
    if (a.lo >= 0 && b.lo >= 0) return {0, std::min(a.hi, b.hi)};
    if (a.lo >= 0) return {0, a.hi};
    return b.lo >= 0 ? Interval{0, b.hi} : range_of(dtype);
  }
  if (a.lo < 0 || b.lo < 0) return range_of(dtype);
  return {0, std::max(mask_over(a.hi), mask_over(b.hi))};
}

Interval shift(KOp op, DType dtype, Interval a, Interval b) {
  if (b.lo < 0 || b.hi > 62) return range_of(dtype);
  if (op == KOp::kShr) return hull(dtype, {a.lo >> b.lo, a.lo >> b.hi, a.hi >> b.lo, a.hi >> b.hi});
  const Wide least = Wide{1} << b.lo;
  const Wide most = Wide{1} << b.hi;
  return hull(dtype, {a.lo * least, a.lo * most, a.hi * least, a.hi * most});
}

}  // namespace

Interval range_of(DType dtype) {
  if (dtype == DType::kBool) return {0, 1};
  const int64_t bits = base::dtype_size_bytes(dtype) * 8;
  if (base::is_float(dtype) || bits == 64) return {};
  if (base::is_unsigned_int(dtype)) return {0, (int64_t{1} << bits) - 1};
  return {-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
}

Interval interval_of(KOp op, DType dtype, Interval a, Interval b) {
  // The bounds of u64 values would not fit.
  if (dtype == DType::kUInt64 || base::is_float(dtype)) return range_of(dtype);
  switch (op) {
    case KOp::kAdd:
      return hull(dtype, {Wide{a.lo} + b.lo, Wide{a.hi} + b.hi});
    case KOp::kSub:
      return hull(dtype, {Wide{a.lo} - b.hi, Wide{a.hi} - b.lo});
    case KOp::kMul:
      return hull(dtype,
                  {Wide{a.lo} * b.lo, Wide{a.lo} * b.hi, Wide{a.hi} * b.lo, Wide{a.hi} * b.hi});
    case KOp::kDiv:
      return divide(dtype, a, b);
    case KOp::kRem:
      return remainder(dtype, a, b);
    case KOp::kMin:
      return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case KOp::kMax:
      return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    case KOp::kAnd:
    case KOp::kOr:
    case KOp::kXor:
      return bitwise(op, dtype, a, b);
    case KOp::kShl:
    case KOp::kShr:
      return shift(op, dtype, a, b);
    default:
      return range_of(dtype);
  }
}

}  // namespace camshaft::ir
