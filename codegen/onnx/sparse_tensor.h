// SPDX-License-Identifier: MIT
// Sparse tensors of a file, as the dense ones that kernels read.
#pragma once

#include <memory>

#include "codegen/ir/graph.h"
#include "codegen/onnx/external_files.h"
#include "codegen/onnx/onnx_proto.h"
#include "codegen/onnx/problem.h"

namespace camshaft::onnx {

// The dense literal of a SparseTensorProto (its indices number elements, or are coordinates); null
// with a failure. At most kMostDenseBytes: a file of a few bytes could ask for any size.
inline constexpr int64_t kMostDenseBytes = int64_t{1} << 30;
std::shared_ptr<const ir::Literal> to_dense_literal(const ::onnx::SparseTensorProto& tensor,
                                                    ExternalFiles* files, Failure* failure);

}  // namespace camshaft::onnx
