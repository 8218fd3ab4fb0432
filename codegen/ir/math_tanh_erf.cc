// SPDX-License-Identifier: MIT
#include "codegen/ir/math_builder.h"

namespace camshaft::ir {
namespace {

constexpr double kTanhSplit = 0.625;

// (tanh(x) - x) / x^3 in x^2 for |x| <= 0.625, by fit_math.py.
// TanhF32: degree 4, error 2^-27.7 of tanh(x)
constexpr double kTanhF32[] = {-0.333332807, 0.133314058, -0.0537365153, 0.0206281822,
                               -0.00569234928};

// Below this erf(x) is x times a polynomial in x^2, above 1 - exp(a polynomial in x).
constexpr double kErfSplit = 0.875;

// erf(x) / x - 1 in x^2 for |x| <= 0.875, by fit_math.py.
// ErfF32: degree 6, error 2^-30.1 of erf(x)
constexpr double kErfF32[] = {0.128379166,   -0.376126289,    0.112836227,   -0.0268553644,
                              0.00519094197, -0.000802644179, 7.86788223e-05};
// ErfF64: degree 11, error 2^-56.3 of erf(x)
constexpr double kErfF64[] = {
    0x1.06eba8214db69p-3,  -0x1.812746b037a2bp-2,  0x1.ce2f21a0461e6p-4,  -0x1.b82ce313940c7p-6,
    0x1.565bcd38d6bd7p-8,  -0x1.c02dbbd81009dp-11, 0x1.f9a40d7a1d23cp-14, -0x1.f4e337bd9e8b3p-17,
    0x1.baae2eb92138cp-20, -0x1.64f4c6bd04a5ep-23, 0x1.11cdf0417c223p-26, -0x1.63c048300ba12p-30};

// log(1 - erf(x)) by fit_math.py.
// LogErfcF32: degree 7 on [0.875, 4], error 2^-33.3 of erf(x)
constexpr double kLogErfcF32[] = {0.000163591016, -1.12946117,    -0.63345629,    -0.108159065,
                                  0.025040837,    -0.00414112443, 0.000428269559, -2.05584383e-05};
// LogErfcF64: degree 19 on [0.875, 6], error 2^-61.1 of erf(x)
constexpr double kLogErfcF64[] = {
    0x1.bbc7febe296f8p-28, -0x1.20dd76c930708p+0,  -0x1.45f2ecd38efecp-1,  -0x1.a4f8860c3913fp-4,
    0x1.39934b1a91113p-6,  0x1.840ec8a01e657p-13,  -0x1.b1abd7d7bee41p-10, 0x1.1771129f1f411p-11,
    0x1.320686f357e63p-15, -0x1.f51974c7d20edp-14, 0x1.2144f5d4c4be9p-14,  -0x1.b2e8550e6b5e5p-16,
    0x1.e9d60eda67e23p-18, -0x1.ad0808c952c3fp-20, 0x1.2578d599da5b2p-22,  -0x1.3505ed1dbc619p-25,
    0x1.e4db3ad9c5589p-29, -0x1.0b1ca56de70b7p-32, 0x1.70d3da18a32bcp-37,  -0x1.e00a70653cf9dp-43};

// erf(x) / x in x^2, as a quotient, by fit_math.py.
// ErfRatioF32: degree 5 on [0, 15.21], error 2^-26.0 of erf(x)
constexpr double kErfRatioF32Above[] = {1.12837899,   0.192014694,    0.0529759228,
                                        0.0038398162, 0.000287483941, 2.04931257e-06};
constexpr double kErfRatioF32Below[] = {
    1, 0.503500342, 0.114787973, 0.0151151484, 0.00118237245, 3.82209837e-05};
constexpr double kErfRatioEnd = 15.21;  // from here on erf(x) is 1 to within 2^-24

}  // namespace

// tanh(|x|) = e / (e + 2) with e = expm1(2 |x|) = 2^n * expm1(r) + (2^n - 1). Near 0 its roundings
// add up to more than 2 ULP, so f32 has a polynomial there.
ExprId expand_tanh(MathBuilder& m, ExprId x) {
  // From this on tanh rounds to 1.
  const ExprId limit = m.real(m.is_f32() ? 20 : 40);
  const ExprId magnitude = m.abs(x);
  const ExprId twice = m.op(KOp::kMin, limit, m.add(magnitude, magnitude));  // NaN stays
  const auto [r, n] = reduce_exp(m, twice);
  const ExprId scale = m.power_of_two(n);
  const ExprId e = m.fma(scale, expm1_of_reduced(m, r), m.sub(scale, m.real(1)));
  ExprId value = m.div(e, m.add(e, m.real(2)));
  if (m.is_f32()) {
    const ExprId square = m.mul(x, x);
    const ExprId tail = m.mul(square, m.polynomial(square, kTanhF32));
    const ExprId small = m.fma(magnitude, tail, magnitude);
    value = m.select(m.less(magnitude, m.real(kTanhSplit)), small, value);
  }
  return m.with_sign(value, x);
}

ExprId expand_erf(MathBuilder& m, ExprId x) {
  const ExprId magnitude = m.abs(x);
  const ExprId square = m.mul(x, x);
  const ExprId ratio = m.is_f32() ? m.polynomial(square, kErfF32) : m.polynomial(square, kErfF64);
  const ExprId small = m.fma(magnitude, ratio, magnitude);
  // From 4 (6) on erf rounds to 1; NaN stays.
  const ExprId limited = m.op(KOp::kMin, m.real(m.is_f32() ? 4 : 6), magnitude);
  const ExprId exponent =
      m.is_f32() ? m.polynomial(limited, kLogErfcF32) : m.polynomial(limited, kLogErfcF64);
  const ExprId large = m.sub(m.real(1), normal_exp(m, exponent));
  return m.with_sign(m.select(m.less(magnitude, m.real(kErfSplit)), small, large), x);
}

// Without erf's two ways, one of which keeps small numbers exact: beside 1 they need not be.
ExprId one_plus_erf(MathBuilder& m, ExprId x) {
  const ExprId square = m.op(KOp::kMin, m.real(kErfRatioEnd), m.mul(x, x));  // NaN stays
  const ExprId above = m.mul(x, m.polynomial(square, kErfRatioF32Above));
  const ExprId erf = m.div(above, m.polynomial(square, kErfRatioF32Below));
  return m.add(m.clamp(erf, -1, 1), m.real(1));
}

}  // namespace camshaft::ir
