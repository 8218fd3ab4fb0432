// SPDX-License-Identifier: MIT
// The implementations of the graph that conformance compares: the oracle, which rounds each node's
// result to its dtype or keeps doubles, and each CPU target all the way through schedule, kernels,
// plan bytes, reader and session.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "codegen/ir/graph.h"
#include "codegen/ir/oracle.h"
#include "devices/hal/device.h"
#include "runtime/base/status.h"
#include "tools/reference/backend_case.h"

namespace camshaft::reference {

// By this name, or by the name of a target ("llvm", "cpu:znver3"), an implementation is chosen.
inline constexpr const char* kOracle = "oracle";
inline constexpr const char* kExactOracle = "exact";

class Implementation {
 public:
  // `threads`: of a target.
  Implementation(std::string name, int threads);

  const std::string& name() const { return name_; }

  // The outputs of `graph`, in order. `tensors` holds its inputs, by name, in any order. Compiles
  // in memory; nothing is kept between calls but the device.
  base::Result<std::vector<ir::Literal>> run(const ir::Graph& graph,
                                             const std::vector<NamedTensor>& tensors);

 private:
  base::Result<std::vector<ir::Literal>> run_on_oracle(
      const ir::Graph& graph, const std::vector<const ir::Literal*>& inputs) const;
  base::Result<std::vector<ir::Literal>> run_on_target(
      const ir::Graph& graph, const std::vector<const ir::Literal*>& inputs);

  std::string name_;
  int threads_;
  std::unique_ptr<hal::Device> device_;  // opened when first needed
};

}  // namespace camshaft::reference
