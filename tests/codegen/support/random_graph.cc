// SPDX-License-Identifier: MIT
#include "tests/codegen/support/random_graph.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "codegen/ir/literal.h"

namespace camshaft::ir {
namespace {

constexpr int64_t kMaxElements = 3000;

class Builder {
 public:
  Builder(uint64_t seed, const RandomGraphOptions& options)
      : state_(seed * 7919 + 1), options_(options) {
    graph_.name = "random " + std::to_string(seed);
    const Shape shapes[] = {{2, 3, 4}, {1, 4, 5, 5}, {6, 4}, {2, 1, 6}, {1, 8, 9}};
    for (int i = 0; i < 3; ++i) {
      graph_.add_input("x" + std::to_string(i), {options.float_type, shapes[below(5)]});
    }
  }

  Graph build() {
    for (int i = 0; i < options_.steps; ++i) step();
    // The newest values, which use most of the others, and one from the middle.
    for (int i = 1; i <= 3; ++i) graph_.add_output("y" + std::to_string(i), graph_.size() - i);
    graph_.add_output("y4", static_cast<NodeId>(below(graph_.size())));
    return std::move(graph_);
  }

 private:
  // SplitMix64.
  uint64_t next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <typename T, size_t N>
  T pick(const T (&choices)[N]) {
    return choices[below(N)];
  }

  TensorType type(NodeId id) const { return graph_.node(id).type; }
  bool is_float(NodeId id) const { return base::is_float(type(id).dtype); }

  // Mostly one of the newest nodes, so that chains grow.
  NodeId any() {
    const int64_t back = chance(75) ? below(std::min(4, graph_.size())) : below(graph_.size());
    return static_cast<NodeId>(graph_.size() - 1 - back);
  }
  NodeId any_float() {
    for (int i = 0; i < 20; ++i) {
      const NodeId id = any();
      if (type(id).dtype == options_.float_type) return id;
    }
    return 0;
  }

  // Adds the node if it is well typed and small.
  NodeId try_add(Op op, std::vector<NodeId> operands, Attrs attrs = {}) {
    std::vector<TensorType> types;
    for (const NodeId id : operands) types.push_back(type(id));
    const auto inferred = infer_type(op, types, attrs);
    if (!inferred || inferred->elements() > kMaxElements) return kNoNode;
    return graph_.add(op, std::move(operands), std::move(attrs));
  }

  NodeId constant(const TensorType& wanted) {
    const double special[] = {0, 1, -1, 2, 0.5, 3, 4, -0.25};
    const int64_t kind = below(4);
    if (kind == 0) return graph_.add_splat(wanted, pick(special));
    if (kind == 1) return graph_.add_constant(splat_literal(wanted, pick(special)));
    if (kind == 2) return graph_.add_constant(seeded_literal(wanted, next()));
    TensorType small = wanted;
    for (int64_t& extent : small.shape) extent = chance(60) ? 1 : extent;
    const NodeId source = graph_.add_constant(seeded_literal(small, next()));
    return graph_.add(Op::kBroadcast, {source}, BroadcastAttrs{wanted.shape});
  }

  // One number a channel.
  NodeId channel_constant(NodeId id, size_t axis) {
    const Shape full = type(id).shape;
    Literal literal = seeded_literal({type(id).dtype, {full[axis]}}, next());
    Shape shape(full.size(), 1);
    shape[axis] = full[axis];
    if (chance(50)) literal.type.shape = shape;
    NodeId source = graph_.add_constant(std::move(literal));
    if (type(source).shape != shape)
      source = graph_.add(Op::kReshape, {source}, ReshapeAttrs{shape});
    return graph_.add(Op::kBroadcast, {source}, BroadcastAttrs{full});
  }

  NodeId unary(NodeId x) {
    const Op smooth[] = {Op::kNeg, Op::kAbs, Op::kTanh, Op::kSigmoid, Op::kSin, Op::kCos, Op::kErf, Op::kAtan};
    const Op rough[] = {Op::kNeg, Op::kAbs, Op::kFloor, Op::kCeil, Op::kRound, Op::kSqrt, Op::kLog};
    const Op op = options_.smooth || chance(40) ? pick(smooth) : pick(rough);
    return try_add(op, {x});
  }

