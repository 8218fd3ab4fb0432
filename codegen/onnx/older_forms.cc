// SPDX-License-Identifier: MIT
#include "codegen/onnx/older_forms.h"

#include <utility>

namespace camshaft::onnx {
namespace {

// With broadcast=1, B was aligned to A's axes from `axis` on; without `axis`, as today.
void align_operand(NodeReader& node) {
  const Value a = node.input(0);
  const Value b = node.input(1);
  if (!node.flag_attr("broadcast", false)) {
    if (a.shape() != b.shape()) node.invalid("operands differ in shape, and broadcast is not set");
    node.ignore_attr("axis");
    return;
  }
  if (!node.has_attr("axis")) return;
  const int axis = node.axis(node.int_attr("axis", 0), a.rank());
  const int after = a.rank() - axis - b.rank();
  if (after < 0) {
    node.invalid("B has %d axes, which is more than A has from axis %d on", b.rank(), axis);
    return;
  }
  Shape shape = b.shape();
  shape.resize(shape.size() + static_cast<size_t>(after), 1);
  node.set_input(1, reshape(b, std::move(shape)));
}

// A slope for each channel was a vector.
void align_slope(NodeReader& node) {
  const Value x = node.input(0);
  const Value slope = node.input(1);
  if (slope.rank() != 1 || slope.elements() == 1 || x.rank() < 2) return;
  Shape shape(static_cast<size_t>(x.rank()) - 1, 1);
  shape[0] = slope.elements();
  node.set_input(1, reshape(slope, std::move(shape)));
}

void expect_inference(NodeReader& node) {
  if (node.flag_attr("is_test", false)) return;
  node.unsupported("training mode: export the model for inference");
}

void ignore_broadcast(NodeReader& node) {
  node.ignore_attr("broadcast");
}

void ignore_output_sequence(NodeReader& node) {
  node.ignore_attr("output_sequence");
}

struct OlderForm {
  const char* op;
  void (*adapt)(NodeReader& node);
};
constexpr OlderForm kForms[] = {
    {"Add", align_operand},
    {"Sub", align_operand},
    {"Mul", align_operand},
    {"Div", align_operand},
    {"Pow", align_operand},
    {"And", align_operand},
    {"Or", align_operand},
    {"Xor", align_operand},
    {"Equal", align_operand},
    {"Less", align_operand},
    {"Greater", align_operand},
    {"PRelu", align_slope},
    {"BatchNormalization", expect_inference},
    {"Dropout", expect_inference},
    {"Gemm", ignore_broadcast},
    {"RNN", ignore_output_sequence},
    {"GRU", ignore_output_sequence},
    {"LSTM", ignore_output_sequence},
};

struct FirstOpset {
  const char* op;
  int opset;
};
constexpr FirstOpset kFirstOpsets[] = {
    {"Cast", 6},    {"Concat", 4}, {"GlobalLpPool", 2}, {"LpPool", 2}, {"Pad", 2},
    {"Reshape", 5}, {"Selu", 6},   {"Split", 2},        {"Tile", 6},   {"Upsample", 7},
};

}  // namespace

int first_readable_opset(std::string_view op) {
  for (const FirstOpset& row : kFirstOpsets) {
    if (op == row.op) return row.opset;
  }
  return 1;
}

void adapt_older_form(NodeReader& node) {
  node.ignore_attr("consumed_inputs");
  for (const OlderForm& form : kForms) {
    if (node.op() == form.op) form.adapt(node);
  }
}

}  // namespace camshaft::onnx
