// SPDX-License-Identifier: MIT
#include "codegen/onnx/tensor_proto.h"

#include <catch2/catch.hpp>

#include "tests/codegen/onnx/support/onnx_testing.h"

namespace camshaft::onnx {
namespace {

using Catch::Matchers::Contains;
using ::onnx::TensorProto;

std::shared_ptr<const ir::Literal> convert(const TensorProto& tensor, Failure* failure) {
  ExternalFiles none("");
  return to_literal(tensor, &none, failure);
}

std::vector<double> values(const TensorProto& tensor) {
  Failure failure;
  const auto literal = convert(tensor, &failure);
  INFO(failure.sentence);
  REQUIRE(literal != nullptr);
  std::vector<double> result;
  for (int64_t i = 0; i < literal->type.elements(); ++i) {
    result.push_back(ir::literal_as_double(*literal, i));
  }
  return result;
}

Failure failure_of(const TensorProto& tensor) {
  Failure failure;
  CHECK(convert(tensor, &failure) == nullptr);
  return failure;
}

TensorProto tensor_of(int type, std::initializer_list<int64_t> dims) {
  TensorProto tensor;
  tensor.set_data_type(type);
  for (const int64_t dim : dims) tensor.add_dims(dim);
  return tensor;
}

TEST_CASE("every dtype goes through raw_data and back") {
  for (int i = 0; i < base::kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    CHECK(to_dtype(to_data_type(dtype)) == dtype);
    const ir::Literal literal = ir::make_literal({dtype, {2, 2}}, {0, 1, 1, 0});
    const TensorProto tensor = to_tensor_proto(literal, "t");
    Failure failure;
    const auto back = convert(tensor, &failure);
    REQUIRE(back != nullptr);
    CHECK(ir::equal_literals(*back, literal));
  }
}

TEST_CASE("typed fields hold each dtype in their own way") {
  TensorProto floats = tensor_of(1, {2});
  floats.add_float_data(1.5F);
  floats.add_float_data(-2);
  CHECK(values(floats) == std::vector<double>{1.5, -2});

  TensorProto halves = tensor_of(10, {2});
  halves.add_int32_data(0x3c00);
  halves.add_int32_data(0xc000);
  CHECK(values(halves) == std::vector<double>{1, -2});

  TensorProto bytes = tensor_of(3, {2});
  bytes.add_int32_data(-1);
  bytes.add_int32_data(127);
  CHECK(values(bytes) == std::vector<double>{-1, 127});

  TensorProto unsigned_ints = tensor_of(12, {1});
  unsigned_ints.add_uint64_data(4000000000U);
  CHECK(values(unsigned_ints) == std::vector<double>{4000000000.0});

  TensorProto flags = tensor_of(9, {2});
  flags.add_int32_data(2);
  flags.add_int32_data(0);
  CHECK(values(flags) == std::vector<double>{1, 0});

  TensorProto doubles = tensor_of(11, {});
  doubles.add_double_data(0.1);
  CHECK(values(doubles) == std::vector<double>{0.1});
}

TEST_CASE("raw bools are 0 or 1") {
  TensorProto tensor = tensor_of(9, {3});
  tensor.set_raw_data(std::string("\x02\x00\xff", 3));
  CHECK(values(tensor) == std::vector<double>{1, 0, 1});
}

TEST_CASE("an empty tensor needs no data") {
  CHECK(values(tensor_of(1, {0, 3})).empty());
}

TEST_CASE("types of less than a byte are packed, from the low bits up") {
  TensorProto ints = tensor_of(22, {3});
  ints.set_raw_data("\x8f\xf7");
  CHECK(values(ints) == std::vector<double>{-1, -8, 7});
  TensorProto typed = tensor_of(21, {3});
  typed.add_int32_data(0x8f);
  typed.add_int32_data(0x07);
  CHECK(values(typed) == std::vector<double>{15, 8, 7});
  TensorProto twos = tensor_of(26, {5});
  twos.set_raw_data("\xe4\x02");
  CHECK(values(twos) == std::vector<double>{0, 1, -2, -1, -2});
  TensorProto sixes = tensor_of(27, {5});  // codes 1, 2, 63, 4, 5
  sixes.set_raw_data("\x81\xf0\x13\x05");
  CHECK(values(sixes) == std::vector<double>{1, 2, 63, 4, 5});
  TensorProto typed_sixes = tensor_of(28, {2});
  typed_sixes.add_int32_data(63);
  typed_sixes.add_int32_data(5);
  CHECK(values(typed_sixes) == std::vector<double>{63, 5});
  TensorProto eights = tensor_of(17, {2});
  eights.add_int32_data(0xff);
  eights.add_int32_data(0x38);
  CHECK(values(eights) == std::vector<double>{255, 56});
  ints.set_raw_data("\x8f");
  CHECK_THAT(failure_of(ints).sentence,
             Contains("3 elements of int4 need 2 bytes, the file has 1"));
}

TEST_CASE("sizes that do not fit are corrupt and take no memory") {
  TensorProto raw = tensor_of(1, {3});
  raw.set_raw_data(std::string(8, '\0'));
  CHECK_THAT(failure_of(raw).sentence, Contains("needs 12 bytes, raw_data has 8"));
  CHECK_THAT(failure_of(tensor_of(7, {2})).sentence, Contains("needs 2 elements, the file has 0"));
  CHECK(failure_of(tensor_of(1, {-1})).code == base::Code::kCorrupt);
  CHECK(failure_of(tensor_of(1, {1LL << 40, 1LL << 40})).code == base::Code::kCorrupt);
  CHECK(failure_of(tensor_of(1, {0, 1LL << 62, 8})).code == base::Code::kCorrupt);
  CHECK(failure_of(tensor_of(1, {1LL << 40})).code == base::Code::kCorrupt);
}

TEST_CASE("element types that we lack are named") {
  CHECK_THAT(failure_of(tensor_of(8, {1})).sentence, Contains("string"));
  CHECK_THAT(failure_of(tensor_of(14, {1})).sentence, Contains("complex64"));
  CHECK_THAT(failure_of(tensor_of(99, {1})).sentence, Contains("type 99"));
  CHECK(failure_of(tensor_of(-1, {1})).code == base::Code::kUnsupported);
}

}  // namespace
}  // namespace camshaft::onnx