  NodeId same_type_operand(NodeId x) {
    for (int i = 0; i < 4; ++i) {
      const NodeId y = any();
      if (chance(60) && type(y) == type(x)) return y;
    }
    return constant(type(x));
  }

  NodeId binary(NodeId x) {
    const Op smooth[] = {Op::kAdd, Op::kSub, Op::kMul, Op::kMin, Op::kMax};
    const Op rough[] = {Op::kAdd, Op::kSub, Op::kMul, Op::kMin, Op::kMax, Op::kDiv, Op::kRem};
    const Op bits[] = {Op::kAnd, Op::kOr, Op::kXor};
    if (type(x).dtype == DType::kBool) return try_add(pick(bits), {x, same_type_operand(x)});
    Op op = options_.smooth ? pick(smooth) : pick(rough);
    if (!is_float(x) && chance(40)) op = pick(bits);
    const NodeId y = same_type_operand(x);
    return chance(30) ? try_add(op, {y, x}) : try_add(op, {x, y});
  }

  // Two constants in a row: a clamp, or arithmetic that could be one step.
  NodeId with_constants(NodeId x) {
    const Op ops[] = {Op::kMin, Op::kMax, Op::kAdd, Op::kMul};
    if (type(x).dtype == DType::kBool) return kNoNode;
    const Op op = pick(ops);
    const NodeId y = try_add(op, {x, constant(type(x))});
    return y == kNoNode ? y : try_add(chance(70) ? op : pick(ops), {y, constant(type(x))});
  }

  NodeId power(NodeId x) {
    if (!options_.powers) return kNoNode;
    const double exponents[] = {0, 1, 2, 3, 0.5, -1, -0.5, 1.7};
    const double smooth[] = {0, 1, 2, 3};
    const NodeId exponent =
        graph_.add_splat(type(x), options_.smooth ? pick(smooth) : pick(exponents));
    return try_add(Op::kPow, {x, exponent});
  }

  NodeId compare(NodeId x) {
    if (options_.smooth) return kNoNode;
    const Op ops[] = {Op::kEqual, Op::kLess, Op::kLessEqual};
    const NodeId condition = try_add(pick(ops), {x, same_type_operand(x)});
    if (condition == kNoNode || chance(30)) return condition;
    return try_add(Op::kSelect, {chance(50) ? try_add(Op::kNot, {condition}) : condition, x,
                                 same_type_operand(x)});
  }

  NodeId cast(NodeId x) {
    const DType floats[] = {DType::kFloat64, DType::kFloat64};
    const DType all[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kInt32,
                         DType::kInt8,    DType::kUInt8,   DType::kBool,    DType::kInt64};
    return try_add(Op::kCast, {x}, CastAttrs{options_.smooth ? pick(floats) : pick(all)});
  }

  NodeId reshape(NodeId x) {
    Shape shape = type(x).shape;
    const int64_t kind = below(4);
    if (kind == 0) {
      shape.insert(shape.begin() + below(static_cast<int64_t>(shape.size()) + 1), 1);
    } else if (kind == 1) {
      std::erase(shape, 1);
    } else if (kind == 2 && shape.size() > 1) {
      const auto axis = static_cast<size_t>(below(static_cast<int64_t>(shape.size()) - 1));
      shape[axis] *= shape[axis + 1];
      shape.erase(shape.begin() + static_cast<ptrdiff_t>(axis) + 1);
    } else {
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        if (shape[axis] < 4 || shape[axis] % 2 != 0) continue;
        shape[axis] /= 2;
        shape.insert(shape.begin() + static_cast<ptrdiff_t>(axis), 2);
        break;
      }
    }
    return shape.size() > 5 ? kNoNode : try_add(Op::kReshape, {x}, ReshapeAttrs{shape});
  }

  NodeId transpose(NodeId x) {
    TransposeAttrs attrs;
    for (int i = 0; i < type(x).rank(); ++i) attrs.perm.push_back(i);
    for (size_t i = attrs.perm.size(); i > 1; --i) {
      std::swap(attrs.perm[i - 1], attrs.perm[static_cast<size_t>(below(static_cast<int64_t>(i)))]);
    }
    return try_add(Op::kTranspose, {x}, attrs);
  }

