// SPDX-License-Identifier: MIT
// ONNX tensors as ours.
#pragma once

#include <memory>
#include <string>

#include "codegen/ir/graph.h"
#include "codegen/onnx/element_type.h"
#include "codegen/onnx/external_files.h"
#include "codegen/onnx/onnx_proto.h"
#include "codegen/onnx/problem.h"

namespace camshaft::onnx {

// A tensor's data as a literal, of the carrier where its type is a narrow one; null with a failure.
// Takes memory only for data that is there.
std::shared_ptr<const ir::Literal> to_literal(const ::onnx::TensorProto& tensor,
                                              ExternalFiles* files, Failure* failure);

// A tensor with `literal` as raw_data.
::onnx::TensorProto to_tensor_proto(const ir::Literal& literal, const std::string& name);

}  // namespace camshaft::onnx
