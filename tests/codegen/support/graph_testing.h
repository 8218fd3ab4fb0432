// SPDX-License-Identifier: MIT
// What tests over graphs share: graphs from text, values, and runs of the oracle.
#pragma once

#include <catch2/catch.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "codegen/ir/graph.h"
#include "codegen/ir/literal.h"
#include "codegen/ir/oracle.h"
#include "runtime/base/log_ring.h"

namespace camshaft::ir {

// Parses and verifies `body`, the lines between the braces.
inline Graph graph_from(std::string_view body) {
  const uint64_t before = base::log_sequence();
  base::Result<Graph> graph = parse_graph("graph \"test\" {\n" + std::string(body) + "\n}");
  for (const base::LogLine& line : base::log_lines_after(before)) UNSCOPED_INFO(line.text);
  REQUIRE(graph.has_value());
  REQUIRE(verify_graph(*graph).is_ok());
  return std::move(graph).value();
}

inline OracleTensor tensor(DType dtype, Shape shape, const std::vector<double>& values) {
  return to_oracle(make_literal({dtype, std::move(shape)}, values));
}
inline OracleTensor f32(Shape shape, const std::vector<double>& values) {
  return tensor(DType::kFloat32, std::move(shape), values);
}

// Seeded values for every input of a graph.
inline std::vector<OracleTensor> seeded_inputs(const Graph& graph, uint64_t seed) {
  std::vector<OracleTensor> inputs;
  for (const GraphInput& input : graph.inputs) {
    inputs.push_back(to_oracle(seeded_literal(graph.node(input.node).type, seed++)));
  }
  return inputs;
}

// All outputs; the run must succeed.
inline std::vector<OracleTensor> run_all(const Graph& graph,
                                         const std::vector<OracleTensor>& inputs,
                                         OracleRounding rounding = OracleRounding::kNone) {
  const uint64_t before = base::log_sequence();
  auto outputs = run_oracle(graph, inputs, rounding);
  for (const base::LogLine& line : base::log_lines_after(before)) UNSCOPED_INFO(line.text);
  REQUIRE(outputs.has_value());
  return std::move(outputs).value();
}

// The elements of the only output of `body`.
inline std::vector<double> floats_of(std::string_view body,
                                     const std::vector<OracleTensor>& inputs = {},
                                     OracleRounding rounding = OracleRounding::kNone) {
  return run_all(graph_from(body), inputs, rounding).at(0).floats;
}
inline std::vector<int64_t> ints_of(std::string_view body,
                                    const std::vector<OracleTensor>& inputs = {}) {
  return run_all(graph_from(body), inputs).at(0).ints;
}

}  // namespace camshaft::ir
