// SPDX-License-Identifier: MIT
// Reads a GraphProto: initializers, inputs, nodes in order, outputs.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "codegen/ir/graph.h"
#include "codegen/onnx/builder.h"
#include "codegen/onnx/external_files.h"
#include "codegen/onnx/input_shapes.h"
#include "codegen/onnx/onnx_proto.h"
#include "codegen/onnx/problem.h"
#include "codegen/onnx/reader.h"

namespace camshaft::onnx {

// One reading of one graph. After an error the reading goes on: a result that is missing is
// replaced by one of the type that the model declares for it, and where it declares none, the
// nodes that read it are only checked for being known.
class GraphReader {
 public:
  GraphReader(int opset, const ReaderOptions& options, ExternalFiles* files,
              std::vector<Problem>* problems)
      : opset_(opset), options_(options), files_(files), problems_(problems), builder_(&graph_) {}

  // Takes the data of initializers out of `source` as it goes.
  void read(::onnx::GraphProto* source);

  // The graph; of use only if no problem was found.
  ir::Graph take_graph() { return std::move(graph_); }
  ir::Graph* graph() { return &graph_; }

 private:
  void read_initializers(::onnx::GraphProto* source);
  void read_inputs(const ::onnx::GraphProto& source);
  void read_node(const ::onnx::NodeProto& node);
  void read_outputs(const ::onnx::GraphProto& source);
  void bind_outputs(const ::onnx::NodeProto& node, const std::vector<Value>& values);
  bool check_node(const ::onnx::NodeProto& node);
  bool check_inputs(const ::onnx::NodeProto& node);
  Value placeholder(const std::string& name);
  void tell(base::Code code, const ::onnx::NodeProto& node, std::string sentence);

  int opset_;
  const ReaderOptions& options_;
  ExternalFiles* files_;
  std::vector<Problem>* problems_;
  ir::Graph graph_;
  Builder builder_;
  // By name. A value that could not be read is there, but absent.
  std::unordered_map<std::string, Value> values_;
  std::unordered_map<std::string, TensorType> declared_;
};

}  // namespace camshaft::onnx
