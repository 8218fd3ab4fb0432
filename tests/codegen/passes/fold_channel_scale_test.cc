// SPDX-License-Identifier: MIT
#include "codegen/passes/rewriter.h"
#include "tests/codegen/support/pass_testing.h"

namespace camshaft::passes {
namespace {

using ir::Op;

const std::string kConv =
    "%x = input \"x\" : f32[1x2x4]\n%w = constant {seed 1} : f32[3x2x2]\n"
    "%c = conv(%x, %w) {strides=[1], dilations=[1], pads_begin=[0], pads_end=[1]} \"conv\"\n";

// A constant of one number a channel, stretched over the convolution's result.
std::string channels(const std::string& name, const std::string& numbers) {
  return "%" + name + "0 = constant {" + numbers + "} : f32[1x3x1]\n%" + name + " = broadcast(%" +
         name + "0) {shape=[1,3,4]}\n";
}
const std::string kScale = channels("s", "2, -0.5, 3");
const std::string kShift = channels("t", "0.25, 0, -1");
const std::string kBias = channels("b", "1, 2, 3");

int count(const ir::Graph& graph, Op op) {
  int found = 0;
  for (const ir::Node& node : graph.nodes()) found += node.op == op ? 1 : 0;
  return found;
}

// Folds, and checks that the results are the same up to rounding of f32 weights.
ir::Graph fold(const std::string& body) {
  const ir::Graph before = ir::graph_from(body);
  ir::Graph after = fold_channel_scale(before);
  INFO(print_graph(after));
  CHECK(verify_graph(after).is_ok());
  const auto inputs = ir::seeded_inputs(before, 3);
  const auto expected = ir::run_all(before, inputs).at(0).floats;
  const auto actual = ir::run_all(after, inputs).at(0).floats;
  REQUIRE(actual.size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    CHECK(actual[i] == Approx(expected[i]).epsilon(1e-6).margin(1e-6));
  }
  CHECK(equal_graphs(after, fold_channel_scale(after)));
  return after;
}

TEST_CASE("batch norm behind a convolution goes into its weights and one add") {
  check_rewrite(
      fold_channel_scale,
      "%x = input \"x\" : f32[1x1x2]\n%w = constant {1, 2, 3, 4} : f32[2x1x2]\n"
      "%c = conv(%x, %w) {strides=[1], dilations=[1], pads_begin=[0], pads_end=[0]} \"conv\"\n"
      "%s0 = constant {10, 0.5} : f32[1x2x1]\n%s = broadcast(%s0) {shape=[1,2,1]}\n"
      "%m = mul(%c, %s)\n%t0 = constant {7, 8} : f32[1x2x1]\n%t = broadcast(%t0) {shape=[1,2,1]}\n"
      "%a = add(%m, %t) \"bn\"\n%y = tanh(%a)\noutput \"y\" = %y",
      "%x = input \"x\" : f32[1x1x2]\n%w = constant {10, 20, 1.5, 2} : f32[2x1x2]\n"
      "%c = conv(%x, %w) {strides=[1], dilations=[1], pads_begin=[0], pads_end=[0]} \"conv\"\n"
      "%t0 = constant {7, 8} : f32[1x2x1] \"bn\"\n%t = broadcast(%t0) {shape=[1,2,1]} \"bn\"\n"
      "%a = add(%c, %t) \"bn\"\n%y = tanh(%a)\noutput \"y\" = %y");
}

TEST_CASE("bias, scale and shift in any form join") {
  const char* chains[] = {
      "%a = add(%c, %b)\n%m = mul(%a, %s)\n%y = add(%m, %t)\n",
      "%a = sub(%c, %b)\n%m = div(%a, %s)\n%y = sub(%m, %t)\n",
      "%a = sub(%b, %c)\n%m = mul(%s, %a)\n%n = neg(%m)\n%y = add(%t, %n)\n",
      "%a = add(%c, %b)\n%y = add(%a, %t)\n",
  };
  for (const std::string chain : chains) {
    CAPTURE(chain);
    const ir::Graph after = fold(kConv + kScale + kShift + kBias + chain + "output \"y\" = %y");
    CHECK(count(after, Op::kAdd) == 1);
    CHECK(count(after, Op::kMul) + count(after, Op::kDiv) + count(after, Op::kSub) +
              count(after, Op::kNeg) ==
          0);
    CHECK(count(after, Op::kConv) == 1);
  }
}

TEST_CASE("a scale alone needs no add, and a scalar is a scale of every channel") {
  const ir::Graph scaled = fold(kConv + kScale + "%y = mul(%c, %s)\noutput \"y\" = %y");
  CHECK(scaled.size() == 3);
  const ir::Graph halved = fold(kConv +
                                "%h0 = constant {0.5} : f32[1x1x1]\n"
                                "%h = broadcast(%h0) {shape=[1,3,4]}\n%y = mul(%c, %h)\n"
                                "output \"y\" = %y");
  CHECK(halved.size() == 3);
}

TEST_CASE("grouped convolutions scale their own filters") {
  const ir::Graph after = fold(
      "%x = input \"x\" : f32[2x4x4]\n%w = constant {seed 1} : f32[4x1x3]\n"
      "%c = conv(%x, %w) {strides=[1], dilations=[1], pads_begin=[1], pads_end=[1], groups=4}\n"
      "%s0 = constant {1, 2, 3, 4} : f32[1x4x1]\n%s = broadcast(%s0) {shape=[2,4,4]}\n"
      "%y = mul(%c, %s)\noutput \"y\" = %y");
  CHECK(count(after, Op::kMul) == 0);
}

TEST_CASE("matrix products scale columns of the right or rows of the left operand") {
  const ir::Graph right = fold(
      "%x = input \"x\" : f32[2x3x4]\n%w0 = constant {seed 1} : f32[1x4x5]\n"
      "%w = broadcast(%w0) {shape=[2,4,5]}\n%m = matmul(%x, %w)\n"
      "%s0 = constant {1, 2, 3, 4, 5} : f32[1x1x5]\n%s = broadcast(%s0) {shape=[2,3,5]}\n"
      "%y = mul(%m, %s)\noutput \"y\" = %y");
  CHECK(count(right, Op::kMul) == 0);
  const ir::Graph left = fold(
      "%x = input \"x\" : f32[4x5]\n%w = constant {seed 1} : f32[3x4]\n%m = matmul(%w, %x)\n"
      "%s0 = constant {1, 2, 3} : f32[3x1]\n%s = broadcast(%s0) {shape=[3,5]}\n"
      "%y = mul(%m, %s)\noutput \"y\" = %y");
  CHECK(count(left, Op::kMul) == 0);
}

TEST_CASE("reshapes and transposes that keep the channels apart are passed") {
  const ir::Graph after = fold(
      "%x = input \"x\" : f32[6x4]\n%w = constant {seed 1} : f32[4x5]\n%m = matmul(%x, %w)\n"
      "%r = reshape(%m) {shape=[2,3,5]}\n%p = transpose(%r) {perm=[0,2,1]}\n"
      "%s0 = constant {1, 2, 3, 4, 5} : f32[1x5x1]\n%s = broadcast(%s0) {shape=[2,5,3]}\n"
      "%a = mul(%p, %s)\n%y = add(%a, %s)\noutput \"y\" = %y");
  CHECK(count(after, Op::kMul) == 0);
  CHECK(count(after, Op::kAdd) == 1);
  CHECK(after.node(after.outputs[0].node).op == Op::kTranspose);
  check_unchanged(fold_channel_scale,
                  "%x = input \"x\" : f32[2x4]\n%w = constant {seed 1} : f32[4x6]\n"
                  "%m = matmul(%x, %w)\n%r = reshape(%m) {shape=[2,2,3]}\n"
                  "%s0 = constant {1, 2, 3} : f32[1x1x3]\n%s = broadcast(%s0) {shape=[2,2,3]}\n"
                  "%y = mul(%r, %s)\noutput \"y\" = %y");
}

TEST_CASE("what is not a scale of the output channels stays") {
  const std::string end = "output \"y\" = %y";
  // Along the wrong axis.
  check_unchanged(fold_channel_scale, kConv +
                                          "%s0 = constant {1, 2, 3, 4} : f32[1x1x4]\n"
                                          "%s = broadcast(%s0) {shape=[1,3,4]}\n"
                                          "%y = mul(%c, %s)\n" +
                                          end);
  // An element each.
  check_unchanged(fold_channel_scale,
                  kConv + "%s = constant {seed 5} : f32[1x3x4]\n%y = mul(%c, %s)\n" + end);
  // Not known.
  check_unchanged(fold_channel_scale,
                  "%s = input \"s\" : f32[1x3x4]\n" + kConv + "%y = mul(%c, %s)\n" + end);
  // Channel / value is no scale.
  check_unchanged(fold_channel_scale, kConv + kScale + "%y = div(%s, %c)\n" + end);
  // 1 / 0.
  check_unchanged(fold_channel_scale,
                  kConv + channels("s", "1, 0, 1") + "%y = div(%c, %s)\n" + end);
  // One add is what it would become.
  check_unchanged(fold_channel_scale, kConv + kShift + "%y = add(%c, %t)\n" + end);
}

TEST_CASE("values that others read, and weights that are not known, stay") {
  check_unchanged(fold_channel_scale, kConv + kScale +
                                          "%a = mul(%c, %s)\n%y = sub(%a, %c)\n"
                                          "output \"y\" = %y");
  check_unchanged(fold_channel_scale,
                  kConv + kScale + "%y = mul(%c, %s)\noutput \"y\" = %y\noutput \"c\" = %c");
  check_unchanged(fold_channel_scale,
                  "%x = input \"x\" : f32[2x4]\n%w = input \"w\" : f32[4x3]\n%m = matmul(%x, %w)\n"
                  "%s0 = constant {1, 2, 3} : f32[1x3]\n%s = broadcast(%s0) {shape=[2,3]}\n"
                  "%y = mul(%m, %s)\noutput \"y\" = %y");
  check_unchanged(fold_channel_scale,
                  "%x = input \"x\" : i32[2x4]\n%w = constant {seed 1} : i32[4x3]\n"
                  "%m = matmul(%x, %w)\n%s0 = constant {1, 2, 3} : i32[1x3]\n"
                  "%s = broadcast(%s0) {shape=[2,3]}\n%y = mul(%m, %s)\noutput \"y\" = %y");
}

TEST_CASE("a chain ends where a value is read twice, and folds up to there") {
  const ir::Graph after = fold(kConv + kScale + kShift +
                               "%a = mul(%c, %s)\n%b = add(%a, %t)\n%d = mul(%b, %s)\n"
                               "%y = add(%d, %b)\noutput \"y\" = %y");
  CHECK(count(after, Op::kMul) == 1);
  CHECK(count(after, Op::kAdd) == 2);
}

TEST_CASE("scaled weights that leave the range of their dtype are left alone") {
  check_unchanged(fold_channel_scale,
                  "%x = input \"x\" : f16[2x2]\n%w = constant {60000, 1, 1, 1} : f16[2x2]\n"
                  "%m = matmul(%x, %w)\n%s0 = constant {4, 1} : f32[1x2]\n"
                  "%s = broadcast(%s0) {shape=[2,2]}\n%y = mul(%m, %s)\noutput \"y\" = %y");
}

// A product by `weights`, f32[2x2], whose columns are scaled by `scale`, and by 1 or `again`.
std::string scaled_product(const std::string& weights, const std::string& scale,
                           const std::string& again = "1") {
  return "%x = input \"x\" : f32[2x2]\n%w = constant {" + weights +
         "} : f32[2x2]\n%m = matmul(%x, %w)\n%s0 = constant {" + scale +
         "} : f32[1x2]\n%s = broadcast(%s0) {shape=[2,2]}\n%a = mul(%m, %s)\n" +
         "%t = constant {splat " + again + "} : f32[2x2]\n%y = mul(%a, %t)\noutput \"y\" = %y";
}

TEST_CASE("scaled weights that would be flushed to zero are left alone") {
  // x can be so large that their products are not.
  check_unchanged(fold_channel_scale, scaled_product("1e-25, 1, 2e-25, 1", "1.2e-20, 3"));
  check_unchanged(fold_channel_scale, scaled_product("1, 1e-30, 1, 1e-30", "3, 1e-8"));
}

TEST_CASE("weights are scaled where little or nothing is flushed to zero by that") {
  for (const std::string& text : {
           scaled_product("1e-25, 1, 2, 1", "1.2e-20, 3"),              // beside 2e-20
           scaled_product("1e-40, 1, 2e-41, 1", "0.5, 3"),              // were flushed before
           scaled_product("0, 1, 0, 1", "0.5, 3"),                      // nothing to lose
           scaled_product("1, 2, 3, 4", "0, 3"),                        // all are zero then
           scaled_product("1e-25, 1, 2e-25, 1", "1.2e-20, 3", "1e25"),  // of normal size in the end
       }) {
    INFO(text);
    CHECK(count(fold_channel_scale(ir::graph_from(text)), Op::kMul) < 2);
  }
}

}  // namespace
}  // namespace camshaft::passes
