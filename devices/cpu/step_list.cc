// SPDX-License-Identifier: MIT
#include "devices/cpu/step_list.h"

#include <cstring>

#include "runtime/base/clock.h"

namespace camshaft::cpu {

void run_range(const Step& step, void* const* all_params, uint64_t begin, uint64_t end) noexcept {
  void* const* params = all_params + step.first_param;
  switch (step.kind) {
    case hal::CommandKind::kLaunch:
      step.function(params, static_cast<int64_t>(begin), static_cast<int64_t>(end));
      return;
    case hal::CommandKind::kCopy:
      std::memcpy(params[0], params[1], step.extent);
      return;
    case hal::CommandKind::kTimestamp: {
      const auto now_ns = static_cast<uint64_t>(base::mono_time_ns());
      std::memcpy(params[0], &now_ns, sizeof now_ns);
      return;
    }
    case hal::CommandKind::kBarrier:
      return;
  }
}

}  // namespace camshaft::cpu
