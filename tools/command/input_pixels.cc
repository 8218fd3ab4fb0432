// SPDX-License-Identifier: MIT
#include "tools/command/input_pixels.h"

#include <vector>

#include "runtime/base/file.h"
#include "tools/command/input_options.h"
#include "tools/command/text.h"

namespace camshaft::command {
namespace {

using base::Code;
using base::Result;
using io::Picture;
using io::Tensor;
using plan::TensorInfo;

std::vector<int64_t> without_leading_ones(std::vector<int64_t> shape, size_t rank) {
  while (shape.size() > rank && shape.front() == 1) shape.erase(shape.begin());
  return shape;
}

// Where element (channel, y, x) of a picture goes in a tensor.
struct Placement {
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  bool channels_last = false;
};

// The ways in which a shape may be read as a picture: up to two.
std::vector<Placement> placements(const std::vector<int64_t>& input_shape) {
  std::vector<int64_t> shape = without_leading_ones(input_shape, 3);
  if (shape.size() == 2) shape.insert(shape.begin(), 1);
  std::vector<Placement> found;
  if (shape.size() != 3) return found;
  if (shape[0] <= 4) found.push_back({shape[0], shape[1], shape[2], false});
  if (shape[2] <= 4) found.push_back({shape[2], shape[0], shape[1], true});
  return found;
}

// Which of a pixel's channels becomes channel `wanted` of `count`: an index, kOpaque, or nothing.
constexpr int kOpaque = -1;
constexpr int kNone = -2;
int source_channel(int have, int64_t wanted, int64_t count) {
  const bool is_gray = have <= 2;
  const bool has_alpha = have % 2 == 0;
  const bool wants_alpha = count % 2 == 0;
  if (wants_alpha && wanted == count - 1) return has_alpha ? have - 1 : kOpaque;
  if (is_gray) return 0;
  return count >= 3 ? static_cast<int>(wanted) : kNone;
}

const char* const kKinds[] = {"gray", "gray with alpha", "RGB", "RGB with alpha"};

base::Status misfit(const TensorInfo& input, const Picture& picture, const std::string& file,
                    const char* why) {
  return base::fail(Code::kInvalidArgument, "input.picture",
                    "%s is %dx%d pixels, %s, and doesn't fit input %s: %s", file.c_str(),
                    picture.width, picture.height, kKinds[picture.channels - 1],
                    input_text(input).c_str(), why);
}

void place(const Picture& picture, const Placement& to, Tensor& tensor) {
  for (int64_t channel = 0; channel < to.channels; ++channel) {
    const int source = source_channel(picture.channels, channel, to.channels);
    for (int64_t pixel = 0; pixel < to.height * to.width; ++pixel) {
      const double value =
          source == kOpaque
              ? 255
              : picture.pixels[static_cast<size_t>(pixel * picture.channels + source)];
      const int64_t index =
          to.channels_last ? pixel * to.channels + channel : channel * to.height * to.width + pixel;
      io::set_element(tensor.dtype, tensor.bytes.data(), static_cast<uint64_t>(index), value);
    }
  }
}

Tensor empty_tensor(const TensorInfo& input) {
  return {input.dtype, input.shape, std::vector<std::byte>(input.size_bytes())};
}

}  // namespace

Result<Tensor> picture_to_tensor(const TensorInfo& input, const Picture& picture,
                                 const std::string& file) {
  const std::vector<Placement> possible = placements(input.shape);
  if (possible.empty()) return misfit(input, picture, file, "its shape is no picture's");
  for (const Placement& placement : possible) {
    if (placement.width != picture.width || placement.height != picture.height) continue;
    if (source_channel(picture.channels, 0, placement.channels) == kNone) {
      return misfit(input, picture, file, "convert it to gray first");
    }
    Tensor tensor = empty_tensor(input);
    place(picture, placement, tensor);
    return tensor;
  }
  return misfit(input, picture, file, "scale or crop it first");
}

Result<Tensor> read_picture(const TensorInfo& input, const std::string& file) {
  CAMSHAFT_TRY_ASSIGN(const Picture picture, io::read_png(file));
  return picture_to_tensor(input, picture, file);
}

Result<Tensor> read_frame(const TensorInfo& input, const std::string& file,
                          const std::string& layout_text, io::Chroma chroma) {
  CAMSHAFT_TRY_ASSIGN(const io::FrameLayout layout, io::parse_frame_layout(layout_text, chroma));
  if (without_leading_ones(input.shape, 3) !=
      std::vector<int64_t>{6, layout.height / 2, layout.width / 2}) {
    return base::fail(
        Code::kInvalidArgument, "input.frame",
        "a frame of %lldx%lld packs into [6x%lldx%lld], and input %s is not that; warp "
        "or crop the frame first",
        static_cast<long long>(layout.width), static_cast<long long>(layout.height),
        static_cast<long long>(layout.height / 2), static_cast<long long>(layout.width / 2),
        input_text(input).c_str());
  }
  CAMSHAFT_TRY_ASSIGN(const std::vector<std::byte> frame, base::read_file(file));
  std::vector<uint8_t> packed(static_cast<size_t>(6 * (layout.height / 2) * (layout.width / 2)));
  CAMSHAFT_TRY(io::pack_frame(frame, layout, file, packed));
  Tensor tensor = empty_tensor(input);
  for (size_t i = 0; i < packed.size(); ++i) {
    io::set_element(tensor.dtype, tensor.bytes.data(), i, packed[i]);
  }
  return tensor;
}

}  // namespace camshaft::command
