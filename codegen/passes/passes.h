// SPDX-License-Identifier: MIT
// The rewrites of the graph, one file each. All are functions from graph to graph: they keep the
// meaning, the inputs and the outputs (names, units, slices), give equal results for equal graphs,
// change nothing on their own result (idempotent), and drop what they made unreachable.
//
// "Exact" below means that every finite, infinite and NaN result keeps its bits; the sign of a zero
// and the payload of a NaN may change.
#pragma once

#include <set>

#include "codegen/ir/graph.h"

namespace camshaft::passes {

using ir::Graph;

// Drops nodes that no output needs. Inputs stay: they are the caller's interface. Exact.
Graph remove_dead(const Graph& graph);

// Computes nodes whose operands are all constants (or Broadcasts of constants), with the oracle,
// rounding once to the node's dtype. A Broadcast stays: constants don't grow beyond twice the bytes
// they were computed from, by a Cast or a table's Gather four times (64 KiB are always allowed).
// Exact where the runtime's functions are correctly rounded; otherwise this is the more precise
// value.
Graph fold_constants(const Graph& graph);

// Elementwise identities over one node and its operands: x+0, x*1, --x, x/2^k, pow by a small
// exponent, min(x,x), select on a known condition, a constant operand to the right of a commutative
// op, ... Exact, except pow: x^2 as x*x, x^3 as x*x*x, x^0.5 as sqrt(x) and x^-0.5 as 1/sqrt(x) are
// within 2 ULP of pow, and sqrt(-inf) is NaN where pow gives +inf.
Graph simplify_arithmetic(const Graph& graph);

// Casts to the same dtype, and casts of casts where the first one loses nothing. Exact.
Graph simplify_casts(const Graph& graph);

// op(op(x, a), b) with constants a and b becomes op(x, op(a, b)): for max, min, and, or, xor, and
// for integer add and mul, which are associative. Exact.
Graph merge_constant_operands(const Graph& graph);

// Movement nodes that move nothing (a Reshape to the same shape, a Pad by 0, ...), and pairs that
// are one: Reshape, Transpose, Broadcast, Slice, Pad of its own kind; a Transpose of unit axes is a
// Reshape; a Slice of a Concat or Pad takes from the piece that it lies in. Exact.
Graph simplify_movement(const Graph& graph);

// Moves Reshape behind elementwise nodes and reductions, so that they follow the node that made
// their operand without a change of shape between them and fuse with it: bias and activation of a
// flattened matrix product. Exact.
Graph sink_reshapes(const Graph& graph);

// Moves Broadcast behind elementwise nodes all of whose operands stretch along the same axes, and
// behind Reshape, Transpose and Slice: compute the small tensor, then broadcast. Exact.
Graph sink_broadcasts(const Graph& graph);

// A Gather by constant indices that are evenly spaced becomes a Slice. Exact.
Graph slice_gathers(const Graph& graph);

// A Pad with zeros of spatial axes joins the pads of the Conv behind it; of a Pool behind it where
// padding has the same meaning there (average that counts it, maximum over -inf). Exact.
Graph merge_pads(const Graph& graph);

// Conv or MatMul with constant weights, then Mul, Div, Add, Sub, Neg by constants that depend on
// the output channel only (batch norm, bias, scale), Reshape and Transpose in between allowed: the
// scale goes into the weights, the rest into one Add right behind the root. Not exact: weights are
// scaled in double and rounded once, so results differ by rounding.
Graph fold_channel_scale(const Graph& graph);

// Channel shuffles between convolutions with known weights: the weights are put in another order
// instead, so that what is left of a shuffle are Slices of whole runs of channels and a Concat of
// them. Through depthwise convolutions, elementwise nodes and pools, too; where anything else reads
// the channels, they stay in their order. Not exact: sums run over the channels in another order.
Graph sort_channels(const Graph& graph);

// Conv, MatMul and Pool of f16 or bf16 become ones of f32 between Casts: each element is widened
// once, not once a use, and the strategies need know one kind of float. The Add of a constant bias
// joins them. Not exact: an f32 sum is rounded before the result is, and a product not before its
// bias is added.
Graph widen_halves(const Graph& graph);

// Merges equal nodes, constants of equal bits included; the first one's name stays. Exact.
Graph merge_common_subexpressions(const Graph& graph);

// For targets that sum products of bytes: Conv and MatMul of i32 that are made of bytes less a zero
// point, by known weights that fit an i8, become ones of u8 and i8, with the zero point taken out
// of the sum. Exact. No step of the pipeline, either.
Graph byte_products(const Graph& graph);

// Conv and MatMul of f32 that are made of bytes less a zero point, times a scale, by known weights
// that are integers of an i8 times a scale, become such of i32, for byte_products(). Not exact: the
// sum is, the floats that it stands for were rounded.
Graph quantized_products(const Graph& graph);

// The storage of a target that computes in `dtype`, f16 or bf16: Conv and MatMul of f32 read their
// operands in it, and so lie the values `stored`, f32 nodes of the graph. Sums and all other
// arithmetic stay in f32, inputs and outputs keep their types, and depthwise convolutions read what
// there is. The values `rounded` are rounded to the dtype, too, and stay f32. Convolutions of an
// input, which has few channels, stay as they are; with `of_inputs` those of many taps don't.
// Not exact: narrow values are rounded. No step of the pipeline, but the last pass after it, for a
// target.
bool is_depthwise(const Graph& graph, ir::NodeId id);
Graph narrow_floats(const Graph& graph, base::DType dtype, const std::set<ir::NodeId>& stored,
                    const std::set<ir::NodeId>& rounded = {}, bool of_inputs = false);

}  // namespace camshaft::passes
