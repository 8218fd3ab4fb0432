// SPDX-License-Identifier: MIT
#include "runtime/plan/plan.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "runtime/base/bytes.h"

namespace camshaft::plan {

uint64_t TensorInfo::size_bytes() const {
  uint64_t size = static_cast<uint64_t>(base::dtype_size_bytes(dtype));
  for (const int64_t extent : shape) size *= static_cast<uint64_t>(extent);
  return size;
}

uint64_t run_bytes(const PlanInfo& info, const TargetInfo& target) {
  std::optional<uint64_t> total = target.arena_bytes;
  const auto add = [&](uint64_t bytes) {
    if (total) total = base::checked_add(*total, bytes);
  };
  for (const StateInfo& state : target.states) add(state.size_bytes);
  for (const TensorInfo& input : info.inputs) add(input.size_bytes());
  for (const TensorInfo& output : info.outputs) add(output.size_bytes());
  return total.value_or(UINT64_MAX);
}

uint64_t image_row_pitch_bytes(Space space, DType dtype, uint32_t width) {
  const ImageShape shape = {.dtype = dtype, .width = width};
  const uint64_t texels =
      space == Space::kInput ? width : base::align_up(uint64_t{width}, kImageRowTexels);
  return texels * shape.texel_bytes();
}

ImageSummary summarize_images(const TargetInfo& target) {
  using Key = std::tuple<Space, uint32_t, uint64_t, DType, uint32_t, uint32_t>;
  std::map<Key, uint64_t> images;
  ImageSummary summary;
  for (const CommandInfo& command : target.commands) {
    for (const ArgInfo& arg : command.args) {
      const ImageShape& image = arg.image;
      if (!image.is_image()) continue;
      images[{arg.space, arg.index, arg.offset_bytes, image.dtype, image.width, image.height}] =
          arg.size_bytes;
      summary.width = std::max(summary.width, image.width);
      summary.height = std::max(summary.height, image.height);
    }
  }
  summary.count = images.size();
  for (const auto& [key, bytes] : images) summary.size_bytes += bytes;
  return summary;
}

bool is_model_output(const PlanInfo& info, size_t output) {
  if (info.exceeded_output == output) return false;
  return std::none_of(info.outputs.begin(), info.outputs.end(), [&](const TensorInfo& other) {
    return !other.counted_axes.empty() && other.count_output == output;
  });
}

}  // namespace camshaft::plan
