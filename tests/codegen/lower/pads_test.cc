// SPDX-License-Identifier: MIT
// Pads are written in pieces of their columns: before, inside, behind.
#include <algorithm>

#include "tests/codegen/lower/run_schedule.h"

namespace camshaft::lower {
namespace {

TEST_CASE("pads of every mode, of some axes and all") {
  for (const char* mode : {"constant, value=1.5", "edge", "reflect", "wrap"}) {
    for (const char* pads :
         {"before=[0,0,2,3], after=[0,0,1,4]", "before=[1,2,0,0], after=[0,1,3,0]",
          "before=[0,0,0,5], after=[0,0,0,0]", "before=[0,0,0,0], after=[0,0,2,1]",
          // As far as a reflection may reach.
          "before=[0,0,3,16], after=[0,0,3,16]"}) {
      for (const char* type : {"f32[2x3x4x17]", "u8[2x3x4x17]", "f16[2x3x4x17]"}) {
        const std::string text = std::string("graph \"g\" {\n%x = input \"x\" : ") + type +
                                 "\n%p = pad(%x) {" + pads + ", mode=" + mode +
                                 "}\noutput \"y\" = %p\n}";
        CAPTURE(text);
        CHECK(check_graph(text, 0).strategies == std::vector<std::string>{"elementwise"});
      }
    }
  }
}

TEST_CASE("pads that are longer than the operand") {
  for (const char* mode : {"constant, value=2", "edge"}) {
    check_graph(std::string("graph \"g\" {\n%x = input \"x\" : f32[2x3x5]\n%p = pad(%x) "
                            "{before=[0,11,17], after=[0,9,23], mode=") +
                    mode + "}\noutput \"y\" = %p\n}",
                0);
  }
}

TEST_CASE("pads between windows, in blocks of channels") {
  for (const char* mode : {"constant, value=0.5", "reflect"}) {
    const std::string text = std::string(R"(graph "g" {
      %x = input "x" : f32[1x8x5x6]
      %w = constant {seed 1} : f32[16x8x1x1]
      %a = conv(%x, %w) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=1}
      %t = tanh(%a)
      %p = pad(%t) {before=[0,0,1,2], after=[0,0,3,1], mode=)") +
                             mode + R"(}
      %u = constant {seed 2} : f32[16x16x3x3]
      %b = conv(%p, %u) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=1}
      output "y" = %b
    })";
    CHECK(check_graph(text).strategies.at(1) == "elementwise");
    check_graph(text, 2e-5, 1);
  }
}

TEST_CASE("an operand without columns is all padding") {
  check_graph(R"(graph "g" {
    %x = input "x" : f32[2x0]
    %p = pad(%x) {before=[1,2], after=[0,3], mode=constant, value=7}
    output "y" = %p
  })",
              0);
}

TEST_CASE("known indices are not tested for their range, others are") {
  const auto kernel_of = [](const std::string& indices) {
    const auto graph = ir::parse_graph("graph \"g\" {\n%x = input \"x\" : f32[4x9]\n" + indices +
                                       "\n%g = gather(%x, %i) {axis=1}\noutput \"y\" = %g\n}");
    REQUIRE(graph.has_value());
    const Schedule schedule = schedule::make_schedule(*graph, {});
    return ir::print_kernel(lower_region({schedule, schedule.regions.at(0), test_target()}).kernel);
  };
  const std::string known = kernel_of("%i = constant {8, 0, 3} : i64[3]");
  CHECK(known.find("select") == std::string::npos);
  CHECK(known.find("min") == std::string::npos);
  for (const char* indices : {"%i = constant {8, 0, -3} : i64[3]",
                              "%i = constant {9, 0, 3} : i64[3]", "%i = input \"i\" : i64[3]"}) {
    CHECK(kernel_of(indices).find("select") != std::string::npos);
    CHECK(kernel_of(indices).find("min") != std::string::npos);
  }
}

}  // namespace
}  // namespace camshaft::lower
