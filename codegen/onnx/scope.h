// SPDX-License-Identifier: MIT
// Reads nodes: of the model's graph, of the graphs among a node's attributes (branches, loop
// bodies), of functions. All become nodes of one ir::Graph.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codegen/ir/graph.h"
#include "codegen/onnx/builder.h"
#include "codegen/onnx/external_files.h"
#include "codegen/onnx/node_order.h"
#include "codegen/onnx/node_reader.h"
#include "codegen/onnx/onnx_proto.h"
#include "codegen/onnx/problem.h"
#include "codegen/onnx/reader.h"

namespace camshaft::onnx {

// What all scopes of one model share.
struct Reading {
  Reading(const ReaderOptions& reader_options, ExternalFiles* external_files,
          std::vector<Problem>* found)
      : options(reader_options), files(external_files), problems(found), builder(&graph) {}

  const ReaderOptions& options;
  ExternalFiles* files;
  std::vector<Problem>* problems;
  ir::Graph graph;
  Builder builder;
  // The model's own functions, by domain and name.
  std::map<std::pair<std::string, std::string>, const ::onnx::FunctionProto*> functions;
  // Initializers of subgraphs: a loop's body is read once an iteration, its data only once.
  std::unordered_map<const ::onnx::TensorProto*, std::shared_ptr<const ir::Literal>> literals;
  std::set<std::string> used_bounds = {};  // names in options.bounds that bound something
  int depth = 0;  // of scopes: functions that call each other for ever are an error
};

// The names of one graph or function, and of what is around it. After an error the reading goes on:
// a result that is missing is replaced by one of the type that the model declares for it, and where
// it declares none, the nodes that read it are only checked for being known.
class Scope : public SubgraphReader {
 public:
  // `outer` is null for the model's graph and for functions. `path` comes before the names of nodes
  // in problems: "loop1/".
  Scope(Reading* reading, int opset, const Scope* outer, std::string path)
      : reading_(reading), opset_(opset), outer_(outer), path_(std::move(path)) {}

  // Gives a name its value; absent: it could not be read. False if the name has one here.
  bool bind(const std::string& name, Value value) { return values_.emplace(name, value).second; }
  bool has(const std::string& name) const { return values_.contains(name); }
  // The value of a name here or around; null if nothing makes it.
  const Value* find(const std::string& name) const;
  // The type that the model declares for a value, for placeholders.
  void declare(const std::string& name, ir::TensorType type) {
    declared_.emplace(name, std::move(type));
  }
  const ir::TensorType* declared(const std::string& name) const;

  void read_nodes(const Nodes& nodes);
  std::optional<std::vector<Value>> read_subgraph(const ::onnx::GraphProto& graph,
                                                  const std::vector<Value>& inputs,
                                                  const std::string& label) override;

 private:
  void read_node(const ::onnx::NodeProto& node);
  void call_function(const ::onnx::NodeProto& node, const ::onnx::FunctionProto& function);
  void read_subgraph_initializers(const ::onnx::GraphProto& graph);
  void bind_outputs(const ::onnx::NodeProto& node, const std::vector<Value>& values);
  bool check_opset(const ::onnx::NodeProto& node, int since);
  bool check_node(const ::onnx::NodeProto& node);
  bool check_inputs(const ::onnx::NodeProto& node);
  std::vector<Value> inputs_of(const ::onnx::NodeProto& node) const;
  Value placeholder(const std::string& name);
  std::string label_of(const ::onnx::NodeProto& node) const { return path_ + node_label(node); }
  void tell(base::Code code, const ::onnx::NodeProto& node, std::string sentence);

  Reading* reading_;
  int opset_;
  const Scope* outer_;
  std::string path_;
  std::unordered_map<std::string, Value> values_;
  std::unordered_map<std::string, ir::TensorType> declared_;
};

}  // namespace camshaft::onnx
