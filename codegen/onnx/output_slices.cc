// SPDX-License-Identifier: MIT
#include "codegen/onnx/output_slices.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "codegen/onnx/format.h"
#include "codegen/onnx/reader.h"
#include "runtime/base/bytes.h"

namespace camshaft::onnx {
namespace {

using Json = nlohmann::json;

// A field's value if it is a string; "" if it is not there; nothing if it is something else.
std::optional<std::string> text_field(const Json& object, const char* name) {
  const auto field = object.find(name);
  if (field == object.end()) return "";
  return field->is_string() ? std::optional(field->get_ref<const std::string&>()) : std::nullopt;
}

// A whole number from 0 to 2^46, beyond which no tensor is.
std::optional<int64_t> count_of(const Json& value) {
  if (!value.is_number_unsigned()) return std::nullopt;
  const auto number = value.get<uint64_t>();
  return number <= uint64_t{1} << 46 ? std::optional(static_cast<int64_t>(number)) : std::nullopt;
}

std::optional<ir::Shape> shape_of(const Json& value) {
  if (!value.is_array()) return std::nullopt;
  ir::Shape shape;
  for (const Json& extent : value) {
    const std::optional<int64_t> count = count_of(extent);
    if (!count) return std::nullopt;
    shape.push_back(*count);
  }
  return shape;
}

struct Entry {
  std::string output;
  ir::OutputSlice slice;
};

std::optional<Entry> parse_entry(const Json& value) {
  if (!value.is_object() || !value.contains("name") || !value.contains("offset") ||
      !value.contains("shape")) {
    return std::nullopt;
  }
  const std::optional<std::string> name = text_field(value, "name");
  const std::optional<std::string> unit = text_field(value, "unit");
  const std::optional<std::string> output = text_field(value, "output");
  const std::optional<int64_t> offset = count_of(value["offset"]);
  std::optional<ir::Shape> shape = shape_of(value["shape"]);
  if (!name || name->empty() || !unit || !output || !offset || !shape) return std::nullopt;
  return Entry{*output, {*name, *offset, std::move(*shape), *unit}};
}

// Whether the slice lies within its output.
bool fits(const ir::OutputSlice& slice, const ir::TensorType& type) {
  std::optional<int64_t> end = 1;
  for (const int64_t extent : slice.shape) {
    if (end) end = base::checked_mul(*end, extent);
  }
  if (end) end = base::checked_add(*end, slice.offset);
  return end && *end <= type.elements();
}

// Adds one slice; returns what is wrong with it, or "".
std::string add_slice(Entry entry, ir::Graph* graph) {
  const bool unnamed = entry.output.empty() && graph->outputs.size() == 1;
  const auto output = std::find_if(
      graph->outputs.begin(), graph->outputs.end(),
      [&](const ir::GraphOutput& each) { return unnamed || each.name == entry.output; });
  const std::string name = printable(entry.slice.name);
  if (output == graph->outputs.end()) {
    return entry.output.empty()
               ? format_text("slice '%s' must say which output it is of", name.c_str())
               : format_text("slice '%s' is of output '%s', which the model lacks", name.c_str(),
                             printable(entry.output).c_str());
  }
  if (!output->counted_axes.empty()) {
    return format_text("slice '%s' is of output '%s', whose extents depend on data", name.c_str(),
                       printable(output->name).c_str());
  }
  const ir::TensorType& type = graph->node(output->node).type;
  if (!fits(entry.slice, type)) {
    return format_text("slice '%s' does not lie within its output, %s", name.c_str(),
                       to_string(type).c_str());
  }
  for (const ir::OutputSlice& other : output->slices) {
    if (other.name == entry.slice.name)
      return format_text("slice '%s' is there twice", name.c_str());
  }
  output->slices.push_back(std::move(entry.slice));
  return "";
}

}  // namespace

void read_output_slices(const std::string& text, ir::Graph* graph, std::vector<Problem>* problems) {
  const auto tell = [&](const std::string& sentence) {
    problems->push_back({base::Code::kCorrupt, std::string(kOutputSlicesKey), "", sentence});
  };
  const Json list = Json::parse(text, nullptr, false);
  if (!list.is_array()) return tell("the metadata is not a JSON list");
  for (size_t i = 0; i < list.size(); ++i) {
    std::optional<Entry> entry = parse_entry(list[i]);
    const std::string sentence =
        entry ? add_slice(std::move(*entry), graph)
              : format_text("entry %zu needs a name, an offset and a shape (whole numbers)", i);
    if (!sentence.empty()) tell(sentence);
  }
}

}  // namespace camshaft::onnx
