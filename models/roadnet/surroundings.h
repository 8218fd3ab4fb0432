// SPDX-License-Identifier: MIT
//
// Fills a scene with what stands and drives around the car, from the scene's world, position and
// time. Each thing has a fixed place on the road (or a fixed course in time), so that it moves past
// continuously from one scene of a drive to the next.
#pragma once

#include "models/roadnet/scene.h"

namespace camshaft::roadnet {

/// Adds the lead car and the cars of the other lanes to `scene.vehicles`.
void add_traffic(Scene& scene);

/// Adds trees, poles, signs, barriers and bridges.
void add_roadside(Scene& scene);

}  // namespace camshaft::roadnet
