// SPDX-License-Identifier: MIT
#include "codegen/onnx/scope.h"

#include <algorithm>

#include "codegen/onnx/format.h"
#include "codegen/onnx/functions.h"
#include "codegen/onnx/older_forms.h"
#include "codegen/onnx/op_table.h"
#include "codegen/onnx/stretching.h"
#include "codegen/onnx/tensor_proto.h"

namespace camshaft::onnx {
namespace {

// Deeper than any model that a tool writes; each level takes a few hundred bytes of stack.
constexpr int kMostDepth = 100;

// Why an operator that no table has can't be read.
std::string unknown_operator(const std::string& domain) {
  if (domain.empty() || domain == "ai.onnx") return "this operator is not supported";
  const std::string name = printable(domain);
  if (domain == kMicrosoft || domain == kMl || domain == kPreview) {
    return format_text("this operator of domain '%s' is not supported", name.c_str());
  }
  if (domain.starts_with("ai.onnx.") && domain.ends_with(".training")) {
    return format_text(
        "training operators (domain '%s') are not supported: export the model for "
        "inference",
        name.c_str());
  }
  return format_text("operators of domain '%s' are not supported", name.c_str());
}

void stretch_inputs(NodeReader& node) {
  const std::vector<Value> inputs = stretched(node.inputs());
  for (size_t i = 0; i < inputs.size(); ++i) node.set_input(static_cast<int>(i), inputs[i]);
}

}  // namespace

void Scope::tell(base::Code code, const ::onnx::NodeProto& node, std::string sentence) {
  reading_->problems->push_back({code, label_of(node), node.op_type(), std::move(sentence)});
}

const Value* Scope::find(const std::string& name) const {
  const auto found = values_.find(name);
  if (found != values_.end()) return &found->second;
  return outer_ == nullptr ? nullptr : outer_->find(name);
}

const ir::TensorType* Scope::declared(const std::string& name) const {
  const auto found = declared_.find(name);
  return found == declared_.end() ? nullptr : &found->second;
}

void Scope::read_nodes(const Nodes& nodes) {
  for (const ::onnx::NodeProto* node : order_nodes(nodes, reading_->problems)) read_node(*node);
}

// Whether an operator of the default domain is there, and can be read, in the model's opset.
bool Scope::check_opset(const ::onnx::NodeProto& node, int since) {
  const int first = first_readable_opset(node.op_type());
  if (since > std::max(opset_, kOldestFunctionOpset)) {
    tell(base::Code::kCorrupt, node,
         format_text("this operator exists from opset %d on; the model says %d", since, opset_));
  } else if (first > opset_) {
    tell(base::Code::kUnsupported, node,
         format_text("what this operator was before opset %d is not supported: convert the model",
                     first));
  } else {
    return true;
  }
  return false;
}

// Whether the operator is one that can be read; what does not depend on its inputs.
bool Scope::check_node(const ::onnx::NodeProto& node) {
  const OpRow* row = find_op(node.domain(), node.op_type());
  if (row == nullptr) {
    tell(base::Code::kUnsupported, node, unknown_operator(node.domain()));
    return false;
  }
  if (row->domain[0] == '\0' && !check_opset(node, row->since)) return false;
  if (node.input_size() > row->max_inputs || node.output_size() < 1) {
    tell(base::Code::kCorrupt, node,
         format_text("has %d inputs and %d outputs", node.input_size(), node.output_size()));
    return false;
  }
  for (int i = 0; i < row->min_inputs; ++i) {
    if (i < node.input_size() && !node.input(i).empty()) continue;
    tell(base::Code::kCorrupt, node, format_text("input %d is missing", i));
    return false;
  }
  return true;
}

// Whether all inputs have been read; tells of names that nothing makes.
bool Scope::check_inputs(const ::onnx::NodeProto& node) {
  bool complete = true;
  for (const std::string& name : node.input()) {
    if (name.empty()) continue;
    const Value* value = find(name);
    if (value == nullptr) {
      tell(base::Code::kCorrupt, node,
           format_text("reads '%s', which no input, initializer or node makes",
                       printable(name).c_str()));
    }
    complete = complete && value != nullptr && *value;
  }
  return complete;
}

std::vector<Value> Scope::inputs_of(const ::onnx::NodeProto& node) const {
  std::vector<Value> inputs;
  for (const std::string& name : node.input()) {
    inputs.push_back(name.empty() ? Value() : *find(name));
  }
  return inputs;
}

Value Scope::placeholder(const std::string& name) {
  const ir::TensorType* type = declared(name);
  return type == nullptr ? Value() : reading_->builder.placeholder(*type);
}

void Scope::bind_outputs(const ::onnx::NodeProto& node, const std::vector<Value>& values) {
  for (int i = 0; i < node.output_size(); ++i) {
    const std::string& name = node.output(i);
    if (name.empty()) continue;
    const Value value =
        i < static_cast<int>(values.size()) ? values[static_cast<size_t>(i)] : placeholder(name);
    if (!bind(name, value)) {
      tell(base::Code::kCorrupt, node,
           format_text("its output '%s' has the name of an input, an initializer or another output",
                       printable(name).c_str()));
    }
  }
}

void Scope::read_node(const ::onnx::NodeProto& node) {
  const auto function = reading_->functions.find({node.domain(), node.op_type()});
  if (function != reading_->functions.end()) return call_function(node, *function->second);
  const bool is_known = check_node(node);
  if (!check_inputs(node) || !is_known) return bind_outputs(node, {});
  reading_->builder.set_node_name(label_of(node));
  NodeReader reader(node, label_of(node), opset_, inputs_of(node), reading_, this);
  if (opset_ < kOldestFunctionOpset) adapt_older_form(reader);
  if (node.domain().empty() && broadcasts_inputs(node.op_type())) stretch_inputs(reader);
  reader.set_output(0, find_op(node.domain(), node.op_type())->function(reader));
  std::vector<Failure> failures = reader.finish();
  for (Failure& failure : failures) tell(failure.code, node, std::move(failure.sentence));
  if (!failures.empty() || reader.subgraph_failed()) return bind_outputs(node, {});
  std::vector<Value> outputs;
  for (int i = 0; i < node.output_size(); ++i) outputs.push_back(reader.output(i));
  bind_outputs(node, outputs);
}

void Scope::call_function(const ::onnx::NodeProto& node, const ::onnx::FunctionProto& function) {
  if (!check_inputs(node)) return bind_outputs(node, {});
  if (node.input_size() > function.input_size() || node.output_size() > function.output_size()) {
    tell(base::Code::kCorrupt, node,
         format_text("has %d inputs and %d outputs; the function has %d and %d", node.input_size(),
                     node.output_size(), function.input_size(), function.output_size()));
    return bind_outputs(node, {});
  }
  if (reading_->depth >= kMostDepth) {
    tell(base::Code::kCorrupt, node, "functions call each other without an end");
    return bind_outputs(node, {});
  }
  ++reading_->depth;
  Scope inside(reading_, opset_of(function, opset_), nullptr, label_of(node) + "/");
  const std::vector<Value> inputs = inputs_of(node);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i]) inside.bind(function.input(static_cast<int>(i)), inputs[i]);
  }
  const ::onnx::FunctionProto body = specialize(function, node);
  inside.read_nodes(body.node());
  --reading_->depth;
  std::vector<Value> outputs;
  for (int i = 0; i < node.output_size(); ++i) {
    const Value* value = inside.find(function.output(i));
    if (value == nullptr && !node.output(i).empty()) {
      tell(base::Code::kCorrupt, node,
           format_text("no node of the function makes its output '%s'",
                       printable(function.output(i)).c_str()));
    }
    outputs.push_back(value == nullptr ? Value() : *value);
  }
  bind_outputs(node, outputs);
}

