// SPDX-License-Identifier: MIT
#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/Host.h>

#include "codegen/render/host.h"

namespace camshaft::render {

base::Result<HostCpu> detect_host_cpu() {
  HostCpu host;
  host.march = llvm::sys::getHostCPUName().str();
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
    if (feature.second) host.features.push_back(feature.first().str());
  }
  return host;
}

}  // namespace camshaft::render
