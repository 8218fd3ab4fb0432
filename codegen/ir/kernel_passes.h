// SPDX-License-Identifier: MIT
// Passes over the kernel IR, run in this order between lowering and rendering by prepare_kernel().
#pragma once

#include <cstdint>
#include <optional>

#include "codegen/ir/kernel.h"

namespace camshaft::ir {

// Replaces kVector loops by lanes: the loop variable becomes a ramp; an access whose index has
// stride 1 in it becomes a vector access, stride 0 a broadcast, anything else a gather or scatter.
// A store with stride 0 is a bug (every lane would write one element). A loop runs as vectors of
// the largest power of two that is at most its extent and `max_lanes`, in a serial loop if there
// are several; what is left runs as vectors of half the lanes, a quarter, and so on down to 4, and
// the last iterations one by one. If the body touches local arrays, the loop over vectors is
// unrolled, so that the arrays can live in registers.
// max_lanes 1 turns vector loops into serial ones. max_lanes is in elements of 4 bytes; a loop
// whose widest element is 8 bytes gets half, unless the kernel has images. Besides Let and Store
// the body may hold unrolled and serial loops whose bounds do not depend on the vector variable.
Kernel vectorize_loops(Kernel kernel, int32_t max_lanes);

// Expands kUnrolled loops, and serial ones of at most one iteration, innermost first; constants
// fold on the way, and a Let of a constant or a variable disappears into its uses.
Kernel unroll_loops(Kernel kernel);

// What a target can compute by itself; the rest is decomposed.
struct MathSupport {
  bool fma = true;       // kFma as one instruction; otherwise it becomes mul and add
  bool rounding = true;  // kFloor, kCeil, kRound
  bool exp = false;      // kExp ... kPow: none of the CPU targets has them
  bool log = false;
  bool sin_cos = false;
  bool atan = false;
  bool tanh = false;
  bool erf = false;
  bool sigmoid = false;
  bool pow = false;
  // false: what is rounded to bf16 and stored as f32 may stay as it is.
  bool rounds_wide = true;
};

// Replaces math ops that the target lacks by polynomials and bit operations, without branches.
// Infinities, NaN, denormals, overflow and underflow come out as in C's library. Maximum errors, in
// ULP of the exact result:
//   f32: exp 1.2, log 1, sin and cos 1.6, atan 1.6, tanh 1.6, erf 1.4, sigmoid 2.5,
//   pow 0.6
//   f64: exp 1.2, log 1, sin and cos 1.6, atan 1.6, tanh 2.7, erf 1.4, sigmoid 2.5,
//   pow 8
// sin and cos: up to |x| = 1e5 (f64: 1e9). Beyond, f32 is within 2e-7 absolute up to 2^50, and from
// there on, where the number of quarter turns is no longer exact, both give NaN. sigmoid is 0 where
// the result would be a denormal near the smallest (f32: below -88.4, f64: below -709.4). Where the
// target flushes denormals, so do these.
//
// 1 + erf(x) in f32 is taken as one function, within 2^-21 of the exact result, absolutely: 0 below
// x = -3.9 and 2 above 3.9. x may be a quotient by a constant, which is taken as a product.
//
// What a Store rounds to bf16 needs no more accuracy than that. A sigmoid that only factors, signs
// and selections separate from such a store is within 2^-10.2 of the exact result, relatively (a
// unit in the last place of bf16 is at least 2^-8); below x = -86, where it is at most 2^-124, it
// is at most twice that instead. x * sigmoid(x) is taken as one function, with the same bound, that
// goes to 0 (not NaN) for -infinity. Both were measured over all x that bf16 has.
Kernel decompose_math(Kernel kernel, const MathSupport& support);

// The three above in order, then dead Let and duplicate-store clean-up. A kernel with images gets
// vectors of a texel.
Kernel prepare_kernel(Kernel kernel, int32_t max_lanes, const MathSupport& support);

bool has_images(const Kernel& kernel);

// Replaces, in a prepared kernel, loads and stores of images by kTexel and StoreTexel. Four
// consecutive elements that an index's form shows to be one texel are loaded at once, any others
// one by one. Prefetches of images go away. Nothing where a store is not of a whole texel.
std::optional<Kernel> access_texels(Kernel kernel);

}  // namespace camshaft::ir
