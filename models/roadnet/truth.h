// SPDX-License-Identifier: MIT
//
// What a perfect network would answer, and the layout of the answer. The network's output vector,
// the records of a data set and this struct have one layout: this file is its definition.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "models/roadnet/scene.h"

namespace camshaft::roadnet {

inline constexpr int kPoints = 16;

/// Distances along the car's x at which lines and path are given, metres from the camera.
inline constexpr std::array<float, kPoints> kDistances_m{2,  4,  6,  8,  10, 13, 16, 20,
                                                         25, 30, 35, 40, 45, 50, 55, 60};

/// How far a smooth driver needs to come back to the lane's centre.
inline constexpr float kPathReturn_m = 15.0f;

/// A lead car counts between these distances.
inline constexpr float kNearestLead_m = 4.0f;
inline constexpr float kFarthestLead_m = 100.0f;

/// Lateral offsets are in the car frame, metres, left positive.
struct Truth {
  std::array<float, kPoints> left{};  ///< centre of the own lane's left boundary, painted or not
  std::array<float, kPoints> right{};
  std::array<float, kPoints> path{};  ///< where a smooth driver would take the car
  float lead_distance_m = 0;          ///< to the rear bumper along x; 0 without a lead
  float left_probability = 0;         ///< 1 when the boundary is painted
  float right_probability = 0;
  float lead_probability = 0;  ///< 1 when a car is in the own lane, in range and in sight
};

inline constexpr int kOutputs = 52;
static_assert(sizeof(Truth) == kOutputs * sizeof(float));

/// The struct as the vector that it is.
std::span<const float, kOutputs> as_vector(const Truth& truth);

/// Reads an output vector of the network.
Truth from_vector(std::span<const float, kOutputs> values);

Truth compute_truth(const Scene& scene);

/// What the training scripts need to know, as one line of JSON: {"distances_m":[...],
/// "slices":[{"name":...,"offset":...,"shape":[...],"unit":...},...],"path_return_m":...,
/// "model_focal_px":...}.
std::string describe_outputs();

}  // namespace camshaft::roadnet
