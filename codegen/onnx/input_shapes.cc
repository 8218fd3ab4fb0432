// SPDX-License-Identifier: MIT
#include "codegen/onnx/input_shapes.h"

#include <charconv>
#include <utility>

#include "codegen/ir/tensor_size.h"
#include "codegen/onnx/format.h"
#include "codegen/onnx/tensor_proto.h"
#include "codegen/onnx/value.h"
#include "runtime/base/nearest.h"

namespace camshaft::onnx {
namespace {

using ::onnx::TypeProto;
using ::onnx::ValueInfoProto;
using Dimension = ::onnx::TensorShapeProto::Dimension;

// Some exporters write -1 for a free dimension.
bool is_fixed(const Dimension& dimension) {
  return dimension.has_dim_value() && dimension.dim_value() >= 0;
}

// "Nx3x?x?"
std::string declared_text(const ValueInfoProto& input) {
  std::string text;
  for (const Dimension& dimension : input.type().tensor_type().shape().dim()) {
    if (!text.empty()) text += 'x';
    text += is_fixed(dimension) ? std::to_string(dimension.dim_value())
            : dimension.has_dim_param() && !dimension.dim_param().empty()
                ? printable(dimension.dim_param())
                : "?";
  }
  return text;
}

// What a type is called that isn't a tensor.
const char* kind_name(const TypeProto& type) {
  switch (type.value_case()) {
    case TypeProto::kTensorType:
      return "tensor";
    case TypeProto::kSequenceType:
      return "sequence";
    case TypeProto::kMapType:
      return "map";
    case TypeProto::kOptionalType:
      return "optional";
    case TypeProto::kSparseTensorType:
      return "sparse tensor";
    case TypeProto::VALUE_NOT_SET:
      break;
  }
  return "value without a type";
}

std::string joined(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + printable(name);
  return text.empty() ? "none" : text;
}

}  // namespace

std::string declared_type_text(const ValueInfoProto& input) {
  const auto& tensor = input.type().tensor_type();
  const std::optional<ir::DType> dtype = to_dtype(tensor.elem_type());
  const std::string name = dtype ? base::dtype_name(*dtype) : data_type_name(tensor.elem_type());
  return tensor.has_shape() ? name + "[" + declared_text(input) + "]" : name;
}

DeclaredShapes::DeclaredShapes(const std::vector<const ValueInfoProto*>& inputs,
                               const ReaderOptions& options, std::vector<Problem>* problems)
    : source_(options.has_shapes_of_plan ? "the plan" : "--shape") {
  std::set<std::string> names;
  std::set<std::string> free;
  for (const ValueInfoProto* input : inputs) {
    names.insert(input->name());
    for (const Dimension& dimension : input->type().tensor_type().shape().dim()) {
      if (!dimension.dim_param().empty()) free.insert(dimension.dim_param());
    }
  }
  for (const auto& [name, shape] : options.shapes) {
    if (names.contains(name)) {
      given_[name] = shape;
    } else if (free.contains(name) && shape.size() == 1) {
      dimensions_[name] = shape[0];
    } else if (free.contains(name)) {
      const std::string dimension = printable(name);
      problems->push_back(
          {base::Code::kInvalidArgument, "", "",
           format_text("--shape %s=%s: '%s' is a dimension: give one number, as in --shape %s=1",
                       dimension.c_str(), shape_text(shape).c_str(), dimension.c_str(),
                       dimension.c_str())});
    } else if (options.has_shapes_of_plan) {
      problems->push_back(
          {base::Code::kInvalidArgument, "", "",
           format_text("the inputs are different: the plan has '%s', and the model's are: %s",
                       printable(name).c_str(), joined(names).c_str())});
    } else {
      std::set<std::string> offered = names;
      offered.insert(free.begin(), free.end());
      problems->push_back(
          {base::Code::kInvalidArgument, "", "",
           format_text(
               "--shape %s=...%s: no input has that name (inputs: %s), and no free dimension "
               "that takes one number (free dimensions: %s)",
               printable(name).c_str(), base::did_you_mean(name, offered).c_str(),
               joined(names).c_str(), joined(free).c_str())});
    }
  }
  const std::map<std::string, int64_t> named = dimensions_;
  for (const ValueInfoProto* input : inputs) {
    const auto shape = given_.find(input->name());
    if (shape == given_.end()) continue;
    bind(*input, shape->second, problems);
    refuse_contradictions(*input, shape->second, named, problems);
  }
}

// An extent that was given by its dimension's name, and as another number in an input's shape.
void DeclaredShapes::refuse_contradictions(const ValueInfoProto& input, const ir::Shape& shape,
                                           const std::map<std::string, int64_t>& named,
                                           std::vector<Problem>* problems) {
  const auto& declared = input.type().tensor_type().shape();
  if (declared.dim_size() != static_cast<int>(shape.size())) return;
  for (int i = 0; i < declared.dim_size(); ++i) {
    const auto other = named.find(declared.dim(i).dim_param());
    const int64_t given = shape[static_cast<size_t>(i)];
    if (other == named.end() || other->second == given) continue;
    problems->push_back(
        {base::Code::kInvalidArgument, input.name(), "",
         format_text("--shape gives %s here, where axis %d is '%s', and %s=%lld "
                     "elsewhere: give one of the two, or the same number",
                     shape_text(shape).c_str(), i, printable(other->first).c_str(),
                     printable(other->first).c_str(), static_cast<long long>(other->second))});
  }
}

// Dimensions that share a name with one of a given shape need no option of their own.
void DeclaredShapes::bind(const ValueInfoProto& input, const ir::Shape& shape,
                          std::vector<Problem>* problems) {
  if (!input.type().tensor_type().has_shape()) return;
  const auto& declared = input.type().tensor_type().shape();
  bool fits = declared.dim_size() == static_cast<int>(shape.size());
  for (int i = 0; fits && i < declared.dim_size(); ++i) {
    const int64_t given = shape[static_cast<size_t>(i)];
    fits = !is_fixed(declared.dim(i)) || declared.dim(i).dim_value() == given;
    if (!declared.dim(i).dim_param().empty()) {
      dimensions_.emplace(declared.dim(i).dim_param(), given);
    }
  }
  if (fits) return;
  misfits_.insert(input.name());
  problems->push_back({base::Code::kInvalidArgument, input.name(), "",
                       format_text("%s gives %s, the model declares %s", source_,
                                   shape_text(shape).c_str(), declared_text(input).c_str())});
}

std::optional<int64_t> DeclaredShapes::extent(const Dimension& dimension) const {
  if (is_fixed(dimension)) return dimension.dim_value();
  const auto bound = dimensions_.find(dimension.dim_param());
  return bound == dimensions_.end() ? std::nullopt : std::optional(bound->second);
}

std::optional<ir::TensorType> DeclaredShapes::known_type(const ValueInfoProto& value) const {
  const auto& tensor = value.type().tensor_type();
  const std::optional<ElementType> element = to_element_type(tensor.elem_type());
  const auto given = given_.find(value.name());
  if (!element) return std::nullopt;
  if (given != given_.end()) return ir::TensorType{element->dtype, given->second};
  if (!tensor.has_shape()) return std::nullopt;
  ir::TensorType type{element->dtype, {}};
  for (const Dimension& dimension : tensor.shape().dim()) {
    const std::optional<int64_t> known = extent(dimension);
    if (!known) return std::nullopt;
    type.shape.push_back(*known);
  }
  return type;
}

std::optional<ir::TensorType> DeclaredShapes::input_type(const ValueInfoProto& input,
                                                         std::vector<Problem>* problems) const {
  const auto tell = [&](base::Code code, std::string sentence) {
    problems->push_back({code, input.name(), "", std::move(sentence)});
  };
  if (input.type().value_case() != TypeProto::kTensorType) {
    tell(base::Code::kUnsupported,
         format_text("is a %s; only tensors are supported", kind_name(input.type())));
    return std::nullopt;
  }
  const int elem_type = input.type().tensor_type().elem_type();
  if (!to_element_type(elem_type)) {
    tell(base::Code::kUnsupported,
         "element type " + data_type_name(elem_type) + " is not supported");
    return std::nullopt;
  }
  if (misfits_.contains(input.name())) return std::nullopt;
  std::optional<ir::TensorType> type = known_type(input);
  const std::string name = printable(input.name());
  if (!type && !input.type().tensor_type().has_shape()) {
    tell(base::Code::kInvalidArgument,
         format_text("has no shape in the model: give one, such as --shape %s=1x3x224x224",
                     name.c_str()));
  } else if (!type) {
    const std::string shape = declared_text(input);
    std::set<std::string> unknown;
    bool has_unnamed = false;  // which no name can give an extent
    for (const Dimension& dimension : input.type().tensor_type().shape().dim()) {
      if (extent(dimension)) continue;
      has_unnamed |= dimension.dim_param().empty();
      unknown.insert("--shape " + printable(dimension.dim_param()) + "=N");
    }
    std::string by_name;
    if (has_unnamed) unknown.clear();
    for (const std::string& option : unknown) by_name += (by_name.empty() ? ", or " : " ") + option;
    tell(base::Code::kInvalidArgument,
         format_text("its shape %s has free dimensions: give --shape %s=%s with numbers in their "
                     "place%s",
                     shape.c_str(), name.c_str(), shape.c_str(), by_name.c_str()));
  } else if (const std::string problem = ir::find_size_problem(*type); !problem.empty()) {
    tell(base::Code::kInvalidArgument, to_string(*type) + " " + problem);
    return std::nullopt;
  }
  return type;
}

base::Status add_shape_option(std::string_view text, ReaderOptions* options) {
  const size_t equals = text.rfind('=');
  ir::Shape shape;
  const char* at = text.data() + (equals == text.npos ? text.size() : equals + 1);
  const char* const end = text.data() + text.size();
  bool is_good = equals != text.npos && equals > 0;
  while (is_good && at != end) {
    int64_t extent = 0;
    const auto [stop, error] = std::from_chars(at, end, extent);
    is_good = error == std::errc() && extent >= 1 && (stop == end || *stop == 'x') &&
              (stop == end || stop + 1 != end);
    at = stop == end ? end : stop + 1;
    shape.push_back(extent);
  }
  if (!is_good) {
    return base::fail(base::Code::kInvalidArgument, "onnx.shape_option",
                      "--shape %.*s: write NAME=1x3x224x224 for an input, NAME=1 for a free "
                      "dimension; extents are at least 1",
                      static_cast<int>(text.size()), text.data());
  }
  const auto [place, is_new] = options->shapes.emplace(std::string(text.substr(0, equals)), shape);
  if (is_new || place->second == shape) return base::ok();
  return base::fail(base::Code::kInvalidArgument, "onnx.shape_option",
                    "--shape %.*s: another shape was given before", static_cast<int>(equals),
                    text.data());
}

}  // namespace camshaft::onnx
