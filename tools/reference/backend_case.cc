// SPDX-License-Identifier: MIT
#include "tools/reference/backend_case.h"

#include <algorithm>
#include <fstream>

#include "codegen/onnx/external_files.h"
#include "codegen/onnx/onnx_proto.h"
#include "codegen/onnx/tensor_proto.h"
#include "runtime/base/file.h"

namespace camshaft::reference {

namespace fs = std::filesystem;

namespace {

base::Result<NamedTensor> read_tensor(const std::string& path) {
  CAMSHAFT_TRY_ASSIGN(const std::vector<std::byte> bytes, base::read_file(path));
  ::onnx::TensorProto tensor;
  onnx::Failure failure{base::Code::kCorrupt, "not a TensorProto"};
  std::shared_ptr<const ir::Literal> literal;
  if (tensor.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    onnx::ExternalFiles none("");
    failure = {};
    literal = onnx::to_literal(tensor, &none, &failure);
  }
  if (literal == nullptr) {
    return base::fail(failure.code, "reference.tensor", "%s: %s", path.c_str(),
                      failure.sentence.c_str());
  }
  return NamedTensor{tensor.name(), std::move(literal)};
}

}  // namespace

std::vector<fs::path> cases_in(const fs::path& folder) {
  if (fs::exists(folder / "model.onnx")) return {folder};
  std::vector<fs::path> cases;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (fs::exists(entry.path() / "model.onnx")) cases.push_back(entry.path());
  }
  std::sort(cases.begin(), cases.end());
  return cases;
}

std::vector<fs::path> data_sets_of(const fs::path& folder) {
  std::vector<fs::path> sets;
  for (int i = 0;; ++i) {
    fs::path set = folder / ("test_data_set_" + std::to_string(i));
    if (!fs::is_directory(set)) return sets;
    sets.push_back(std::move(set));
  }
}

base::Result<std::vector<NamedTensor>> read_inputs(const fs::path& data_set) {
  std::vector<NamedTensor> inputs;
  for (int i = 0;; ++i) {
    const fs::path path = data_set / ("input_" + std::to_string(i) + ".pb");
    if (!fs::exists(path)) return inputs;
    CAMSHAFT_TRY_ASSIGN(NamedTensor input, read_tensor(path.string()));
    inputs.push_back(std::move(input));
  }
}

base::Status write_output(const fs::path& data_set, const std::string& file_name, size_t index,
                          const std::string& name, const ir::Literal& literal) {
  const fs::path path = data_set / (file_name + "_" + std::to_string(index) + ".pb");
  std::ofstream file(path, std::ios::binary);
  file << onnx::to_tensor_proto(literal, name).SerializeAsString();
  file.close();
  if (file) return base::ok();
  return base::fail(base::Code::kIo, "reference.write", "can't write %s", path.c_str());
}

}  // namespace camshaft::reference
