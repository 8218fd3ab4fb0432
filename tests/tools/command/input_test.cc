// SPDX-License-Identifier: MIT
// Inputs from files of every kind and at random.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "runtime/base/file.h"
#include "runtime/base/log_ring.h"
#include "tools/command/input_file.h"
#include "tools/command/input_options.h"
#include "tools/command/input_pixels.h"
#include "tools/command/random_input.h"
#include "tools/io/npy.h"
#include "tools/io/npz.h"

namespace camshaft::command {
namespace {

using base::Code;
using base::DType;
using io::Tensor;
using plan::TensorInfo;

class Folder {
 public:
  Folder() {
    char path[] = "/tmp/camshaft-input-XXXXXX";
    REQUIRE(::mkdtemp(path) != nullptr);
    path_ = path;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

TensorInfo info(const std::string& name, DType dtype, std::vector<int64_t> shape) {
  return {name, dtype, std::move(shape), "", {}};
}

Tensor counting(DType dtype, std::vector<int64_t> shape) {
  Tensor tensor{dtype, std::move(shape), {}};
  tensor.bytes.resize(*io::size_bytes(dtype, tensor.shape));
  const uint64_t count = tensor.bytes.size() / static_cast<uint64_t>(base::dtype_size_bytes(dtype));
  for (uint64_t i = 0; i < count; ++i) {
    io::set_element(dtype, tensor.bytes.data(), i, static_cast<double>(i));
  }
  return tensor;
}

std::string last_sentence() {
  return base::log_lines_after(0).back().text;
}

Code load_code(const std::vector<TensorInfo>& inputs, std::vector<std::string> files) {
  InputOptions options;
  options.files = std::move(files);
  return load_inputs(inputs, options).error().code();
}

TEST_CASE("arrays go to the inputs that they are named for") {
  const Folder folder;
  const std::vector<TensorInfo> inputs = {info("a", DType::kFloat32, {2, 3}),
                                          info("b=c", DType::kUInt8, {4})};
  REQUIRE(io::write_npy(folder.file("a.npy"), counting(DType::kFloat32, {2, 3})).is_ok());
  REQUIRE(io::write_npy(folder.file("b.npy"), counting(DType::kUInt8, {4})).is_ok());
  REQUIRE(io::write_npz(folder.file("all.npz"), {{"b=c", counting(DType::kUInt8, {4})},
                                                 {"a", counting(DType::kFloat32, {2, 3})}})
              .is_ok());
  InputOptions options;
  options.files = {"b=c=" + folder.file("b.npy"), "a=" + folder.file("a.npy")};
  const auto apart = load_inputs(inputs, options);
  REQUIRE(apart.has_value());
  CHECK((*apart)[0].bytes == counting(DType::kFloat32, {2, 3}).bytes);
  CHECK((*apart)[1].bytes == counting(DType::kUInt8, {4}).bytes);
  options.files = {folder.file("all.npz")};
  CHECK(load_inputs(inputs, options).value()[1].bytes == (*apart)[1].bytes);
  options.files = {"a=" + folder.file("all.npz"), "b=c=" + folder.file("all.npz")};
  CHECK(load_inputs(inputs, options).value()[1].bytes == (*apart)[1].bytes);
}

TEST_CASE("mistakes with inputs name what was expected") {
  const Folder folder;
  const std::vector<TensorInfo> inputs = {info("a", DType::kFloat32, {2, 3}),
                                          info("b", DType::kUInt8, {4})};
  const std::string good = folder.file("a.npy");
  REQUIRE(io::write_npy(good, counting(DType::kFloat32, {2, 3})).is_ok());
  REQUIRE(io::write_npy(folder.file("shape.npy"), counting(DType::kFloat32, {3, 2})).is_ok());
  REQUIRE(io::write_npy(folder.file("dtype.npy"), counting(DType::kFloat64, {2, 3})).is_ok());
  REQUIRE(io::write_npz(folder.file("other.npz"),
                        {{"x", counting(DType::kUInt8, {4})}, {"y", counting(DType::kUInt8, {4})}})
              .is_ok());

  CHECK(load_code(inputs, {"a=" + good}) == Code::kInvalidArgument);
  CHECK(last_sentence().find("'b' (u8[4])") != std::string::npos);
  CHECK(load_code(inputs, {"a=" + folder.file("shape.npy")}) == Code::kInvalidArgument);
  CHECK(last_sentence().find("must be f32[2x3]") != std::string::npos);
  CHECK(last_sentence().find("holds f32[3x2]") != std::string::npos);
  CHECK(load_code(inputs, {"a=" + folder.file("dtype.npy")}) == Code::kInvalidArgument);
  CHECK(last_sentence().find("holds f64[2x3]") != std::string::npos);
  CHECK(load_code(inputs, {"c=" + good}) == Code::kInvalidArgument);
  CHECK(last_sentence().find("its inputs are: 'a' (f32[2x3]), 'b' (u8[4])") != std::string::npos);
  CHECK(load_code(inputs, {"a=" + good, "a=" + good}) == Code::kInvalidArgument);
  CHECK(last_sentence().find("twice") != std::string::npos);
  CHECK(load_code(inputs, {good}) == Code::kInvalidArgument);
  CHECK(load_code(inputs, {"a=" + folder.file("other.npz")}) == Code::kInvalidArgument);
  CHECK(load_code(inputs, {folder.file("other.npz")}) == Code::kInvalidArgument);
  CHECK(load_code(inputs, {"a=" + folder.file("a.jpg")}) == Code::kInvalidArgument);
  CHECK(load_code(inputs, {"a=" + folder.file("none.npy")}) == Code::kNotFound);
}

TEST_CASE("a file without a name is told from one of an unknown kind") {
  const std::vector<TensorInfo> inputs = {info("a", DType::kFloat32, {2})};
  for (const char* text : {"a=", ""}) {
    CHECK(load_code(inputs, {text}) == Code::kInvalidArgument);
    CHECK(last_sentence() == std::string("--input '") + text + "' names no file: write NAME=FILE");
  }
  CHECK(load_code(inputs, {"a=x.jpg"}) == Code::kInvalidArgument);
  CHECK(last_sentence().find("x.jpg: files are .npy") == 0);
}

TEST_CASE("sentences name the option that the files came with") {
  const std::vector<TensorInfo> inputs = {info("a", DType::kFloat32, {2}),
                                          info("b", DType::kFloat32, {2})};
  InputOptions options;
  options.option = "--golden";
  for (const char* file : {"c=x.npy", "x.npy"}) {
    options.files = {file};
    CHECK(load_inputs(inputs, options).error().code() == Code::kInvalidArgument);
    CHECK(last_sentence().find("--golden") == 0);
  }
  options.files = {};
  CHECK(load_inputs(inputs, options).error().code() == Code::kInvalidArgument);
  CHECK(last_sentence().find("give --golden NAME=FILE for each") != std::string::npos);
}

TEST_CASE("tensors without elements are read, and made at random") {
  const Folder folder;
  const std::vector<TensorInfo> inputs = {info("a", DType::kFloat32, {0, 3})};
  REQUIRE(io::write_npy(folder.file("a.npy"), counting(DType::kFloat32, {0, 3})).is_ok());
  InputOptions options;
  options.files = {folder.file("a.npy")};
  CHECK(load_inputs(inputs, options).value()[0].shape == std::vector<int64_t>{0, 3});
  REQUIRE(io::write_npy(folder.file("b.npy"), counting(DType::kFloat32, {3, 0})).is_ok());
  CHECK(load_code(inputs, {folder.file("b.npy")}) == Code::kInvalidArgument);
  CHECK(random_tensor(inputs[0], {}, 0).bytes.empty());
}

TEST_CASE("with one input its name may be left out") {
  const Folder folder;
  REQUIRE(io::write_npy(folder.file("x.npy"), counting(DType::kFloat32, {2})).is_ok());
  InputOptions options;
  options.files = {folder.file("x.npy")};
  CHECK(load_inputs(std::vector{info("a", DType::kFloat32, {2})}, options).has_value());
}

TEST_CASE("raw bytes must have the input's size") {
  const Folder folder;
  const Tensor tensor = counting(DType::kInt16, {3, 2});
  REQUIRE(base::write_file_atomically(folder.file("x.bin"), tensor.bytes).is_ok());
  InputOptions options;
  options.files = {folder.file("x.bin")};
  const auto loaded = load_inputs(std::vector{info("a", DType::kInt16, {3, 2})}, options);
  CHECK(loaded.value()[0].bytes == tensor.bytes);
  CHECK(load_code({info("a", DType::kInt16, {3, 3})}, options.files) == Code::kInvalidArgument);
}

double at(const Tensor& tensor, uint64_t index) {
  return io::element(tensor.dtype, tensor.bytes.data(), index);
}

TEST_CASE("pictures follow the input's shape") {
  // 3 wide, 2 high; pixel p has the channels 10 p, 10 p + 1, 10 p + 2.
  io::Picture rgb{3, 2, 3, {}};
  for (int p = 0; p < 6; ++p) {
    for (int c = 0; c < 3; ++c) rgb.pixels.push_back(static_cast<uint8_t>(10 * p + c));
  }
  const Tensor planar =
      picture_to_tensor(info("x", DType::kFloat32, {1, 3, 2, 3}), rgb, "x.png").value();
  CHECK(at(planar, 0) == 0);
  CHECK(at(planar, 4) == 40);
  CHECK(at(planar, 6 + 4) == 41);
  CHECK(at(planar, 12 + 5) == 52);
  const Tensor last = picture_to_tensor(info("x", DType::kUInt8, {2, 3, 3}), rgb, "x.png").value();
  CHECK(last.bytes.size() == 18);
  CHECK(at(last, 3 * 4 + 1) == 41);
  const Tensor opaque =
      picture_to_tensor(info("x", DType::kUInt8, {4, 2, 3}), rgb, "x.png").value();
  CHECK(at(opaque, 18) == 255);

  const auto code = [&](std::vector<int64_t> shape) {
    return picture_to_tensor(info("x", DType::kUInt8, std::move(shape)), rgb, "x.png")
        .error()
        .code();
  };
  CHECK(code({3, 3, 2}) == Code::kInvalidArgument);     // 2 wide, 3 high
  CHECK(code({2, 3}) == Code::kInvalidArgument);        // gray
  CHECK(code({2, 3, 2, 3}) == Code::kInvalidArgument);  // a batch of two
  CHECK(code({18}) == Code::kInvalidArgument);
}

TEST_CASE("gray pictures fill gray and colour inputs, and alpha may be dropped") {
  const io::Picture gray{2, 1, 1, {7, 9}};
  CHECK(at(picture_to_tensor(info("x", DType::kUInt8, {1, 2}), gray, "x").value(), 1) == 9);
  CHECK(at(picture_to_tensor(info("x", DType::kUInt8, {3, 1, 2}), gray, "x").value(), 5) == 9);
  const io::Picture rgba{1, 1, 4, {1, 2, 3, 4}};
  CHECK(at(picture_to_tensor(info("x", DType::kUInt8, {3, 1, 1}), rgba, "x").value(), 2) == 3);
  CHECK(at(picture_to_tensor(info("x", DType::kUInt8, {4, 1, 1}), rgba, "x").value(), 3) == 4);
}

TEST_CASE("raw frames are packed, and must have the size of the input") {
  const Folder folder;
  std::vector<uint8_t> packed(6 * 2 * 3);
  for (size_t i = 0; i < packed.size(); ++i) packed[i] = static_cast<uint8_t>(i);
  const std::vector<TensorInfo> inputs = {info("image", DType::kFloat32, {1, 6, 2, 3})};
  for (const auto& [suffix, chroma] :
       {std::pair{".nv12", io::Chroma::kInterleaved}, std::pair{".yuv", io::Chroma::kPlanar}}) {
    const io::FrameLayout layout = io::parse_frame_layout("6x4:8", chroma).value();
    const std::string file = folder.file(std::string("frame") + suffix);
    REQUIRE(base::write_file_atomically(file, io::unpack_frame(packed, layout)).is_ok());
    InputOptions options;
    options.files = {"image=" + file + ":6x4:8"};
    const auto loaded = load_inputs(inputs, options);
    REQUIRE(loaded.has_value());
    for (size_t i = 0; i < packed.size(); ++i) CHECK(at((*loaded)[0], i) == packed[i]);
    CHECK(load_code(inputs, {"image=" + file + ":4x6"}) == Code::kInvalidArgument);
    CHECK(load_code(inputs, {"image=" + file + ":6x4:16"}) == Code::kInvalidArgument);
    CHECK(load_code(inputs, {"image=" + file}) == Code::kInvalidArgument);
  }
}

TEST_CASE("random inputs depend on seed and name only, and keep to their range") {
  const auto tensor = [](const char* name, uint64_t seed) {
    return random_tensor(info(name, DType::kFloat32, {1000}), {}, seed);
  };
  CHECK(tensor("x", 1).bytes == tensor("x", 1).bytes);
  CHECK(tensor("x", 1).bytes != tensor("x", 2).bytes);
  CHECK(tensor("x", 1).bytes != tensor("y", 1).bytes);
  double sum = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    const double value = at(tensor("x", 1), i);
    CHECK((value >= -1 && value < 1));
    sum += value;
  }
  CHECK(std::abs(sum / 1000) < 0.1);

  std::vector<int> counts(256, 0);
  const Tensor bytes = random_tensor(info("x", DType::kUInt8, {20000}), {}, 0);
  for (uint64_t i = 0; i < 20000; ++i) ++counts[static_cast<size_t>(at(bytes, i))];
  for (const int count : counts) CHECK(count > 0);

  Ranges ranges;
  REQUIRE(add_range("x=2:5", ranges).is_ok());
  const Tensor indices = random_tensor(info("x", DType::kInt64, {1000}), ranges, 0);
  std::vector<int> seen(8, 0);
  for (uint64_t i = 0; i < 1000; ++i) ++seen[static_cast<size_t>(at(indices, i))];
  CHECK((seen[1] == 0 && seen[2] > 0 && seen[5] > 0 && seen[6] == 0));
}

TEST_CASE("ranges are two numbers in order, for an input that exists") {
  Ranges ranges;
  CHECK(add_range("a=b=-1.5:2e3", ranges).is_ok());
  CHECK(ranges.at("a=b").high == 2000);
  for (const char* wrong :
       {"", "x", "x=1", "x=1:", "x=:1", "x=2:1", "x=a:b", "x=nan:1", "x=0:inf"}) {
    INFO(wrong);
    CHECK(add_range(wrong, ranges).code() == Code::kInvalidArgument);
  }
  InputOptions options;
  options.fill_missing = true;
  options.ranges = {"y=0:1"};
  CHECK(load_inputs(std::vector{info("x", DType::kFloat32, {1})}, options).error().code() ==
        Code::kInvalidArgument);
}

}  // namespace
}  // namespace camshaft::command
