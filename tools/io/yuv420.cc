// SPDX-License-Identifier: MIT
#include "tools/io/yuv420.h"

#include <charconv>

#include "runtime/base/check.h"

namespace camshaft::io {
namespace {

using base::Code;

constexpr int64_t kMaxSide = 1 << 16;

// Takes a number and the separator before it from the front of `text`.
bool take_number(std::string_view& text, std::string_view separator, int64_t& value) {
  if (!text.starts_with(separator)) return false;
  text.remove_prefix(separator.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return error == std::errc() && value > 0 && value <= kMaxSide;
}

// Offset of each sample in the frame, in the order of the packed channels: f(packed, in frame).
template <typename Visit>
void for_each_sample(const FrameLayout& layout, Visit visit) {
  const auto rows = static_cast<size_t>(layout.height / 2);
  const auto columns = static_cast<size_t>(layout.width / 2);
  const auto stride = static_cast<size_t>(layout.stride_bytes);
  const size_t plane = rows * columns;
  const size_t chroma = stride * static_cast<size_t>(layout.luma_rows);
  const bool planar = layout.chroma == Chroma::kPlanar;
  const size_t chroma_stride = planar ? stride / 2 : stride;
  const size_t step = planar ? 1 : 2;
  const size_t v_offset = planar ? chroma_stride * static_cast<size_t>(layout.luma_rows / 2) : 1;
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c) {
      const size_t packed = r * columns + c;
      const size_t luma = 2 * r * stride + 2 * c;
      const size_t u = chroma + r * chroma_stride + c * step;
      visit(packed, luma);
      visit(packed + plane, luma + stride);
      visit(packed + 2 * plane, luma + 1);
      visit(packed + 3 * plane, luma + stride + 1);
      visit(packed + 4 * plane, u);
      visit(packed + 5 * plane, u + v_offset);
    }
  }
}

uint64_t packed_bytes(const FrameLayout& layout) {
  return static_cast<uint64_t>(6 * (layout.height / 2) * (layout.width / 2));
}

}  // namespace

base::Result<FrameLayout> parse_frame_layout(const std::string& text, Chroma chroma) {
  FrameLayout layout;
  layout.chroma = chroma;
  std::string_view rest = text;
  bool good = take_number(rest, "", layout.width) && take_number(rest, "x", layout.height);
  layout.stride_bytes = layout.width;
  layout.luma_rows = layout.height;
  if (good && !rest.empty()) good = take_number(rest, ":", layout.stride_bytes);
  if (good && !rest.empty()) good = take_number(rest, ":", layout.luma_rows);
  const bool even = layout.width % 2 == 0 && layout.height % 2 == 0 &&
                    layout.stride_bytes % 2 == 0 && layout.luma_rows % 2 == 0;
  if (!good || !rest.empty() || !even || layout.stride_bytes < layout.width ||
      layout.luma_rows < layout.height) {
    return base::fail(Code::kInvalidArgument, "yuv.layout",
                      "'%.80s' is no frame size; write WIDTHxHEIGHT[:STRIDE[:LUMA_ROWS]] with even "
                      "numbers, such as 1928x1208:2048:1216",
                      text.c_str());
  }
  return layout;
}

uint64_t frame_bytes(const FrameLayout& layout) {
  const auto stride = static_cast<uint64_t>(layout.stride_bytes);
  const uint64_t luma = stride * static_cast<uint64_t>(layout.luma_rows);
  const auto chroma_rows = static_cast<uint64_t>(layout.height / 2);
  // The last row needs no padding, and in the planar form V is the last plane.
  if (layout.chroma == Chroma::kPlanar) {
    return luma + stride / 2 * static_cast<uint64_t>(layout.luma_rows / 2) +
           stride / 2 * (chroma_rows - 1) + static_cast<uint64_t>(layout.width / 2);
  }
  return luma + stride * (chroma_rows - 1) + static_cast<uint64_t>(layout.width);
}

base::Status pack_frame(base::Bytes frame, const FrameLayout& layout, const std::string& file,
                        std::span<uint8_t> packed) {
  CAMSHAFT_CHECK(packed.size() == packed_bytes(layout));
  if (frame.size() < frame_bytes(layout)) {
    return base::fail(Code::kInvalidArgument, "yuv.short",
                      "%s has %zu bytes; a frame of %lldx%lld with stride %lld needs %llu",
                      file.c_str(), frame.size(), static_cast<long long>(layout.width),
                      static_cast<long long>(layout.height),
                      static_cast<long long>(layout.stride_bytes),
                      static_cast<unsigned long long>(frame_bytes(layout)));
  }
  for_each_sample(layout,
                  [&](size_t to, size_t from) { packed[to] = static_cast<uint8_t>(frame[from]); });
  return base::ok();
}

std::vector<std::byte> unpack_frame(std::span<const uint8_t> packed, const FrameLayout& layout) {
  CAMSHAFT_CHECK(packed.size() == packed_bytes(layout));
  std::vector<std::byte> frame(frame_bytes(layout));
  for_each_sample(layout, [&](size_t from, size_t to) { frame[to] = std::byte{packed[from]}; });
  return frame;
}

}  // namespace camshaft::io
