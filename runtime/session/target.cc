// SPDX-License-Identifier: MIT
#include "runtime/session/target.h"

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/base/nearest.h"

namespace camshaft::session {
namespace {

using base::Code;
using base::Result;
using plan::TargetInfo;

bool has_feature(const hal::DeviceInfo& device, std::string_view feature) {
  return std::any_of(device.features.begin(), device.features.end(),
                     [&](const char* present) { return feature == present; });
}

// What keeps the device from running the target, as the end of "the device ..."; empty: nothing.
std::string find_obstacle(const TargetInfo& target, const hal::DeviceInfo& device) {
  if (target.device != device.backend) return "is another kind of device";
  if (target.arch != device.arch) return "is another architecture";
  if (device.buffer_alignment > plan::kBufferAlignment) {
    return "aligns buffers to " + std::to_string(device.buffer_alignment) + " bytes";
  }
  std::string lacking;
  for (const std::string& feature : target.features) {
    if (!has_feature(device, feature)) lacking += (lacking.empty() ? "" : ", ") + feature;
  }
  if (!lacking.empty()) return "lacks " + lacking;
  const plan::ImageSummary images = plan::summarize_images(target);
  if (images.width > device.max_image_width || images.height > device.max_image_height) {
    const auto extents = [](uint32_t width, uint32_t height) {
      return std::to_string(width) + " x " + std::to_string(height);
    };
    return "has images of at most " + extents(device.max_image_width, device.max_image_height) +
           " texels, and the plan's take " + extents(images.width, images.height) +
           " (--images off, or a smaller --image-limit, does without)";
  }
  return lacking;
}

std::string join_names(const std::vector<TargetInfo>& targets) {
  std::string names;
  for (const TargetInfo& target : targets) names += (names.empty() ? "" : ", ") + target.target;
  return names;
}

}  // namespace

bool is_wanted(const TargetInfo& target, std::string_view wanted) {
  const std::string_view name = target.target;
  return wanted.empty() || wanted == name || wanted == name.substr(0, name.find(':'));
}

base::Status check_wanted(const plan::PlanInfo& plan, std::string_view wanted) {
  const auto is_this = [&](const TargetInfo& target) { return is_wanted(target, wanted); };
  if (std::any_of(plan.targets.begin(), plan.targets.end(), is_this)) return base::ok();
  return base::fail(Code::kInvalidArgument, "session.target",
                    "the plan has no target '%.*s'%s; it has: %s", static_cast<int>(wanted.size()),
                    wanted.data(),
                    base::did_you_mean(wanted, plan.targets, &TargetInfo::target).c_str(),
                    join_names(plan.targets).c_str());
}

Result<const TargetInfo*> choose_target(const plan::PlanInfo& plan, const hal::DeviceInfo& device,
                                        std::string_view wanted) {
  CAMSHAFT_TRY(check_wanted(plan, wanted));
  std::string obstacles;
  for (const TargetInfo& target : plan.targets) {
    if (!is_wanted(target, wanted)) continue;
    const std::string obstacle = find_obstacle(target, device);
    if (obstacle.empty()) return &target;
    obstacles += "; for " + target.target + " (" + target.device + ", " + target.arch +
                 ") the device " + obstacle;
  }
  return base::fail(Code::kWrongTarget, "session.target",
                    "the plan can't run on device %s (%s, %s)%s; compile it for this device",
                    device.backend, device.name, device.arch, obstacles.c_str());
}

}  // namespace camshaft::session
