// SPDX-License-Identifier: MIT
//
// Randomness that is a pure function of integers: a counter-based generator for building scenes,
// and value noise for textures. The standard library's distributions are not used because each
// implementation of them gives other numbers.
#pragma once

#include <array>
#include <cstdint>

#include "models/roadnet/exact_math.h"

namespace camshaft::roadnet {

/// Bijective mixing of 64 bits (the finaliser of splitmix64).
inline uint64_t mix64(uint64_t v) {
  v += 0x9e3779b97f4a7c15ull;
  v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9ull;
  v = (v ^ (v >> 27)) * 0x94d049bb133111ebull;
  return v ^ (v >> 31);
}

/// One hash of two or three numbers, in order.
inline uint64_t hash_of(uint64_t a, uint64_t b) {
  return mix64(mix64(a) ^ b);
}
inline uint64_t hash_of(uint64_t a, uint64_t b, uint64_t c) {
  return hash_of(hash_of(a, b), c);
}

/// Bijective mixing of 32 bits; cheap enough to run once a pixel.
inline uint32_t mix32(uint32_t v) {
  v ^= v >> 16;
  v *= 0x7feb352du;
  v ^= v >> 15;
  v *= 0x846ca68bu;
  return v ^ (v >> 16);
}

/// A stream of random numbers that depends on the seed alone. Not thread-safe; copy it freely.
class Rng {
 public:
  explicit Rng(uint64_t seed) : state_(mix64(seed)) {}

  uint64_t next() { return mix64(state_++); }

  /// Uniform in [0, 1), 24 bits.
  float uniform() { return static_cast<float>(next() >> 40) * (1.0f / 16777216.0f); }
  float uniform(float lo, float hi) { return lo + (hi - lo) * uniform(); }

  bool chance(float probability) { return uniform() < probability; }

  /// Uniform in 0 .. count-1.
  int below(int count) { return static_cast<int>((next() >> 33) % static_cast<uint64_t>(count)); }

  /// Mean 0, standard deviation 1, bounded by +-3.46 (a sum of four uniforms).
  float normal() {
    float sum = -2.0f;
    for (int i = 0; i < 4; ++i) {
      sum += uniform();
    }
    return sum * 1.7320508f;
  }

 private:
  uint64_t state_;
};

/// Smooth value noise over the plane, in [0, 1), period 256 in both axes, unit lattice.
class NoiseField {
 public:
  static constexpr int kPeriod = 256;

  NoiseField();

  float at(float x, float y) const {
    const int32_t xi = floor_int(x);
    const int32_t yi = floor_int(y);
    const float fx = ease(x - static_cast<float>(xi));
    const float fy = ease(y - static_cast<float>(yi));
    const uint32_t x0 = static_cast<uint32_t>(xi) & 255u;
    const uint32_t x1 = (x0 + 1) & 255u;
    const uint32_t y0 = (static_cast<uint32_t>(yi) & 255u) << 8;
    const uint32_t y1 = (y0 + 256u) & 0xff00u;
    const float top = mix(value(y0 | x0), value(y0 | x1), fx);
    const float bottom = mix(value(y1 | x0), value(y1 | x1), fx);
    return mix(top, bottom, fy) * (1.0f / 256.0f);
  }

 private:
  static float ease(float k) { return k * k * (3.0f - 2.0f * k); }
  float value(uint32_t index) const { return static_cast<float>(values_[index]); }

  std::array<uint8_t, 65536> values_;
};

/// The one field that all textures use; built on first use, then read-only and shared by threads.
const NoiseField& noise_field();

}  // namespace camshaft::roadnet
