// SPDX-License-Identifier: MIT
// Reading and making literals element by element, whatever their dtype.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/ir/graph.h"

namespace camshaft::ir {

// `value` rounded to the nearest value of a float dtype, ties to even; overflow gives infinity.
double round_to_dtype(double value, DType dtype);

// `value` reduced modulo 2^bits of an integer dtype and sign- or zero-extended (u64: bit pattern);
// for bool, whether it is not 0.
int64_t wrap_to_dtype(int64_t value, DType dtype);

// Cast from a double to an integer dtype or bool, as the graph does it: truncates and saturates,
// NaN gives 0; bool is value != 0. u64 by bit pattern.
int64_t saturate_to_dtype(double value, DType dtype);

// Element i of a literal, exact except for 64-bit integers beyond 2^53.
double literal_as_double(const Literal& literal, int64_t i);
// Element i of an integer or bool literal; u64 by bit pattern. A float literal is a bug.
int64_t literal_as_int(const Literal& literal, int64_t i);

// Stores `value` as element i: rounded to a float dtype, or cast as saturate_to_dtype() does.
void set_literal_element(Literal& literal, int64_t i, double value);
// Stores the low bits of `value` as element i of an integer or bool literal.
void set_literal_element_int(Literal& literal, int64_t i, int64_t value);

// A literal of zeros.
Literal zero_literal(TensorType type);
// Every element `value`, converted as set_literal_element() does.
Literal splat_literal(TensorType type, double value);
// The elements given, row-major; as many as the type has (a different number is a bug).
Literal make_literal(TensorType type, const std::vector<double>& values);

// Reproducible test data: floats in [-1, 1), integers in [-8, 8) (unsigned: [0, 16)), bools. The
// same on every machine.
Literal seeded_literal(TensorType type, uint64_t seed);

// True if all elements have the same bits; an empty literal has no such element.
bool is_splat(const Literal& literal);
// Same type and same bits.
bool equal_literals(const Literal& a, const Literal& b);

}  // namespace camshaft::ir
