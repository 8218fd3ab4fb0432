// SPDX-License-Identifier: MIT
// Types that a model declares, with free dimensions filled in from the options.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codegen/ir/graph.h"
#include "codegen/onnx/onnx_proto.h"
#include "codegen/onnx/problem.h"
#include "codegen/onnx/reader.h"

namespace camshaft::onnx {

// "f32[Nx3x?x?]", "i64" without a shape: an input as the model declares it.
std::string declared_type_text(const ::onnx::ValueInfoProto& input);

// The extents that names of dimensions stand for, and the shapes of inputs.
class DeclaredShapes {
 public:
  // `inputs` are those that a caller must supply. Options that name none of them or of their
  // dimensions, or contradict what is fixed, are problems.
  DeclaredShapes(const std::vector<const ::onnx::ValueInfoProto*>& inputs,
                 const ReaderOptions& options, std::vector<Problem>* problems);

  // The type of an input; nothing, with a problem that says which --shape to give, if it isn't
  // known in full or isn't a tensor that we have.
  std::optional<ir::TensorType> input_type(const ::onnx::ValueInfoProto& input,
                                           std::vector<Problem>* problems) const;

  // The type of any value if it is declared in full.
  std::optional<ir::TensorType> known_type(const ::onnx::ValueInfoProto& value) const;

 private:
  void bind(const ::onnx::ValueInfoProto& input, const ir::Shape& shape,
            std::vector<Problem>* problems);
  void refuse_contradictions(const ::onnx::ValueInfoProto& input, const ir::Shape& shape,
                             const std::map<std::string, int64_t>& named,
                             std::vector<Problem>* problems);
  std::optional<int64_t> extent(const ::onnx::TensorShapeProto::Dimension& dimension) const;

  const char* source_;                         // of the given shapes
  std::map<std::string, ir::Shape> given_;     // by input
  std::set<std::string> misfits_;              // inputs whose given shape contradicts the model
  std::map<std::string, int64_t> dimensions_;  // by name
};

}  // namespace camshaft::onnx
