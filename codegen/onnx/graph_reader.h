// SPDX-License-Identifier: MIT
// Reads a model's graph: initializers, inputs, nodes in order, outputs.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "codegen/ir/graph.h"
#include "codegen/onnx/external_files.h"
#include "codegen/onnx/input_shapes.h"
#include "codegen/onnx/onnx_proto.h"
#include "codegen/onnx/problem.h"
#include "codegen/onnx/reader.h"
#include "codegen/onnx/scope.h"

namespace camshaft::onnx {

// One reading of one model.
class GraphReader {
 public:
  GraphReader(int opset, const ReaderOptions& options, ExternalFiles* files,
              std::vector<Problem>* problems)
      : reading_(options, files, problems), scope_(&reading_, opset, nullptr, "") {}

  // Takes the data of initializers out of `model` as it goes.
  void read(::onnx::ModelProto* model);

  // The graph; of use only if no problem was found.
  ir::Graph take_graph() { return std::move(reading_.graph); }
  ir::Graph* graph() { return &reading_.graph; }
  // The inputs that were frozen, and their values.
  const std::map<std::string, std::shared_ptr<const ir::Literal>>& frozen() const {
    return frozen_;
  }

 private:
  void read_functions(const ::onnx::ModelProto& model);
  void read_initializers(::onnx::GraphProto* source);
  void read_inputs(const ::onnx::GraphProto& source);
  void read_frozen(const ::onnx::ValueInfoProto& input);
  void read_outputs(const ::onnx::GraphProto& source);
  void read_output(const ::onnx::ValueInfoProto& output);
  void add_counts(const std::string& name, Value value);
  void add_count_outputs();
  void add_further_output(const std::string& name, Value value);
  void check_bounds();
  void tell(base::Code code, const std::string& name, std::string sentence) {
    reading_.problems->push_back({code, name, "", std::move(sentence)});
  }

  Reading reading_;
  Scope scope_;
  std::map<std::string, std::shared_ptr<const ir::Literal>> frozen_;
  std::vector<std::pair<std::string, Value>> counts_;  // further outputs, by name
};

}  // namespace camshaft::onnx
