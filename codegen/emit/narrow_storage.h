// SPDX-License-Identifier: MIT
// What `--dtype` makes of a graph.
#pragma once

#include <span>

#include "codegen/ir/graph.h"
#include "codegen/render/render.h"

namespace camshaft::emit {

// The graph with f16 or bf16 in memory wherever products and convolutions' results are, as far as
// fusion (`fuse`: see CompileOptions) leaves them in memory at all; passes::narrow_floats says what
// becomes of the rest. Convolutions of inputs are narrow where all `targets` multiply matrices of
// the dtype.
ir::Graph narrow_storage(const ir::Graph& graph, ir::DType dtype, bool fuse,
                         std::span<const render::CpuTarget> targets);

}  // namespace camshaft::emit
