// SPDX-License-Identifier: MIT
// ONNX element types and tensors as ours.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "codegen/ir/graph.h"
#include "codegen/onnx/external_files.h"
#include "codegen/onnx/onnx_proto.h"
#include "codegen/onnx/problem.h"

namespace camshaft::onnx {

// The dtype for a TensorProto.DataType, or nothing where we have none.
std::optional<ir::DType> to_dtype(int64_t data_type);
// The TensorProto.DataType for a dtype.
int32_t to_data_type(ir::DType dtype);
// "float16", "string"; the number for one that we have never heard of.
std::string data_type_name(int64_t data_type);

// A tensor's data as a literal; null with a failure. Takes memory only for data that is there.
std::shared_ptr<const ir::Literal> to_literal(const ::onnx::TensorProto& tensor,
                                              ExternalFiles* files, Failure* failure);

// A tensor with `literal` as raw_data.
::onnx::TensorProto to_tensor_proto(const ir::Literal& literal, const std::string& name);

}  // namespace camshaft::onnx
