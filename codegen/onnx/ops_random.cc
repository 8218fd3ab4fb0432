// SPDX-License-Identifier: MIT
// Operators that draw random numbers. A plan must give equal outputs for equal inputs, so the draws
// are constants of the plan: the numbers that a generator gives for the attribute `seed`, or
// without it for the node's name. Each run uses the same ones. What depends on data besides
// (Bernoulli's probabilities, Multinomial's weights) is computed from them in each run.
#include <bit>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/ir/literal.h"
#include "codegen/onnx/extents.h"
#include "codegen/onnx/formulas.h"
#include "codegen/onnx/op_table.h"

namespace camshaft::onnx {
namespace {

constexpr double kPi = 3.14159265358979323846;

// Numbers by their place: number i is the counter i, mixed with the key until no bit shows where it
// came from (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
class Draws {
 public:
  explicit Draws(uint64_t key) : key_(mix(key)) {}

  // In [0, 1), a multiple of 2^-24: exact in f32.
  double uniform(int64_t i) const { return static_cast<double>(bits(i) >> 40) * 0x1p-24; }
  // Normally distributed (Box and Muller).
  double normal(int64_t i) const {
    const double radius = std::sqrt(-2 * std::log(1 - uniform(2 * i)));
    return radius * std::cos(2 * kPi * uniform(2 * i + 1));
  }

 private:
  static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  uint64_t bits(int64_t i) const {
    return mix(key_ + static_cast<uint64_t>(i + 1) * 0x9e3779b97f4a7c15u);
  }

  uint64_t key_;
};

Draws draws_of(NodeReader& node) {
  if (node.has_attr("seed")) return Draws(std::bit_cast<uint64_t>(node.float_attr("seed", 0)));
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : node.label()) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return Draws(hash);
}

// A tensor of numbers that `draw` gives by their places.
template <typename Draw>
Value draw_tensor(NodeReader& node, TensorType type, Draw draw) {
  if (!base::is_float(type.dtype)) {
    return node.invalid("random numbers are floats, not %s", base::dtype_name(type.dtype));
  }
  int64_t count = 1;
  for (const int64_t extent : type.shape) {
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count)) {
      return node.invalid("the shape is not one");
    }
  }
  if (!node.builder().may_make(count)) return {};
  ir::Literal literal = ir::zero_literal(std::move(type));
  for (int64_t i = 0; i < count; ++i) ir::set_literal_element(literal, i, draw(i));
  return node.builder().constant(std::move(literal));
}

Value draw_uniform(NodeReader& node, TensorType type) {
  const double low = node.float_attr("low", 0);
  const double high = node.float_attr("high", 1);
  const Draws draws = draws_of(node);
  return draw_tensor(node, std::move(type),
                     [&](int64_t i) { return low + (high - low) * draws.uniform(i); });
}

Value draw_normal(NodeReader& node, TensorType type) {
  const double mean = node.float_attr("mean", 0);
  const double scale = node.float_attr("scale", 1);
  const Draws draws = draws_of(node);
  return draw_tensor(node, std::move(type),
                     [&](int64_t i) { return mean + scale * draws.normal(i); });
}

TensorType given_type(NodeReader& node) {
  if (!node.has_attr("shape")) node.corrupt("attribute 'shape' is missing");
  return {node.dtype_attr("dtype", DType::kFloat32), node.ints_attr("shape").value_or(Shape())};
}
TensorType type_like(NodeReader& node) {
  return {node.dtype_attr("dtype", node.input(0).dtype()), node.input(0).shape()};
}

Value read_random_uniform(NodeReader& node) {
  return draw_uniform(node, given_type(node));
}
Value read_random_uniform_like(NodeReader& node) {
  return with_counts_of(draw_uniform(node, type_like(node)), node.input(0));
}
Value read_random_normal(NodeReader& node) {
  return draw_normal(node, given_type(node));
}
Value read_random_normal_like(NodeReader& node) {
  return with_counts_of(draw_normal(node, type_like(node)), node.input(0));
}

// 1 where a number from [0, 1) is below the probability.
Value read_bernoulli(NodeReader& node) {
  const Value p = node.input(0);
  const DType target = node.dtype_attr("dtype", p.dtype());
  const DType exact = p.dtype() == DType::kFloat64 ? p.dtype() : DType::kFloat32;
  const Draws draws = draws_of(node);
  const Value drawn =
      draw_tensor(node, {exact, p.shape()}, [&](int64_t i) { return draws.uniform(i); });
  return cast(less(drawn, cast(p, exact)), target);
}

// A number from [0, 1) for each sample: the class is how many sums of the first classes'
// probabilities are not above it.
Value read_multinomial(NodeReader& node) {
  const Value x = node.input(0);
  const int64_t samples = node.int_attr("sample_size", 1);
  const DType target = node.dtype_attr("dtype", DType::kInt32);
  if (x.rank() != 2 || x.dim(1) < 1) {
    return node.invalid("needs [batch, classes], not %s", shape_text(x.shape()).c_str());
  }
  if (!base::is_int(target)) return node.invalid("classes are integers");
  const DType exact = x.dtype() == DType::kFloat64 ? x.dtype() : DType::kFloat32;
  const Draws draws = draws_of(node);
  const Value drawn = draw_tensor(node, {exact, {x.dim(0), samples, 1}},
                                  [&](int64_t i) { return draws.uniform(i); });
  const Value sums = scan(softmax(cast(x, exact), {1}), {.axis = 1});
  const Value passed = cast(less_equal(insert_axis(sums, 1), drawn), target);
  const Value number = drop_axes(reduce(ir::ReduceKind::kSum, passed, {2}), {2});
  return min(number, static_cast<double>(x.dim(1) - 1));
}

constexpr OpRow kOps[] = {
    {"RandomUniform", 7, 0, 0, read_random_uniform},
    {"RandomUniformLike", 7, 1, 1, read_random_uniform_like},
    {"RandomNormal", 7, 0, 0, read_random_normal},
    {"RandomNormalLike", 7, 1, 1, read_random_normal_like},
    {"Bernoulli", 15, 1, 1, read_bernoulli},
    {"Multinomial", 7, 1, 1, read_multinomial},
};

}  // namespace

OpFamily random_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
