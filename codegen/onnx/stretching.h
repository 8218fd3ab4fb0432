// SPDX-License-Identifier: MIT
// Broadcasting that only a run decides: of two operands with an extent that depends on data, one
// may turn out to have a single element, which then stands for all of the other's.
#pragma once

#include <string_view>
#include <vector>

#include "codegen/onnx/value.h"

namespace camshaft::onnx {

// Does the operator (of the default domain) broadcast all its inputs together?
bool broadcasts_inputs(std::string_view op);

// Broadcast operands whose extents and counts agree on every axis: where extents that depend on
// data differ, an operand with one element in a run is repeated. Where they can't differ, or none
// depends on data, operands are left as they are. Absent ones stay absent.
std::vector<Value> stretched(std::vector<Value> operands);

}  // namespace camshaft::onnx