  NodeId broadcast(NodeId x) {
    Shape shape = type(x).shape;
    for (int64_t& extent : shape) {
      if (extent == 1 && chance(70)) extent = 1 + below(4);
    }
    return try_add(Op::kBroadcast, {x}, BroadcastAttrs{shape});
  }

  NodeId slice(NodeId x) {
    SliceAttrs attrs;
    const Shape shape = type(x).shape;
    for (const int64_t extent : shape) {
      if (extent == 0) return kNoNode;
      const int64_t step = chance(60) ? 1 : 1 + below(2);
      const int64_t count = 1 + below((extent - 1) / step + 1);
      const int64_t begin = below(extent - (count - 1) * step);
      const bool backwards = chance(20);
      attrs.begin.push_back(backwards ? begin + (count - 1) * step : begin);
      attrs.extent.push_back(count);
      attrs.step.push_back(backwards ? -step : step);
    }
    return try_add(Op::kSlice, {x}, attrs);
  }

  NodeId pad(NodeId x) {
    const PadMode modes[] = {PadMode::kConstant, PadMode::kConstant, PadMode::kReflect,
                             PadMode::kEdge, PadMode::kWrap};
    PadAttrs attrs{{}, {}, pick(modes), chance(60) ? 0.0 : 1.5};
    for (size_t i = 0; i < type(x).shape.size(); ++i) {
      // Batch and channels seldom, as networks do it.
      attrs.before.push_back(chance(i < 2 ? 10 : 60) ? below(3) : 0);
      attrs.after.push_back(chance(i < 2 ? 10 : 60) ? below(3) : 0);
    }
    return try_add(Op::kPad, {x}, attrs);
  }

  // Spatial axes only, with zeros or with what a maximum ignores.
  NodeId pad_image(NodeId x) {
    const double values[] = {0, 0, 1, -std::numeric_limits<double>::infinity()};
    PadAttrs attrs{Shape(type(x).shape.size(), 0), {}, PadMode::kConstant, pick(values)};
    attrs.after = attrs.before;
    for (size_t i = 2; i < attrs.before.size(); ++i) {
      attrs.before[i] = below(3);
      attrs.after[i] = below(2);
    }
    return try_add(Op::kPad, {x}, attrs);
  }

  NodeId concat(NodeId x) {
    if (type(x).rank() == 0) return kNoNode;
    const ConcatAttrs attrs{static_cast<int>(below(type(x).rank()))};
    const NodeId joined = try_add(Op::kConcat, {x, same_type_operand(x), x}, attrs);
    return joined != kNoNode && chance(50) ? slice(joined) : joined;
  }

  NodeId reduce(NodeId x) {
    const ReduceKind kinds[] = {ReduceKind::kSum, ReduceKind::kMax, ReduceKind::kMin};
    ReduceAttrs attrs{pick(kinds), {}};
    for (int i = 0; i < type(x).rank(); ++i) {
      if (chance(40)) attrs.axes.push_back(i);
    }
    if (type(x).dtype == DType::kBool) return kNoNode;
    const NodeId reduced = try_add(Op::kReduce, {x}, attrs);
    if (reduced == kNoNode || chance(40)) return reduced;
    return try_add(Op::kSub,
                   {x, graph_.add(Op::kBroadcast, {reduced}, BroadcastAttrs{type(x).shape})});
  }

  NodeId gather(NodeId x) {
    if (type(x).rank() == 0) return kNoNode;
    const auto axis = static_cast<size_t>(below(type(x).rank()));
    const int64_t rows = type(x).shape[axis];
    if (rows == 0) return kNoNode;
    Literal indices = zero_literal({DType::kInt64, {2}});
    set_literal_element_int(indices, 0, below(2 * rows) - rows);
    set_literal_element_int(indices, 1, below(rows));
    return try_add(Op::kGather, {x, graph_.add_constant(std::move(indices))},
                   GatherAttrs{static_cast<int>(axis)});
  }

  // Arithmetic by channel, sometimes with a change of shape inside.
  NodeId channel_chain(NodeId x, size_t axis) {
    const Op ops[] = {Op::kMul, Op::kAdd, Op::kSub};
    const auto steps = below(4);
    for (int64_t i = 0; i < steps && x != kNoNode; ++i) {
      if (chance(15)) {
        Shape shape = type(x).shape;
        shape.insert(shape.begin(), 1);
        x = graph_.add(Op::kReshape, {x}, ReshapeAttrs{shape});
        ++axis;
      }
      const NodeId factor = channel_constant(x, axis);
      x = chance(20) ? try_add(Op::kSub, {factor, x}) : try_add(pick(ops), {x, factor});
    }
    return x;
  }

