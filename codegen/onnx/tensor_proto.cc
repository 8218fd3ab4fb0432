// SPDX-License-Identifier: MIT
#include "codegen/onnx/tensor_proto.h"

#include <cstring>
#include <utility>

#include "codegen/ir/literal.h"
#include "codegen/onnx/format.h"
#include "runtime/base/bytes.h"

namespace camshaft::onnx {
namespace {

using ir::DType;
using ::onnx::TensorProto;

// The shape of a tensor if its size is one that a file could hold.
std::optional<ir::TensorType> tensor_type(const TensorProto& tensor, DType dtype) {
  ir::TensorType type{dtype, {tensor.dims().begin(), tensor.dims().end()}};
  std::optional<int64_t> bytes = base::dtype_size_bytes(dtype);
  for (const int64_t extent : type.shape) {
    if (extent < 0) return std::nullopt;
    if (bytes) bytes = base::checked_mul(*bytes, std::max<int64_t>(extent, 1));
  }
  if (!bytes || *bytes > (int64_t{1} << 46)) return std::nullopt;
  return type;
}

void fill_from_bytes(base::Bytes from, ir::Literal* literal) {
  literal->bytes.assign(from.begin(), from.end());
  if (literal->type.dtype != DType::kBool) return;
  for (std::byte& value : literal->bytes) value = std::byte{value != std::byte{0}};
}

template <typename T, typename Field>
void fill_elements(const Field& field, ir::Literal* literal) {
  literal->bytes.resize(static_cast<size_t>(literal->type.size_bytes()));
  for (int i = 0; i < field.size(); ++i) literal->data<T>()[i] = static_cast<T>(field[i]);
}

// How many elements the typed field for `dtype` has.
int64_t typed_count(const TensorProto& tensor, DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return tensor.float_data_size();
    case DType::kFloat64:
      return tensor.double_data_size();
    case DType::kInt64:
      return tensor.int64_data_size();
    case DType::kUInt32:
    case DType::kUInt64:
      return tensor.uint64_data_size();
    default:
      return tensor.int32_data_size();
  }
}

void fill_from_typed(const TensorProto& tensor, ir::Literal* literal) {
  switch (literal->type.dtype) {
    case DType::kFloat32:
      return fill_elements<float>(tensor.float_data(), literal);
    case DType::kFloat64:
      return fill_elements<double>(tensor.double_data(), literal);
    case DType::kInt64:
      return fill_elements<int64_t>(tensor.int64_data(), literal);
    case DType::kUInt64:
      return fill_elements<uint64_t>(tensor.uint64_data(), literal);
    case DType::kUInt32:
      return fill_elements<uint32_t>(tensor.uint64_data(), literal);
    case DType::kInt32:
      return fill_elements<int32_t>(tensor.int32_data(), literal);
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kInt16:
    case DType::kUInt16:
      return fill_elements<uint16_t>(tensor.int32_data(), literal);
    case DType::kInt8:
    case DType::kUInt8:
      return fill_elements<uint8_t>(tensor.int32_data(), literal);
    case DType::kBool:
      return fill_elements<bool>(tensor.int32_data(), literal);
  }
}

// Elements of a narrow type, `bits` each, out of a stream that starts at the low bit of each byte.
void unpack(base::Bytes packed, Narrow type, ir::Literal* literal) {
  const int bits = narrow_format(type).bits;
  literal->bytes.resize(static_cast<size_t>(literal->type.size_bytes()));
  size_t place = 0;
  for (std::byte& element : literal->bytes) {
    const size_t first = place / 8;
    uint32_t window = static_cast<uint8_t>(packed[first]);
    if (first + 1 < packed.size()) window |= static_cast<uint32_t>(packed[first + 1]) << 8;
    const auto code = static_cast<uint8_t>(window >> (place % 8));
    const bool is_float = narrow_format(type).is_float;
    element = is_float ? std::byte(code & ((1 << bits) - 1))
                       : std::byte(static_cast<int>(narrow_value(type, code)));
    place += static_cast<size_t>(bits);
  }
}

// The packed bytes are in raw_data, a file, or one by one in int32_data; there, 6-bit floats take
// an entry each.
bool fill_narrow(const TensorProto& tensor, Narrow type, ExternalFiles* files, ir::Literal* literal,
                 Failure* failure) {
  const bool is_entry_each = !tensor.has_raw_data() && narrow_format(type).bits == 6 &&
                             tensor.data_location() != TensorProto::EXTERNAL;
  const int64_t bits = is_entry_each ? 8 : narrow_format(type).bits;
  const int64_t elements = literal->type.elements();
  const auto size_bytes = static_cast<uint64_t>((elements * bits + 7) / 8);
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    const base::Bytes packed = files->find(tensor, size_bytes, failure);
    if (failure->code == base::Code::kOk) unpack(packed, type, literal);
    return failure->code == base::Code::kOk;
  }
  std::vector<std::byte> packed;
  for (const int32_t entry : tensor.int32_data()) packed.push_back(std::byte(entry & 0xff));
  const base::Bytes given = tensor.has_raw_data()
                                ? base::as_bytes(std::string_view(tensor.raw_data()))
                                : base::Bytes(packed);
  if (given.size() != size_bytes) {
    *failure = {
        base::Code::kCorrupt,
        format_text("%lld elements of %s need %llu bytes, the file has %zu",
                    static_cast<long long>(elements), data_type_name(tensor.data_type()).c_str(),
                    static_cast<unsigned long long>(size_bytes), given.size())};
    return false;
  }
  if (is_entry_each) {
    literal->bytes = std::move(packed);
    for (std::byte& code : literal->bytes) code &= std::byte{0x3f};
  } else {
    unpack(given, type, literal);
  }
  return true;
}

