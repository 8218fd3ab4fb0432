// SPDX-License-Identifier: MIT
// Test cases in the layout of the ONNX backend tests: a folder with model.onnx and folders
// test_data_set_K of input_N.pb (TensorProto). What an implementation computes is written beside
// its inputs, as NAME_N.pb.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "codegen/ir/graph.h"
#include "runtime/base/status.h"

namespace camshaft::reference {

struct NamedTensor {
  std::string name;
  std::shared_ptr<const ir::Literal> literal;  // never null
};

// The cases of `folder`, which holds them or is one, by name.
std::vector<std::filesystem::path> cases_in(const std::filesystem::path& folder);

// A case's data sets, in order.
std::vector<std::filesystem::path> data_sets_of(const std::filesystem::path& folder);

// The inputs of a data set. kCorrupt or kUnsupported where one is no tensor that the graph can
// hold.
base::Result<std::vector<NamedTensor>> read_inputs(const std::filesystem::path& data_set);

// Writes output number `index`, called `name` in the model, as `file_name`_INDEX.pb.
base::Status write_output(const std::filesystem::path& data_set, const std::string& file_name,
                          size_t index, const std::string& name, const ir::Literal& literal);

}  // namespace camshaft::reference
