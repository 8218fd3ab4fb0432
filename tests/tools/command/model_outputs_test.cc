// SPDX-License-Identifier: MIT
#include "tools/command/model_outputs.h"

#include <catch2/catch.hpp>
#include <cstring>

namespace camshaft::command {
namespace {

using base::DType;
using io::Tensor;

Tensor counting(DType dtype, std::vector<int64_t> shape) {
  Tensor tensor{dtype, std::move(shape), {}};
  tensor.bytes.resize(*io::size_bytes(dtype, tensor.shape));
  const uint64_t count = tensor.bytes.size() / static_cast<uint64_t>(base::dtype_size_bytes(dtype));
  for (uint64_t i = 0; i < count; ++i) {
    io::set_element(dtype, tensor.bytes.data(), i, static_cast<double>(i));
  }
  return tensor;
}

Tensor ints(const std::vector<int64_t>& values) {
  Tensor tensor = counting(DType::kInt64, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) {
    std::memcpy(tensor.bytes.data() + 8 * i, &values[i], 8);
  }
  return tensor;
}

// score; boxes [4,6], of which axis 0 is counted; grid [3,5], both axes counted.
plan::PlanInfo info() {
  plan::PlanInfo info;
  info.outputs = {{"score", DType::kFloat32, {2}, "", {}},
                  {"boxes", DType::kFloat32, {4, 6}, "", {}, {0}, 2},
                  {"boxes.count", DType::kInt64, {1}, "", {}},
                  {"exceeded", DType::kBool, {}, "", {}},
                  {"grid", DType::kInt16, {3, 5}, "", {}, {0, 1}, 5},
                  {"grid.count", DType::kInt64, {2}, "", {}}};
  info.exceeded_output = 3;
  return info;
}

std::vector<io::NamedTensor> outputs_for(int64_t boxes, int64_t rows, int64_t columns) {
  return model_outputs(
      info(), std::vector<Tensor>{counting(DType::kFloat32, {2}), counting(DType::kFloat32, {4, 6}),
                                  ints({boxes}), counting(DType::kBool, {}),
                                  counting(DType::kInt16, {3, 5}), ints({rows, columns})});
}

std::vector<double> numbers(const Tensor& tensor) {
  std::vector<double> values;
  const size_t size = static_cast<size_t>(base::dtype_size_bytes(tensor.dtype));
  for (size_t i = 0; i < tensor.bytes.size() / size; ++i) {
    values.push_back(io::element(tensor.dtype, tensor.bytes.data(), i));
  }
  return values;
}

TEST_CASE("a model's outputs are cut to their extents, and the others left out") {
  const std::vector<io::NamedTensor> outputs = outputs_for(1, 2, 3);
  REQUIRE(outputs.size() == 3);
  CHECK(outputs[0].name == "score");
  CHECK(outputs[0].tensor.shape == std::vector<int64_t>{2});
  CHECK(outputs[1].tensor.shape == std::vector<int64_t>{1, 6});
  CHECK(numbers(outputs[1].tensor) == std::vector<double>{0, 1, 2, 3, 4, 5});
  CHECK(outputs[2].name == "grid");
  CHECK(outputs[2].tensor.shape == std::vector<int64_t>{2, 3});
  CHECK(numbers(outputs[2].tensor) == std::vector<double>{0, 1, 2, 5, 6, 7});
  CHECK(model_outputs(info()).size() == 3);
  CHECK(model_outputs(info())[2].name == "grid");
}

TEST_CASE("extents may be 0 or all, and never more") {
  CHECK(outputs_for(0, 3, 0)[1].tensor.shape == std::vector<int64_t>{0, 6});
  CHECK(outputs_for(0, 3, 0)[1].tensor.bytes.empty());
  CHECK(outputs_for(0, 3, 0)[2].tensor.shape == std::vector<int64_t>{3, 0});
  CHECK(outputs_for(4, 3, 5)[2].tensor.bytes == counting(DType::kInt16, {3, 5}).bytes);
  CHECK(outputs_for(5, -1, 6)[1].tensor.shape == std::vector<int64_t>{4, 6});
  CHECK(outputs_for(5, -1, 6)[2].tensor.shape == std::vector<int64_t>{0, 5});
}

}  // namespace
}  // namespace camshaft::command
