// SPDX-License-Identifier: MIT
// Inputs that get their value when the model is read: ReaderOptions::frozen and frozen_text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/ir/graph.h"
#include "codegen/onnx/onnx_proto.h"
#include "codegen/onnx/problem.h"
#include "codegen/onnx/reader.h"

namespace camshaft::onnx {

bool is_frozen(const ReaderOptions& options, const std::string& input);

// The value of a frozen input, of the dtype and a shape that the model declares. Null, with a
// problem, where what the options give does not fit.
std::shared_ptr<const ir::Literal> frozen_value(const ::onnx::ValueInfoProto& input,
                                                const ReaderOptions& options,
                                                std::vector<Problem>* problems);

}  // namespace camshaft::onnx
