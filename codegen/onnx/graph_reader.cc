// SPDX-License-Identifier: MIT
#include "codegen/onnx/graph_reader.h"

#include <set>
#include <utility>

#include "codegen/onnx/extents.h"
#include "codegen/onnx/format.h"
#include "codegen/onnx/frozen_inputs.h"
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
  check_bounds();
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
    if (is_frozen(reading_.options, tensor.name())) continue;
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
    } else if (is_frozen(reading_.options, input.name())) {
      read_frozen(input);
    } else if (!scope_.has(input.name())) {
      inputs.push_back(&input);
    }
  }
  const auto check_name = [&](const std::string& name) {
    if (seen.contains(name)) return;
    tell(base::Code::kInvalidArgument, name, "is to be frozen, but the model has no such input");
  };
  for (const auto& [name, literal] : reading_.options.frozen) check_name(name);
  for (const auto& [name, text] : reading_.options.frozen_text) check_name(name);
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
  const std::shared_ptr<const ir::Literal> literal =
      frozen_value(input, reading_.options, reading_.problems);
  if (literal == nullptr) {
    scope_.bind(input.name(), Value());
    return;
  }
  const auto element = to_element_type(input.type().tensor_type().elem_type());
  scope_.bind(input.name(),
              reading_.builder.constant(literal, input.name()).as_narrow(element->narrow));
  frozen_.emplace(input.name(), literal);
}

void GraphReader::read_outputs(const ::onnx::GraphProto& source) {
  std::set<std::string> seen;
  for (const ::onnx::ValueInfoProto& output : source.output()) {
    if (!seen.insert(output.name()).second) {
      tell(base::Code::kCorrupt, output.name(), "is an output twice: name it once, or add an Identity");
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
  for (const auto& [name, counts] : counts_) add_further_output(name, counts);
  Value exceeded;
  for (const Value& watched : reading_.builder.watched_bounds()) {
    exceeded = exceeded ? logical_or(exceeded, watched) : watched;
  }
  if (exceeded) add_further_output(std::string(kBoundExceeded), exceeded);
}

void GraphReader::add_further_output(const std::string& name, Value value) {
  for (const ir::GraphOutput& other : reading_.graph.outputs) {
    if (other.name != name) continue;
    tell(base::Code::kInvalidArgument, name,
         "is the name of an output, but Camshaft needs it for an output of its own: rename it");
    return;
  }
  reading_.graph.add_output(name, reading_.builder.node(value));
}

// A bound with a typing error in its name would bound nothing.
void GraphReader::check_bounds() {
  if (!reading_.problems->empty()) return;
  for (const auto& [name, most] : reading_.options.bounds) {
    if (reading_.used_bounds.contains(name)) continue;
    tell(
        base::Code::kInvalidArgument, name,
        "has a bound, but no number, node or node's output of that name decides how large a result "
        "is or how often a loop runs (a NonZero, a NonMaxSuppression or a Loop, say), or what it "
        "decides is known already; names of dimensions are not meant");
  }
}

}  // namespace camshaft::onnx
