// SPDX-License-Identifier: MIT
// What an OpenCL device says of itself. Load time.
#pragma once

#include <string>
#include <string_view>

#include "devices/opencl/api.h"

namespace camshaft::opencl {

// Zero where the device doesn't know the question.
template <typename T>
T device_value(const Api& api, cl_device_id device, cl_device_info what) {
  T value = {};
  return api.clGetDeviceInfo(device, what, sizeof value, &value, nullptr) == CL_SUCCESS ? value
                                                                                        : T{};
}

// Likewise empty.
std::string device_text(const Api& api, cl_device_id device, cl_device_info what);

// Whether a list of words, such as CL_DEVICE_EXTENSIONS, has one.
bool has_word(std::string_view words, std::string_view word);

}  // namespace camshaft::opencl
