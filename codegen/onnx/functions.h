// SPDX-License-Identifier: MIT
// Functions that a model brings along: their bodies as a call sees them.
#pragma once

#include "codegen/onnx/onnx_proto.h"

namespace camshaft::onnx {

// The function with the call's attributes (or the function's defaults) in the place of references
// to them, and without the inputs that the call leaves out.
::onnx::FunctionProto specialize(const ::onnx::FunctionProto& function,
                                 const ::onnx::NodeProto& call);

// The opset of the default domain that the function is written for; `otherwise` if it says none.
int opset_of(const ::onnx::FunctionProto& function, int otherwise);

}  // namespace camshaft::onnx
