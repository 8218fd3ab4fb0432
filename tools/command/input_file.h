// SPDX-License-Identifier: MIT
// One --input: NAME=FILE, FILE.npz with arrays named like inputs, or FILE where there is one input.
//
//   .npy, .npz      dtype and shape must be the input's
//   .png            the picture's size must be the input's; [C,H,W] or [H,W,C] with C 1, 3 or 4, or
//                   [H,W], as the input's shape says
//   .nv12 .yuv      raw frames, FILE.nv12:WIDTHxHEIGHT[:STRIDE[:LUMA_ROWS]], .yuv with planar
//   chroma;
//                   packed into [6,HEIGHT/2,WIDTH/2] as tools/io/yuv420.h says
//   .bin            the input's bytes
// Leading extents of 1 don't matter for pictures and frames. Pixels keep their values 0 to 255
// whatever the input's dtype: scaling belongs into the model, where nobody forgets it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/plan/plan.h"
#include "tools/io/tensor.h"

namespace camshaft::command {

struct LoadedInput {
  size_t index = 0;  // in the plan's list
  io::Tensor tensor;
};

// What one --input gives: usually one tensor, from an archive without a name several. `option` is
// what sentences call it.
base::Result<std::vector<LoadedInput>> load_input_file(std::span<const plan::TensorInfo> inputs,
                                                       const std::string& spec,
                                                       const char* option = "--input");

}  // namespace camshaft::command
