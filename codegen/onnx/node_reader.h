// SPDX-License-Identifier: MIT
// What an operator function sees of its node: inputs, attributes, the opset, and how to say no.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/onnx/builder.h"
#include "codegen/onnx/onnx_proto.h"
#include "codegen/onnx/problem.h"
#include "codegen/onnx/value.h"

namespace camshaft::onnx {

struct Reading;

// Reads a graph among a node's attributes as if its nodes stood in the node's place.
class SubgraphReader {
 public:
  // The values of the graph's outputs, some of which may be absent; nothing if there were problems,
  // which are told under the name `label` of the node.
  virtual std::optional<std::vector<Value>> read_subgraph(const ::onnx::GraphProto& graph,
                                                          const std::vector<Value>& inputs,
                                                          const std::string& label) = 0;

 protected:
  ~SubgraphReader() = default;
};

// One node while it is read. Getters don't fail: what is wrong is remembered, a harmless value is
// returned and the node's result is thrown away in the end; so a function checks only what it
// would trip over itself. An attribute that no getter asked for is a problem too.
class NodeReader {
 public:
  // `label` is how the node is called in problems.
  NodeReader(const ::onnx::NodeProto& node, std::string label, int opset, std::vector<Value> inputs,
             Reading* reading, SubgraphReader* subgraphs);

  const std::string& op() const { return node_.op_type(); }
  int opset() const { return opset_; }
  const std::string& label() const { return label_; }
  Builder& builder() const { return *builder_; }

  // Inputs. Optional ones may be absent; the caller has checked that required ones are there.
  int input_count() const { return static_cast<int>(inputs_.size()); }
  Value input(int i) const;
  const std::vector<Value>& inputs() const { return inputs_; }
  // For what reads a node before its function does; the input must be there.
  void set_input(int i, Value value) { inputs_.at(static_cast<size_t>(i)) = value; }
  // The data of an input that must be known when compiling; `what` names it in the sentence.
  std::optional<Shape> known_ints(int i, const char* what);
  std::optional<std::vector<double>> known_doubles(int i, const char* what);
  std::optional<double> known_scalar(int i, const char* what);
  // The most that each element of an integer input can be, for one that decides extents: its data,
  // bounds that follow from the model, or the caller's bound.
  std::optional<Shape> bounded_ints(int i, const char* what);

  // Attributes, with what they are if not given.
  bool has_attr(std::string_view name) const { return find(name) != nullptr; }
  int64_t int_attr(std::string_view name, int64_t otherwise);
  bool flag_attr(std::string_view name, bool otherwise) { return int_attr(name, otherwise) != 0; }
  double float_attr(std::string_view name, double otherwise);
  std::string string_attr(std::string_view name, std::string_view otherwise);
  std::optional<Shape> ints_attr(std::string_view name);
  std::optional<std::vector<double>> floats_attr(std::string_view name);
  std::optional<std::vector<std::string>> strings_attr(std::string_view name);
  Value tensor_attr(std::string_view name);
  Value sparse_tensor_attr(std::string_view name);  // made dense
  // A TensorProto.DataType as a dtype; `otherwise` also if it is one that we lack.
  DType dtype_attr(std::string_view name, DType otherwise);
  ElementType element_attr(std::string_view name, ElementType otherwise);
  // Tells if the attribute is missing.
  int64_t required_int(std::string_view name);
  // A graph; null, told, if it is missing. Valid as long as the model.
  const ::onnx::GraphProto* required_graph(std::string_view name);
  // An attribute that means nothing at inference.
  void ignore_attr(std::string_view name) { find_typed(name, std::nullopt); }

  // Axes that may count from the end, in [0, rank); 0 and a problem if it is not one.
  int axis(int64_t value, int rank);
  // Several, ascending; a problem and nothing if one is wrong or named twice.
  std::optional<std::vector<int>> axes(const Shape& values, int rank);

  // What the graph's nodes give for these inputs, taken only in runs in which `taken_if` (bool[];
  // absent: in every run) holds. Nothing if they can't be read: that is told already, and the
  // node's function just returns.
  std::optional<std::vector<Value>> read_subgraph(const ::onnx::GraphProto& graph,
                                                  const std::vector<Value>& inputs,
                                                  Value taken_if = {});
  bool subgraph_failed() const { return subgraph_failed_; }

  // The bound that the caller gives (--bound) for input i, by its name, or for this node.
  std::optional<int64_t> given_bound(int i) const;

  // Outputs beyond the first, which is what the function returns.
  int output_count() const { return node_.output_size(); }
  bool wants_output(int i) const { return i < node_.output_size() && !node_.output(i).empty(); }
  void set_output(int i, Value value);
  Value output(int i) const;

  // Records a problem; returns an absent value for the function to return.
  Value unsupported(const char* format, ...) __attribute__((format(printf, 2, 3)));
  Value invalid(const char* format, ...) __attribute__((format(printf, 2, 3)));
  Value corrupt(const char* format, ...) __attribute__((format(printf, 2, 3)));

  // What is wrong; ends the reading of the node.
  std::vector<Failure> finish();

 private:
  void tell_unknown(int i, const char* what);
  void watch(int i, int64_t given, const std::optional<Shape>& bounds);
  using Type = ::onnx::AttributeProto::AttributeType;
  const ::onnx::AttributeProto* find(std::string_view name) const;
  // Marks the attribute as asked for; null if it is not given or of another type.
  const ::onnx::AttributeProto* find_typed(std::string_view name, std::optional<Type> type);

  const ::onnx::NodeProto& node_;
  std::string label_;
  int opset_;
  std::vector<Value> inputs_;
  std::vector<Value> outputs_;
  Reading* reading_;
  Builder* builder_;
  SubgraphReader* subgraphs_;
  bool subgraph_failed_ = false;
  std::vector<bool> asked_;  // one for each attribute
  std::vector<Failure> failures_;
};

}  // namespace camshaft::onnx
