// SPDX-License-Identifier: MIT
// What `--dtype` makes of a graph.
#pragma once

#include "codegen/ir/graph.h"

namespace camshaft::emit {

// The graph with f16 or bf16 in memory wherever products and convolutions' results are, as far as
// fusion (`fuse`: see CompileOptions) leaves them in memory at all; passes::narrow_floats says what
// becomes of the rest.
ir::Graph narrow_storage(const ir::Graph& graph, ir::DType dtype, bool fuse);

}  // namespace camshaft::emit
