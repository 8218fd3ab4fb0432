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

// By the number of TensorProto.DataType. The packaged onnx.proto is older than the last of them.
struct DataType {
  const char* name;
  std::optional<DType> dtype;
};
constexpr DataType kDataTypes[] = {
    {"undefined", {}},
    {"float", DType::kFloat32},
    {"uint8", DType::kUInt8},
    {"int8", DType::kInt8},
    {"uint16", DType::kUInt16},
    {"int16", DType::kInt16},
    {"int32", DType::kInt32},
    {"int64", DType::kInt64},
    {"string", {}},
    {"bool", DType::kBool},
    {"float16", DType::kFloat16},
    {"double", DType::kFloat64},
    {"uint32", DType::kUInt32},
    {"uint64", DType::kUInt64},
    {"complex64", {}},
    {"complex128", {}},
    {"bfloat16", DType::kBFloat16},
    {"float8e4m3fn", {}},
    {"float8e4m3fnuz", {}},
    {"float8e5m2", {}},
    {"float8e5m2fnuz", {}},
    {"uint4", {}},
    {"int4", {}},
    {"float4e2m1", {}},
    {"float8e8m0", {}},
    {"uint2", {}},
    {"int2", {}},
};
constexpr int64_t kDataTypeCount = std::size(kDataTypes);

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

std::optional<DType> to_dtype(int64_t data_type) {
  return data_type >= 0 && data_type < kDataTypeCount ? kDataTypes[data_type].dtype : std::nullopt;
}

int32_t to_data_type(DType dtype) {
  int32_t number = 0;
  while (kDataTypes[number].dtype != dtype) ++number;
  return number;
}

std::string data_type_name(int64_t data_type) {
  if (data_type >= 0 && data_type < kDataTypeCount) return kDataTypes[data_type].name;
  return "type " + std::to_string(data_type);
}

std::shared_ptr<const ir::Literal> to_literal(const TensorProto& tensor, ExternalFiles* files,
                                              Failure* failure) {
  const std::optional<DType> dtype = to_dtype(tensor.data_type());
  if (!dtype) {
    *failure = {base::Code::kUnsupported,
                "element type " + data_type_name(tensor.data_type()) + " is not supported"};
    return nullptr;
  }
  const std::optional<ir::TensorType> type = tensor_type(tensor, *dtype);
  if (!type || tensor.has_segment()) {
    *failure = {base::Code::kCorrupt, "its dims are negative or too large, or it is a segment"};
    return nullptr;
  }
  auto literal = std::make_shared<ir::Literal>();
  literal->type = *type;
  if (!fill(tensor, files, literal.get(), failure)) return nullptr;
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
