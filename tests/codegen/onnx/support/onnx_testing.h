// SPDX-License-Identifier: MIT
// Small ONNX models, made in C++, and what the reader says of them.
#pragma once

#include <catch2/catch.hpp>

#include <initializer_list>
#include <string>
#include <vector>

#include "codegen/ir/graph.h"
#include "codegen/ir/literal.h"
#include "codegen/ir/oracle.h"
#include "codegen/onnx/onnx_proto.h"
#include "codegen/onnx/reader.h"
#include "codegen/onnx/tensor_proto.h"

namespace camshaft::onnx {

using ir::DType;
using ir::Shape;

// A dimension of a declared shape: an extent, a name, or "" for none of them.
struct Dim {
  Dim(int64_t value) : extent(value) {}              // NOLINT: to write {1, "N"}
  Dim(const char* text) : extent(-1), name(text) {}  // NOLINT
  int64_t extent;
  std::string name;
};

class Model {
 public:
  explicit Model(int64_t opset = 17) {
    proto.set_ir_version(8);
    proto.add_opset_import()->set_version(opset);
    proto.mutable_graph()->set_name("test");
  }

  ::onnx::GraphProto& graph() { return *proto.mutable_graph(); }

  Model& input(const std::string& name, DType dtype, std::initializer_list<Dim> shape) {
    declare(graph().add_input(), name, dtype, shape);
    return *this;
  }
  Model& input(const std::string& name, std::initializer_list<Dim> shape) {
    return input(name, DType::kFloat32, shape);
  }
  Model& value_info(const std::string& name, DType dtype, std::initializer_list<Dim> shape) {
    declare(graph().add_value_info(), name, dtype, shape);
    return *this;
  }
  Model& output(const std::string& name) {
    graph().add_output()->set_name(name);
    return *this;
  }
  Model& initializer(const std::string& name, DType dtype, Shape shape,
                     const std::vector<double>& values) {
    *graph().add_initializer() =
        to_tensor_proto(ir::make_literal({dtype, std::move(shape)}, values), name);
    return *this;
  }
  Model& ints(const std::string& name, const std::vector<double>& values) {
    return initializer(name, DType::kInt64, {static_cast<int64_t>(values.size())}, values);
  }
  Model& metadata(const std::string& key, const std::string& value) {
    ::onnx::StringStringEntryProto* entry = proto.add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
    return *this;
  }

  // Adds a node named as its first output; attributes go to the node added last.
  Model& node(const std::string& op_type, const std::vector<std::string>& inputs,
              const std::vector<std::string>& outputs) {
    ::onnx::NodeProto* added = graph().add_node();
    added->set_op_type(op_type);
    if (!outputs.empty()) added->set_name(outputs[0] + "_node");
    for (const std::string& name : inputs) added->add_input(name);
    for (const std::string& name : outputs) added->add_output(name);
    return *this;
  }
  Model& domain(const std::string& name) {
    graph().mutable_node(graph().node_size() - 1)->set_domain(name);
    return *this;
  }
  Model& attr(const std::string& name, int64_t value) {
    ::onnx::AttributeProto* added = attribute(name, ::onnx::AttributeProto::INT);
    added->set_i(value);
    return *this;
  }
  Model& attr_float(const std::string& name, float value) {
    attribute(name, ::onnx::AttributeProto::FLOAT)->set_f(value);
    return *this;
  }
  Model& attr_string(const std::string& name, const std::string& value) {
    attribute(name, ::onnx::AttributeProto::STRING)->set_s(value);
    return *this;
  }
  Model& attr_ints(const std::string& name, std::initializer_list<int64_t> values) {
    ::onnx::AttributeProto* added = attribute(name, ::onnx::AttributeProto::INTS);
    for (const int64_t value : values) added->add_ints(value);
    return *this;
  }

  Model& attr_strings(const std::string& name, std::initializer_list<const char*> values) {
    ::onnx::AttributeProto* added = attribute(name, ::onnx::AttributeProto::STRINGS);
    for (const char* value : values) added->add_strings(value);
    return *this;
  }

  std::string bytes() const { return proto.SerializeAsString(); }

  ::onnx::ModelProto proto;

 private:
  static void declare(::onnx::ValueInfoProto* value, const std::string& name, DType dtype,
                      std::initializer_list<Dim> shape) {
    value->set_name(name);
    auto* type = value->mutable_type()->mutable_tensor_type();
    type->set_elem_type(to_data_type(dtype));
    type->mutable_shape();
    for (const Dim& dim : shape) {
      auto* added = type->mutable_shape()->add_dim();
      if (dim.extent >= 0) added->set_dim_value(dim.extent);
      if (!dim.name.empty()) added->set_dim_param(dim.name);
    }
  }
  ::onnx::AttributeProto* attribute(const std::string& name,
                                    ::onnx::AttributeProto::AttributeType type) {
    ::onnx::AttributeProto* added = graph().mutable_node(graph().node_size() - 1)->add_attribute();
    added->set_name(name);
    added->set_type(type);
    return added;
  }
};

// What reading gave: a code, and the problems as text.
struct Outcome {
  base::Code code = base::Code::kOk;
  std::vector<Problem> problems;
  ir::Graph graph;

  std::string text() const {
    std::string all;
    for (const Problem& problem : problems) all += to_string(problem) + "\n";
    return all;
  }
};

inline Outcome read_text(const std::string& bytes, const ReaderOptions& options = {}) {
  Outcome outcome;
  auto graph =
      read_onnx_bytes(base::as_bytes(std::string_view(bytes)), "", options, &outcome.problems);
  outcome.code = graph.error().code();
  if (graph) outcome.graph = std::move(graph).value();
  return outcome;
}

inline Outcome read(const Model& model, const ReaderOptions& options = {}) {
  return read_text(model.bytes(), options);
}

// The graph of a model that must be readable, verified.
inline ir::Graph graph_of(const Model& model, const ReaderOptions& options = {}) {
  Outcome outcome = read(model, options);
  INFO(outcome.text());
  REQUIRE(outcome.code == base::Code::kOk);
  REQUIRE(ir::verify_graph(outcome.graph).is_ok());
  return std::move(outcome.graph);
}

inline int count_ops(const ir::Graph& graph, ir::Op op) {
  int count = 0;
  for (const ir::Node& node : graph.nodes()) count += node.op == op ? 1 : 0;
  return count;
}

// The type of the only output.
inline ir::TensorType output_type(const ir::Graph& graph) {
  REQUIRE(graph.outputs.size() == 1);
  return graph.node(graph.outputs[0].node).type;
}

// The only output as doubles, for float inputs with these elements.
inline std::vector<double> run(const ir::Graph& graph,
                               const std::vector<std::vector<double>>& inputs = {}) {
  REQUIRE(inputs.size() == graph.inputs.size());
  std::vector<ir::OracleTensor> tensors;
  for (size_t i = 0; i < inputs.size(); ++i) {
    tensors.push_back(
        ir::to_oracle(ir::make_literal(graph.node(graph.inputs[i].node).type, inputs[i])));
  }
  auto outputs = ir::run_oracle(graph, tensors);
  REQUIRE(outputs.has_value());
  const ir::OracleTensor& first = outputs->at(0);
  if (base::is_float(first.type.dtype)) return first.floats;
  return {first.ints.begin(), first.ints.end()};
}

}  // namespace camshaft::onnx
