// SPDX-License-Identifier: MIT
// fold_constants, remove_dead, merge_common_subexpressions.
#include "codegen/ir/graph_constants.h"
#include "tests/codegen/support/pass_testing.h"

namespace camshaft::passes {
namespace {

TEST_CASE("nodes over constants are computed, rounded once to their dtype") {
  check_rewrite(fold_constants,
                "%a = constant {1, 2} : f32[2]\n%b = constant {3, 3} : f32[2]\n"
                "%c = div(%a, %b)\n%y = add(%c, %a)\noutput \"y\" = %y",
                "%y = constant {1.3333334, 2.6666667} : f32[2]\noutput \"y\" = %y");
  check_rewrite(fold_constants,
                "%a = constant {1, 2, 3, 4} : i8[2x2]\n%y = transpose(%a) {perm=[1,0]}\n"
                "output \"y\" = %y",
                "%y = constant {1, 3, 2, 4} : i8[2x2]\noutput \"y\" = %y");
  check_rewrite(fold_constants,
                "%a = constant {1, 2, 3, 4} : f16[4]\n%y = reshape(%a) {shape=[1,4,1]}\n"
                "output \"y\" = %y",
                "%y = constant {1, 2, 3, 4} : f16[1x4x1]\noutput \"y\" = %y");
}

TEST_CASE("only what is known is computed") {
  check_rewrite(fold_constants,
                "%x = input \"x\" : f32[2]\n%a = constant {1, 2} : f32[2]\n%b = neg(%a)\n"
                "%c = add(%x, %b)\n%y = exp(%c)\noutput \"y\" = %y",
                "%x = input \"x\" : f32[2]\n%b = constant {-1, -2} : f32[2]\n%c = add(%x, %b)\n"
                "%y = exp(%c)\noutput \"y\" = %y");
}

TEST_CASE("constants do not grow") {
  // A Broadcast stays, whatever its size.
  check_unchanged(fold_constants,
                  "%a = constant {1} : f32[1]\n%y = broadcast(%a) {shape=[4]}\noutput \"y\" = %y");
  // Small arithmetic on Broadcasts is computed.
  check_rewrite(fold_constants,
                "%a = constant {1, 2} : f32[2x1]\n%b = broadcast(%a) {shape=[2,2]}\n"
                "%c = constant {1, 2, 3, 4} : f32[2x2]\n%y = mul(%b, %c)\noutput \"y\" = %y",
                "%y = constant {1, 2, 6, 8} : f32[2x2]\noutput \"y\" = %y");
  // 256 x 256 floats of 512: 256 KiB from 2 KiB.
  const std::string outer =
      "%a = constant {seed 1} : f32[256x1]\n%b = broadcast(%a) {shape=[256,256]}\n"
      "%c = constant {seed 2} : f32[1x256]\n%d = broadcast(%c) {shape=[256,256]}\n"
      "%y = mul(%b, %d)\noutput \"y\" = %y";
  check_unchanged(fold_constants, outer);
  check_unchanged(fold_constants,
                  "%a = constant {1} : f32[1]\n%y = pad(%a) {before=[0], after=[99999], value=0}\n"
                  "output \"y\" = %y");
  // Operands of a reduction that would be large on the way.
  check_unchanged(fold_constants,
                  "%a = constant {seed 1} : f32[1x4]\n%b = broadcast(%a) {shape=[9999,4]}\n"
                  "%y = reduce(%b) {kind=sum, axes=[0]}\noutput \"y\" = %y");
}

TEST_CASE("weights of 8 bits become floats") {
  const std::string weights = "%a = constant {seed 1} : i8[200x200]\n";
  const ir::Graph folded =
      fold_constants(ir::graph_from(weights + "%y = cast(%a) {to=f32}\noutput \"y\" = %y"));
  CHECK(folded.node(folded.outputs[0].node).op == ir::Op::kConstant);
  check_unchanged(fold_constants, weights + "%y = cast(%a) {to=f64}\noutput \"y\" = %y");
}

TEST_CASE("a mask of positions is computed up to 64 KiB, though the positions are wider") {
  const auto mask = [](int length) {
    const std::string n = std::to_string(length);
    return "%a = constant {seed 1} : i32[" + n + "x1]\n%b = broadcast(%a) {shape=[" + n + "," + n +
           "]}\n%c = constant {seed 2} : i32[1x" + n + "]\n%d = broadcast(%c) {shape=[" + n + "," +
           n + "]}\n%y = less_equal(%b, %d)\noutput \"y\" = %y";
  };
  const ir::Graph folded = remove_dead(fold_constants(ir::graph_from(mask(256))));
  REQUIRE(folded.size() == 1);
  CHECK(folded.node(0).op == ir::Op::kConstant);
  CHECK(folded.node(0).type.size_bytes() == int64_t{64} << 10);
  check_unchanged(fold_constants, mask(257));
}

TEST_CASE("a gather out of range is not computed") {
  check_unchanged(fold_constants,
                  "%a = constant {1, 2} : f32[2]\n%i = constant {2} : i64[1]\n%y = gather(%a, %i)\n"
                  "output \"y\" = %y");
}

TEST_CASE("untouched constants are shared, not copied") {
  const ir::Graph before = ir::graph_from(
      "%x = input \"x\" : f32[2]\n%a = constant {1, 2} : f32[2]\n%y = add(%x, %a)\noutput \"y\" = "
      "%y");
  const ir::Graph after = fold_constants(before);
  CHECK(ir::literal_of(before, 1) == ir::literal_of(after, 1));
}

TEST_CASE("dead nodes go, inputs stay") {
  check_rewrite(remove_dead,
                "%x = input \"x\" : f32[2]\n%z = input \"z\" : f32[2]\n%a = neg(%z)\n"
                "%b = exp(%a)\n%y = neg(%x)\noutput \"y\" = %y",
                "%x = input \"x\" : f32[2]\n%z = input \"z\" : f32[2]\n%y = neg(%x)\n"
                "output \"y\" = %y");
  check_unchanged(remove_dead,
                  "%x = input \"x\" : f32[2]\n%y = neg(%x)\noutput \"y\" = %y\n"
                  "output \"x again\" = %x");
}

TEST_CASE("names, units and slices of inputs and outputs are kept") {
  check_unchanged(
      remove_dead,
      "%x = input \"x\" : f32[4] unit \"m\"\n%y = neg(%x) \"minus\"\n"
      "output \"y\" = %y unit \"m/s\"\nslice \"lead\" {offset=1, shape=[3]} unit \"s\"");
}

TEST_CASE("equal nodes are one") {
  check_rewrite(merge_common_subexpressions,
                "%x = input \"x\" : f32[2]\n%c = constant {1, 2} : f32[2]\n"
                "%d = constant {1, 2} : f32[2]\n%a = add(%x, %c)\n%b = add(%x, %d)\n"
                "%y = mul(%a, %b)\noutput \"y\" = %y",
                "%x = input \"x\" : f32[2]\n%c = constant {1, 2} : f32[2]\n%a = add(%x, %c)\n"
                "%y = mul(%a, %a)\noutput \"y\" = %y");
  check_rewrite(merge_common_subexpressions,
                "%x = input \"x\" : f32[2]\n%a = neg(%x)\n%b = neg(%x)\noutput \"a\" = %a\n"
                "output \"b\" = %b",
                "%x = input \"x\" : f32[2]\n%a = neg(%x)\noutput \"a\" = %a\noutput \"b\" = %a");
}

TEST_CASE("nodes that differ in anything but the name are two") {
  check_unchanged(merge_common_subexpressions,
                  "%x = input \"x\" : f32[2x2]\n%a = reduce(%x) {kind=sum, axes=[0]}\n"
                  "%b = reduce(%x) {kind=max, axes=[0]}\noutput \"a\" = %a\noutput \"b\" = %b");
  check_unchanged(merge_common_subexpressions,
                  "%a = constant {0, 1} : f32[2]\n%b = constant {-0, 1} : f32[2]\n"
                  "%c = constant {0, 1} : f64[2]\n%d = constant {0, 1} : f32[2x1]\n"
                  "output \"a\" = %a\noutput \"b\" = %b\noutput \"c\" = %c\noutput \"d\" = %d");
  check_unchanged(merge_common_subexpressions,
                  "%x = input \"x\" : f32[2]\n%z = input \"z\" : f32[2]\n%a = sub(%x, %z)\n"
                  "%b = sub(%z, %x)\noutput \"a\" = %a\noutput \"b\" = %b");
  check_unchanged(merge_common_subexpressions,
                  "%x = input \"x\" : f32[2]\n%z = input \"z\" : f32[2]\n%a = add(%x, %z)\n"
                  "%p = pad(%a) {before=[1], after=[0], value=0}\n"
                  "%q = pad(%a) {before=[1], after=[0], value=-0}\n"
                  "output \"p\" = %p\noutput \"q\" = %q");
}

TEST_CASE("large constants that differ in the middle are two") {
  ir::Graph graph;
  graph.name = "g";
  ir::Literal literal = ir::zero_literal({ir::DType::kFloat32, {100000}});
  graph.add_output("a", graph.add_constant(literal));
  graph.add_output("b", graph.add_constant(literal));
  ir::set_literal_element(literal, 50000, 1);
  graph.add_output("c", graph.add_constant(literal));
  const ir::Graph after = merge_common_subexpressions(graph);
  CHECK(after.size() == 2);
  CHECK(after.outputs.at(0).node == after.outputs.at(1).node);
  CHECK(after.outputs.at(0).node != after.outputs.at(2).node);
}

}  // namespace
}  // namespace camshaft::passes
