// SPDX-License-Identifier: MIT
// Pictures and raw camera frames as inputs: input_file.h says which shapes take them.
#pragma once

#include <string>

#include "runtime/base/status.h"
#include "runtime/plan/plan.h"
#include "tools/io/png.h"
#include "tools/io/tensor.h"
#include "tools/io/yuv420.h"

namespace camshaft::command {

// kInvalidArgument where the picture doesn't fit the input; `file` names it.
base::Result<io::Tensor> picture_to_tensor(const plan::TensorInfo& input,
                                           const io::Picture& picture, const std::string& file);

// Fail also as the files' readers do.
base::Result<io::Tensor> read_picture(const plan::TensorInfo& input, const std::string& file);
base::Result<io::Tensor> read_frame(const plan::TensorInfo& input, const std::string& file,
                                    const std::string& layout, io::Chroma chroma);

}  // namespace camshaft::command
