// SPDX-License-Identifier: MIT
#include "msgq/frames/format.h"

#include <bit>
#include <span>

#include "runtime/base/bytes.h"

namespace camshaft::frames {
namespace {

constexpr uint32_t kMaxExtent = 65536;

// A plane's share of the pixels: bytes of a row for `per_pixels` pixels, rows one of `row_divisor`.
struct PlaneRule {
  uint32_t bytes;
  uint32_t per_pixels;
  uint32_t row_divisor;
};

struct FormatRule {
  uint32_t format;
  uint32_t plane_count;
  PlaneRule planes[kMaxPlanes];
};

constexpr FormatRule kFormats[] = {
    {kBytes, 1, {{1, 1, 1}}},
    {kNv12, 2, {{1, 1, 1}, {2, 2, 2}}},
    {kI420, 3, {{1, 1, 1}, {1, 2, 2}, {1, 2, 2}}},
    {kYuyv, 1, {{4, 2, 1}}},
    {kGrey8, 1, {{1, 1, 1}}},
    {kRgb24, 1, {{3, 1, 1}}},
};

const FormatRule* find_rule(uint32_t format) {
  for (const FormatRule& rule : kFormats) {
    if (rule.format == format) return &rule;
  }
  return nullptr;
}

base::Status check_size(const FormatRule& rule, uint32_t width, uint32_t height) {
  if (width == 0 || height == 0 || width > kMaxExtent || height > kMaxExtent) {
    return base::fail(base::Code::kInvalidArgument, "frames.format",
                      "a frame can't be %u x %u: use 1 to %u each", width, height, kMaxExtent);
  }
  for (uint32_t i = 0; i < rule.plane_count; ++i) {
    if (width % rule.planes[i].per_pixels == 0 && height % rule.planes[i].row_divisor == 0)
      continue;
    return base::fail(base::Code::kInvalidArgument, "frames.format",
                      "a frame of %s can't be %u x %u: its chroma needs even sizes",
                      fourcc_text(rule.format).c_str(), width, height);
  }
  return base::ok();
}

}  // namespace

std::string fourcc_text(uint32_t format) {
  if (format == kBytes) return "bytes";
  std::string text;
  for (int i = 0; i < 4; ++i) {
    const char c = static_cast<char>(format >> (8 * i));
    text += c >= ' ' && c <= '~' ? c : '?';
  }
  return text;
}

base::Result<Geometry> lay_out(uint32_t format, uint32_t width, uint32_t height,
                               const Alignments& alignments) {
  const FormatRule* rule = find_rule(format);
  if (rule == nullptr) {
    return base::fail(base::Code::kInvalidArgument, "frames.format",
                      "no layout is known for format %s: use NV12, YU12, YUYV, R8, BG24 or bytes, "
                      "or lay its planes out yourself",
                      fourcc_text(format).c_str());
  }
  CAMSHAFT_TRY(check_size(*rule, width, height));
  for (uint32_t alignment :
       {alignments.stride_bytes, alignments.luma_rows, alignments.chroma_rows}) {
    if (std::has_single_bit(alignment) && alignment <= 4096) continue;
    return base::fail(base::Code::kInvalidArgument, "frames.format",
                      "frames can't be aligned to %u: use a power of two up to 4096", alignment);
  }
  Geometry geometry = {
      .format = format, .width = width, .height = height, .plane_count = rule->plane_count};
  for (uint32_t i = 0; i < rule->plane_count; ++i) {
    const PlaneRule& share = rule->planes[i];
    Plane& plane = geometry.planes[i];
    plane.row_bytes = width / share.per_pixels * share.bytes;
    plane.stride_bytes =
        static_cast<uint32_t>(base::align_up(plane.row_bytes, alignments.stride_bytes));
    plane.rows = height / share.row_divisor;
    plane.offset_bytes = geometry.size_bytes;
    const uint32_t rows_to = i == 0 ? alignments.luma_rows : alignments.chroma_rows;
    geometry.size_bytes += plane.stride_bytes * base::align_up(plane.rows, rows_to);
  }
  return geometry;
}

base::Status check_geometry(const Geometry& geometry, uint64_t size_bytes, const char* whose) {
  const auto bad = [&](const char* what) {
    return base::fail(base::Code::kCorrupt, "frames.geometry", "%s: %s", whose, what);
  };
  if (geometry.plane_count == 0 || geometry.plane_count > kMaxPlanes) {
    return bad("a frame has 1 to 4 planes");
  }
  if (geometry.size_bytes > size_bytes) return bad("the frame is larger than its buffer");
  for (const Plane& plane : std::span(geometry.planes).first(geometry.plane_count)) {
    if (plane.rows == 0 || plane.row_bytes == 0 || plane.row_bytes > plane.stride_bytes) {
      return bad("a plane is empty, or its rows overlap");
    }
    const uint64_t needed =
        uint64_t{plane.stride_bytes} * (plane.rows - 1) + plane.row_bytes;  // < 2^64: u32 * u32
    if (!base::range_fits(plane.offset_bytes, needed, geometry.size_bytes)) {
      return bad("a plane reaches beyond the frame");
    }
  }
  return base::ok();
}

}  // namespace camshaft::frames
