// SPDX-License-Identifier: MIT
// The files beside a model that hold its large tensors, each mapped once.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "codegen/onnx/onnx_proto.h"
#include "codegen/onnx/problem.h"
#include "runtime/base/bytes.h"
#include "runtime/base/file.h"

namespace camshaft::onnx {

class ExternalFiles {
 public:
  // `folder` holds the model; "" for a model that came without a file, which may have none of
  // these.
  explicit ExternalFiles(std::string folder) : folder_(std::move(folder)) {}

  // The bytes that a tensor's external_data names, `size_bytes` of them, valid as long as this
  // object; empty with a failure if they are not there. A location may not leave the folder.
  base::Bytes find(const ::onnx::TensorProto& tensor, uint64_t size_bytes, Failure* failure);

  // Paths of the files that were mapped, in order of their first use.
  const std::vector<std::string>& paths() const { return paths_; }

 private:
  const base::MappedFile* open(const std::string& location, Failure* failure);

  std::string folder_;
  std::map<std::string, base::MappedFile> files_;
  std::vector<std::string> paths_;
};

}  // namespace camshaft::onnx
