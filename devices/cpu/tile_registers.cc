// SPDX-License-Identifier: MIT
#include "devices/cpu/tile_registers.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace camshaft::cpu {

base::Status ask_for_tile_registers() {
#if defined(__x86_64__)
  // asm/prctl.h of Linux 5.16; older kernels answer EINVAL. 18: the state component of tile data.
  constexpr int kArchRequestPermission = 0x1023;
  constexpr unsigned long kTileData = 18;
  if (syscall(SYS_arch_prctl, kArchRequestPermission, kTileData) == 0) return base::ok();
#else
  errno = ENOSYS;
#endif
  return base::fail_errno(
      base::Code::kWrongTarget, "cpu.tile_registers", errno,
      "the operating system does not let this process use the tile registers "
      "(AMX) that the plan's kernels need; allow the call arch_prctl, or compile "
      "for a target without them, such as llvm:x86-64-v4");
}

}  // namespace camshaft::cpu
