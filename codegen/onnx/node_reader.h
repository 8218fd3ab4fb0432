// SPDX-License-Identifier: MIT
// What an operator function sees of its node: inputs, attributes, the opset, and how to say no.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/onnx/builder.h"
#include "codegen/onnx/external_files.h"
#include "codegen/onnx/onnx_proto.h"
#include "codegen/onnx/problem.h"
#include "codegen/onnx/value.h"

namespace camshaft::onnx {

// One node while it is read. Getters don't fail: what is wrong is remembered, a harmless value is
// returned and the node's result is thrown away in the end; so a function checks only what it
// would trip over itself. An attribute that no getter asked for is a problem too.
class NodeReader {
 public:
  NodeReader(const ::onnx::NodeProto& node, int opset, std::vector<Value> inputs, Builder* builder,
             ExternalFiles* files);

  int opset() const { return opset_; }
  Builder& builder() const { return *builder_; }

  // Inputs. Optional ones may be absent; the caller has checked that required ones are there.
  int input_count() const { return static_cast<int>(inputs_.size()); }
  Value input(int i) const;
  const std::vector<Value>& inputs() const { return inputs_; }
  // The data of an input that must be known when compiling; `what` names it in the sentence.
  std::optional<Shape> known_ints(int i, const char* what);
  std::optional<std::vector<double>> known_doubles(int i, const char* what);
  std::optional<double> known_scalar(int i, const char* what);

  // Attributes, with what they are if not given.
  bool has_attr(std::string_view name) const { return find(name) != nullptr; }
  int64_t int_attr(std::string_view name, int64_t otherwise);
  bool flag_attr(std::string_view name, bool otherwise) { return int_attr(name, otherwise) != 0; }
  double float_attr(std::string_view name, double otherwise);
  std::string string_attr(std::string_view name, std::string_view otherwise);
  std::optional<Shape> ints_attr(std::string_view name);
  std::optional<std::vector<double>> floats_attr(std::string_view name);
  std::shared_ptr<const ir::Literal> tensor_attr(std::string_view name);
  // A TensorProto.DataType as a dtype; `otherwise` also if it is one that we lack.
  DType dtype_attr(std::string_view name, DType otherwise);
  // Tells if the attribute is missing.
  int64_t required_int(std::string_view name);
  // An attribute that means nothing at inference.
  void ignore_attr(std::string_view name) { find_typed(name, std::nullopt); }

  // Axes that may count from the end, in [0, rank); 0 and a problem if it is not one.
  int axis(int64_t value, int rank);
  // Several, ascending; a problem and nothing if one is wrong or named twice.
  std::optional<std::vector<int>> axes(const Shape& values, int rank);

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
  using Type = ::onnx::AttributeProto::AttributeType;
  const ::onnx::AttributeProto* find(std::string_view name) const;
  // Marks the attribute as asked for; null if it is not given or of another type.
  const ::onnx::AttributeProto* find_typed(std::string_view name, std::optional<Type> type);

  const ::onnx::NodeProto& node_;
  int opset_;
  std::vector<Value> inputs_;
  std::vector<Value> outputs_;
  Builder* builder_;
  ExternalFiles* files_;
  std::vector<bool> asked_;  // one for each attribute
  std::vector<Failure> failures_;
};

}  // namespace camshaft::onnx
