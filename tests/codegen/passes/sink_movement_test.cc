// SPDX-License-Identifier: MIT
// sink_broadcasts, sink_reshapes and the grouping of axes behind them.
#include "codegen/passes/reshape_groups.h"
#include "tests/codegen/support/pass_testing.h"

namespace camshaft::passes {
namespace {

using ir::Shape;

std::string groups_text(const Shape& from, const Shape& to) {
  const auto groups = reshape_groups(from, to);
  if (!groups) return "none";
  std::string text;
  for (const ReshapeGroup& g : *groups) {
    text += std::to_string(g.from_end - g.from_begin) + ":" +
            std::to_string(g.to_end - g.to_begin) + " ";
  }
  return text;
}

TEST_CASE("axes of a reshape are grouped as finely as they can be") {
  CHECK(groups_text({2, 3, 4}, {6, 4}) == "2:1 1:1 ");
  CHECK(groups_text({6, 4}, {2, 3, 4}) == "1:2 1:1 ");
  CHECK(groups_text({4, 6}, {6, 4}) == "2:2 ");
  CHECK(groups_text({2, 3}, {2, 1, 3}) == "1:1 1:2 ");
  CHECK(groups_text({2, 3, 1}, {2, 3}) == "1:1 1:1 1:0 ");
  CHECK(groups_text({}, {1, 1}) == "0:1 0:1 ");
  CHECK(groups_text({0, 3}, {0, 2}) == "none");
}

TEST_CASE("a stretched source passes a reshape group by group") {
  CHECK(reshaped_source({1, 1, 4}, {2, 3, 4}, {6, 4}) == Shape{1, 4});
  CHECK(reshaped_source({2, 3, 1}, {2, 3, 4}, {6, 4}) == Shape{6, 1});
  CHECK(reshaped_source({1, 4}, {6, 4}, {2, 3, 4}) == Shape{1, 1, 4});
  CHECK(reshaped_source({4}, {4}, {1, 4, 1}) == Shape{1, 4, 1});
  CHECK_FALSE(reshaped_source({2, 1, 4}, {2, 3, 4}, {6, 4}).has_value());
}

TEST_CASE("elementwise ops on equally stretched operands compute the small tensor") {
  check_rewrite(sink_broadcasts,
                "%x = input \"x\" : f32[1x3x1]\n%z = input \"z\" : f32[1x1x1]\n"
                "%a = broadcast(%x) {shape=[2,3,4]}\n%b = broadcast(%z) {shape=[2,3,4]}\n"
                "%y = add(%a, %b)\noutput \"y\" = %y",
                "%x = input \"x\" : f32[1x3x1]\n%z = input \"z\" : f32[1x1x1]\n"
                "%b = broadcast(%z) {shape=[1,3,1]}\n%s = add(%x, %b)\n"
                "%y = broadcast(%s) {shape=[2,3,4]}\noutput \"y\" = %y");
  // A splat constant stretches along.
  check_rewrite(sink_broadcasts,
                "%x = input \"x\" : f32[1x3]\n%a = broadcast(%x) {shape=[2,3]}\n"
                "%c = constant {5, 5, 5, 5, 5, 5} : f32[2x3]\n%y = mul(%a, %c)\noutput \"y\" = %y",
                "%x = input \"x\" : f32[1x3]\n%c = constant {5} : f32[1x1]\n"
                "%d = broadcast(%c) {shape=[1,3]}\n%s = mul(%x, %d)\n"
                "%y = broadcast(%s) {shape=[2,3]}\noutput \"y\" = %y");
  check_rewrite(sink_broadcasts,
                "%x = input \"x\" : f32[1x3]\n%a = broadcast(%x) {shape=[2,3]}\n"
                "%y = cast(%a) {to=i8}\noutput \"y\" = %y",
                "%x = input \"x\" : f32[1x3]\n%s = cast(%x) {to=i8}\n"
                "%y = broadcast(%s) {shape=[2,3]}\noutput \"y\" = %y");
}

TEST_CASE("operands stretched along different axes, or not at all, stay") {
  check_unchanged(sink_broadcasts,
                  "%x = input \"x\" : f32[1x3]\n%z = input \"z\" : f32[2x1]\n"
                  "%a = broadcast(%x) {shape=[2,3]}\n%b = broadcast(%z) {shape=[2,3]}\n"
                  "%y = add(%a, %b)\noutput \"y\" = %y");
  check_unchanged(sink_broadcasts,
                  "%x = input \"x\" : f32[1x3]\n%z = input \"z\" : f32[2x3]\n"
                  "%a = broadcast(%x) {shape=[2,3]}\n%y = add(%z, %a)\noutput \"y\" = %y");
}

TEST_CASE("broadcasts pass behind movement") {
  const std::string head = "%x = input \"x\" : f32[1x3x1]\n%a = broadcast(%x) {shape=[2,3,4]}\n";
  check_rewrite(sink_broadcasts, head + "%y = transpose(%a) {perm=[2,0,1]}\noutput \"y\" = %y",
                "%x = input \"x\" : f32[1x3x1]\n%t = transpose(%x) {perm=[2,0,1]}\n"
                "%y = broadcast(%t) {shape=[4,2,3]}\noutput \"y\" = %y");
  check_rewrite(sink_broadcasts, head + "%y = reshape(%a) {shape=[2,1,3,4]}\noutput \"y\" = %y",
                "%x = input \"x\" : f32[1x3x1]\n%t = reshape(%x) {shape=[1,1,3,1]}\n"
                "%y = broadcast(%t) {shape=[2,1,3,4]}\noutput \"y\" = %y");
  check_rewrite(
      sink_broadcasts,
      head + "%y = slice(%a) {begin=[1,2,3], extent=[1,2,2], step=[1,-1,-2]}\noutput \"y\" = %y",
      "%x = input \"x\" : f32[1x3x1]\n%t = slice(%x) {begin=[0,2,0], extent=[1,2,1], "
      "step=[1,-1,1]}\n"
      "%y = broadcast(%t) {shape=[1,2,2]}\noutput \"y\" = %y");
  check_unchanged(sink_broadcasts, head + "%y = reshape(%a) {shape=[6,4]}\noutput \"y\" = %y");
}

// A matrix product of rows, as it comes from a MatMul of three axes by two.
const std::string kRows =
    "%x = input \"x\" : f32[6x4]\n%r = input \"r\" : f32[2x3x5]\n%w = constant {seed 1} : "
    "f32[4x5]\n"
    "%m = matmul(%x, %w)\n";

TEST_CASE("bias and activation of a flattened product follow it directly") {
  check_rewrite(sink_reshapes,
                kRows +
                    "%s = reshape(%m) {shape=[2,3,5]}\n%c = constant {seed 2} : f32[1x1x5]\n"
                    "%b = broadcast(%c) {shape=[2,3,5]}\n%a = add(%s, %b)\n%y = tanh(%a)\n"
                    "output \"y\" = %y",
                kRows +
                    "%c = constant {seed 2} : f32[1x1x5]\n%d = reshape(%c) {shape=[1,5]}\n"
                    "%b = broadcast(%d) {shape=[6,5]}\n%a = add(%m, %b)\n%t = tanh(%a)\n"
                    "%y = reshape(%t) {shape=[2,3,5]}\noutput \"y\" = %y");
}

TEST_CASE("a residual made before the product joins it, in either order of operands") {
  const std::string after =
      "%q = reshape(%r) {shape=[6,5]} \"r\"\n%a = add(%m, %q)\n%y = reshape(%a) {shape=[2,3,5]}\n"
      "output \"y\" = %y";
  check_rewrite(sink_reshapes,
                kRows + "%s = reshape(%m) {shape=[2,3,5]}\n%y = add(%s, %r)\noutput \"y\" = %y",
                kRows + after);
  check_rewrite(sink_reshapes,
                kRows + "%s = reshape(%m) {shape=[2,3,5]}\n%y = add(%r, %s)\noutput \"y\" = %y",
                kRows +
                    "%q = reshape(%r) {shape=[6,5]} \"r\"\n%a = add(%q, %m)\n"
                    "%y = reshape(%a) {shape=[2,3,5]}\noutput \"y\" = %y");
}

TEST_CASE("two reshapes of one kind are one behind") {
  check_rewrite(sink_reshapes,
                "%x = input \"x\" : f32[6]\n%z = input \"z\" : f32[6]\n"
                "%a = reshape(%x) {shape=[2,3]}\n%b = reshape(%z) {shape=[2,3]}\n"
                "%y = add(%a, %b)\noutput \"y\" = %y",
                "%x = input \"x\" : f32[6]\n%z = input \"z\" : f32[6]\n%s = add(%x, %z)\n"
                "%y = reshape(%s) {shape=[2,3]}\noutput \"y\" = %y");
}

TEST_CASE("reshapes stay where an operand would have to be reshaped for nothing") {
  // No root to fuse with.
  check_unchanged(sink_reshapes,
                  "%x = input \"x\" : f32[6]\n%z = input \"z\" : f32[2x3]\n"
                  "%a = reshape(%x) {shape=[2,3]}\n%y = add(%a, %z)\noutput \"y\" = %y");
  // Reshapes from different shapes: neither leads.
  check_unchanged(sink_reshapes,
                  "%x = input \"x\" : f32[6]\n%z = input \"z\" : f32[3x2]\n"
                  "%a = reshape(%x) {shape=[2,3]}\n%b = reshape(%z) {shape=[2,3]}\n"
                  "%y = add(%a, %b)\noutput \"y\" = %y");
  // The other operand depends on the product: it cannot be fused with it.
  check_unchanged(sink_reshapes, kRows +
                                     "%s = reshape(%m) {shape=[2,15]}\n"
                                     "%u = reshape(%m) {shape=[15,2]}\n"
                                     "%v = transpose(%u) {perm=[1,0]}\n%y = mul(%s, %v)\n"
                                     "output \"y\" = %y");
}

TEST_CASE("reductions of whole groups of axes pass before a reshape") {
  const std::string x = "%x = input \"x\" : f32[1x3x4x5]\n";
  check_rewrite(sink_reshapes,
                x + "%a = reshape(%x) {shape=[3,20]}\n%y = reduce(%a) {kind=sum, axes=[1]}\n"
                    "output \"y\" = %y",
                x + "%a = reduce(%x) {kind=sum, axes=[2,3]}\n%y = reshape(%a) {shape=[3,1]}\n"
                    "output \"y\" = %y");
  check_unchanged(sink_reshapes, x + "%a = reshape(%x) {shape=[6,10]}\n"
                                     "%y = reduce(%a) {kind=sum, axes=[1]}\noutput \"y\" = %y");
}

TEST_CASE("layer norm behind a flattened product keeps to one shape") {
  const std::string norm =
      "%s = reshape(%m) {shape=[2,3,5]}\n%k = reduce(%s) {kind=sum, axes=[2]}\n"
      "%b = broadcast(%k) {shape=[2,3,5]}\n%y = sub(%s, %b)\noutput \"y\" = %y";
  const ir::Graph after =
      sink_reshapes(sink_broadcasts(sink_reshapes(ir::graph_from(kRows + norm))));
  for (const ir::Node& node : after.nodes()) {
    if (node.op == ir::Op::kSub || node.op == ir::Op::kReduce) CHECK(node.type.shape[0] == 6);
  }
}

}  // namespace
}  // namespace camshaft::passes
