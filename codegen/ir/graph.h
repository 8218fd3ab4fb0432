// SPDX-License-Identifier: MIT
// The graph: typed SSA tensors with static shapes. The compiler's first representation.
//
// Semantics
// ---------
// - A Graph is a list of nodes in topological order. A node has exactly one result, a tensor of
//   known dtype and shape; NodeId names both. An ONNX node with several outputs becomes several
//   nodes. Nothing has side effects, so a node that reaches no output may be dropped.
// - Tensors are row-major in meaning; memory layout is the schedule's business. Rank 0 is a scalar.
//   A dimension may be 0; such a tensor has no elements.
// - Elementwise ops need operands of equal shape and (except Select's condition) equal dtype:
//   broadcasting is always an explicit Broadcast node. Comparisons give kBool.
// - Floats are IEEE 754 in their dtype; f16 and bf16 are computed in f32 and rounded. Integer
//   arithmetic wraps. Integer Div and Rem truncate toward zero (as in C); division by zero gives 0.
//   Rem of floats is fmod. Integer Pow wraps; a negative exponent is a truncating division of 1.
//   Max and Min give NaN if either operand is NaN. Round is to nearest, ties to even. Cast from
//   float to integer truncates toward zero and saturates, NaN gives 0; cast to bool is x != 0.
//   Shifts are of unsigned integers; by the number of bits or more they give 0.
// - Reduce, ArgReduce keep the reduced axes with extent 1 (a Reshape drops them). The order of
//   float summation is not specified. A reduction over no elements gives its identity (sum 0,
//   prod 1, max -inf or the lowest integer, min +inf or the highest).
//   ArgReduce over an axis with a NaN gives some index of the axis.
// - A Pool window that meets only padding gives the identity too (average: 0). Pad's kReflect pads
//   at most extent - 1 on a side, kWrap at most the extent. A Gather index out of range is an error
//   of the model: the oracle refuses it, a kernel must not read outside the tensor.
// - Conv and MatMul of f16 or bf16 give f32, in which they are summed.
// - Conv, MatMul, Pool, Reduce stay structured down to lowering.
//
// The same contract is executable: infer_type() and verify_graph() check it, and
// the oracle (oracle.h) computes it in double precision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/status.h"