void Scope::read_subgraph_initializers(const ::onnx::GraphProto& graph) {
  for (const ::onnx::TensorProto& tensor : graph.initializer()) {
    std::shared_ptr<const ir::Literal>& literal = reading_->literals[&tensor];
    Failure failure;
    if (literal == nullptr) literal = to_literal(tensor, reading_->files, &failure);
    if (literal == nullptr) {
      reading_->problems->push_back({failure.code, path_ + tensor.name(), "", failure.sentence});
    }
    Value value;
    if (literal != nullptr) {
      value = reading_->builder.constant(literal, path_ + tensor.name())
                  .as_narrow(to_element_type(tensor.data_type())->narrow);
    }
    bind(tensor.name(), value);
  }
}

std::optional<std::vector<Value>> Scope::read_subgraph(const ::onnx::GraphProto& graph,
                                                       const std::vector<Value>& inputs,
                                                       const std::string& label) {
  const size_t problems = reading_->problems->size();
  const auto fail = [&](std::string sentence) {
    reading_->problems->push_back({base::Code::kCorrupt, label, "", std::move(sentence)});
    return std::nullopt;
  };
  if (reading_->depth >= kMostDepth) return fail("its graphs are nested too deeply");
  if (graph.input_size() != static_cast<int>(inputs.size())) {
    return fail(format_text("its graph '%s' has %d inputs; the operator gives it %zu",
                            printable(graph.name()).c_str(), graph.input_size(), inputs.size()));
  }
  ++reading_->depth;
  Scope inside(reading_, opset_, this, label + "/");
  for (size_t i = 0; i < inputs.size(); ++i) {
    inside.bind(graph.input(static_cast<int>(i)).name(), inputs[i]);
  }
  inside.read_subgraph_initializers(graph);
  inside.read_nodes(graph.node());
  --reading_->depth;
  std::vector<Value> outputs;
  for (const ::onnx::ValueInfoProto& output : graph.output()) {
    const Value* value = inside.find(output.name());
    if (value == nullptr) {
      return fail(format_text("no node makes the output '%s' of its graph",
                              printable(output.name()).c_str()));
    }
    if (!*value) return std::nullopt;  // it reads what a problem outside has left without a value
    outputs.push_back(*value);
  }
  if (reading_->problems->size() > problems) return std::nullopt;
  reading_->builder.set_node_name(label);
  return outputs;
}

}  // namespace camshaft::onnx
