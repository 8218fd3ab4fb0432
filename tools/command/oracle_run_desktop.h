// SPDX-License-Identifier: MIT
// The oracle on tensors of the command.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "codegen/ir/graph.h"
#include "codegen/ir/oracle.h"
#include "codegen/onnx/reader.h"
#include "runtime/base/status.h"
#include "runtime/plan/reader.h"
#include "tools/io/tensor.h"

namespace camshaft::command {

// The model, with free dimensions, frozen inputs and bounds as the plan has them. All that is wrong
// with it goes to the log ring. `sources` may be null.
base::Result<ir::Graph> read_model(const std::string& path, const plan::PlanFile& plan,
                                   onnx::ReaderSources* sources = nullptr);

// The graph's outputs, in double precision throughout, or rounded as a run of the graph would.
// `inputs` are in the plan's order; the graph takes them by name. Slow.
base::Result<std::vector<ir::OracleTensor>> run_oracle_on(
    const ir::Graph& graph, const plan::PlanInfo& info, std::span<const io::Tensor> inputs,
    ir::OracleRounding rounding = ir::OracleRounding::kNone);

// The numbers of a tensor as doubles.
std::vector<double> to_doubles(const ir::OracleTensor& tensor);

}  // namespace camshaft::command
