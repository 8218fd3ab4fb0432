// SPDX-License-Identifier: MIT
#include <charconv>
#include <cmath>
#include <cstdio>
#include <string>

#include "codegen/ir/graph.h"
#include "codegen/ir/graph_attrs.h"
#include "codegen/ir/literal.h"

namespace camshaft::ir {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\x%02x", static_cast<unsigned>(c));
      result += escape;
    } else {
      result += c;
    }
  }
  return result + '"';
}

template <typename T>
std::string shortest(T value) {
  char digits[40];
  const std::to_chars_result end = std::to_chars(digits, digits + sizeof(digits), value);
  return {digits, end.ptr};
}

std::string element_text(const Literal& literal, int64_t i) {
  switch (literal.type.dtype) {
    case DType::kFloat32:
      return shortest(literal.data<float>()[i]);
    case DType::kUInt64:
      return shortest(literal.data<uint64_t>()[i]);
    default:
      if (base::is_float(literal.type.dtype)) return shortest(literal_as_double(literal, i));
      return shortest(literal_as_int(literal, i));
  }
}

std::string constant_text(const Literal& literal, bool with_data) {
  constexpr int64_t kAlwaysShown = 8;
  const int64_t count = literal.type.elements();
  if (count > kAlwaysShown && is_splat(literal)) {
    return "{splat " + element_text(literal, 0) + "}";
  }
  if (count > kAlwaysShown && !with_data) return "{...}";
  std::string text = "{";
  for (int64_t i = 0; i < count; ++i) text += (i > 0 ? ", " : "") + element_text(literal, i);
  return text + "}";
}

std::string field_text(bool value) {
  return value ? "true" : "false";
}
std::string field_text(int value) {
  return std::to_string(value);
}
std::string field_text(int64_t value) {
  return std::to_string(value);
}
std::string field_text(double value) {
  return shortest(value);
}
std::string field_text(DType value) {
  return base::dtype_name(value);
}
std::string field_text(PadMode value) {
  return std::string(kPadModeNames[static_cast<int>(value)]);
}
std::string field_text(ReduceKind value) {
  return std::string(kReduceKindNames[static_cast<int>(value)]);
}
std::string field_text(PoolKind value) {
  return std::string(kPoolKindNames[static_cast<int>(value)]);
}
std::string field_text(ScatterKind value) {
  return std::string(kScatterKindNames[static_cast<int>(value)]);
}
template <typename T>
std::string field_text(const std::vector<T>& values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) text += (i > 0 ? "," : "") + std::to_string(values[i]);
  return text + "]";
}

std::string attrs_text(const Attrs& attrs) {
  std::string text;
  visit_attrs(attrs, [&](std::string_view name, const auto& field) {
    text += (text.empty() ? " {" : ", ") + std::string(name) + "=" + field_text(field);
  });
  return text.empty() ? text : text + "}";
}

std::string unit_text(const std::string& unit) {
  return unit.empty() ? "" : " unit " + quoted(unit);
}

std::string input_unit(const Graph& graph, NodeId id) {
  for (const GraphInput& input : graph.inputs) {
    if (input.node == id) return unit_text(input.unit);
  }
  return "";
}

std::string operands_text(const Node& node) {
  std::string text = "(";
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    text += (i > 0 ? ", %" : "%") + std::to_string(node.inputs[i]);
  }
  return text + ")";
}

std::string node_text(const Graph& graph, NodeId id, bool with_data) {
  const Node& node = graph.node(id);
  std::string text = "  %" + std::to_string(id) + " = " + op_info(node.op).name;
  const std::string type = " : " + to_string(node.type);
  if (node.op == Op::kInput) {
    return text + " " + quoted(node.name) + type + input_unit(graph, id) + "\n";
  }
  if (node.op == Op::kConstant) {
    text += " " + constant_text(*node.as<ConstantAttrs>().literal, with_data);
  } else {
    text += operands_text(node) + attrs_text(node.attrs);
  }
  return text + type + (node.name.empty() ? "" : " " + quoted(node.name)) + "\n";
}

std::string output_text(const GraphOutput& output) {
  std::string text = "  output " + quoted(output.name) + " = %" + std::to_string(output.node) +
                     unit_text(output.unit) + "\n";
  for (const OutputSlice& slice : output.slices) {
    text += "    slice " + quoted(slice.name) + " {offset=" + std::to_string(slice.offset) +
            ", shape=" + field_text(slice.shape) + "}" + unit_text(slice.unit) + "\n";
  }
  return text;
}

}  // namespace

std::string print_graph(const Graph& graph, bool with_data) {
  std::string text = "graph " + quoted(graph.name) + " {\n";
  for (NodeId id = 0; id < graph.size(); ++id) text += node_text(graph, id, with_data);
  for (const GraphOutput& output : graph.outputs) text += output_text(output);
  return text + "}\n";
}

}  // namespace camshaft::ir
