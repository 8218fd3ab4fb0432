// SPDX-License-Identifier: MIT
#include "codegen/onnx/graph_reader.h"

#include <set>
#include <utility>

#include "codegen/onnx/extents.h"
#include "codegen/onnx/format.h"
#include "codegen/onnx/sparse_tensor.h"
#include "codegen/onnx/tensor_proto.h"
#include "runtime/base/log_ring.h"

namespace camshaft::onnx {

void GraphReader::read(::onnx::ModelProto* model) {
  ::onnx::GraphProto* source = model->mutable_graph();
  reading_.graph.name = source->name();
  read_functions(*model);
  read_initializers(source);
  read_inputs(*source);
  scope_.read_nodes(source->node());
  read_outputs(*source);
}

void GraphReader::read_functions(const ::onnx::ModelProto& model) {
  for (const ::onnx::FunctionProto& function : model.functions()) {
    if (reading_.functions.emplace(std::pair(function.domain(), function.name()), &function)
            .second) {
      continue;
    }
    tell(base::Code::kUnsupported, function.name(),
         "is a function that the model has twice: overloads are not supported");
  }
}

void GraphReader::read_initializers(::onnx::GraphProto* source) {
  for (::onnx::TensorProto& tensor : *source->mutable_initializer()) {
    if (reading_.options.frozen.contains(tensor.name())) continue;
    Failure failure;
    std::shared_ptr<const ir::Literal> literal = to_literal(tensor, reading_.files, &failure);
    std::string().swap(*tensor.mutable_raw_data());  // so that weights aren't held twice
    Value value;
    if (literal == nullptr) {
      tell(failure.code, tensor.name(), failure.sentence);
    } else {
      value = reading_.builder.constant(std::move(literal), tensor.name())
                  .as_narrow(to_element_type(tensor.data_type())->narrow);
    }
    if (!scope_.bind(tensor.name(), value)) {
      tell(base::Code::kCorrupt, tensor.name(), "is initialized twice");
    }
  }
  for (const ::onnx::SparseTensorProto& tensor : source->sparse_initializer()) {
    const std::string& name = tensor.values().name();
    Failure failure;
    auto literal = to_dense_literal(tensor, reading_.files, &failure);
    if (literal == nullptr) tell(failure.code, name, failure.sentence);
    scope_.bind(name, literal == nullptr ? Value() : reading_.builder.constant(literal, name));
  }
}

// An input with an initializer is a constant: its default can't be replaced at run time.
void GraphReader::read_inputs(const ::onnx::GraphProto& source) {
  std::vector<const ::onnx::ValueInfoProto*> inputs;
  std::set<std::string> seen;
  for (const ::onnx::ValueInfoProto& input : source.input()) {
    if (!seen.insert(input.name()).second) {
      tell(base::Code::kCorrupt, input.name(), "is an input twice");
    } else if (reading_.options.frozen.contains(input.name())) {
      read_frozen(input);
    } else if (!scope_.has(input.name())) {
      inputs.push_back(&input);
    }
  }
  for (const auto& [name, literal] : reading_.options.frozen) {
    if (seen.contains(name)) continue;
    tell(base::Code::kInvalidArgument, name, "is to be frozen, but the model has no such input");
  }
  const DeclaredShapes shapes(inputs, reading_.options, reading_.problems);
  for (const ::onnx::ValueInfoProto* input : inputs) {
    std::optional<TensorType> type = shapes.input_type(*input, reading_.problems);
    Value value;
    if (type) {
      const auto element = to_element_type(input->type().tensor_type().elem_type());
      value = reading_.builder.input(input->name(), std::move(*type)).as_narrow(element->narrow);
    }
    scope_.bind(input->name(), value);
  }
  for (const auto* values : {&source.value_info(), &source.output()}) {
    for (const ::onnx::ValueInfoProto& value : *values) {
      if (std::optional<TensorType> type = shapes.known_type(value)) {
        scope_.declare(value.name(), std::move(*type));
      }
    }
  }
}

// An input whose value the caller fixes now.
void GraphReader::read_frozen(const ::onnx::ValueInfoProto& input) {
  const std::shared_ptr<const ir::Literal>& literal =
      reading_.options.frozen.find(input.name())->second;
  const int declared = input.type().tensor_type().elem_type();
  const std::optional<ElementType> element = to_element_type(declared);
  if (!element || element->dtype != literal->type.dtype) {
    tell(base::Code::kInvalidArgument, input.name(),
         format_text("is declared as an input of %s, but frozen as %s",
                     data_type_name(declared).c_str(), to_string(literal->type).c_str()));
  }
  scope_.bind(input.name(), reading_.builder.constant(literal, input.name())
                                .as_narrow(element ? element->narrow : Narrow::kNone));
}

void GraphReader::read_outputs(const ::onnx::GraphProto& source) {
  std::set<std::string> seen;
  for (const ::onnx::ValueInfoProto& output : source.output()) {
    if (!seen.insert(output.name()).second) {
      tell(base::Code::kCorrupt, output.name(), "is an output twice");
    }
    read_output(output);
  }
  if (source.output_size() == 0) tell(base::Code::kCorrupt, "", "the model has no outputs");
  add_count_outputs();
}

void GraphReader::read_output(const ::onnx::ValueInfoProto& output) {
  const Value* value = scope_.find(output.name());
  if (value == nullptr) {
    tell(base::Code::kCorrupt, output.name(), "is an output that no node makes");
  }
  if (value == nullptr || !*value) return;
  const TensorType& type = value->type();
  const int declared = output.type().tensor_type().elem_type();
  const ElementType element = value->element_type();
  if (declared != 0 && to_element_type(declared) != element) {
    tell(base::Code::kCorrupt, output.name(),
         format_text("is declared as an output of %s, but is %s[%s]",
                     data_type_name(declared).c_str(), element_type_name(element).c_str(),
                     type.rank() == 0 ? "" : shape_text(type.shape).c_str()));
  }
  const TensorType* known = scope_.declared(output.name());
  if (known != nullptr && known->shape != type.shape) {
    base::log_line("output '%s' is declared as %s, but is %s", printable(output.name()).c_str(),
                   shape_text(known->shape).c_str(), shape_text(type.shape).c_str());
  }
  reading_.graph.add_output(output.name(), reading_.builder.node(*value));
  if (has_counts(*value)) add_counts(output.name(), *value);
}

// Says how long the axes of the newest output are in a run.
void GraphReader::add_counts(const std::string& name, Value value) {
  std::vector<Value> counts;
  std::vector<int> axes;
  for (const auto& [axis, count] : reading_.builder.counts(value.index())) {
    axes.push_back(axis);
    counts.push_back(reshape(count, {1}));
  }
  reading_.graph.outputs.back().counted_axes = std::move(axes);
  reading_.builder.set_node_name(name + std::string(kCountSuffix));
  counts_.push_back({name + std::string(kCountSuffix), concat(counts, 0)});
}

// Counts come after the model's own outputs, and then whether a bound of the caller's was too
// small.
void GraphReader::add_count_outputs() {
  for (const auto& [name, counts] : counts_) {
    reading_.graph.add_output(name, reading_.builder.node(counts));
  }
  Value exceeded;
  for (const Value& watched : reading_.builder.watched_bounds()) {
    exceeded = exceeded ? logical_or(exceeded, watched) : watched;
  }
  if (exceeded) {
    reading_.graph.add_output(std::string(kBoundExceeded), reading_.builder.node(exceeded));
  }
}

}  // namespace camshaft::onnx
