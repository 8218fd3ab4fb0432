// SPDX-License-Identifier: MIT
// The OpenCL devices of a machine, and what the backend must know of each. Load time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "devices/hal/device.h"
#include "devices/opencl/api.h"
#include "devices/opencl/import_support.h"

namespace camshaft::opencl {

struct FoundDevice {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  hal::DeviceInfo info;
  std::string driver;               // device, platform and version, as in hal::DriverBinary
  std::string extensions;           // separated by blanks
  uint32_t version = 0;             // of the device: 12 is OpenCL 1.2
  bool is_full_profile = false;     // 64-bit integers, correct rounding
  bool has_compiler = false;        // builds programs from source
  bool rounds_division = false;     // f32 division and square root can be correctly rounded
  bool shares_host_memory = false;  // the device's memory is the host's
  bool is_nvidia = false;           // takes NVIDIA's assembly
  uint32_t groups_at_once = 0;      // that surely run at the same time; 0: unknown
  uint64_t shared_bytes = 0;        // a group's
  uint64_t most_items = 0;          // of a group
  uint64_t largest_buffer_bytes = 0;
  uint64_t cache_line_bytes = 64;
  ImportSupport imports;
  // Where bytes of a buffer can be an image: what the row pitch and the start are multiples of, in
  // texels, and the start in bytes. 0: nowhere.
  uint32_t image_pitch_texels = 0;
  uint32_t image_base_texels = 0;
  uint32_t sub_buffer_alignment = 0;
};

// Whether the device has an extension.
bool has_extension(const FoundDevice& device, std::string_view name);

// Describes one device.
FoundDevice describe_device(const Api& api, cl_platform_id platform, cl_device_id device);

// All devices of all platforms, in the order in which the loader and the platforms list them.
std::vector<FoundDevice> find_devices(const Api& api);

// kWrongTarget, with the reason, for a device that can't run plans.
base::Status check_device(const FoundDevice& found);

// The names of all platforms, for sentences; empty where there are none.
std::string platform_names(const Api& api);

}  // namespace camshaft::opencl
