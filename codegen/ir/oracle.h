// SPDX-License-Identifier: MIT
// The oracle: a plain interpreter of the graph in double precision. Every kernel, pass and backend
// is tested against it. Slow on purpose: its only virtue is that it is obviously right.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/ir/graph.h"
#include "runtime/base/status.h"

namespace camshaft::ir {

// A tensor of the oracle: float dtypes hold doubles, integers and bool hold int64 (u64 by bit
// pattern); exactly one of the two vectors is filled.
struct OracleTensor {
  TensorType type;
  std::vector<double> floats;
  std::vector<int64_t> ints;
};

// Converts between dense literals and oracle tensors. to_literal rounds to the dtype.
OracleTensor to_oracle(const Literal& literal);
Literal to_literal(const OracleTensor& tensor);

enum class OracleRounding : uint8_t {
  kNone,        // keep doubles throughout: the reference for tolerances
  kEveryNode,   // round each node's result to its dtype: what constant folding must give
};

// Computes every output of `graph`. `inputs` are in the order of graph.inputs; wrong types are an
// error. Memory: all values are kept until their last use.
base::Result<std::vector<OracleTensor>> run_oracle(const Graph& graph,
                                                   const std::vector<OracleTensor>& inputs,
                                                   OracleRounding rounding = OracleRounding::kNone);

// Computes one node from its operands' values (used by constant folding).
base::Result<OracleTensor> evaluate_node(const Graph& graph, const Node& node,
                                         const std::vector<const OracleTensor*>& operands);

}  // namespace camshaft::ir
