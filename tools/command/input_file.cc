// SPDX-License-Identifier: MIT
#include "tools/command/input_file.h"

#include <algorithm>
#include <optional>

#include "runtime/base/file.h"
#include "runtime/base/nearest.h"
#include "tools/command/input_options.h"
#include "tools/command/input_pixels.h"
#include "tools/command/text.h"
#include "tools/io/npy.h"
#include "tools/io/npz.h"

namespace camshaft::command {
namespace {

using base::Code;
using base::Result;
using io::NamedTensor;
using io::Tensor;
using plan::TensorInfo;

Result<size_t> find_input(std::span<const TensorInfo> inputs, const std::string& name,
                          const std::string& where) {
  std::vector<std::string> names;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].name == name) return i;
    names.push_back(input_text(inputs[i]));
  }
  return base::fail(Code::kInvalidArgument, "input.unknown",
                    "%s names '%.100s', which is no input of the plan%s; its inputs are: %s",
                    where.c_str(), name.c_str(),
                    base::did_you_mean(name, inputs, &TensorInfo::name).c_str(),
                    join(names, ", ").c_str());
}

base::Status check_type(const TensorInfo& input, const Tensor& tensor, const std::string& file) {
  if (tensor.dtype == input.dtype && tensor.shape == input.shape) return base::ok();
  return base::fail(Code::kInvalidArgument, "input.type", "input '%s' must be %s, but %s holds %s",
                    input.name.c_str(), io::type_text(input.dtype, input.shape).c_str(),
                    file.c_str(), io::type_text(tensor.dtype, tensor.shape).c_str());
}

// The parts of NAME=FILE[:LAYOUT].
struct Spec {
  std::optional<size_t> index;  // of the input; nothing if no name was given
  std::string file;
  std::string suffix;  // ".npy", in lower case
  std::string layout;
};

// Input names may hold '=', and files too; so the longest name that fits wins.
Result<Spec> parse_spec(std::span<const TensorInfo> inputs, const std::string& text,
                        const char* option) {
  Spec spec;
  spec.file = text;
  size_t longest = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = inputs[i].name;
    if (text.starts_with(name + "=") && name.size() >= longest) {
      longest = name.size();
      spec.index = i;
      spec.file = text.substr(name.size() + 1);
    }
  }
  for (const char* frame : {".nv12:", ".yuv:"}) {
    const size_t at = spec.file.rfind(frame);
    if (at == std::string::npos) continue;
    const size_t colon = spec.file.find(':', at);
    spec.layout = spec.file.substr(colon + 1);
    spec.file.resize(colon);
  }
  const size_t dot = spec.file.rfind('.');
  if (dot != std::string::npos) spec.suffix = spec.file.substr(dot);
  std::transform(spec.suffix.begin(), spec.suffix.end(), spec.suffix.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  const size_t equals = text.find('=');
  if (!spec.index && spec.suffix != ".npz" && inputs.size() == 1 && equals == std::string::npos) {
    spec.index = 0;
  }
  if (!spec.index && equals != std::string::npos) {
    return find_input(inputs, text.substr(0, equals), option).error();
  }
  if (!spec.index && spec.suffix != ".npz") {
    return base::fail(Code::kInvalidArgument, "input.unnamed",
                      "%s %s doesn't say which input it is for; write NAME=%s", option,
                      text.c_str(), text.c_str());
  }
  return spec;
}

Result<Tensor> read_raw(const TensorInfo& input, const std::string& file) {
  CAMSHAFT_TRY_ASSIGN(std::vector<std::byte> bytes, base::read_file(file));
  if (bytes.size() != input.size_bytes()) {
    return base::fail(Code::kInvalidArgument, "input.raw_size",
                      "input '%s' is %s and needs %llu bytes, but %s has %zu", input.name.c_str(),
                      io::type_text(input.dtype, input.shape).c_str(),
                      static_cast<unsigned long long>(input.size_bytes()), file.c_str(),
                      bytes.size());
  }
  return Tensor{input.dtype, input.shape, std::move(bytes)};
}

// The array of the input's name, or the only one.
Result<Tensor> read_from_archive(const TensorInfo& input, const std::string& file) {
  CAMSHAFT_TRY_ASSIGN(std::vector<NamedTensor> arrays, io::read_npz(file));
  std::vector<std::string> names;
  for (NamedTensor& array : arrays) {
    if (array.name == input.name || arrays.size() == 1) return std::move(array.tensor);
    names.push_back(array.name);
  }
  return base::fail(Code::kInvalidArgument, "input.archive", "%s has no array '%s'; it holds: %s",
                    file.c_str(), input.name.c_str(), printable(join(names, ", ")).c_str());
}

Result<Tensor> read_one(const TensorInfo& input, const Spec& spec) {
  if (spec.suffix == ".npy") return io::read_npy(spec.file);
  if (spec.suffix == ".npz") return read_from_archive(input, spec.file);
  if (spec.suffix == ".png") return read_picture(input, spec.file);
  if (spec.suffix == ".nv12") {
    return read_frame(input, spec.file, spec.layout, io::Chroma::kInterleaved);
  }
  if (spec.suffix == ".yuv") return read_frame(input, spec.file, spec.layout, io::Chroma::kPlanar);
  if (spec.suffix == ".bin") return read_raw(input, spec.file);
  return base::fail(Code::kInvalidArgument, "input.suffix",
                    "%s: files are .npy, .npz, .png, .nv12, .yuv or .bin", spec.file.c_str());
}

Result<std::vector<LoadedInput>> read_all(std::span<const TensorInfo> inputs,
                                          const std::string& file) {
  CAMSHAFT_TRY_ASSIGN(std::vector<NamedTensor> arrays, io::read_npz(file));
  std::vector<LoadedInput> loaded;
  for (NamedTensor& array : arrays) {
    CAMSHAFT_TRY_ASSIGN(const size_t index, find_input(inputs, array.name, file));
    CAMSHAFT_TRY(check_type(inputs[index], array.tensor, file));
    loaded.push_back({index, std::move(array.tensor)});
  }
  return loaded;
}

}  // namespace

Result<std::vector<LoadedInput>> load_input_file(std::span<const TensorInfo> inputs,
                                                 const std::string& text, const char* option) {
  CAMSHAFT_TRY_ASSIGN(const Spec spec, parse_spec(inputs, text, option));
  if (spec.file.empty()) {
    return base::fail(Code::kInvalidArgument, "input.no_file",
                      "%s '%s' names no file: write NAME=FILE", option, text.c_str());
  }
  if (!spec.index) return read_all(inputs, spec.file);
  const TensorInfo& input = inputs[*spec.index];
  CAMSHAFT_TRY_ASSIGN(Tensor tensor, read_one(input, spec));
  CAMSHAFT_TRY(check_type(input, tensor, spec.file));
  std::vector<LoadedInput> loaded;
  loaded.push_back({*spec.index, std::move(tensor)});
  return loaded;
}

}  // namespace camshaft::command
