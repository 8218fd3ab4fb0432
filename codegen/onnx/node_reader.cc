// SPDX-License-Identifier: MIT
#include "codegen/onnx/node_reader.h"

#include <algorithm>
#include <cstdarg>
#include <utility>

#include "codegen/onnx/format.h"
#include "codegen/onnx/scope.h"
#include "codegen/onnx/sparse_tensor.h"
#include "codegen/onnx/tensor_proto.h"

namespace camshaft::onnx {
namespace {

using ::onnx::AttributeProto;

const char* type_name(int type) {
  constexpr const char* kNames[] = {"no type", "float", "int",     "string",  "tensor", "graph",
                                    "floats",  "ints",  "strings", "tensors", "graphs"};
  return type >= 0 && type < static_cast<int>(std::size(kNames)) ? kNames[type] : "another type";
}

}  // namespace

NodeReader::NodeReader(const ::onnx::NodeProto& node, std::string label, int opset,
                       std::vector<Value> inputs, Reading* reading, SubgraphReader* subgraphs)
    : node_(node),
      label_(std::move(label)),
      opset_(opset),
      inputs_(std::move(inputs)),
      outputs_(static_cast<size_t>(node.output_size())),
      reading_(reading),
      builder_(&reading->builder),
      subgraphs_(subgraphs),
      asked_(static_cast<size_t>(node.attribute_size())) {}

Value NodeReader::input(int i) const {
  return i < input_count() ? inputs_[static_cast<size_t>(i)] : Value();
}

std::optional<Shape> NodeReader::known_ints(int i, const char* what) {
  std::optional<Shape> values = input(i).known_ints();
  if (!values) {
    tell_unknown(i, what);
  }
  return values;
}

std::optional<Shape> NodeReader::bounded_ints(int i, const char* what) {
  std::optional<Shape> bounds = input(i).upper_bounds();
  if (input(i).literal() != nullptr) return bounds;
  const std::optional<int64_t> given = given_bound(i);
  if (given) watch(i, *given, bounds);
  if (given && !bounds) bounds = Shape(static_cast<size_t>(input(i).elements()), *given);
  if (!bounds) {
    const std::string name = i < node_.input_size() ? printable(node_.input(i)) : "";
    unsupported(
        "input %d (%s) depends on data, and nothing bounds it; it must be known when compiling: "
        "give --bound '%s=N' or, for an input of the model, --freeze '%s=VALUE'",
        i, what, name.c_str(), name.c_str());
    return std::nullopt;
  }
  for (int64_t& bound : *bounds) bound = std::min(bound, given.value_or(bound));
  return bounds;
}

// A run in which an element of input i is above the given bound must be told, unless none can be.
void NodeReader::watch(int i, int64_t given, const std::optional<Shape>& bounds) {
  const auto is_above = [&](int64_t bound) { return bound > given; };
  if (input(i).elements() == 0) return;
  if (bounds && std::none_of(bounds->begin(), bounds->end(), is_above)) return;
  const Value all = reshape(cast(input(i), DType::kInt64), {input(i).elements()});
  const Value most = reshape(reduce(ir::ReduceKind::kMax, all, {0}), {});
  builder_->watch_bound(less(builder_->scalar(DType::kInt64, static_cast<double>(given)), most));
}

std::optional<std::vector<double>> NodeReader::known_doubles(int i, const char* what) {
  std::optional<std::vector<double>> values = input(i).known_doubles();
  if (!values) {
    tell_unknown(i, what);
  }
  return values;
}

void NodeReader::tell_unknown(int i, const char* what) {
  const std::string name = i < node_.input_size() ? printable(node_.input(i)) : "";
  unsupported(
      "input %d (%s) depends on data; it must be known when compiling: if '%s' is an input of the "
      "model, give --freeze '%s=VALUE'",
      i, what, name.c_str(), name.c_str());
}

std::optional<double> NodeReader::known_scalar(int i, const char* what) {
  const std::optional<std::vector<double>> values = known_doubles(i, what);
  if (!values) return std::nullopt;
  if (values->size() == 1) return values->front();
  invalid("input %d (%s) must have one element, not %zu", i, what, values->size());
  return std::nullopt;
}

const AttributeProto* NodeReader::find(std::string_view name) const {
  for (const AttributeProto& attribute : node_.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

// onnxruntime, too, refuses a model whose attribute has another type than the operator's.
const AttributeProto* NodeReader::find_typed(std::string_view name, std::optional<Type> type) {
  for (int i = 0; i < node_.attribute_size(); ++i) {
    const AttributeProto& attribute = node_.attribute(i);
    if (attribute.name() != name) continue;
    asked_[static_cast<size_t>(i)] = true;
    if (!type || attribute.type() == *type) return &attribute;
    corrupt("attribute '%s' must be of type %s, the file has %s", attribute.name().c_str(),
            type_name(*type), type_name(attribute.type()));
    return nullptr;
  }
  return nullptr;
}

int64_t NodeReader::int_attr(std::string_view name, int64_t otherwise) {
  const AttributeProto* attribute = find_typed(name, AttributeProto::INT);
  return attribute == nullptr ? otherwise : attribute->i();
}

double NodeReader::float_attr(std::string_view name, double otherwise) {
  const AttributeProto* attribute = find_typed(name, AttributeProto::FLOAT);
  return attribute == nullptr ? otherwise : static_cast<double>(attribute->f());
}

std::string NodeReader::string_attr(std::string_view name, std::string_view otherwise) {
  const AttributeProto* attribute = find_typed(name, AttributeProto::STRING);
  return attribute == nullptr ? std::string(otherwise) : attribute->s();
}

std::optional<Shape> NodeReader::ints_attr(std::string_view name) {
  const AttributeProto* attribute = find_typed(name, AttributeProto::INTS);
  if (attribute == nullptr) return std::nullopt;
  return Shape(attribute->ints().begin(), attribute->ints().end());
}

std::optional<std::vector<double>> NodeReader::floats_attr(std::string_view name) {
  const AttributeProto* attribute = find_typed(name, AttributeProto::FLOATS);
  if (attribute == nullptr) return std::nullopt;
  return std::vector<double>(attribute->floats().begin(), attribute->floats().end());
}

std::optional<std::vector<std::string>> NodeReader::strings_attr(std::string_view name) {
  const AttributeProto* attribute = find_typed(name, AttributeProto::STRINGS);
  if (attribute == nullptr) return std::nullopt;
  return std::vector<std::string>(attribute->strings().begin(), attribute->strings().end());
}

Value NodeReader::tensor_attr(std::string_view name) {
  const AttributeProto* attribute = find_typed(name, AttributeProto::TENSOR);
  if (attribute == nullptr) return {};
  Failure failure;
  std::shared_ptr<const ir::Literal> literal =
      to_literal(attribute->t(), reading_->files, &failure);
  if (literal == nullptr) {
    failure.sentence = "attribute '" + std::string(name) + "': " + failure.sentence;
    failures_.push_back(std::move(failure));
    return {};
  }
  const Narrow narrow = to_element_type(attribute->t().data_type())->narrow;
  return builder_->constant(std::move(literal)).as_narrow(narrow);
}

Value NodeReader::sparse_tensor_attr(std::string_view name) {
  const AttributeProto* attribute = find_typed(name, AttributeProto::SPARSE_TENSOR);
  if (attribute == nullptr) return {};
  Failure failure;
  auto literal = to_dense_literal(attribute->sparse_tensor(), reading_->files, &failure);
  if (literal == nullptr) {
    failure.sentence = "attribute '" + std::string(name) + "': " + failure.sentence;
    failures_.push_back(std::move(failure));
    return {};
  }
  return builder_->constant(std::move(literal));
}

ElementType NodeReader::element_attr(std::string_view name, ElementType otherwise) {
  const AttributeProto* attribute = find_typed(name, AttributeProto::INT);
  if (attribute == nullptr) return otherwise;
  const std::optional<ElementType> type = to_element_type(attribute->i());
  if (!type) {
    unsupported("attribute '%s': element type %s is not supported", attribute->name().c_str(),
                data_type_name(attribute->i()).c_str());
  }
  return type.value_or(otherwise);
}

DType NodeReader::dtype_attr(std::string_view name, DType otherwise) {
  const ElementType type = element_attr(name, {otherwise});
  if (type.narrow == Narrow::kNone) return type.dtype;
  unsupported("attribute '%s': element type %s is not supported", std::string(name).c_str(),
              element_type_name(type).c_str());
  return otherwise;
}

int64_t NodeReader::required_int(std::string_view name) {
  if (!has_attr(name)) corrupt("attribute '%s' is missing", std::string(name).c_str());
  return int_attr(name, 0);
}

const ::onnx::GraphProto* NodeReader::required_graph(std::string_view name) {
  const AttributeProto* attribute = find_typed(name, AttributeProto::GRAPH);
  if (attribute == nullptr && !has_attr(name)) {
    corrupt("attribute '%s' is missing", std::string(name).c_str());
  }
  return attribute == nullptr ? nullptr : &attribute->g();
}

std::optional<std::vector<Value>> NodeReader::read_subgraph(const ::onnx::GraphProto& graph,
                                                            const std::vector<Value>& inputs,
                                                            Value taken_if) {
  const Builder::TakenIf condition(builder_, taken_if);
  std::optional<std::vector<Value>> outputs = subgraphs_->read_subgraph(graph, inputs, label_);
  subgraph_failed_ = subgraph_failed_ || !outputs;
  return outputs;
}

std::optional<int64_t> NodeReader::given_bound(int i) const {
  const std::map<std::string, int64_t>& bounds = reading_->options.bounds;
  std::vector<std::string> names = {label_, node_.name()};
  if (i >= 0 && i < node_.input_size()) names.push_back(node_.input(i));
  for (const std::string& output : node_.output()) names.push_back(output);
  for (const std::string& name : names) {
    const auto given = bounds.find(name);
    if (given == bounds.end() || name.empty()) continue;
    reading_->used_bounds.insert(name);
    return given->second;
  }
  return std::nullopt;
}

int NodeReader::axis(int64_t value, int rank) {
  if (value >= -rank && value < rank) return static_cast<int>(value < 0 ? value + rank : value);
  invalid("axis %lld is not one of the %d axes", static_cast<long long>(value), rank);
  return 0;
}

std::optional<std::vector<int>> NodeReader::axes(const Shape& values, int rank) {
  std::vector<int> result;
  for (const int64_t value : values) {
    if (value < -rank || value >= rank) {
      axis(value, rank);
      return std::nullopt;
    }
    result.push_back(axis(value, rank));
  }
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) == result.end()) return result;
  invalid("an axis is named twice");
  return std::nullopt;
}

void NodeReader::set_output(int i, Value value) {
  if (i < output_count()) outputs_[static_cast<size_t>(i)] = value;
}

Value NodeReader::output(int i) const {
  return outputs_[static_cast<size_t>(i)];
}

Value NodeReader::unsupported(const char* format, ...) {
  va_list args;
  va_start(args, format);
  failures_.push_back({base::Code::kUnsupported, format_text_list(format, args)});
  va_end(args);
  return {};
}

Value NodeReader::invalid(const char* format, ...) {
  va_list args;
  va_start(args, format);
  failures_.push_back({base::Code::kInvalidArgument, format_text_list(format, args)});
  va_end(args);
  return {};
}

Value NodeReader::corrupt(const char* format, ...) {
  va_list args;
  va_start(args, format);
  failures_.push_back({base::Code::kCorrupt, format_text_list(format, args)});
  va_end(args);
  return {};
}

std::vector<Failure> NodeReader::finish() {
  if (builder_->failed()) failures_.push_back(builder_->take_failure());
  if (!failures_.empty() || subgraph_failed_) return std::move(failures_);
  for (int i = 0; i < node_.attribute_size(); ++i) {
    if (asked_[static_cast<size_t>(i)]) continue;
    unsupported("attribute '%s' is not known", printable(node_.attribute(i).name()).c_str());
  }
  for (int i = 0; i < output_count(); ++i) {
    if (wants_output(i) && !output(i)) unsupported("output %d is not supported", i);
  }
  return std::move(failures_);
}

}  // namespace camshaft::onnx
