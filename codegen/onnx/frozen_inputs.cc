// SPDX-License-Identifier: MIT
#include "codegen/onnx/frozen_inputs.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "codegen/ir/literal.h"
#include "codegen/onnx/element_type.h"
#include "codegen/onnx/format.h"
#include "codegen/onnx/input_shapes.h"
#include "codegen/onnx/value.h"

namespace camshaft::onnx {
namespace {

using ir::DType;
using ir::Literal;
using ::onnx::ValueInfoProto;

// The extent of a dimension, where the model or --shape says it.
std::optional<int64_t> known_extent(const ::onnx::TensorShapeProto::Dimension& dimension,
                                    const ReaderOptions& options) {
  if (dimension.has_dim_value() && dimension.dim_value() >= 0) return dimension.dim_value();
  const auto given = options.shapes.find(dimension.dim_param());
  if (given == options.shapes.end() || given->second.size() != 1) return std::nullopt;
  return given->second.front();
}

std::vector<std::string_view> split_numbers(std::string_view text) {
  std::vector<std::string_view> numbers;
  for (;;) {
    const size_t comma = text.find(',');
    numbers.push_back(text.substr(0, comma));
    if (comma == text.npos) return numbers;
    text.remove_prefix(comma + 1);
  }
}

template <typename T>
std::optional<T> parse(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <typename T>
bool parse_int(std::string_view text, Literal& literal, int64_t i) {
  const std::optional<T> value = parse<T>(text);
  if (value) ir::set_literal_element_int(literal, i, static_cast<int64_t>(*value));
  return value.has_value();
}

bool parse_bool(std::string_view text, Literal& literal, int64_t i) {
  const bool is_true = text == "1" || text == "true";
  ir::set_literal_element_int(literal, i, is_true ? 1 : 0);
  return is_true || text == "0" || text == "false";
}

// Stores a number as element i; false if the text is no number of that dtype.
bool parse_element(std::string_view text, Literal& literal, int64_t i) {
  switch (literal.type.dtype) {
    case DType::kInt8:
      return parse_int<int8_t>(text, literal, i);
    case DType::kInt16:
      return parse_int<int16_t>(text, literal, i);
    case DType::kInt32:
      return parse_int<int32_t>(text, literal, i);
    case DType::kInt64:
      return parse_int<int64_t>(text, literal, i);
    case DType::kUInt8:
      return parse_int<uint8_t>(text, literal, i);
    case DType::kUInt16:
      return parse_int<uint16_t>(text, literal, i);
    case DType::kUInt32:
      return parse_int<uint32_t>(text, literal, i);
    case DType::kUInt64:
      return parse_int<uint64_t>(text, literal, i);
    case DType::kBool:
      return parse_bool(text, literal, i);
    default:
      break;
  }
  const std::optional<double> value = parse<double>(text);
  if (value) ir::set_literal_element(literal, i, *value);
  return value.has_value();
}

class FrozenReader {
 public:
  FrozenReader(const ValueInfoProto& input, const ReaderOptions& options,
               std::vector<Problem>* problems)
      : input_(input), options_(options), problems_(problems) {}

  std::shared_ptr<const Literal> read() {
    const auto& tensor = input_.type().tensor_type();
    const std::optional<ElementType> element = to_element_type(tensor.elem_type());
    if (!input_.type().has_tensor_type() || !element) {
      return tell(base::Code::kUnsupported, "can't be frozen: it is no tensor of numbers");
    }
    const auto literal = options_.frozen.find(input_.name());
    if (literal != options_.frozen.end()) return check(literal->second, element->dtype);
    if (element->narrow != Narrow::kNone) {
      return refuse(
          format_text("is declared as %s, whose numbers are given as --freeze %s=FILE.npy",
                      declared_type_text(input_).c_str(), printable(input_.name()).c_str()));
    }
    return parse_text(options_.frozen_text.find(input_.name())->second, element->dtype);
  }

 private:
  std::shared_ptr<const Literal> tell(base::Code code, std::string sentence) {
    problems_->push_back({code, input_.name(), "", std::move(sentence)});
    return nullptr;
  }
  std::shared_ptr<const Literal> refuse(std::string sentence) {
    return tell(base::Code::kInvalidArgument, std::move(sentence));
  }

  const ::onnx::TensorShapeProto& declared() const { return input_.type().tensor_type().shape(); }

  std::shared_ptr<const Literal> check(const std::shared_ptr<const Literal>& literal, DType dtype) {
    const ir::Shape& shape = literal->type.shape;
    bool fits = literal->type.dtype == dtype;
    if (input_.type().tensor_type().has_shape()) {
      fits = fits && declared().dim_size() == literal->type.rank();
      for (int i = 0; fits && i < declared().dim_size(); ++i) {
        const std::optional<int64_t> extent = known_extent(declared().dim(i), options_);
        fits = !extent || *extent == shape[static_cast<size_t>(i)];
      }
    }
    if (fits) return literal;
    return refuse(format_text("is declared as %s, but to be frozen as %s",
                              declared_type_text(input_).c_str(),
                              to_string(literal->type).c_str()));
  }

  // The shape of `count` numbers: the model's, where one extent may be free. One number fills a
  // shape that is known.
  std::optional<ir::Shape> shape_of(int64_t count) {
    ir::Shape shape;
    int64_t known = 1;
    int64_t* free = nullptr;
    bool is_clear = input_.type().tensor_type().has_shape();
    shape.reserve(static_cast<size_t>(declared().dim_size()));
    for (const auto& dimension : declared().dim()) {
      const std::optional<int64_t> extent = known_extent(dimension, options_);
      shape.push_back(extent.value_or(0));
      if (extent) {
        is_clear = is_clear && *extent <= kMostElements;
        known = is_clear ? std::min(known * *extent, kMostElements + 1) : known;
        continue;
      }
      is_clear = is_clear && free == nullptr;
      free = &shape.back();
    }
    if (free != nullptr && known > 0 && count % known == 0) *free = count / known;
    const bool fits = free != nullptr ? known > 0 && *free > 0 : count == known || count == 1;
    if (is_clear && fits && known <= kMostElements) return shape;
    refuse(
        format_text("is declared as %s, which %lld number%s can't fill: give its value as "
                    "--freeze %s=FILE.npy",
                    declared_type_text(input_).c_str(), static_cast<long long>(count),
                    count == 1 ? "" : "s", printable(input_.name()).c_str()));
    return std::nullopt;
  }

  std::shared_ptr<const Literal> parse_text(const std::string& text, DType dtype) {
    const std::vector<std::string_view> numbers = split_numbers(text);
    const std::optional<ir::Shape> shape = shape_of(static_cast<int64_t>(numbers.size()));
    if (!shape) return nullptr;
    auto literal = std::make_shared<Literal>(ir::zero_literal({dtype, *shape}));
    for (int64_t i = 0; i < literal->type.elements(); ++i) {
      const std::string_view number = numbers[numbers.size() == 1 ? 0 : static_cast<size_t>(i)];
      if (parse_element(number, *literal, i)) continue;
      return refuse(format_text("can't be frozen as '%s': that is no number of type %s",
                                printable(std::string(number.substr(0, 40))).c_str(),
                                base::dtype_name(dtype)));
    }
    return literal;
  }

  static constexpr int64_t kMostElements = 1 << 24;  // that one number may fill

  const ValueInfoProto& input_;
  const ReaderOptions& options_;
  std::vector<Problem>* problems_;
};

// The name before the last '=' of an option, and the value behind it; nothing if one is missing.
std::optional<std::pair<std::string, std::string>> split_option(std::string_view text) {
  const size_t equals = text.rfind('=');
  if (equals == text.npos || equals == 0 || equals + 1 == text.size()) return std::nullopt;
  return std::pair(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
}

}  // namespace

bool is_frozen(const ReaderOptions& options, const std::string& input) {
  return options.frozen.contains(input) || options.frozen_text.contains(input);
}

std::shared_ptr<const Literal> frozen_value(const ValueInfoProto& input,
                                            const ReaderOptions& options,
                                            std::vector<Problem>* problems) {
  return FrozenReader(input, options, problems).read();
}

base::Status add_freeze_option(std::string_view text, ReaderOptions* options) {
  const auto parts = split_option(text);
  if (!parts) {
    return base::fail(base::Code::kInvalidArgument, "onnx.freeze_option",
                      "--freeze %.*s: write NAME=16000, NAME=1,2,3 or NAME=FILE.npy",
                      static_cast<int>(text.size()), text.data());
  }
  if (is_frozen(*options, parts->first)) {
    return base::fail(base::Code::kInvalidArgument, "onnx.freeze_option",
                      "--freeze %.100s: a value was given before", parts->first.c_str());
  }
  options->frozen_text.insert(*parts);
  return base::ok();
}

base::Status add_bound_option(std::string_view text, ReaderOptions* options) {
  const auto parts = split_option(text);
  const std::optional<int64_t> most = parts ? parse<int64_t>(parts->second) : std::nullopt;
  if (!most || *most < 0) {
    return base::fail(base::Code::kInvalidArgument, "onnx.bound_option",
                      "--bound %.*s: write NAME=300, the most that the number or the extent of "
                      "that name can be",
                      static_cast<int>(text.size()), text.data());
  }
  const auto [place, is_new] = options->bounds.emplace(parts->first, *most);
  if (is_new || place->second == *most) return base::ok();
  return base::fail(base::Code::kInvalidArgument, "onnx.bound_option",
                    "--bound %.100s: another bound was given before", parts->first.c_str());
}

}  // namespace camshaft::onnx
