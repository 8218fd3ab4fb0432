// SPDX-License-Identifier: MIT
// What operators a model is made of.
#pragma once

#include <set>
#include <string>

#include "runtime/base/status.h"

namespace camshaft::onnx {

// The names of all operators ("QLinearConv") in the model's graph, in its branches and loops and in
// its functions, of whatever domain and supported or not. kCorrupt if the file is no ONNX model;
// kNotFound and kIo if it can't be read.
base::Result<std::set<std::string>> operators_of(const std::string& path);

}  // namespace camshaft::onnx
