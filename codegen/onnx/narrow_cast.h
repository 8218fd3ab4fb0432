// SPDX-License-Identifier: MIT
// Conversions from and to the narrow types, in integer arithmetic on the bits: what Cast and
// QuantizeLinear do. The rules are those of ONNX's Cast.
#pragma once

#include <cstdint>

#include "codegen/onnx/element_type.h"
#include "codegen/onnx/value.h"

namespace camshaft::onnx {

// How a float becomes a float8e8m0.
enum class PowerRounding : uint8_t {
  kUp,  // to the next power of two that is not smaller
  kDown,
  kNearest,  // ties up
};

struct NarrowRounding {
  // Floats of 8 bits: what is too large becomes the largest number, not infinity or NaN. For
  // float8e8m0, too, what is too small becomes the smallest. Shorter floats always saturate.
  bool saturate = true;
  PowerRounding power = PowerRounding::kUp;
};

// A value of a narrow type as numbers of `to`.
Value decode_narrow(Value x, DType to);

// Numbers as a value of a narrow type. Floats round to the nearest, ties to even; integers keep
// their low bits, a float on the way to one is truncated first.
Value encode_narrow(Value x, Narrow to, const NarrowRounding& rounding = {});

// Cast between any two types.
Value convert(Value x, ElementType to, const NarrowRounding& rounding = {});

// The codes of a value of a narrow type as u8, and back.
Value narrow_codes(Value x);
Value from_narrow_codes(Value codes, Narrow type);

}  // namespace camshaft::onnx
