// SPDX-License-Identifier: MIT
#include "models/roadnet/frame.h"

namespace camshaft::roadnet {
namespace {

size_t align_up(size_t v, size_t to) {
  return (v + to - 1) / to * to;
}

int nearest(float v, int size) {
  const float limit = static_cast<float>(size - 1);
  return static_cast<int>(clampf(v + 0.5f, 0.0f, limit));
}

// S M S^-1 with S = diag(1/2, 1/2, 1); exact, since only powers of two are involved.
Homography chroma_warp(const Homography& m) {
  return {m[0], m[1], m[2] * 0.5f, m[3], m[4], m[5] * 0.5f, m[6] * 2.0f, m[7] * 2.0f, m[8]};
}

// Calls visit(row, column, x, y) for every pixel of a model plane with the frame's pixel (x, y).
template <typename Visit>
void for_warped(const Homography& m, int rows, int columns, int width, int height, Visit visit) {
  for (int r = 0; r < rows; ++r) {
    const float v = static_cast<float>(r);
    for (int c = 0; c < columns; ++c) {
      const float u = static_cast<float>(c);
      const float x = m[0] * u + m[1] * v + m[2];
      const float y = m[3] * u + m[4] * v + m[5];
      const float w = m[6] * u + m[7] * v + m[8];
      visit(r, c, nearest(x / w, width), nearest(y / w, height));
    }
  }
}

// The one walk over the input that both ways of making it share.
template <typename Luma, typename ChromaAt>
void pack(const Homography& warp, int width, int height, InputBytes input, Luma luma,
          ChromaAt chroma) {
  constexpr size_t kPlane = size_t{kInputRows} * kInputColumns;
  for_warped(warp, kModelView.height, kModelView.width, width, height,
             [&](int r, int c, int x, int y) {
               const size_t channel = static_cast<size_t>((r & 1) + 2 * (c & 1));
               const size_t at = static_cast<size_t>((r / 2) * kInputColumns + c / 2);
               input[channel * kPlane + at] = luma(x, y);
             });
  for_warped(chroma_warp(warp), kInputRows, kInputColumns, width / 2, height / 2,
             [&](int r, int c, int x, int y) {
               const size_t at = static_cast<size_t>(r * kInputColumns + c);
               const Chroma value = chroma(x, y);
               input[4 * kPlane + at] = value.u;
               input[5 * kPlane + at] = value.v;
             });
}

}  // namespace

Nv12Layout nv12_layout(int width, int height) {
  constexpr size_t kHeader = 4096;
  constexpr size_t kMinimumExtra = 16 * 1024;
  constexpr size_t kPage = 4096;
  const size_t w = static_cast<size_t>(width);
  const size_t h = static_cast<size_t>(height);
  Nv12Layout layout;
  layout.width = width;
  layout.height = height;
  layout.stride_bytes = align_up(w, 128);
  layout.luma_rows = align_up(h, 32);
  layout.chroma_rows = align_up(h / 2, 16);
  layout.chroma_offset_bytes = layout.stride_bytes * layout.luma_rows;
  const size_t eight_rows = 8 * layout.stride_bytes;
  const size_t extra = kHeader + (eight_rows > kMinimumExtra ? eight_rows : kMinimumExtra);
  layout.size_bytes = align_up(
      layout.chroma_offset_bytes + layout.stride_bytes * layout.chroma_rows + extra, kPage);
  return layout;
}

Nv12Layout road_camera_layout() {
  return nv12_layout(kRoadCamera.width, kRoadCamera.height);
}

void render_rows(const Renderer& renderer, int first_row, int last_row, std::span<uint8_t> nv12) {
  const Nv12Layout layout = road_camera_layout();
  for (int y = first_row; y < last_row; ++y) {
    uint8_t* row = nv12.data() + static_cast<size_t>(y) * layout.stride_bytes;
    for (int x = 0; x < layout.width; ++x) {
      row[x] = renderer.luma(x, y);
    }
  }
  for (int cy = first_row / 2; cy < last_row / 2; ++cy) {
    uint8_t* row =
        nv12.data() + layout.chroma_offset_bytes + static_cast<size_t>(cy) * layout.stride_bytes;
    for (int cx = 0; cx < layout.width / 2; ++cx) {
      const Chroma value = renderer.chroma(cx, cy);
      row[2 * cx] = value.u;
      row[2 * cx + 1] = value.v;
    }
  }
}

std::vector<uint8_t> render_frame(const Renderer& renderer) {
  const Nv12Layout layout = road_camera_layout();
  std::vector<uint8_t> nv12(layout.size_bytes, 0);
  render_rows(renderer, 0, layout.height, nv12);
  return nv12;
}

void warp_nv12_to_input(std::span<const uint8_t> nv12, const Nv12Layout& layout,
                        const Homography& warp, InputBytes input) {
  const uint8_t* luma_plane = nv12.data();
  const uint8_t* chroma_plane = nv12.data() + layout.chroma_offset_bytes;
  pack(
      warp, layout.width, layout.height, input,
      [&](int x, int y) {
        return luma_plane[static_cast<size_t>(y) * layout.stride_bytes + static_cast<size_t>(x)];
      },
      [&](int x, int y) {
        const uint8_t* uv = chroma_plane + static_cast<size_t>(y) * layout.stride_bytes +
                            static_cast<size_t>(2 * x);
        return Chroma{uv[0], uv[1]};
      });
}

void render_model_view(const Renderer& renderer, InputBytes input) {
  pack(
      renderer.scene().warp(), kRoadCamera.width, kRoadCamera.height, input,
      [&](int x, int y) { return renderer.luma(x, y); },
      [&](int x, int y) { return renderer.chroma(x, y); });
}

}  // namespace camshaft::roadnet
