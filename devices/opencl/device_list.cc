// SPDX-License-Identifier: MIT
#include "devices/opencl/device_list.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "devices/opencl/device_query.h"

namespace camshaft::opencl {
namespace {

using base::Code;

// Not an extension: the device has images.
constexpr const char* kImages = "images";
// What plans may ask for, in the names of the extensions, sorted.
constexpr std::array kFeatures = {"cl_khr_fp16", "cl_khr_fp64", kImages};
constexpr size_t kFeatureSets = size_t{1} << kFeatures.size();

struct FeatureSet {
  std::array<const char*, kFeatures.size()> names = {};
  size_t count = 0;
};

// DeviceInfo's names have static storage: every subset, by the bits of its features.
constexpr std::array<FeatureSet, kFeatureSets> kSets = [] {
  std::array<FeatureSet, kFeatureSets> sets = {};
  for (size_t bits = 0; bits < kFeatureSets; ++bits) {
    for (size_t i = 0; i < kFeatures.size(); ++i) {
      if ((bits >> i & 1) != 0) sets[bits].names[sets[bits].count++] = kFeatures[i];
    }
  }
  return sets;
}();

// Plans need no more than 64; imported host memory of a device that is no CPU must not share a page
// with anything else.
constexpr uint32_t kAlignment = 64;
constexpr uint32_t kPageBytes = 4096;

std::string platform_text(const Api& api, cl_platform_id platform) {
  char name[256] = "";
  if (api.clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name, name, nullptr) != CL_SUCCESS) {
    return "unnamed";
  }
  return name;
}

// All that a binary of the device's driver depends on. Control characters would damage a plan.
std::string driver_text(const Api& api, cl_platform_id platform, cl_device_id device) {
  std::string text = device_text(api, device, CL_DEVICE_NAME) + " (" +
                     platform_text(api, platform) + "), " +
                     device_text(api, device, CL_DEVICE_VERSION) + ", driver " +
                     device_text(api, device, CL_DRIVER_VERSION);
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c < 0x20; }, ' ');
  return text;
}

// "OpenCL 3.0 anything": 30.
uint32_t parse_version(const std::string& text) {
  unsigned major = 0;
  unsigned minor = 0;
  return std::sscanf(text.c_str(), "OpenCL %u.%u", &major, &minor) == 2 ? major * 10 + minor : 0;
}

// Whether it is an NVIDIA device whose waiting items don't keep others from running (Volta and
// later).
bool is_nvidia(const Api& api, cl_device_id device, const std::string& extensions) {
  constexpr cl_device_info kMajorCapability = 0x4000;  // cl_nv_device_attribute_query
  constexpr cl_uint kVolta = 7;
  return has_word(extensions, "cl_nv_device_attribute_query") &&
         device_value<cl_uint>(api, device, kMajorCapability) >= kVolta;
}

// What OpenCL 2.0 has, and some devices before it.
constexpr cl_device_info kImagePitchAlignment = 0x104A;
constexpr cl_device_info kImageBaseAlignment = 0x104B;

void describe_images(const Api& api, FoundDevice& found) {
  const cl_device_id device = found.device;
  if (device_value<cl_bool>(api, device, CL_DEVICE_IMAGE_SUPPORT) == CL_FALSE) return;
  const auto extent = [&](cl_device_info what) {
    return static_cast<uint32_t>(
        std::min<size_t>(device_value<size_t>(api, device, what), UINT32_MAX));
  };
  found.info.max_image_width = extent(CL_DEVICE_IMAGE2D_MAX_WIDTH);
  found.info.max_image_height = extent(CL_DEVICE_IMAGE2D_MAX_HEIGHT);
  if (found.version < 20 && !has_word(found.extensions, "cl_khr_image2d_from_buffer")) return;
  found.image_pitch_texels = device_value<cl_uint>(api, device, kImagePitchAlignment);
  found.image_base_texels = device_value<cl_uint>(api, device, kImageBaseAlignment);
  found.sub_buffer_alignment =
      std::max(1u, device_value<cl_uint>(api, device, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8);
}

std::span<const char* const> features_of(const std::string& extensions, bool has_images) {
  size_t bits = 0;
  for (size_t i = 0; i < kFeatures.size(); ++i) {
    const bool is_there = kFeatures[i] == kImages ? has_images : has_word(extensions, kFeatures[i]);
    if (is_there) bits |= size_t{1} << i;
  }
  return {kSets[bits].names.data(), kSets[bits].count};
}

std::vector<cl_platform_id> platforms(const Api& api) {
  cl_uint count = 0;
  if (api.clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0) return {};
  std::vector<cl_platform_id> found(count);
  if (api.clGetPlatformIDs(count, found.data(), nullptr) != CL_SUCCESS) return {};
  return found;
}

}  // namespace