  NodeId matmul(NodeId x) {
    const Shape shape = type(x).shape;
    if (shape.empty() || type(x).elements() == 0) return kNoNode;
    const int64_t depth = shape.back();
    const NodeId rows =
        graph_.add(Op::kReshape, {x}, ReshapeAttrs{{type(x).elements() / depth, depth}});
    const int64_t columns = 1 + below(5);
    const NodeId weights =
        graph_.add_constant(seeded_literal({type(x).dtype, {depth, columns}}, next()));
    NodeId y = try_add(Op::kMatMul, {rows, weights});
    if (y == kNoNode) return y;
    if (chance(50)) return channel_chain(y, 1);
    Shape back = shape;
    back.back() = columns;
    return channel_chain(graph_.add(Op::kReshape, {y}, ReshapeAttrs{back}), back.size() - 1);
  }

  NodeId image_of(NodeId x) {
    const Shape shape = type(x).shape;
    if (shape.size() == 3 || shape.size() == 4) return x;
    if (type(x).elements() == 0) return kNoNode;
    return try_add(Op::kReshape, {x}, ReshapeAttrs{{1, 1, type(x).elements()}});
  }

  NodeId conv(NodeId x) {
    x = image_of(x);
    if (x == kNoNode) return x;
    if (chance(50)) {
      const NodeId padded = pad_image(x);
      if (padded != kNoNode) x = padded;
    }
    const Shape shape = type(x).shape;
    const size_t spatial = shape.size() - 2;
    const int64_t groups = shape[1] % 2 == 0 && chance(40) ? 2 : 1;
    Shape weights = {groups * (1 + below(3)), shape[1] / groups};
    for (size_t i = 0; i < spatial; ++i) weights.push_back(1 + below(3));
    const NodeId w = graph_.add_constant(seeded_literal({type(x).dtype, weights}, next()));
    const ConvAttrs attrs{Shape(spatial, 1 + below(2)), Shape(spatial, 1), Shape(spatial, below(2)),
                          Shape(spatial, below(2)), groups};
    const NodeId y = try_add(Op::kConv, {x, w}, attrs);
    return y == kNoNode ? y : channel_chain(y, 1);
  }

  NodeId pool(NodeId x) {
    x = image_of(x);
    if (x == kNoNode) return x;
    if (chance(50)) {
      const NodeId padded = pad_image(x);
      if (padded != kNoNode) x = padded;
    }
    const size_t spatial = type(x).shape.size() - 2;
    return try_add(Op::kPool, {x},
                   PoolAttrs{chance(50) ? PoolKind::kMax : PoolKind::kAverage,
                             Shape(spatial, 1 + below(2)), Shape(spatial, 1), Shape(spatial, 1),
                             Shape(spatial, 0), Shape(spatial, 0), chance(50), chance(20)});
  }

  void step() {
    switch (below(20)) {
      case 0:
      case 1:
        unary(any_float());
        break;
      case 2:
      case 3:
      case 4:
        binary(any());
        break;
      case 5:
        power(any_float());
        break;
      case 6:
        compare(any_float());
        break;
      case 7:
        cast(any());
        break;
      case 8:
      case 9:
        reshape(any());
        break;
      case 10:
        transpose(any());
        break;
      case 11:
        broadcast(any());
        break;
      case 12:
        slice(any());
        break;
      case 13:
        chance(50) ? pad(any()) : concat(any());
        break;
      case 14:
        reduce(any());
        break;
      case 15:
        gather(any());
        break;
      case 16:
        matmul(any_float());
        break;
      case 17:
        with_constants(any());
        break;
      case 18:
        pool(any_float());
        break;
      default:
        conv(any_float());
    }
  }

  Graph graph_;
  uint64_t state_;
  const RandomGraphOptions options_;
};

}  // namespace

Graph random_graph(uint64_t seed, const RandomGraphOptions& options) {
  return Builder(seed, options).build();
}

}  // namespace camshaft::ir
