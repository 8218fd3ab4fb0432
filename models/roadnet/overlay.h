// SPDX-License-Identifier: MIT
//
// Pictures for people: frames as RGB, with lines and paths drawn at their place on the road.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/roadnet/camera.h"
#include "models/roadnet/frame.h"
#include "models/roadnet/road.h"
#include "models/roadnet/truth.h"

namespace camshaft::roadnet {

/// An 8-bit RGB picture, rows without padding.
struct Picture {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> rgb;
};

struct Ink {
  uint8_t r = 0, g = 0, b = 0;
};

Picture picture_of_frame(std::span<const uint8_t> nv12, const Nv12Layout& layout);

/// The network's input unpacked again, 512x256.
Picture picture_of_input(std::span<const uint8_t, kInputBytes> input);

/// Where lateral offsets at `kDistances_m` appear in a camera's picture, nearest first. The
/// ground's height is taken from `road` where given, else the road is taken as level.
std::vector<Pixel> project_offsets(std::span<const float, kPoints> offsets_m,
                                   const CameraPose& camera, const RoadAhead* road = nullptr);

/// Joins the points that are in front of the camera by strokes `width_px` wide.
void draw_polyline(Picture& picture, const std::vector<Pixel>& points, Ink ink, float width_px);

/// Draws lines (only probable ones), path and lead distance of a truth or an estimate.
void draw_answer(Picture& picture, const Truth& answer, const CameraPose& camera,
                 const RoadAhead* road, Ink lines, Ink path, float width_px);

/// A binary PPM file's bytes.
std::string to_ppm(const Picture& picture);

}  // namespace camshaft::roadnet
