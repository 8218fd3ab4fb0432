// SPDX-License-Identifier: MIT
#include "tools/io/npy.h"

#include <cstring>

#include "runtime/base/file.h"
#include "tools/io/npy_header.h"

namespace camshaft::io {
namespace {

using base::Bytes;
using base::Code;
using base::DType;

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kAlignment = 64;  // of the data in the file, as numpy aligns it

struct TypeName {
  DType dtype;
  const char* descr;  // as numpy writes it
};
constexpr TypeName kTypeNames[] = {
    {DType::kFloat32, "<f4"},  {DType::kFloat64, "<f8"}, {DType::kFloat16, "<f2"},
    {DType::kBFloat16, "<V2"}, {DType::kInt8, "|i1"},    {DType::kInt16, "<i2"},
    {DType::kInt32, "<i4"},    {DType::kInt64, "<i8"},   {DType::kUInt8, "|u1"},
    {DType::kUInt16, "<u2"},   {DType::kUInt32, "<u4"},  {DType::kUInt64, "<u8"},
    {DType::kBool, "|b1"},
};

base::Result<DType> find_dtype(const std::string& descr, const std::string& file) {
  const std::string_view name = descr;
  for (const TypeName& row : kTypeNames) {
    const std::string_view known = row.descr;
    if (name.size() != known.size() || name.substr(1) != known.substr(1)) continue;
    // "|" says that order has no meaning, so any mark will do where there is one byte.
    if (name[0] == '<' || name[0] == '|' || known[0] == '|') return row.dtype;
    if (name[0] == '>') {
      return base::fail(Code::kInvalidArgument, "npy.big_endian",
                        "%s is big-endian (%s); save it with .astype('%s')", file.c_str(),
                        descr.c_str(), row.descr);
    }
  }
  return base::fail(Code::kInvalidArgument, "npy.dtype",
                    "%s has the type '%.20s', which is none of Camshaft's: f32 f64 f16 bf16, i8 to "
                    "i64, u8 to u64, bool",
                    file.c_str(), descr.c_str());
}

// Where the parts of the file lie.
struct Parts {
  std::string_view header;
  Bytes data;
};

base::Result<Parts> split(Bytes bytes, const std::string& file) {
  if (bytes.size() < kMagic.size() + 4 || base::as_text(bytes).substr(0, 6) != kMagic) {
    return base::fail(Code::kCorrupt, "npy.magic", "%s is no .npy file", file.c_str());
  }
  const auto version = static_cast<unsigned>(bytes[6]);
  if (version < 1 || version > 3) {
    return base::fail(Code::kInvalidArgument, "npy.version",
                      "%s is a .npy file of version %u; versions 1 to 3 are known", file.c_str(),
                      version);
  }
  const size_t length_bytes = version == 1 ? 2 : 4;
  const size_t begin = 8 + length_bytes;
  uint64_t length = UINT64_MAX;
  if (bytes.size() >= begin) {
    length = version == 1 ? base::load_le<uint16_t>(bytes.data() + 8)
                          : base::load_le<uint32_t>(bytes.data() + 8);
  }
  if (!base::range_fits(begin, length, bytes.size())) {
    return base::fail(Code::kCorrupt, "npy.cut", "%s is damaged: it ends within its header",
                      file.c_str());
  }
  return Parts{base::as_text(bytes.subspan(begin, length)), bytes.subspan(begin + length)};
}

// Copies column-major `from` into row-major order.
void transpose(const std::byte* from, const std::vector<int64_t>& shape, size_t item_bytes,
               std::vector<std::byte>& to) {
  const size_t count = to.size() / item_bytes;
  std::vector<int64_t> index(shape.size(), 0);
  for (size_t i = 0; i < count; ++i) {
    size_t source = 0;
    for (size_t axis = shape.size(); axis-- > 0;) {
      source = source * static_cast<size_t>(shape[axis]) + static_cast<size_t>(index[axis]);
    }
    std::memcpy(to.data() + i * item_bytes, from + source * item_bytes, item_bytes);
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

}  // namespace

base::Result<Tensor> parse_npy(Bytes bytes, const std::string& file) {
  CAMSHAFT_TRY_ASSIGN(const Parts parts, split(bytes, file));
  CAMSHAFT_TRY_ASSIGN(NpyHeader header, parse_npy_header(parts.header, file));
  CAMSHAFT_TRY_ASSIGN(const DType dtype, find_dtype(header.descr, file));
  const std::optional<uint64_t> size = size_bytes(dtype, header.shape);
  if (!size || *size != parts.data.size()) {
    return base::fail(Code::kCorrupt, "npy.size",
                      "%s is damaged: it holds %zu bytes of data, but %s needs %s", file.c_str(),
                      parts.data.size(), type_text(dtype, header.shape).c_str(),
                      size ? std::to_string(*size).c_str() : "more than there can be");
  }
  Tensor tensor{dtype, std::move(header.shape), {}};
  if (header.fortran_order && tensor.shape.size() > 1) {
    tensor.bytes.resize(parts.data.size());
    transpose(parts.data.data(), tensor.shape, static_cast<size_t>(base::dtype_size_bytes(dtype)),
              tensor.bytes);
  } else {
    tensor.bytes.assign(parts.data.begin(), parts.data.end());
  }
  return tensor;
}

std::vector<std::byte> encode_npy(const Tensor& tensor) {
  NpyHeader header{"", false, tensor.shape};
  for (const TypeName& row : kTypeNames) {
    if (row.dtype == tensor.dtype) header.descr = row.descr;
  }
  std::string text = npy_header_text(header);
  const size_t used = kMagic.size() + 4 + text.size() + 1;
  text.append(base::align_up(used, kAlignment) - used, ' ');
  text += '\n';
  std::vector<std::byte> bytes(kMagic.size() + 4 + text.size() + tensor.bytes.size());
  std::memcpy(bytes.data(), kMagic.data(), kMagic.size());
  bytes[6] = std::byte{1};
  // Ranks are at most kMaxNpyRank, so the header stays far below the two bytes' 64 KiB.
  base::store_le<uint16_t>(bytes.data() + 8, static_cast<uint16_t>(text.size()));
  std::memcpy(bytes.data() + 10, text.data(), text.size());
  if (!tensor.bytes.empty()) {
    std::memcpy(bytes.data() + 10 + text.size(), tensor.bytes.data(), tensor.bytes.size());
  }
  return bytes;
}

base::Result<Tensor> read_npy(const std::string& path) {
  CAMSHAFT_TRY_ASSIGN(const std::vector<std::byte> bytes, base::read_file(path));
  return parse_npy(bytes, path);
}

base::Status write_npy(const std::string& path, const Tensor& tensor) {
  return base::write_file_atomically(path, encode_npy(tensor));
}

}  // namespace camshaft::io
