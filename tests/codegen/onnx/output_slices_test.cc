// SPDX-License-Identifier: MIT
#include "codegen/onnx/output_slices.h"

#include <catch2/catch.hpp>

#include "tests/codegen/onnx/support/onnx_testing.h"

namespace camshaft::onnx {
namespace {

using Catch::Matchers::Contains;

Model model_with(const std::string& json, bool two_outputs = false) {
  Model model;
  model.input("x", {1, 10}).node("Relu", {"x"}, {"y"}).output("y");
  if (two_outputs) model.node("Neg", {"x"}, {"z"}).output("z");
  model.metadata(std::string(kOutputSlicesKey), json);
  return model;
}

TEST_CASE("slices of the only output") {
  const ir::Graph graph = graph_of(model_with(
      R"([{"name":"path","offset":0,"shape":[2,4],"unit":"m"},{"name":"p","offset":8,"shape":[]}])"));
  const std::vector<ir::OutputSlice>& slices = graph.outputs[0].slices;
  REQUIRE(slices.size() == 2);
  CHECK(slices[0].name == "path");
  CHECK(slices[0].shape == Shape{2, 4});
  CHECK(slices[0].unit == "m");
  CHECK(slices[1].offset == 8);
  CHECK(slices[1].shape.empty());
  CHECK(slices[1].unit.empty());
}

TEST_CASE("with several outputs, a slice says of which") {
  const ir::Graph graph =
      graph_of(model_with(R"([{"name":"a","offset":0,"shape":[1],"output":"z"}])", true));
  CHECK(graph.outputs[0].slices.empty());
  CHECK(graph.outputs[1].slices.size() == 1);
}

TEST_CASE("malformed slices are problems") {
  struct Bad {
    const char* json;
    const char* sentence;
  };
  const Bad cases[] = {
      {"{", "not a JSON list"},
      {"", "not a JSON list"},
      {"{}", "not a JSON list"},
      {"[1]", "entry 0 needs a name"},
      {R"([{"name":"a","offset":0}])", "entry 0 needs a name"},
      {R"([{"name":"a","offset":-1,"shape":[1]}])", "entry 0 needs a name"},
      {R"([{"name":"a","offset":0.5,"shape":[1]}])", "entry 0 needs a name"},
      {R"([{"name":"a","offset":0,"shape":[-1]}])", "entry 0 needs a name"},
      {R"([{"name":"","offset":0,"shape":[1]}])", "entry 0 needs a name"},
      {R"([{"name":"a","offset":0,"shape":[1],"unit":3}])", "entry 0 needs a name"},
      {R"([{"name":"a","offset":8,"shape":[3]}])", "does not lie within its output, f32[1x10]"},
      {R"([{"name":"a","offset":0,"shape":[70368744177664,70368744177664]}])", "does not lie"},
      {R"([{"name":"a","offset":0,"shape":[1],"output":"q"}])", "of output 'q'"},
      {R"([{"name":"a","offset":0,"shape":[1]},{"name":"a","offset":1,"shape":[1]}])", "twice"},
  };
  for (const Bad& bad : cases) {
    const Outcome outcome = read(model_with(bad.json));
    CHECK(outcome.code == base::Code::kCorrupt);
    CHECK_THAT(outcome.text(), Contains("camshaft.output_slices") && Contains(bad.sentence));
  }
  CHECK_THAT(read(model_with(R"([{"name":"a","offset":0,"shape":[1]}])", true)).text(),
             Contains("must say which output"));
}

TEST_CASE("deeply nested metadata is refused") {
  CHECK(read(model_with(std::string(100000, '['))).code == base::Code::kCorrupt);
}

}  // namespace
}  // namespace camshaft::onnx
