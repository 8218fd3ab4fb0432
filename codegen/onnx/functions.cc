// SPDX-License-Identifier: MIT
#include "codegen/onnx/functions.h"

#include <google/protobuf/io/coded_stream.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace camshaft::onnx {
namespace {

// The packaged onnx.proto is older than defaults of attributes, which are field 11 of a function.
constexpr uint32_t kAttributeProtoTag = 11 << 3 | 2;

std::vector<::onnx::AttributeProto> default_attributes(const ::onnx::FunctionProto& function) {
  const std::string& bytes = function.unknown_fields();
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  std::vector<::onnx::AttributeProto> attributes;
  for (uint32_t tag = stream.ReadTag(); tag != 0; tag = stream.ReadTag()) {
    uint64_t value = 0;
    std::string payload;
    const uint32_t wire_type = tag & 7;
    bool is_good = false;
    if (wire_type == 0) is_good = stream.ReadVarint64(&value);
    if (wire_type == 1) is_good = stream.Skip(8);
    if (wire_type == 2) {
      is_good = stream.ReadVarint64(&value) && value <= bytes.size() &&
                stream.ReadString(&payload, static_cast<int>(value));
    }
    if (wire_type == 5) is_good = stream.Skip(4);
    if (!is_good) break;
    if (tag == kAttributeProtoTag) attributes.emplace_back().ParseFromString(payload);
  }
  return attributes;
}

struct Call {
  std::map<std::string, const ::onnx::AttributeProto*> attributes;
  std::set<std::string> missing;  // names of inputs that it leaves out
};

using Nodes = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;

void specialize_nodes(const Call& call, Nodes* nodes);

void specialize_node(const Call& call, ::onnx::NodeProto* node) {
  for (std::string& input : *node->mutable_input()) {
    if (call.missing.contains(input)) input.clear();
  }
  auto* attributes = node->mutable_attribute();
  for (int i = attributes->size() - 1; i >= 0; --i) {
    ::onnx::AttributeProto& attribute = (*attributes)[i];
    if (attribute.has_g()) specialize_nodes(call, attribute.mutable_g()->mutable_node());
    for (::onnx::GraphProto& graph : *attribute.mutable_graphs()) {
      specialize_nodes(call, graph.mutable_node());
    }
    if (attribute.ref_attr_name().empty()) continue;
    const auto given = call.attributes.find(attribute.ref_attr_name());
    if (given == call.attributes.end()) {  // not given and without a default: as if not there
      attributes->DeleteSubrange(i, 1);
      continue;
    }
    const std::string name = attribute.name();
    attribute = *given->second;
    attribute.set_name(name);
  }
}

void specialize_nodes(const Call& call, Nodes* nodes) {
  for (::onnx::NodeProto& node : *nodes) specialize_node(call, &node);
}

}  // namespace

::onnx::FunctionProto specialize(const ::onnx::FunctionProto& function,
                                 const ::onnx::NodeProto& node) {
  Call call;
  const std::vector<::onnx::AttributeProto> defaults = default_attributes(function);
  for (const ::onnx::AttributeProto& attribute : defaults) {
    call.attributes[attribute.name()] = &attribute;
  }
  for (const ::onnx::AttributeProto& attribute : node.attribute()) {
    call.attributes[attribute.name()] = &attribute;
  }
  for (int i = 0; i < function.input_size(); ++i) {
    if (i >= node.input_size() || node.input(i).empty()) call.missing.insert(function.input(i));
  }
  ::onnx::FunctionProto body = function;
  specialize_nodes(call, body.mutable_node());
  return body;
}

int opset_of(const ::onnx::FunctionProto& function, int otherwise) {
  for (const ::onnx::OperatorSetIdProto& import : function.opset_import()) {
    if (import.domain().empty() || import.domain() == "ai.onnx") {
      return static_cast<int>(import.version());
    }
  }
  return otherwise;
}

}  // namespace camshaft::onnx
