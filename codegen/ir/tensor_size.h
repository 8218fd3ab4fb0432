// SPDX-License-Identifier: MIT
// How large a tensor may be.
#pragma once

#include <string>

#include "codegen/ir/graph.h"

namespace camshaft::ir {

// What keeps a tensor from having this type, to follow the type in a sentence: "has a negative
// extent", or how large it is and what the limit is (base::kMaxTensorBytes). Empty: nothing.
std::string find_size_problem(const TensorType& type);

}  // namespace camshaft::ir
