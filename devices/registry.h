// SPDX-License-Identifier: MIT
// The table of backends in this build: the one place that names them all.
#pragma once

#include "devices/hal/registry.h"

namespace camshaft::devices {

// Static storage. In the order in which `camshaft devices` shows them.
hal::Backends backends();

}  // namespace camshaft::devices
