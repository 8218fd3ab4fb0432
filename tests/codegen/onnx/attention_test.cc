// SPDX-License-Identifier: MIT
// How the attention operators decompose, and what they refuse. That they compute the right numbers
// is tested against the onnx package and onnxruntime in tests/e2e.
#include <catch2/catch.hpp>

#include <cmath>

#include "codegen/onnx/op_table.h"
#include "tests/codegen/onnx/support/onnx_testing.h"

namespace camshaft::onnx {
namespace {

using Catch::Matchers::Contains;

// Q of 4 heads, K and V of `kv_heads`.
Model attention_model(int64_t kv_heads = 4, int64_t opset = 24) {
  Model model(opset);
  model.input("q", {1, 4, 3, 8}).input("k", {1, kv_heads, 5, 8}).input("v", {1, kv_heads, 5, 6});
  return model;
}

std::string sentence_of(const Model& model, base::Code code = base::Code::kInvalidArgument) {
  const Outcome outcome = read(model);
  CHECK(outcome.code == code);
  return outcome.text();
}

TEST_CASE("attention is two products and a softmax") {
  Model model = attention_model();
  model.node("Attention", {"q", "k", "v"}, {"y"}).output("y");
  const ir::Graph graph = graph_of(model);
  CHECK(output_type(graph).shape == Shape{1, 4, 3, 6});
  CHECK(count_ops(graph, ir::Op::kMatMul) == 2);
  CHECK(count_ops(graph, ir::Op::kReduce) == 2);
  CHECK(count_ops(graph, ir::Op::kSelect) == 0);
}

TEST_CASE("heads that share keys are rows of one product, and keys are not copied for each") {
  Model model = attention_model(2);
  model.node("Attention", {"q", "k", "v"}, {"y"}).output("y");
  const ir::Graph graph = graph_of(model);
  CHECK(output_type(graph).shape == Shape{1, 4, 3, 6});
  for (const ir::Node& node : graph.nodes()) {
    if (node.op == ir::Op::kMatMul) CHECK(node.type.shape[1] == 2);
  }
}

TEST_CASE("a small causal mask is one constant, a large one is compared positions") {
  Model model(23);
  model.input("x", {1, 1, 8, 4}).node("Attention", {"x", "x", "x"}, {"y"}).attr("is_causal", 1);
  model.output("y");
  CHECK(count_ops(graph_of(model), ir::Op::kLessEqual) == 0);

  Model large(23);
  large.input("x", {1, 1, 2000, 4}).node("Attention", {"x", "x", "x"}, {"y"}).attr("is_causal", 1);
  const ir::Graph graph = graph_of(large.output("y"));
  CHECK(count_ops(graph, ir::Op::kLessEqual) == 1);
  for (const ir::Node& node : graph.nodes()) {
    if (node.op == ir::Op::kConstant) CHECK(node.type.elements() <= 2000);
  }
}

TEST_CASE("a query that may see no key gives 0") {
  Model model(24);
  model.input("q", {1, 1, 2, 1}).input("k", {1, 1, 2, 1}).input("v", {1, 1, 2, 1});
  model.initializer("mask", DType::kBool, {2, 2}, {0, 0, 0, 1});
  model.node("Attention", {"q", "k", "v", "mask"}, {"y"}).output("y");
  CHECK(run(graph_of(model), {{1, 2}, {3, 4}, {5, 6}}) == std::vector<double>{0, 6});

  Model infinite(24);  // the mask is added: all that a query sees is -inf
  infinite.input("q", {1, 1, 1, 1}).input("k", {1, 1, 2, 1}).input("v", {1, 1, 2, 1});
  infinite.input("mask", {1, 2});
  infinite.node("Attention", {"q", "k", "v", "mask"}, {"y"}).output("y");
  CHECK(run(graph_of(infinite), {{1}, {3, 4}, {5, 6}, {-INFINITY, -INFINITY}}) ==
        std::vector<double>{0});
}

TEST_CASE("attention names what does not fit") {
  Model heads = attention_model(3);
  heads.node("Attention", {"q", "k", "v"}, {"y"}).output("y");
  CHECK_THAT(sentence_of(heads), Contains("1x4x3x8, 1x3x5x8 and 1x3x5x6"));

  Model mask = attention_model();
  mask.input("mask", {2, 5}).node("Attention", {"q", "k", "v", "mask"}, {"y"}).output("y");
  CHECK_THAT(sentence_of(mask),
             Contains("broadcast to the scores, [1, 4, 3, 5]") && Contains("it is f32[2x5]"));

  Model past = attention_model();
  past.input("past", {1, 4, 2, 8}).node("Attention", {"q", "k", "v", "", "past"}, {"y"});
  CHECK_THAT(sentence_of(past.output("y"), base::Code::kCorrupt), Contains("given together"));

  Model flat(23);
  flat.input("x", {2, 3, 8}).node("Attention", {"x", "x", "x"}, {"y"}).output("y");
  CHECK_THAT(sentence_of(flat), Contains("q_num_heads must be given and divide"));

  Model mode = attention_model();
  mode.node("Attention", {"q", "k", "v"}, {"y"}).attr("qk_matmul_output_mode", 4).output("y");
  CHECK_THAT(sentence_of(mode), Contains("must be 0, 1, 2 or 3"));
}

TEST_CASE("a mask's missing keys are masked from opset 24 on") {
  const auto attend = [](int64_t opset) {
    Model model(opset);
    model.input("q", {1, 1, 1, 1}).input("k", {1, 1, 2, 1}).input("v", {1, 1, 2, 1});
    model.initializer("mask", DType::kFloat32, {1, 1}, {0});
    model.node("Attention", {"q", "k", "v", "mask"}, {"y"}).output("y");
    return run(graph_of(model), {{0}, {3, 4}, {5, 7}});
  };
  CHECK(attend(24) == std::vector<double>{5});
  CHECK(attend(23) == std::vector<double>{6});
}

TEST_CASE("score_mod must keep the scores' type") {
  Model model(26);
  model.input("q", {1, 2, 3, 4}).input("k", {1, 2, 3, 4}).input("v", {1, 2, 3, 4});
  model.node("FlexAttention", {"q", "k", "v"}, {"y"}).domain("ai.onnx.preview").output("y");
  CHECK(count_ops(graph_of(model), ir::Op::kMatMul) == 2);

  ::onnx::AttributeProto* attribute = model.graph().mutable_node(0)->add_attribute();
  attribute->set_name("score_mod");
  attribute->set_type(::onnx::AttributeProto::GRAPH);
  attribute->mutable_g()->add_input()->set_name("scores");
  attribute->mutable_g()->add_output()->set_name("changed");
  ::onnx::NodeProto* node = attribute->mutable_g()->add_node();
  node->set_op_type("Abs");
  node->add_input("scores");
  node->add_output("changed");
  CHECK(count_ops(graph_of(model), ir::Op::kAbs) == 1);
  node->set_op_type("IsNaN");
  CHECK_THAT(sentence_of(model), Contains("'score_mod' must give one tensor of its input's type"));
}

TEST_CASE("linear attention without gates is not unrolled") {
  const auto products = [](int64_t steps) {
    Model model(27);
    model.input("x", {1, steps, 8}).node("LinearAttention", {"x", "x", "x"}, {"y", "state"});
    model.attr("q_num_heads", 2).attr("kv_num_heads", 2).attr_string("update_rule", "linear");
    return count_ops(graph_of(model.output("y")), ir::Op::kMatMul);
  };
  CHECK(products(3) == products(300));

  Model gates(27);
  gates.input("x", {1, 3, 8}).node("LinearAttention", {"x", "x", "x"}, {"y", "state"}).output("y");
  gates.attr("q_num_heads", 2).attr("kv_num_heads", 2);
  CHECK_THAT(sentence_of(gates, base::Code::kCorrupt), Contains("decay and beta"));
}

TEST_CASE("tensor scatter: a known place is a concatenation, one that depends on data a gather") {
  Model model(24);
  model.input("cache", {1, 4, 2}).input("update", {1, 2, 2});
  model.node("TensorScatter", {"cache", "update"}, {"y"}).output("y");
  const ir::Graph known = graph_of(model);
  CHECK(count_ops(known, ir::Op::kConcat) == 1);
  CHECK(run(known, {{1, 2, 3, 4, 5, 6, 7, 8}, {-1, -2, -3, -4}}) ==
        std::vector<double>{-1, -2, -3, -4, 5, 6, 7, 8});

  model.input("at", DType::kInt64, {1}).graph().mutable_node(0)->add_input("at");
  model.attr_string("mode", "circular");
  CHECK(run(graph_of(model), {{1, 2, 3, 4, 5, 6, 7, 8}, {-1, -2, -3, -4}, {7}}) ==
        std::vector<double>{-3, -4, 3, 4, 5, 6, -1, -2});
  CHECK(run(graph_of(model), {{1, 2, 3, 4, 5, 6, 7, 8}, {-1, -2, -3, -4}, {-2}}) ==
        std::vector<double>{1, 2, 3, 4, -1, -2, -3, -4});

  Model large(24);
  large.input("cache", {1, 2, 2}).input("update", {1, 3, 2});
  large.node("TensorScatter", {"cache", "update"}, {"y"}).output("y");
  CHECK_THAT(sentence_of(large), Contains("1x3x2 doesn't fit a cache of 1x2x2"));
}

TEST_CASE("onnxruntime's attention: what is not supported is named") {
  const auto model = [](std::initializer_list<Dim> mask) {
    Model made;
    made.input("x", {2, 3, 4}).input("w", {4, 12}).input("b", {12});
    made.input("mask", DType::kInt32, mask);
    made.node("Attention", {"x", "w", "b", "mask"}, {"y"}).domain("com.microsoft");
    made.attr("num_heads", 2).output("y");
    return made;
  };
  CHECK(count_ops(graph_of(model({2, 3})), ir::Op::kMatMul) == 3);
  CHECK_THAT(sentence_of(model({2, 1, 8, 8}), base::Code::kUnsupported),
             Contains("a mask of 2x1x8x8 is not supported for 2 samples, 3 queries, 3 keys"));
  Model heads = model({2, 3});
  heads.graph().mutable_node(0)->mutable_attribute(0)->set_i(3);
  CHECK_THAT(sentence_of(heads), Contains("num_heads must divide the sizes of Q, K and V, 4x4x4"));
  Model rotary = model({2, 3});
  rotary.attr("do_rotary", 1);
  CHECK_THAT(sentence_of(rotary, base::Code::kUnsupported), Contains("do_rotary"));
}

// The attributes without which an operator reads nothing.
std::vector<std::string> required_attributes(const OpRow& row) {
  const std::string name = row.name;
  if (name == "GroupNormalization") return {"num_groups"};
  if (name == "RotaryEmbedding" || row.domain == std::string(kMicrosoft)) return {"num_heads"};
  if (name == "Attention" || name == "LinearAttention") return {"q_num_heads", "kv_num_heads"};
  return {};
}

// Every operator here with operands of one shape, empty ones too: a graph or a problem, no crash.
TEST_CASE("no attention operator trips over empty tensors") {
  int readable = 0;
  for (const OpFamily family : {attention_ops(), transformer_ops(), linear_attention_ops(),
                                microsoft_attention_ops(), normalization_ops()}) {
    for (const OpRow& row : family) {
      for (int number = 0; number < 3 * 3 * 3 * 3 * 4; ++number) {
        const int inputs = row.min_inputs + number % 2;
        Model model(row.since == kOldestOpset ? 17 : 28);
        model.input("x", {});
        auto* type = model.graph().mutable_input(0)->mutable_type()->mutable_tensor_type();
        for (int axis = 0, rest = number / 4; axis < 2 + number / 2 % 3; ++axis, rest /= 3) {
          type->mutable_shape()->add_dim()->set_dim_value(rest % 3);
        }
        model.node(row.name, std::vector<std::string>(static_cast<size_t>(inputs), "x"), {"y"});
        model.domain(row.domain).output("y");
        for (const std::string& name : required_attributes(row)) model.attr(name, 1);
        if (row.name == std::string("LinearAttention")) model.attr_string("update_rule", "linear");
        const Outcome outcome = read(model);
        if (outcome.code != base::Code::kOk) continue;
        CHECK(ir::verify_graph(outcome.graph).is_ok());
        ++readable;
      }
    }
  }
  CHECK(readable > 1000);
}

// onnxruntime has these forms on GPUs only.
TEST_CASE("multi-head attention takes packed Q, K and V") {
  Model separate;
  separate.input("q", {1, 2, 4}).input("k", {1, 2, 4}).input("v", {1, 2, 4});
  separate.node("MultiHeadAttention", {"q", "k", "v"}, {"y"}).domain("com.microsoft");
  separate.attr("num_heads", 2).output("y");
  const std::vector<double> q = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<double> k = {1, 0, 2, 1, 3, 1, 0, 2};
  const std::vector<double> v = {9, 8, 7, 6, 5, 4, 3, 2};
  const std::vector<double> expected = run(graph_of(separate), {q, k, v});

  std::vector<double> packed;
  std::vector<double> packed_keys;
  for (size_t head = 0; head < 4; ++head) {  // of both positions
    for (const auto* part : {&q, &k, &v}) {
      packed.insert(packed.end(), {(*part)[head * 2], (*part)[head * 2 + 1]});
      if (part == &q) continue;
      packed_keys.insert(packed_keys.end(), {(*part)[head * 2], (*part)[head * 2 + 1]});
    }
  }
  Model all;
  all.input("qkv", {1, 2, 2, 3, 2}).node("MultiHeadAttention", {"qkv"}, {"y"});
  all.domain("com.microsoft").attr("num_heads", 2).output("y");
  CHECK(run(graph_of(all), {packed}) == expected);

  Model keys;
  keys.input("q", {1, 2, 4}).input("kv", {1, 2, 2, 2, 2});
  keys.node("MultiHeadAttention", {"q", "kv"}, {"y"}).domain("com.microsoft");
  keys.attr("num_heads", 2).output("y");
  CHECK(run(graph_of(keys), {q, packed_keys}) == expected);

  all.graph().mutable_node(0)->mutable_attribute(0)->set_i(3);
  CHECK_THAT(sentence_of(all), Contains("num_heads is not the heads' number, 2"));
}

}  // namespace
}  // namespace camshaft::onnx
