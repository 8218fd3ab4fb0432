// SPDX-License-Identifier: MIT
#include "codegen/onnx/operators.h"

#include <climits>

#include "codegen/onnx/onnx_proto.h"
#include "runtime/base/file.h"

namespace camshaft::onnx {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;

// As deep as protobuf lets messages nest.
void add_operators(const Nodes& nodes, std::set<std::string>& operators) {
  for (const ::onnx::NodeProto& node : nodes) {
    operators.insert(node.op_type());
    for (const ::onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) add_operators(attribute.g().node(), operators);
      for (const ::onnx::GraphProto& graph : attribute.graphs()) {
        add_operators(graph.node(), operators);
      }
    }
  }
}

}  // namespace

base::Result<std::set<std::string>> operators_of(const std::string& path) {
  CAMSHAFT_TRY_ASSIGN(const base::MappedFile file, base::MappedFile::open(path));
  ::onnx::ModelProto model;
  const base::Bytes bytes = file.bytes();
  if (bytes.size() > INT_MAX ||
      !model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return base::fail(base::Code::kCorrupt, "onnx.operators", "%s is not an ONNX model",
                      path.c_str());
  }
  std::set<std::string> operators;
  add_operators(model.graph().node(), operators);
  for (const ::onnx::FunctionProto& function : model.functions()) {
    add_operators(function.node(), operators);
  }
  return operators;
}

}  // namespace camshaft::onnx
