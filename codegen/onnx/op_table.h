// SPDX-License-Identifier: MIT
// The ONNX operators that can be read: a table for each family, in the file of its functions. A new
// operator is a function and a row there.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "codegen/onnx/node_reader.h"
#include "codegen/onnx/value.h"

namespace camshaft::onnx {

// The opsets of the default domain. The functions know all changes up to the newest; a model of a
// later one is read as of that, with a notice.
inline constexpr int kOldestOpset = 1;
inline constexpr int kOldestFunctionOpset = 7;  // before that: older_forms.h
inline constexpr int kNewestOpset = 28;

// Adds what a node means to the graph and returns its first output; further ones go through
// set_output(). Whatever changed between opsets is handled inside.
using OpFunction = Value (*)(NodeReader& node);

inline constexpr int kAnyCount = 1 << 30;

// The domain of onnxruntime's own operators, which its optimizer writes. All are of its opset 1.
inline constexpr const char* kMicrosoft = "com.microsoft";
// Classical machine learning. The functions know opset 5 of it.
inline constexpr const char* kMl = "ai.onnx.ml";
// Where ONNX keeps operators that may still change.
inline constexpr const char* kPreview = "ai.onnx.preview";

struct OpRow {
  const char* name;
  int since;       // the first opset of the default domain that has it, from 7 on
  int min_inputs;  // the first so many must be given
  int max_inputs;
  OpFunction function;
  const char* domain = "";  // the default one; of another domain `since` is 1
};

using OpFamily = std::span<const OpRow>;
OpFamily arithmetic_ops();
OpFamily math_ops();
OpFamily cast_ops();
OpFamily activation_ops();
OpFamily constant_ops();
OpFamily movement_ops();
OpFamily slicing_ops();
OpFamily indexing_ops();
OpFamily scatter_ops();
OpFamily recurrent_ops();
OpFamily window_ops();
OpFamily resize_ops();
OpFamily matrix_ops();
OpFamily reduce_ops();
OpFamily normalization_ops();
OpFamily quantization_ops();
OpFamily qlinear_ops();
OpFamily signal_ops();
OpFamily random_ops();
OpFamily loss_ops();
OpFamily ngram_ops();
OpFamily microsoft_quantization_ops();
OpFamily attention_ops();
OpFamily transformer_ops();
OpFamily linear_attention_ops();
OpFamily microsoft_attention_ops();
OpFamily control_ops();
OpFamily dynamic_ops();
OpFamily sampling_ops();
OpFamily roi_ops();
OpFamily ml_ops();
OpFamily conv_transpose_ops();
OpFamily transposed_ops();

// All of them.
std::vector<OpFamily> op_families();

// The row of an operator, or null. The default domain is "" or "ai.onnx".
const OpRow* find_op(std::string_view domain, std::string_view name);

}  // namespace camshaft::onnx
