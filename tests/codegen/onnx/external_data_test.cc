// SPDX-License-Identifier: MIT
#include "codegen/onnx/external_files.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <fstream>

#include "tests/codegen/onnx/support/onnx_testing.h"
#include "tests/support/temporary_folder.h"

namespace camshaft::onnx {
namespace {

using Catch::Matchers::Contains;

// A model that adds 4 floats from the file `location` to its input.
Model external_model(const std::string& location, const std::string& offset,
                     const std::string& length) {
  Model model;
  model.input("x", {4}).node("Add", {"x", "w"}, {"y"}).output("y");
  ::onnx::TensorProto* tensor = model.graph().add_initializer();
  tensor->set_name("w");
  tensor->set_data_type(1);
  tensor->add_dims(4);
  tensor->set_data_location(::onnx::TensorProto::EXTERNAL);
  const auto add = [&](const char* key, const std::string& value) {
    if (value.empty()) return;
    ::onnx::StringStringEntryProto* entry = tensor->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  };
  add("location", location);
  add("offset", offset);
  add("length", length);
  return model;
}

// Reads the model from a folder in which "data/w.bin" holds 0, 1, ..., 7 as floats.
Outcome read_in_folder(const Model& model, ReaderSources* sources = nullptr) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "data");
  const float values[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  std::string bytes(sizeof values, '\0');
  std::memcpy(bytes.data(), values, sizeof values);
  std::ofstream(folder / "data/w.bin", std::ios::binary) << bytes;
  std::ofstream(folder / "model.onnx", std::ios::binary) << model.bytes();
  Outcome outcome;
  auto graph = read_onnx(folder / "model.onnx", {}, &outcome.problems, sources);
  outcome.code = graph.error().code();
  if (graph) outcome.graph = std::move(graph).value();
  return outcome;
}

TEST_CASE("data in a file beside the model is read") {
  ReaderSources sources;
  const Outcome outcome = read_in_folder(external_model("data/w.bin", "8", "16"), &sources);
  INFO(outcome.text());
  REQUIRE(outcome.code == base::Code::kOk);
  CHECK(run(outcome.graph, {{0, 0, 0, 0}}) == std::vector<double>{2, 3, 4, 5});
  REQUIRE(sources.files.size() == 2);
  CHECK_THAT(sources.files[1], Contains("data/w.bin"));
}

TEST_CASE("offset and length have defaults") {
  const Outcome outcome = read_in_folder(external_model("data/w.bin", "", ""));
  REQUIRE(outcome.code == base::Code::kOk);
  CHECK(run(outcome.graph, {{0, 0, 0, 0}}) == std::vector<double>{0, 1, 2, 3});
}

TEST_CASE("data that is not there is corrupt, and told with its tensor") {
  struct Bad {
    const char* location;
    const char* offset;
    const char* length;
    const char* sentence;
  };
  const Bad cases[] = {
      {"data/v.bin", "0", "16", "can't be opened"},
      {"../w.bin", "0", "16", "not in the model's folder"},
      {"data/../../w.bin", "0", "16", "not in the model's folder"},
      {"/etc/hostname", "0", "16", "not in the model's folder"},
      {"data/w.bin", "17", "16", "of the 32 bytes"},
      {"data/w.bin", "18446744073709551615", "16", "of the 32 bytes"},
      {"data/w.bin", "0", "15", "needs 16 bytes"},
      {"data/w.bin", "-1", "16", "no location, offset and length"},
      {"data/w.bin", "1x", "16", "no location, offset and length"},
      {"", "0", "16", "no location, offset and length"},
      {"data", "0", "16", "can't be opened"},
  };
  for (const Bad& bad : cases) {
    const Outcome outcome = read_in_folder(external_model(bad.location, bad.offset, bad.length));
    CHECK(outcome.code == base::Code::kCorrupt);
    REQUIRE(outcome.problems.size() == 1);
    CHECK(outcome.problems[0].node == "w");
    CHECK_THAT(outcome.problems[0].sentence, Contains(bad.sentence));
  }
}

TEST_CASE("a model that is no file has no data beside it") {
  CHECK_THAT(read(external_model("w.bin", "0", "16")).text(),
             Contains("not in the model's folder"));
}

}  // namespace
}  // namespace camshaft::onnx
