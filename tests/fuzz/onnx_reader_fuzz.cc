// SPDX-License-Identifier: MIT
// Any bytes as an ONNX model: a valid graph or a list of problems, never a crash or a hang.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "codegen/onnx/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<camshaft::onnx::Problem> problems;
  const auto graph = camshaft::onnx::read_onnx_bytes(
      {reinterpret_cast<const std::byte*>(data), size}, "", {}, &problems);
  if (graph.has_value() != problems.empty()) std::abort();
  if (graph && !camshaft::ir::verify_graph(*graph).is_ok()) std::abort();
  return 0;
}
