// SPDX-License-Identifier: MIT
// The list of rewrites that every graph goes through before it is scheduled.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/ir/graph.h"
#include "runtime/base/status.h"

namespace camshaft::passes {

// What one pass cost and did over all rounds.
struct PassReport {
  std::string_view name;  // static storage
  int runs = 0;
  int changes = 0;  // runs that changed the graph
  int64_t duration_ns = 0;
};

struct PipelineOptions {
  // Names of passes to leave out, for tests and for finding a wrong one. An unknown name is an
  // error.
  std::set<std::string> disabled;
  // Verify the graph after each pass that changed it; a broken graph ends the pipeline with an
  // error that names the pass.
  bool verify = false;
  // Called after each pass that changed the graph, for printing it.
  std::function<void(std::string_view pass, const ir::Graph& graph)> dump;
  // If not null, receives a row for each enabled pass, in the order of the list.
  std::vector<PassReport>* report = nullptr;
};

// Names of all passes in order. Static storage.
std::vector<std::string_view> pass_names();

// Runs the passes in order, round after round, until a whole round changes nothing. The same graph
// and options give the same result. Passes are listed, with what they keep, in passes.h.
base::Result<ir::Graph> run_pipeline(ir::Graph graph, const PipelineOptions& options);

}  // namespace camshaft::passes
