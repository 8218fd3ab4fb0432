// SPDX-License-Identifier: MIT
// Renderers: kernel IR -> text or LLVM IR -> a program, and the table of targets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/ir/kernel.h"
#include "codegen/ir/kernel_passes.h"
#include "runtime/base/status.h"

namespace camshaft::render {

// Most that a kernel's local arrays may take together: they are on a worker's stack.
inline constexpr int64_t kMaxLocalBytes = 256 << 10;

// Most that a kernel's shared arrays may take: what every device with OpenCL 1.2 has for a group.
inline constexpr int64_t kMaxSharedBytes = 32 << 10;
// Items of each group.
inline constexpr int64_t kGroupItems = 256;

// What the compiler needs to know of a target. Strategies read the numbers, renderers the names.
struct CpuTarget {
  std::string backend;  // "cpu" (C by clang), "llvm" (LLVM IR in process) or "opencl"
  std::string
      march;  // LLVM's CPU name, resolved: "znver3", never "native"; opencl: empty or "qcom"
  std::string triple;  // "x86_64-unknown-linux-gnu"; opencl: empty
  std::string
      features;  // LLVM feature string, sorted: "+avx2,+fma,..."; exactly what the code may use
  int32_t vector_bytes = 32;      // widest register the kernels should use
  int32_t vector_registers = 16;  // architectural count of those
  bool fma = true;
  bool gather = true;  // has vector gathers
  int32_t l1_bytes = 32 << 10;
  int32_t l2_bytes = 512 << 10;
  int32_t l3_bytes = 8 << 20;
  int32_t fma_per_cycle = 2;    // vector FMA instructions per cycle
  int32_t loads_per_cycle = 2;  // vector loads per cycle
  int32_t fma_latency = 4;      // cycles
  // Has registers of matrices (ir::Matrix) that multiply bf16, and an instruction that narrows f32
  // to bf16.
  bool matrices = false;
  bool narrows_bf16 = false;
  ir::MathSupport math;
  // Iterations of the thread loop are work items: many, without a cache of their own.
  bool is_gpu = false;
  // Reads images faster than buffers, and can show a buffer as an image.
  bool prefers_images = false;

  int32_t lanes(ir::DType dtype) const {
    return static_cast<int32_t>(vector_bytes / base::dtype_size_bytes(dtype));
  }
};

// How a target computes ir::KOp::kDot, sums of products of bytes. All forms are exact.
enum class DotForm : uint8_t {
  kNone,   // not at all: legalize_kernel() spells it out
  kVnni,   // x86: one instruction
  kPairs,  // x86: bytes widened to 16 bits, whose products are summed in pairs
  kUsdot,  // AArch64 with i8mm: one instruction
  kSdot,   // AArch64 with dotprod: (a - 128) * b, which are both signed, plus 128 * b
};

// Of lanes that fill a register. Narrower ones than the target's widest have the same form.
DotForm dot_form(const CpuTarget& target, int32_t lanes);

// The target named `spec`: "cpu", "llvm", "cpu:znver4", "llvm:cortex-a76", ...; without a march,
// the machine that compiles. Unknown names fail with the list of known ones near to it.
base::Result<CpuTarget> make_cpu_target(std::string_view spec);

// As above, or "opencl": any device with OpenCL 1.2; "opencl:qcom": the same for Adreno GPUs.
base::Result<CpuTarget> make_target(std::string_view spec);

// How a plan names a target: "llvm:znver3"; the backend that runs it: "cpu"; its architecture.
struct TargetNames {
  std::string target;
  std::string device;
  std::string arch;
};
TargetNames target_names(const CpuTarget& target);

// What a device must have to run the kernels, sorted, without signs: "avx2", "cl_khr_fp64".
std::vector<std::string> needed_features(const std::vector<ir::Kernel>& kernels,
                                         const CpuTarget& target);

// What a plan holds of the kernels.
struct Program {
  std::string format;  // hal::ProgramImage::format: "elf-shared-object", "opencl-c"
  std::vector<std::byte> bytes;
};
// compile_shared_object() or render_opencl(), whichever is for the target.
base::Result<Program> compile_program(const std::vector<ir::Kernel>& kernels,
                                      const CpuTarget& target);
// The text that `inspect --source` shows: render_c() or render_opencl().
base::Result<std::string> render_source(const std::vector<ir::Kernel>& kernels,
                                        const CpuTarget& target);

// One C translation unit with a function a kernel (names are C identifiers, unique). Kernels must
// be prepared (prepare_kernel). The text is readable: it is what `inspect --source` shows.
base::Result<std::string> render_c(const std::vector<ir::Kernel>& kernels, const CpuTarget& target);

// One OpenCL C program, as devices/opencl loads it. As above.
base::Result<std::string> render_opencl(const std::vector<ir::Kernel>& kernels,
                                        const CpuTarget& target);

// The same kernels as textual LLVM IR, before optimisation (what `inspect --source` shows for
// llvm).
base::Result<std::string> render_llvm(const std::vector<ir::Kernel>& kernels,
                                      const CpuTarget& target);

// Compiles kernels into one position-independent ELF shared object for the target: exports one
// function a kernel, `void NAME(void* const* params, int64_t begin, int64_t end)`, imports nothing,
// has no writable segment, and the same input gives the same bytes. "cpu" runs clang 19 (found by
// name, or in CAMSHAFT_CLANG) on a file in a temporary folder; "llvm" works in process; both link
// with lld. Blocks for seconds.
base::Result<std::vector<std::byte>> compile_shared_object(const std::vector<ir::Kernel>& kernels,
                                                           const CpuTarget& target);

// Name and version of what compile_program uses: "clang 19.1.7", "LLVM 19.1.7", "OpenCL C 1.2".
base::Result<std::string> toolchain_version(const CpuTarget& target);

// Assembly of one kernel, for `inspect --assembly` and for people who look at the inner loop.
base::Result<std::string> render_assembly(const ir::Kernel& kernel, const CpuTarget& target);

}  // namespace camshaft::render
