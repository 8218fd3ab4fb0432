// SPDX-License-Identifier: MIT
//
// Arithmetic for the renderer that gives the same bits on every machine and compiler.
//
// Only +, -, *, / and sqrt are used, which IEEE 754 defines exactly. The C library's sin, exp and
// pow are not: their last bit depends on its version and on the CPU it dispatches to. Fused
// multiply-add is switched off for the same reason; GCC has no such pragma and needs
// -ffp-contract=off on targets that have the instruction.
#pragma once

#include <cmath>
#include <cstdint>

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

namespace camshaft::roadnet {

inline constexpr double kPi = 3.14159265358979323846;

/// A point or a direction in the car frame: metres, x forward, y left, z up.
struct Vec3 {
  float x = 0, y = 0, z = 0;
};

inline Vec3 operator+(Vec3 a, Vec3 b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
inline Vec3 operator-(Vec3 a, Vec3 b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}
inline Vec3 operator*(Vec3 a, float k) {
  return {a.x * k, a.y * k, a.z * k};
}
inline float dot(Vec3 a, Vec3 b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}

/// Linear light or albedo, one number a primary.
struct Rgb {
  float r = 0, g = 0, b = 0;
};

inline Rgb operator+(Rgb a, Rgb b) {
  return {a.r + b.r, a.g + b.g, a.b + b.b};
}
inline Rgb operator-(Rgb a, Rgb b) {
  return {a.r - b.r, a.g - b.g, a.b - b.b};
}
inline Rgb operator*(Rgb a, Rgb b) {
  return {a.r * b.r, a.g * b.g, a.b * b.b};
}
inline Rgb operator*(Rgb a, float k) {
  return {a.r * k, a.g * k, a.b * k};
}

inline float clamp01(float v) {
  return v < 0.0f ? 0.0f : (v > 1.0f ? 1.0f : v);
}
inline float clampf(float v, float lo, float hi) {
  return v < lo ? lo : (v > hi ? hi : v);
}
inline float minf(float a, float b) {
  return a < b ? a : b;
}
inline float maxf(float a, float b) {
  return a > b ? a : b;
}
inline float absf(float v) {
  return v < 0.0f ? -v : v;
}
inline float mix(float a, float b, float k) {
  return a + (b - a) * k;
}
inline Rgb mix(Rgb a, Rgb b, float k) {
  return a + (b + a * -1.0f) * k;
}

/// 0 below `lo`, 1 above `hi`, a cubic between; lo < hi.
inline float smoothstep(float lo, float hi, float v) {
  const float k = clamp01((v - lo) / (hi - lo));
  return k * k * (3.0f - 2.0f * k);
}

/// Largest integer not above v; |v| < 2^31.
inline int32_t floor_int(float v) {
  const int32_t i = static_cast<int32_t>(v);
  return i - (v < static_cast<float>(i) ? 1 : 0);
}

/// The positive remainder of v / period; period > 0.
inline double wrap(double v, double period) {
  return v - std::floor(v / period) * period;
}

/// Sine to about 1e-13 by range reduction and a Taylor polynomial; |v| up to some 1e6.
inline double exact_sin(double v) {
  const double k = std::floor(v / kPi + 0.5);
  const double r = v - k * kPi;
  const double r2 = r * r;
  double sum = 1.0;
  for (int n = 19; n >= 3; n -= 2) {
    sum = 1.0 - r2 / static_cast<double>(n * (n - 1)) * sum;
  }
  const bool odd = (static_cast<int64_t>(k) & 1) != 0;
  return odd ? -r * sum : r * sum;
}

inline double exact_cos(double v) {
  return exact_sin(v + 0.5 * kPi);
}

/// e^v to about 1e-12, by halving the argument ten times; -50 < v < 50.
inline double exact_exp(double v) {
  const double r = v / 1024.0;
  double p = 1.0;
  for (int n = 8; n >= 1; --n) {
    p = 1.0 + r / n * p;
  }
  for (int i = 0; i < 10; ++i) {
    p = p * p;
  }
  return p;
}

}  // namespace camshaft::roadnet
