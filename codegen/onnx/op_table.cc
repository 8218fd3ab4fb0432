// SPDX-License-Identifier: MIT
#include "codegen/onnx/op_table.h"

namespace camshaft::onnx {

// One a line, so that two additions merge.
// clang-format off
std::vector<OpFamily> op_families() {
  return {
      arithmetic_ops(),
      math_ops(),
      activation_ops(),
      constant_ops(),
      movement_ops(),
      slicing_ops(), indexing_ops(),
      scatter_ops(),
      recurrent_ops(),
      window_ops(),
      resize_ops(),
      matrix_ops(),
      reduce_ops(),
      normalization_ops(),
      quantization_ops(),
      cast_ops(),
      qlinear_ops(), signal_ops(), random_ops(), loss_ops(), ngram_ops(),
      attention_ops(),
      transformer_ops(),
      linear_attention_ops(),
      microsoft_attention_ops(),
      microsoft_quantization_ops(),
      control_ops(),
      dynamic_ops(),
      sampling_ops(),
      roi_ops(),
      ml_ops(), conv_transpose_ops(), transposed_ops(),
  };
}
// clang-format on

const OpRow* find_op(std::string_view domain, std::string_view name) {
  if (domain == "ai.onnx") domain = "";
  for (const OpFamily family : op_families()) {
    for (const OpRow& row : family) {
      if (name == row.name && domain == row.domain) return &row;
    }
  }
  return nullptr;
}

}  // namespace camshaft::onnx
