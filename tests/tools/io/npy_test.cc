// SPDX-License-Identifier: MIT
#include "tools/io/npy.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <string>

#include "tools/io/npy_header.h"

namespace camshaft::io {
namespace {

using base::Code;
using base::DType;

template <typename T>
Tensor make_tensor(DType dtype, std::vector<int64_t> shape, const std::vector<T>& values) {
  Tensor tensor{dtype, std::move(shape), std::vector<std::byte>(values.size() * sizeof(T))};
  if (!values.empty()) std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

// A file with any header text.
std::vector<std::byte> make_file(const std::string& header, size_t data_bytes, int version = 1) {
  std::string text = "\x93NUMPY";
  text += static_cast<char>(version);
  text += '\0';
  text += static_cast<char>(header.size() & 255);
  text += static_cast<char>(header.size() >> 8);
  if (version > 1) text.append(2, '\0');
  text += header;
  for (size_t i = 0; i < data_bytes; ++i) text += static_cast<char>(i);
  const base::Bytes bytes = base::as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

Code code_of(const std::string& header, size_t data_bytes, int version = 1) {
  return parse_npy(make_file(header, data_bytes, version), "x.npy").error().code();
}

TEST_CASE("arrays of every type survive a round trip") {
  for (int i = 0; i < base::kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    Tensor tensor{dtype, {2, 3}, {}};
    tensor.bytes.resize(*size_bytes(dtype, tensor.shape));
    for (size_t b = 0; b < tensor.bytes.size(); ++b) tensor.bytes[b] = std::byte(b * 7 % 256);
    const base::Result<Tensor> again = parse_npy(encode_npy(tensor), "x.npy");
    INFO(base::dtype_name(dtype));
    REQUIRE(again.has_value());
    CHECK(again->dtype == dtype);
    CHECK(again->shape == tensor.shape);
    CHECK(again->bytes == tensor.bytes);
  }
}

TEST_CASE("scalars, vectors and empty arrays keep their shape") {
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{}, {5}, {0}, {3, 0, 2}, std::vector<int64_t>(kMaxNpyRank, 1)}) {
    const uint64_t size = *size_bytes(DType::kUInt8, shape);
    const Tensor tensor{DType::kUInt8, shape, std::vector<std::byte>(size)};
    const base::Result<Tensor> again = parse_npy(encode_npy(tensor), "x.npy");
    REQUIRE(again.has_value());
    CHECK(again->shape == shape);
  }
}

TEST_CASE("the bytes are those that numpy writes") {
  const std::vector<std::byte> bytes =
      encode_npy(make_tensor<float>(DType::kFloat32, {3}, {1, 2, 3}));
  std::string expected = std::string("\x93NUMPY\x01\x00\x76\x00", 10) +
                         "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }";
  expected.append(127 - expected.size(), ' ');
  expected += '\n';
  REQUIRE(bytes.size() == 128 + 12);
  CHECK(base::as_text(bytes).substr(0, 128) == expected);
}

TEST_CASE("Fortran order becomes row-major") {
  // Columns of [[0, 1, 2], [3, 4, 5]], one after another.
  const auto stored = make_tensor<uint8_t>(DType::kUInt8, {2, 3}, {0, 3, 1, 4, 2, 5});
  std::vector<std::byte> bytes =
      make_file("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", 0);
  bytes.insert(bytes.end(), stored.bytes.begin(), stored.bytes.end());
  const base::Result<Tensor> tensor = parse_npy(bytes, "x.npy");
  REQUIRE(tensor.has_value());
  CHECK(tensor->bytes == make_tensor<uint8_t>(DType::kUInt8, {2, 3}, {0, 1, 2, 3, 4, 5}).bytes);
}

TEST_CASE("headers in other order, spacing and versions are read") {
  CHECK(code_of("{'shape': (2, 2), 'descr': '<i2', 'fortran_order': False}", 8) == Code::kOk);
  CHECK(code_of("{ \"descr\":\"|u1\",'fortran_order':False,'shape':(4,) }  \n", 4) == Code::kOk);
  CHECK(code_of("{'descr': '|i1', 'fortran_order': False, 'shape': (4L,), }", 4, 2) == Code::kOk);
  CHECK(code_of("{'descr': '<u1', 'fortran_order': False, 'shape': (4,), }", 4, 3) == Code::kOk);
}

TEST_CASE("types without a counterpart are the caller's mistake") {
  for (const char* descr : {"'>f4'", "'<c8'", "'|O'", "'<U3'", "'|S4'", "[('a', '<f4')]"}) {
    INFO(descr);
    CHECK(code_of("{'descr': " + std::string(descr) + ", 'fortran_order': False, 'shape': (1,), }",
                  4) == Code::kInvalidArgument);
  }
  CHECK(code_of("{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }", 1, 4) ==
        Code::kInvalidArgument);
}

TEST_CASE("a header that is anything else is damage") {
  const char* headers[] = {
      "",
      "{}",
      "{'descr': '|u1', 'fortran_order': False}",
      "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), 'more': 1}",
      "{'descr': '|u1', 'descr': '|u1', 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '|u1', 'fortran_order': Maybe, 'shape': (1,)}",
      "{'descr': '|u1', 'fortran_order': False, 'shape': (1,)} x",
      "{'descr': '|u1', 'fortran_order': False, 'shape': (-1,)}",
      "{'descr': '|u1', 'fortran_order': False, 'shape': (1",
      "{'descr': '|u1', 'fortran_order': False, 'shape': (99999999999999999999,)}",
      "{'descr': '|u1, 'fortran_order': False, 'shape': (1,)}",
  };
  for (const char* header : headers) {
    INFO(header);
    CHECK(code_of(header, 1) == Code::kCorrupt);
  }
  std::string deep = "{'descr': '|u1', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i <= kMaxNpyRank; ++i) deep += "1, ";
  CHECK(code_of(deep + ")}", 1) == Code::kCorrupt);
}

TEST_CASE("the data must have exactly the size that the header says") {
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  CHECK(code_of(header, 24) == Code::kOk);
  CHECK(code_of(header, 23) == Code::kCorrupt);
  CHECK(code_of(header, 25) == Code::kCorrupt);
  // 2^62 elements of 8 bytes: more than a size can hold.
  CHECK(code_of("{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904,), }", 0) ==
        Code::kCorrupt);
}

TEST_CASE("a file cut anywhere is damaged, never read") {
  const std::vector<std::byte> whole =
      encode_npy(make_tensor<float>(DType::kFloat32, {3}, {1, 2, 3}));
  REQUIRE(parse_npy(whole, "x.npy").has_value());
  for (size_t size = 0; size < whole.size(); ++size) {
    CHECK(parse_npy(base::Bytes(whole).first(size), "x.npy").error().code() == Code::kCorrupt);
  }
}

}  // namespace
}  // namespace camshaft::io
