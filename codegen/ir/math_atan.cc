// SPDX-License-Identifier: MIT
#include "codegen/ir/math_builder.h"

namespace camshaft::ir {
namespace {

// pi / 2 in two parts of the format.
constexpr double kHalfPiF32[] = {0x1.921fb6p+0, -0x1.777a5cp-25};
constexpr double kHalfPiF64[] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};

// (atan(t) - t) / t^3 in t^2 for 0 <= t <= 1, by fit_math.py.
// AtanF32: degree 8, error 2^-28.5 of atan(t)
constexpr double kAtanF32[] = {-0.333332986,  0.199985296,   -0.142640144,
                               0.109508619,   -0.0839921311, 0.0578790233,
                               -0.0310937651, 0.010866452,   -0.00178220216};
// AtanF64: degree 19, error 2^-57.3 of atan(t)
constexpr double kAtanF64[] = {
    -0x1.5555555555526p-2, 0x1.99999999955b1p-3,  -0x1.249249237f4aap-3,  0x1.c71c717fcc6c0p-4,
    -0x1.745d11ae41849p-4, 0x1.3b136697f8ccdp-4,  -0x1.110e51163a429p-4,  0x1.e1bba5b0e10e8p-5,
    -0x1.ae5e6fad5722dp-5, 0x1.82dacda753fe3p-5,  -0x1.59a3e5f9fd444p-5,  0x1.2c2e2a9ee5b7dp-5,
    -0x1.e9f96fdafc7fdp-6, 0x1.683c0702c3dc0p-6,  -0x1.c78e5aaee24fap-7,  0x1.d7b712f9e0889p-8,
    -0x1.7a376f15514ebp-9, 0x1.b3f7b5ed067dep-11, -0x1.3f33a50ac4150p-13, 0x1.bbe976abc80fdp-17};

}  // namespace

// atan(|x|) is atan(t) with t = |x| up to 1, and beyond pi / 2 - atan(t) with t = 1 / |x|.
ExprId expand_atan(MathBuilder& m, ExprId x) {
  const double* half_pi = m.is_f32() ? kHalfPiF32 : kHalfPiF64;
  const ExprId magnitude = m.abs(x);
  const ExprId is_large = m.less(m.real(1), magnitude);  // NaN is not
  const ExprId t = m.select(is_large, m.div(m.real(1), magnitude), magnitude);
  const ExprId square = m.mul(t, t);
  const ExprId ratio = m.is_f32() ? m.polynomial(square, kAtanF32) : m.polynomial(square, kAtanF64);
  const ExprId cube = m.mul(square, t);
  const ExprId small = m.fma(cube, ratio, t);
  const ExprId tail = m.fma(cube, ratio, m.real(-half_pi[1]));
  const ExprId large = m.sub(m.real(half_pi[0]), m.add(t, tail));
  return m.with_sign(m.select(is_large, large, small), x);
}

}  // namespace camshaft::ir
