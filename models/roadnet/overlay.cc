// SPDX-License-Identifier: MIT
#include "models/roadnet/overlay.h"

namespace camshaft::roadnet {
namespace {

uint8_t to_byte(float v) {
  return static_cast<uint8_t>(clampf(v + 0.5f, 0.0f, 255.0f));
}

void put_yuv(uint8_t* rgb, uint8_t y, uint8_t u, uint8_t v) {
  const float luma = 1.164384f * (static_cast<float>(y) - 16.0f);
  const float cb = static_cast<float>(u) - 128.0f;
  const float cr = static_cast<float>(v) - 128.0f;
  rgb[0] = to_byte(luma + 1.596027f * cr);
  rgb[1] = to_byte(luma - 0.391762f * cb - 0.812968f * cr);
  rgb[2] = to_byte(luma + 2.017232f * cb);
}

Picture blank(int width, int height) {
  Picture picture{width, height, {}};
  picture.rgb.resize(static_cast<size_t>(width) * static_cast<size_t>(height) * 3);
  return picture;
}

void draw_stroke(Picture& picture, Pixel a, Pixel b, Ink ink, float width_px) {
  const float half = 0.5f * width_px;
  const float w = static_cast<float>(picture.width - 1);
  const float h = static_cast<float>(picture.height - 1);
  const int x0 = static_cast<int>(clampf(minf(a.x, b.x) - half, 0.0f, w));
  const int x1 = static_cast<int>(clampf(maxf(a.x, b.x) + half, 0.0f, w));
  const int y0 = static_cast<int>(clampf(minf(a.y, b.y) - half, 0.0f, h));
  const int y1 = static_cast<int>(clampf(maxf(a.y, b.y) + half, 0.0f, h));
  const float dx = b.x - a.x;
  const float dy = b.y - a.y;
  const float length2 = maxf(dx * dx + dy * dy, 1e-6f);
  for (int y = y0; y <= y1; ++y) {
    for (int x = x0; x <= x1; ++x) {
      const float px = static_cast<float>(x) - a.x;
      const float py = static_cast<float>(y) - a.y;
      const float k = clamp01((px * dx + py * dy) / length2);
      const float ex = px - k * dx;
      const float ey = py - k * dy;
      if (ex * ex + ey * ey <= half * half) {
        uint8_t* rgb = &picture.rgb[(static_cast<size_t>(y) * static_cast<size_t>(picture.width) +
                                     static_cast<size_t>(x)) *
                                    3];
        rgb[0] = ink.r;
        rgb[1] = ink.g;
        rgb[2] = ink.b;
      }
    }
  }
}

float ground_height(const RoadAhead* road, float x) {
  return road == nullptr ? 0.0f : road->height(x);
}

float path_y(const Truth& answer, float x) {
  for (size_t i = 1; i < kDistances_m.size(); ++i) {
    if (x <= kDistances_m[i]) {
      const float k = (x - kDistances_m[i - 1]) / (kDistances_m[i] - kDistances_m[i - 1]);
      return mix(answer.path[i - 1], answer.path[i], k);
    }
  }
  return answer.path.back();
}

}  // namespace

Picture picture_of_frame(std::span<const uint8_t> nv12, const Nv12Layout& layout) {
  Picture picture = blank(layout.width, layout.height);
  uint8_t* rgb = picture.rgb.data();
  for (size_t y = 0; y < static_cast<size_t>(layout.height); ++y) {
    const uint8_t* luma = &nv12[y * layout.stride_bytes];
    const uint8_t* chroma = &nv12[layout.chroma_offset_bytes + y / 2 * layout.stride_bytes];
    for (size_t x = 0; x < static_cast<size_t>(layout.width); ++x, rgb += 3) {
      put_yuv(rgb, luma[x], chroma[x / 2 * 2], chroma[x / 2 * 2 + 1]);
    }
  }
  return picture;
}

Picture picture_of_input(std::span<const uint8_t, kInputBytes> input) {
  constexpr size_t kPlane = size_t{kInputRows} * kInputColumns;
  Picture picture = blank(2 * kInputColumns, 2 * kInputRows);
  uint8_t* rgb = picture.rgb.data();
  for (size_t y = 0; y < 2 * size_t{kInputRows}; ++y) {
    for (size_t x = 0; x < 2 * size_t{kInputColumns}; ++x, rgb += 3) {
      const size_t at = y / 2 * kInputColumns + x / 2;
      const size_t channel = (y & 1) + 2 * (x & 1);
      put_yuv(rgb, input[channel * kPlane + at], input[4 * kPlane + at], input[5 * kPlane + at]);
    }
  }
  return picture;
}

std::vector<Pixel> project_offsets(std::span<const float, kPoints> offsets_m,
                                   const CameraPose& camera, const RoadAhead* road) {
  std::vector<Pixel> points;
  for (size_t i = 0; i < offsets_m.size(); ++i) {
    const float x = kDistances_m[i];
    points.push_back(camera.project({x, offsets_m[i], ground_height(road, x)}));
  }
  return points;
}

void draw_polyline(Picture& picture, const std::vector<Pixel>& points, Ink ink, float width_px) {
  for (size_t i = 1; i < points.size(); ++i) {
    if (points[i - 1].in_front && points[i].in_front &&
        (points[i - 1].visible || points[i].visible)) {
      draw_stroke(picture, points[i - 1], points[i], ink, width_px);
    }
  }
}

void draw_answer(Picture& picture, const Truth& answer, const CameraPose& camera,
                 const RoadAhead* road, Ink lines, Ink path, float width_px) {
  if (answer.left_probability > 0.5f) {
    draw_polyline(picture, project_offsets(answer.left, camera, road), lines, width_px);
  }
  if (answer.right_probability > 0.5f) {
    draw_polyline(picture, project_offsets(answer.right, camera, road), lines, width_px);
  }
  draw_polyline(picture, project_offsets(answer.path, camera, road), path, width_px);
  if (answer.lead_probability > 0.5f) {
    const float x = answer.lead_distance_m;
    const float y = path_y(answer, x);
    const float z = ground_height(road, x);
    const std::vector<Pixel> bar{camera.project({x, y - 1.0f, z}),
                                 camera.project({x, y + 1.0f, z})};
    draw_polyline(picture, bar, path, 2.0f * width_px);
  }
}

std::string to_ppm(const Picture& picture) {
  std::string bytes =
      "P6\n" + std::to_string(picture.width) + " " + std::to_string(picture.height) + "\n255\n";
  bytes.append(reinterpret_cast<const char*>(picture.rgb.data()), picture.rgb.size());
  return bytes;
}

}  // namespace camshaft::roadnet