bool has_extension(const FoundDevice& device, std::string_view name) {
  return has_word(device.extensions, name);
}

FoundDevice describe_device(const Api& api, cl_platform_id platform, cl_device_id device) {
  FoundDevice found;
  found.platform = platform;
  found.device = device;
  const auto type = device_value<cl_device_type>(api, device, CL_DEVICE_TYPE);
  const bool is_cpu = (type & CL_DEVICE_TYPE_CPU) != 0;
  hal::DeviceInfo& info = found.info;
  info.backend = "opencl";
  std::snprintf(info.name, sizeof info.name, "%s (%s)",
                device_text(api, device, CL_DEVICE_NAME).c_str(),
                platform_text(api, platform).c_str());
  std::snprintf(info.arch, sizeof info.arch, "opencl-c");
  found.driver = driver_text(api, platform, device);
  found.extensions = device_text(api, device, CL_DEVICE_EXTENSIONS);
  // Each unit runs a group; an NVIDIA device's do so at the same time.
  const auto units = device_value<cl_uint>(api, device, CL_DEVICE_MAX_COMPUTE_UNITS);
  found.is_nvidia = is_nvidia(api, device, found.extensions);
  found.groups_at_once = found.is_nvidia || units == 1 ? units : 0;
  found.shared_bytes = device_value<cl_ulong>(api, device, CL_DEVICE_LOCAL_MEM_SIZE);
  found.most_items = device_value<size_t>(api, device, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  info.memory_bytes = device_value<cl_ulong>(api, device, CL_DEVICE_GLOBAL_MEM_SIZE);
  info.buffer_alignment = kAlignment;
  info.import_alignment = is_cpu ? kAlignment : kPageBytes;
  found.imports = find_import_support(api, platform, device, found.extensions);
  found.shares_host_memory = found.imports.host_memory;
  info.imports = import_kinds(found.imports);
  info.host_coherent = is_cpu;
  found.version = parse_version(device_text(api, device, CL_DEVICE_VERSION));
  describe_images(api, found);
  if (info.max_image_width != 0) info.imports |= import_bit(hal::ForeignKind::kClImage);
  info.features = features_of(found.extensions, info.max_image_width != 0);
  found.is_full_profile = device_text(api, device, CL_DEVICE_PROFILE) == "FULL_PROFILE";
  found.has_compiler = device_value<cl_bool>(api, device, CL_DEVICE_COMPILER_AVAILABLE) != CL_FALSE;
  found.rounds_division =
      (device_value<cl_device_fp_config>(api, device, CL_DEVICE_SINGLE_FP_CONFIG) &
       CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
  found.largest_buffer_bytes = device_value<cl_ulong>(api, device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  found.cache_line_bytes = std::max<uint64_t>(
      kAlignment, device_value<cl_uint>(api, device, CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE));
  return found;
}

std::vector<FoundDevice> find_devices(const Api& api) {
  std::vector<FoundDevice> found;
  for (const cl_platform_id platform : platforms(api)) {
    cl_uint count = 0;
    if (api.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS)
      continue;
    std::vector<cl_device_id> devices(count);
    if (api.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr) !=
        CL_SUCCESS) {
      continue;
    }
    for (const cl_device_id device : devices) {
      found.push_back(describe_device(api, platform, device));
    }
  }
  return found;
}

base::Status check_device(const FoundDevice& found) {
  const char* obstacle = found.version < 12       ? "is older than OpenCL 1.2"
                         : !found.is_full_profile ? "has the embedded profile only"
                         : !found.has_compiler    ? "can't build programs from source"
                                                  : nullptr;
  if (obstacle == nullptr) return base::ok();
  return base::fail(Code::kWrongTarget, "opencl.device",
                    "the OpenCL device %s %s, so plans can't run on it: choose another one",
                    found.info.name, obstacle);
}

std::string platform_names(const Api& api) {
  std::string names;
  for (const cl_platform_id platform : platforms(api)) {
    names += (names.empty() ? "" : ", ") + platform_text(api, platform);
  }
  return names;
}

}  // namespace camshaft::opencl