namespace camshaft::ir {

using base::DType;
using Shape = std::vector<int64_t>;
using NodeId = int32_t;
inline constexpr NodeId kNoNode = -1;

constexpr bool is_half(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

struct TensorType {
  DType dtype = DType::kFloat32;
  Shape shape;

  int rank() const { return static_cast<int>(shape.size()); }
  int64_t elements() const;    // product of the extents; 1 for a scalar
  int64_t size_bytes() const;  // dense row-major
  bool operator==(const TensorType&) const = default;
};

// "f32[1x3x224x224]"; a scalar is "f32[]".
std::string to_string(const TensorType& type);

enum class Op : uint8_t {
  // Sources
  kInput,
  kConstant,
  // Elementwise, one operand
  kNeg,
  kAbs,
  kExp,
  kLog,
  kSqrt,
  kSin,
  kCos,
  kTanh,
  kSigmoid,
  kErf,
  kAtan,
  kFloor,
  kCeil,
  kRound,
  kNot,      // bool: logical; integers: bitwise
  kIsNan,    // -> bool
  kCast,     // CastAttrs
  kBitcast,  // CastAttrs: the same bits as another dtype of the same size
  // Elementwise, two operands
  kAdd,
  kSub,
  kMul,
  kDiv,
  kRem,
  kPow,
  kMin,
  kMax,
  kEqual,      // -> bool
  kLess,       // -> bool
  kLessEqual,  // -> bool
  kAnd,        // bool: logical; integers: bitwise
  kOr,
  kXor,
  kShiftLeft,
  kShiftRight,
  // Elementwise, three operands
  kSelect,  // (bool condition, then, else)
  // Movement: no arithmetic, each element of the result is one element of an operand or a constant
  kReshape,    // ReshapeAttrs
  kTranspose,  // TransposeAttrs
  kBroadcast,  // BroadcastAttrs: equal rank, extents 1 stretch
  kSlice,      // SliceAttrs: a negative step walks backwards (that is Flip)
  kPad,        // PadAttrs
  kConcat,     // ConcatAttrs, one or more operands
  // Structured
  kReduce,     // ReduceAttrs
  kArgReduce,  // ArgReduceAttrs -> i64
  kScan,       // ScanAttrs: cumulative sum or product
  kMatMul,     // [B..., M, K] x [B..., K, N] -> [B..., M, N]; batch axes equal
  kConv,       // ConvAttrs; (x [N,C,spatial...], w [O,C/groups,kernel...]) -> [N,O,spatial...]
  kPool,       // PoolAttrs; x [N,C,spatial...] -> [N,C,spatial...]
  kGather,     // GatherAttrs; (data, integer indices)
  kScatter,    // ScatterAttrs; (data [N, ...], integer rows [M], updates [M, ...]) -> data's type
  kTopK,       // TopKAttrs -> i64 indices, best first
  kSuppress,  // SuppressAttrs: greedy suppression of boxes that overlap a better one -> bool [G, n]
};
inline constexpr int kOpCount = static_cast<int>(Op::kSuppress) + 1;

enum class OpClass : uint8_t { kSource, kElementwise, kMovement, kStructured };

// One row of the op table, the only list of ops and what they take.
struct OpInfo {
  Op op;
  const char* name;  // as printed: "conv"
  OpClass op_class;
  int8_t arity;  // number of operands; -1: one or more
};
const OpInfo& op_info(Op op);
inline bool is_elementwise(Op op) {
  return op_info(op).op_class == OpClass::kElementwise;
}
inline bool is_movement(Op op) {
  return op_info(op).op_class == OpClass::kMovement;
}
inline bool is_structured(Op op) {
  return op_info(op).op_class == OpClass::kStructured;
}

// A constant's data: dense row-major elements of `type`, little-endian.
struct Literal {
  TensorType type;
  std::vector<std::byte> bytes;

  template <typename T>
  const T* data() const {
    return reinterpret_cast<const T*>(bytes.data());
  }
  template <typename T>
  T* data() {
    return reinterpret_cast<T*>(bytes.data());
  }
};

struct ConstantAttrs {
  std::shared_ptr<const Literal> literal;  // shared between graphs; never null
};
struct CastAttrs {
  DType to;
};
struct ReshapeAttrs {
  Shape shape;  // all extents given; same number of elements
};
struct TransposeAttrs {
  std::vector<int> perm;  // result axis i is operand axis perm[i]
};
struct BroadcastAttrs {
  Shape shape;
};
struct SliceAttrs {
  Shape begin;   // first element taken on each axis
  Shape extent;  // elements taken: result shape
  Shape step;    // not 0
};
enum class PadMode : uint8_t { kConstant, kReflect, kEdge, kWrap };
struct PadAttrs {
  Shape before;  // >= 0 (a Slice crops)
  Shape after;   // >= 0
  PadMode mode = PadMode::kConstant;
  double value = 0;  // kConstant: converted to the operand's dtype
};
struct ConcatAttrs {
  int axis = 0;
};
enum class ReduceKind : uint8_t { kSum, kProd, kMax, kMin };
struct ReduceAttrs {
  ReduceKind kind = ReduceKind::kSum;
  std::vector<int> axes;  // sorted, unique
};
struct ArgReduceAttrs {
  ReduceKind kind = ReduceKind::kMax;  // kMax or kMin
  int axis = 0;
  bool select_last = false;  // among equals
};
struct ScanAttrs {
  ReduceKind kind = ReduceKind::kSum;
  int axis = 0;
  bool exclusive = false;
  bool reverse = false;
};
// Window attributes have one entry a spatial axis.
struct ConvAttrs {
  Shape strides;
  Shape dilations;
  Shape pads_begin;  // zeros before; >= 0
  Shape pads_end;
  int64_t groups = 1;
};
enum class PoolKind : uint8_t { kMax, kAverage };
struct PoolAttrs {
  PoolKind kind = PoolKind::kMax;
  Shape kernel;
  Shape strides;
  Shape dilations;
  Shape pads_begin;
  Shape pads_end;
  // Taps beyond the padded extent never count (ceil_mode). Taps in the padding never win a max;
  // they count in an average's divisor only if this is set.
  bool count_include_pad = false;
  bool ceil_mode = false;
};
struct GatherAttrs {
  int axis = 0;  // result shape: data[:axis] + indices + data[axis+1:]; negative indices count from
                 // the end
};
// The updates go into copies of data's rows one after the other: update j into row rows[j]. A row
// number outside [0, N), negative ones too, drops its update.
enum class ScatterKind : uint8_t { kReplace, kSum, kProd, kMax, kMin };
struct ScatterAttrs {
  ScatterKind kind = ScatterKind::kReplace;
};
// The indices along `axis` of the `count` largest (smallest) elements in falling (rising) order; of
// equal elements the one with the lower index comes first. NaN counts as larger than any number.
struct TopKAttrs {
  int axis = 0;
  int64_t count = 1;
  bool largest = true;
};
// Operands: boxes f32 [G, n, 4], each (y1, x1, y2, x2) with y1 <= y2 and x1 <= x2, best first in
// each group; candidates bool [G, n]; threshold f32 []. Going down the list, a candidate is kept
// unless its intersection over union with a kept one is above the threshold or max_kept of its
// group are kept already.
struct SuppressAttrs {
  int64_t max_kept = INT64_MAX;
};

using Attrs = std::variant<std::monostate, ConstantAttrs, CastAttrs, ReshapeAttrs, TransposeAttrs,
                           BroadcastAttrs, SliceAttrs, PadAttrs, ConcatAttrs, ReduceAttrs,
                           ArgReduceAttrs, ScanAttrs, ConvAttrs, PoolAttrs, GatherAttrs,
                           ScatterAttrs, TopKAttrs, SuppressAttrs>;

struct Node {
  Op op = Op::kInput;
  std::vector<NodeId> inputs;
  Attrs attrs;
  TensorType type;
  std::string name;  // of the ONNX node or value it came from; for messages, need not be unique

  template <typename T>
  const T& as() const {
    const T* attributes = std::get_if<T>(&attrs);
    CAMSHAFT_CHECK(attributes != nullptr);
    return *attributes;
  }
};

// A named part of an output: elements [offset, offset + product(shape)) of the flattened tensor.
struct OutputSlice {
  std::string name;
  int64_t offset = 0;
  Shape shape;
  std::string unit;  // "m", "1" for a probability, "" if unknown
};

struct GraphInput {
  std::string name;
  NodeId node = kNoNode;
  std::string unit;
};
struct GraphOutput {
  std::string name;
  NodeId node = kNoNode;
  std::string unit;
  std::vector<OutputSlice> slices;
  // Axes whose extent depends on data: the shape has the most that it can be, and elements beyond
  // the extent of a run mean nothing. Ascending. What it is in a run is in a further output.
  std::vector<int> counted_axes = {};
};

// The result type of `op`, or why the operands or attributes are wrong. kInput and kConstant have
// no rule here. The sentence in the log ring names the op and the types.
base::Result<TensorType> infer_type(Op op, const std::vector<TensorType>& operands,
                                    const Attrs& attrs);

// A list of nodes with named inputs and outputs. A value: copyable (literals are shared).
class Graph {
 public:
  std::string name;
  std::vector<GraphInput> inputs;
  std::vector<GraphOutput> outputs;

  int size() const { return static_cast<int>(nodes_.size()); }
  const Node& node(NodeId id) const;
  const std::vector<Node>& nodes() const { return nodes_; }

  // Appends a graph input and lists it in `inputs`.
  NodeId add_input(std::string_view input_name, TensorType type);
  NodeId add_constant(Literal literal, std::string_view node_name = "");
  NodeId add_constant(std::shared_ptr<const Literal> literal, std::string_view node_name = "");
  // A constant of `type` with every element `value` (a Broadcast of a scalar where rank > 0).
  NodeId add_splat(const TensorType& type, double value);
  // Appends a node whose type follows from infer_type(); operands that don't fit are a bug
  // (CAMSHAFT_CHECK): callers with untrusted attributes ask infer_type() first.
  NodeId add(Op op, std::vector<NodeId> operands, Attrs attrs = {},
             std::string_view node_name = "");
  void add_output(std::string_view output_name, NodeId node);

 private:
  std::vector<Node> nodes_;
};

// For each node, the nodes that read it (a node listed twice if it reads it twice). Outputs do not
// count.
std::vector<std::vector<NodeId>> consumers_of(const Graph& graph);

// The graph as text, one node a line, and back: the form that tests are written in.
//   graph "name" {
//     %0 = input "x" : f32[1x3x8x8]
//     %1 = constant {0.5, -1} : f32[2] "bias"
//     %2 = conv(%0, %5) {strides=[2,2], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1],
//     groups=1} : f32[1x2x4x4] "conv1" output "y" = %2
//       slice "lead" {offset=4, shape=[2,2]} unit "m"
//   }
// Inputs, outputs and slices may end in `unit "m"`. A long constant of equal elements prints as
// `constant {splat 0}`; another one in full when `with_data`, else as `{...}`, which parse refuses.
// parse also takes `{seed N}` (seeded_literal() of literal.h), comments after //, names instead of
// numbers (%scale), and lets a node's type or an attribute with a default be left out.
std::string print_graph(const Graph& graph, bool with_data = true);
base::Result<Graph> parse_graph(std::string_view text);

// Checks every rule above; the first broken one goes to the log ring with its node.
base::Status verify_graph(const Graph& graph);

}  // namespace camshaft::ir
