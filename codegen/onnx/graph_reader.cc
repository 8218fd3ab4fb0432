// SPDX-License-Identifier: MIT
#include "codegen/onnx/graph_reader.h"

#include <set>
#include <utility>

#include "codegen/onnx/format.h"
#include "codegen/onnx/node_order.h"
#include "codegen/onnx/node_reader.h"
#include "codegen/onnx/op_table.h"
#include "codegen/onnx/tensor_proto.h"
#include "runtime/base/log_ring.h"

namespace camshaft::onnx {
namespace {

// Why an operator that no table has can't be read.
std::string unknown_operator(const std::string& domain) {
  if (domain.empty() || domain == "ai.onnx") return "this operator is not supported";
  const std::string name = printable(domain);
  if (domain == kMicrosoft) {
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

}  // namespace

void GraphReader::tell(base::Code code, const ::onnx::NodeProto& node, std::string sentence) {
  problems_->push_back({code, node_label(node), node.op_type(), std::move(sentence)});
}

void GraphReader::read(::onnx::GraphProto* source) {
  graph_.name = source->name();
  read_initializers(source);
  read_inputs(*source);
  for (const ::onnx::NodeProto* node : order_nodes(*source, problems_)) read_node(*node);
  read_outputs(*source);
}

void GraphReader::read_initializers(::onnx::GraphProto* source) {
  for (::onnx::TensorProto& tensor : *source->mutable_initializer()) {
    Failure failure;
    std::shared_ptr<const ir::Literal> literal = to_literal(tensor, files_, &failure);
    std::string().swap(*tensor.mutable_raw_data());  // so that weights aren't held twice
    Value value;
    if (literal == nullptr) {
      problems_->push_back({failure.code, tensor.name(), "", failure.sentence});
    } else {
      value = builder_.constant(std::move(literal), tensor.name());
    }
    if (!values_.emplace(tensor.name(), value).second) {
      problems_->push_back({base::Code::kCorrupt, tensor.name(), "", "is initialized twice"});
    }
  }
  for (const ::onnx::SparseTensorProto& tensor : source->sparse_initializer()) {
    const std::string& name = tensor.values().name();
    problems_->push_back({base::Code::kUnsupported, name, "", "sparse tensors are not supported"});
    values_.emplace(name, Value());
  }
}

// An input with an initializer is a constant: its default can't be replaced at run time.
void GraphReader::read_inputs(const ::onnx::GraphProto& source) {
  std::vector<const ::onnx::ValueInfoProto*> inputs;
  std::set<std::string> seen;
  for (const ::onnx::ValueInfoProto& input : source.input()) {
    if (!seen.insert(input.name()).second) {
      problems_->push_back({base::Code::kCorrupt, input.name(), "", "is an input twice"});
    } else if (!values_.contains(input.name())) {
      inputs.push_back(&input);
    }
  }
  const DeclaredShapes shapes(inputs, options_, problems_);
  for (const ::onnx::ValueInfoProto* input : inputs) {
    std::optional<TensorType> type = shapes.input_type(*input, problems_);
    values_[input->name()] = type ? builder_.input(input->name(), std::move(*type)) : Value();
  }
  for (const auto* values : {&source.value_info(), &source.output()}) {
    for (const ::onnx::ValueInfoProto& value : *values) {
      if (std::optional<TensorType> type = shapes.known_type(value)) {
        declared_.emplace(value.name(), std::move(*type));
      }
    }
  }
}

// Whether the operator is one that can be read; what does not depend on its inputs.
bool GraphReader::check_node(const ::onnx::NodeProto& node) {
  const OpRow* row = find_op(node.domain(), node.op_type());
  if (row == nullptr) {
    tell(base::Code::kUnsupported, node, unknown_operator(node.domain()));
    return false;
  }
  if (row->domain[0] == '\0' && row->since > opset_) {
    tell(base::Code::kCorrupt, node,
         format_text("this operator exists from opset %d on; the model says %d", row->since,
                     opset_));
    return false;
  }
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
bool GraphReader::check_inputs(const ::onnx::NodeProto& node) {
  bool complete = true;
  for (const std::string& name : node.input()) {
    if (name.empty()) continue;
    const auto found = values_.find(name);
    if (found == values_.end()) {
      tell(base::Code::kCorrupt, node,
           format_text("reads '%s', which no input, initializer or node makes",
                       printable(name).c_str()));
    }
    complete = complete && found != values_.end() && found->second;
  }
  return complete;
}

Value GraphReader::placeholder(const std::string& name) {
  const auto type = declared_.find(name);
  return type == declared_.end() ? Value() : builder_.placeholder(type->second);
}

void GraphReader::bind_outputs(const ::onnx::NodeProto& node, const std::vector<Value>& values) {
  for (int i = 0; i < node.output_size(); ++i) {
    const std::string& name = node.output(i);
    if (name.empty()) continue;
    const Value value =
        i < static_cast<int>(values.size()) ? values[static_cast<size_t>(i)] : placeholder(name);
    if (!values_.emplace(name, value).second) {
      tell(base::Code::kCorrupt, node,
           format_text("its output '%s' has the name of an input, an initializer or another output",
                       printable(name).c_str()));
    }
  }
}

void GraphReader::read_node(const ::onnx::NodeProto& node) {
  const bool is_known = check_node(node);
  if (!check_inputs(node) || !is_known) return bind_outputs(node, {});
  std::vector<Value> inputs;
  for (const std::string& name : node.input()) {
    inputs.push_back(name.empty() ? Value() : values_.find(name)->second);
  }
  builder_.set_node_name(node_label(node));
  NodeReader reader(node, opset_, std::move(inputs), &builder_, files_);
  reader.set_output(0, find_op(node.domain(), node.op_type())->function(reader));
  std::vector<Failure> failures = reader.finish();
  for (Failure& failure : failures) tell(failure.code, node, std::move(failure.sentence));
  if (!failures.empty()) return bind_outputs(node, {});
  std::vector<Value> outputs;
  for (int i = 0; i < node.output_size(); ++i) outputs.push_back(reader.output(i));
  bind_outputs(node, outputs);
}

void GraphReader::read_outputs(const ::onnx::GraphProto& source) {
  const auto tell_of = [&](const std::string& name, std::string sentence) {
    problems_->push_back({base::Code::kCorrupt, name, "", std::move(sentence)});
  };
  std::set<std::string> seen;
  for (const ::onnx::ValueInfoProto& output : source.output()) {
    const auto found = values_.find(output.name());
    if (!seen.insert(output.name()).second) tell_of(output.name(), "is an output twice");
    if (found == values_.end()) tell_of(output.name(), "is an output that no node makes");
    if (found == values_.end() || !found->second) continue;
    const TensorType& type = found->second.type();
    const int declared = output.type().tensor_type().elem_type();
    if (declared != 0 && to_dtype(declared) != type.dtype) {
      tell_of(output.name(),
              format_text("is declared as an output of %s, but is %s",
                          data_type_name(declared).c_str(), to_string(type).c_str()));
    }
    const auto known = declared_.find(output.name());
    if (known != declared_.end() && known->second.shape != type.shape) {
      base::log_line("output '%s' is declared as %s, but is %s", printable(output.name()).c_str(),
                     shape_text(known->second.shape).c_str(), shape_text(type.shape).c_str());
    }
    graph_.add_output(output.name(), builder_.node(found->second));
  }
  if (source.output_size() == 0) tell_of("", "the model has no outputs");
}

}  // namespace camshaft::onnx