bool fill(const TensorProto& tensor, ExternalFiles* files, ir::Literal* literal, Failure* failure) {
  const int64_t elements = literal->type.elements();
  const auto size_bytes = static_cast<uint64_t>(literal->type.size_bytes());
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    fill_from_bytes(files->find(tensor, size_bytes, failure), literal);
    return failure->code == base::Code::kOk;
  }
  if (tensor.has_raw_data()) {
    if (tensor.raw_data().size() != size_bytes) {
      *failure = {
          base::Code::kCorrupt,
          format_text("%s needs %llu bytes, raw_data has %zu", to_string(literal->type).c_str(),
                      static_cast<unsigned long long>(size_bytes), tensor.raw_data().size())};
      return false;
    }
    fill_from_bytes(base::as_bytes(std::string_view(tensor.raw_data())), literal);
    return true;
  }
  const int64_t given = typed_count(tensor, literal->type.dtype);
  if (given != elements) {
    *failure = {
        base::Code::kCorrupt,
        format_text("%s needs %lld elements, the file has %lld", to_string(literal->type).c_str(),
                    static_cast<long long>(elements), static_cast<long long>(given))};
    return false;
  }
  fill_from_typed(tensor, literal);
  return true;
}

}  // namespace

std::shared_ptr<const ir::Literal> to_literal(const TensorProto& tensor, ExternalFiles* files,
                                              Failure* failure) {
  const std::optional<ElementType> element = to_element_type(tensor.data_type());
  if (!element) {
    *failure = {base::Code::kUnsupported,
                "element type " + data_type_name(tensor.data_type()) + " is not supported"};
    return nullptr;
  }
  const std::optional<ir::TensorType> type = tensor_type(tensor, element->dtype);
  if (!type || tensor.has_segment()) {
    *failure = {base::Code::kCorrupt, "its dims are negative or too large, or it is a segment"};
    return nullptr;
  }
  auto literal = std::make_shared<ir::Literal>();
  literal->type = *type;
  const bool is_filled = element->narrow == Narrow::kNone
                             ? fill(tensor, files, literal.get(), failure)
                             : fill_narrow(tensor, element->narrow, files, literal.get(), failure);
  if (!is_filled) return nullptr;
  return literal;
}

TensorProto to_tensor_proto(const ir::Literal& literal, const std::string& name) {
  TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(to_data_type(literal.type.dtype));
  for (const int64_t extent : literal.type.shape) tensor.add_dims(extent);
  tensor.set_raw_data(literal.bytes.data(), literal.bytes.size());
  return tensor;
}

}  // namespace camshaft::onnx
