// SPDX-License-Identifier: MIT
// What is wrong with a model: collected, not thrown, so that a user sees all of it at once.
#pragma once

#include <string>

#include "runtime/base/status.h"

namespace camshaft::onnx {

// Why something can't be read, without saying where.
struct Failure {
  base::Code code = base::Code::kOk;
  std::string sentence;
};

// One thing that keeps a model from being read.
struct Problem {
  // kUnsupported: an operator, attribute or type that Camshaft lacks. kInvalidArgument: shapes that
  // are missing or don't fit. kCorrupt: not valid ONNX.
  base::Code code = base::Code::kOk;
  // The ONNX node's name, or if it has none its first output; the name of a model input, output or
  // initializer; or "" for the file as a whole.
  std::string node;
  std::string op_type;  // "" where it is no node
  std::string sentence;
};

// "node 'conv1' (Conv): ..."
std::string to_string(const Problem& problem);

}  // namespace camshaft::onnx
