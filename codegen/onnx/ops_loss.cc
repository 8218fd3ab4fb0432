// SPDX-License-Identifier: MIT
// Losses. They are made for training, but are plain formulas, and models keep them as outputs.
#include <string>

#include "codegen/onnx/format.h"
#include "codegen/onnx/formulas.h"
#include "codegen/onnx/op_table.h"

namespace camshaft::onnx {
namespace {

// What `losses` and the weights that they carry reduce to.
Value reduce_loss(NodeReader& node, Value losses, Value weights) {
  const std::string reduction = node.string_attr("reduction", "mean");
  if (reduction == "none") return losses;
  const std::vector<int> all = axis_range(0, losses.rank());
  const Value sum = reshape(reduce(ir::ReduceKind::kSum, losses, all), {});
  if (reduction == "sum") return sum;
  if (reduction != "mean") {
    return node.corrupt("reduction must be none, sum or mean, not '%s'",
                        printable(reduction).c_str());
  }
  return sum / reshape(reduce(ir::ReduceKind::kSum, weights, all), {});
}

// Of log-probabilities [N, C, ...] and classes [N, ...]: minus that of each sample's class, times
// the class's weight. A sample whose class is to be ignored has neither loss nor weight.
Value likelihood_loss(NodeReader& node, Value x, Value classes, Value weights) {
  const bool ignores = node.has_attr("ignore_index");
  const auto ignored = static_cast<double>(node.int_attr("ignore_index", 0));
  Shape samples = x.shape();
  if (x.rank() >= 2) samples.erase(samples.begin() + 1);
  if (x.rank() < 2 || classes.shape() != samples || !base::is_int(classes.dtype())) {
    return node.invalid("classes %s don't fit scores %s", shape_text(classes.shape()).c_str(),
                        shape_text(x.shape()).c_str());
  }
  if (weights && weights.shape() != Shape{x.dim(1)}) {
    return node.invalid("needs one weight for each of the %lld classes",
                        static_cast<long long>(x.dim(1)));
  }
  const Value numbers =
      place_axes(cast(node.builder().iota(x.dim(1)), classes.dtype()), {1}, x.rank());
  const Value is_class = equal(numbers, insert_axis(classes, 1));
  const auto of_class = [&](Value each) {  // 0 where there is no such class
    const Value chosen = select(is_class, each, splat_like(each, 0));
    return drop_axes(reduce(ir::ReduceKind::kSum, chosen, {1}), {1});
  };
  const Value likelihood = of_class(x);
  Value weight = weights ? of_class(broadcast_to(place_axes(weights, {1}, x.rank()), x.shape()))
                         : splat_like(likelihood, 1);
  if (ignores) weight = select(equal(classes, ignored), splat_like(weight, 0), weight);
  return reduce_loss(node, -likelihood * weight, weight);
}

DType exact_dtype(DType dtype) {
  return dtype == DType::kFloat64 ? dtype : DType::kFloat32;
}

Value read_negative_log_likelihood_loss(NodeReader& node) {
  const Value x = node.input(0);
  const DType exact = exact_dtype(x.dtype());
  return cast(likelihood_loss(node, cast(x, exact), node.input(1), cast(node.input(2), exact)),
              x.dtype());
}

Value read_softmax_cross_entropy_loss(NodeReader& node) {
  const Value given = node.input(0);
  const DType exact = exact_dtype(given.dtype());
  if (given.rank() < 2) return node.invalid("scores must be [N, C, ...]");
  const Value x = cast(given, exact);
  const Value shifted = x - reduce(ir::ReduceKind::kMax, x, {1});
  const Value logs = shifted - log(reduce(ir::ReduceKind::kSum, exp(shifted), {1}));
  node.set_output(1, cast(logs, given.dtype()));
  return cast(likelihood_loss(node, logs, node.input(1), cast(node.input(2), exact)),
              given.dtype());
}

constexpr OpRow kOps[] = {
    {"NegativeLogLikelihoodLoss", 12, 2, 3, read_negative_log_likelihood_loss},
    {"SoftmaxCrossEntropyLoss", 12, 2, 3, read_softmax_cross_entropy_loss},
};

}  // namespace

OpFamily loss_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
