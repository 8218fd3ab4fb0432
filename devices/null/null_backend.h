// SPDX-License-Identifier: MIT
// The null device: memory that works, copies that copy, launches that do nothing. It is the
// template of a backend (README.md beside this file), and lets plans be loaded and inspected on any
// machine.
#pragma once

#include <memory>
#include <vector>

#include "devices/hal/registry.h"

namespace camshaft::null {

// One device, always.
std::vector<hal::DeviceInfo> probe();
hal::Result<std::unique_ptr<hal::Device>> open(const hal::OpenOptions& options);

}  // namespace camshaft::null
