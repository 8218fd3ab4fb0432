// SPDX-License-Identifier: MIT
// The device contract: all that a backend provides. Four nouns (Device, Buffer, Program,
// CommandList) and a number (Ticket). To write a backend, copy devices/null, which is the tutorial.
//
// Rules for every backend
// -----------------------
// - One thread at a time may call a Device. A Device owns all that it returns; destroying it
//   releases the rest. Handles are small numbers, given out in rising order, never reused; 0 is no
//   handle.
// - Load-time calls (allocate, import_memory, load, record, release, reset) may allocate and block.
//   Hot-path calls (submit, wait) are noexcept, never allocate, take no lock shared with other
//   threads of the process, and wait() ends at its deadline.
// - Backends do not validate what the caller can know: the `validate` decorator does (devices/hal/
//   validate.h), and is always on in tests. They do report what only they can know: no memory, a
//   lost device, a binary that the driver refuses.
// - A device fault is sticky: the first failing submit or wait stores its cause, and every later
//   call but reset() and release() returns kDeviceFault with it.
// - Commands are plain data. Recording, tracing and fault injection are decorators of this
//   interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/image.h"
#include "runtime/base/status.h"

namespace camshaft::hal {

using base::ImageShape;
using base::Result;
using base::Status;

// Bytes, or an image (make_image, or an imported one), which only arguments that say so take.
struct Buffer {
  uint32_t id = 0;
  bool operator==(const Buffer&) const = default;
};
struct Program {
  uint32_t id = 0;
  bool operator==(const Program&) const = default;
};
struct CommandList {
  uint32_t id = 0;
  bool operator==(const CommandList&) const = default;
};
// A point on the device's timeline: submit() returns the next one; a ticket is reached when all
// work up to it is done. 0 is reached from the start.
using Ticket = uint64_t;

// Absolute time on CLOCK_MONOTONIC, in nanoseconds (base::mono_time_ns()).
struct Deadline {
  int64_t mono_time_ns = INT64_MAX;
};

struct DeviceInfo {
  const char* backend = "";  // registry name: "cpu", "null", "opencl"
  char name[96] = "";        // of the device: "AMD EPYC 7B13"
  char arch[64] = "";        // "x86_64", "sm_90"
  // What its instruction set has beyond `arch`, in the names that plans use (LLVM's for a CPU:
  // "avx2", "fma"), sorted. Static storage.
  std::span<const char* const> features = {};
  uint64_t memory_bytes = 0;       // 0: unknown
  uint32_t buffer_alignment = 64;  // of every allocation, and of offsets of arguments and bindings
  uint32_t import_alignment = 64;  // of an imported host pointer
  uint32_t max_parts = 1;          // threads that share a launch; more parts are no more
  bool raw_addresses = false;      // buffers have addresses that the host may compute with
  bool host_coherent = true;       // host-visible memory needs no flush
  uint32_t imports = 0;            // bit i: import_memory() takes ForeignKind i (import_bit)
  uint32_t max_image_width = 0;    // texels; 0: there are no images
  uint32_t max_image_height = 0;
};

enum class MemoryKind : uint8_t {
  kDevice,       // only commands touch it
  kHostVisible,  // mapped: Allocation::host_ptr is set
};
struct Allocation {
  Buffer buffer = {};
  void* host_ptr = nullptr;  // lives as long as the buffer
};

// Bytes of a buffer, which outlives the image, as an image.
struct ImageSource {
  ImageShape shape;  // within info().max_image_width, max_image_height
  Buffer buffer = {};
  uint64_t offset_bytes = 0;
  // Whether the bytes are to be seen in the image. If not, the image is only used as such: what
  // commands write to it is what they read from it.
  bool has_content = true;
};

// Memory that somebody else owns, used in place: from_blob. import_memory() never copies; where the
// device can't alias the memory it fails with kUnsupported and the reason, and the caller decides.
//
// Lifetime: the device keeps what it can keep (it retains objects and duplicates descriptors); a
// host pointer or an address stays valid until `on_release`. An import that failed holds nothing
// and calls nothing. Use: between submit() and the ticket's being reached, the memory is the
// device's: nobody else writes to what the commands read, or touches what they write.
enum class ForeignKind : uint8_t {
  kHostPointer,   // handle: the address
  kDmaBufFd,      // handle: the file descriptor, duplicated by the device
  kClBuffer,      // handle: cl_mem, retained by the device
  kClImage,       // handle: cl_mem, retained by the device
  kCudaPointer,   // handle: CUdeviceptr
  kGpuAddress,    // handle: virtual address of the same GPU context
  kMetalBuffer,   // handle: MTLBuffer*
  kWebGpuBuffer,  // handle: WGPUBuffer
  kMemoryFd,  // handle: the descriptor of a memory file (memfd_create), duplicated by the device;
              // must not be made shorter
};
inline constexpr int kForeignKindCount = 9;

// "host-pointer", "dma-buf", ...; "unknown" for no kind. Static storage.
constexpr const char* foreign_kind_name(ForeignKind kind) {
  constexpr const char* kNames[kForeignKindCount] = {"host-pointer", "dma-buf",       "cl-buffer",
                                                     "cl-image",     "cuda-pointer",  "gpu-address",
                                                     "metal-buffer", "webgpu-buffer", "memory-fd"};
  const auto index = static_cast<int>(kind);
  return index < kForeignKindCount ? kNames[index] : "unknown";
}
// Of DeviceInfo::imports.
constexpr uint32_t import_bit(ForeignKind kind) {
  return 1u << static_cast<int>(kind);
}

// Who makes writes visible. Before a submit that reads the memory, the owner's writes must be
// visible to the device; after the ticket is reached, the device's writes are visible to the owner.
enum class CacheSync : uint8_t {
  kCoherent,  // the platform does it (x86 host memory, most desktop GPUs)
  kDevice,    // the device cleans and invalidates around each submit
  kOwner,     // the owner does it (a driver that already flushed the camera's buffer)
};
struct ForeignMemory {
  ForeignKind kind = ForeignKind::kHostPointer;
  uint64_t handle = 0;
  uint64_t size_bytes = 0;       // usable from `offset_bytes`; checked where the object knows
  uint64_t offset_bytes = 0;     // a multiple of import_alignment; of others' objects, of
                                 // buffer_alignment
  uint64_t row_pitch_bytes = 0;  // images: 0, or what it must be
  uint32_t format = 0;           // images: 0, or the DRM fourcc that it must have
  ImageShape image = {};         // kClImage: what it must be; its memory is the object's matter
  bool writable = false;
  CacheSync sync = CacheSync::kCoherent;
  // Called once, on the thread that calls release() or destroys the Device, when the device no
  // longer uses the memory. Null: the caller keeps it alive until then by other means.
  void (*on_release)(void* context) = nullptr;
  void* release_context = nullptr;
};

// What a driver once made of a program, so that it need not be made again.
struct DriverBinary {
  std::string driver;  // device, platform and version: another one can't use it
  std::string digest;  // of what it was made from
  std::vector<std::byte> bytes;
};
struct DriverBinaryView {
  std::string_view driver = {};
  std::string_view digest = {};
  std::span<const std::byte> bytes = {};
};

// A binary for load(): what it is and its bytes. The bytes may go away after load() returns.
struct ProgramImage {
  std::string_view format = {};  // "elf-shared-object", "opencl-c", "spirv", "cubin", ...
  std::span<const std::byte> bytes = {};
  std::span<const std::string_view> kernels = {};  // a launch names one by its index here
  // Of info().features, those that the kernels use: some must be asked of the system first.
  std::span<const std::string> features = {};
  // What driver_binaries() gave earlier, here or elsewhere. Those that don't fit are passed over,
  // with a notice in the log.
  std::span<const DriverBinaryView> driver_binaries = {};
};

// Where a kernel argument's memory is: a buffer fixed at record(), or a slot that each submit()
// binds.
enum class ArgKind : uint8_t { kBuffer, kSlot, kScalar };
// What a list does with memory that the host may see. A device whose memory is not the host's then
// moves no more than it must.
enum class Flow : uint8_t {
  kBoth,  // unknown
  kIn,    // kernels read what the host wrote, and write nothing
  kOut,   // kernels write what the host reads, and read nothing but what they wrote in the same run
};
struct KernelArg {
  ArgKind kind = ArgKind::kBuffer;
  ImageShape image = {};      // kBuffer, kSlot: the kernel takes an image, which is of this shape
  Buffer buffer = {};         // kBuffer
  uint32_t slot = 0;          // kSlot: index into submit()'s bindings
  uint64_t offset_bytes = 0;  // kBuffer, kSlot: added to the binding's; of images 0, as is that
  uint64_t scalar = 0;        // kScalar: bit pattern
  Flow flow = Flow::kBoth;    // kBuffer, kSlot; the same in all arguments of a list
};
struct Binding {
  Buffer buffer = {};
  uint64_t offset_bytes = 0;
};

enum class CommandKind : uint8_t { kLaunch, kCopy, kBarrier, kTimestamp };
struct Command {
  CommandKind kind = CommandKind::kLaunch;
  // kLaunch. The kernel runs for every index of the grid; at most `parts` threads of a CPU share
  // [0, grid[0]). Commands of a list run in order: each sees all writes of those before it.
  Program program = {};
  uint32_t kernel = 0;
  uint32_t grid[3] = {1, 1, 1};
  uint32_t group[3] = {1, 1, 1};
  uint32_t parts = 1;
  std::span<const KernelArg> args = {};  // copied by record()
  // kCopy
  KernelArg source = {};
  KernelArg destination = {};
  uint64_t size_bytes = 0;
  // kTimestamp: the device's clock in ns since an arbitrary start, written as u64 to `destination`
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;

  // Load time. Zero-filled, aligned to info().buffer_alignment. kOutOfMemory if there is none.
  virtual Result<Allocation> allocate(uint64_t size_bytes, MemoryKind kind) = 0;
  // Load time (or once per camera buffer). Default: kUnsupported.
  virtual Result<Buffer> import_memory(const ForeignMemory& memory);
  // Load time. Default: kUnsupported. Where the device can't show a buffer's bytes as an image, the
  // image has memory of its own, into which it copies them: at once, or, of host-visible memory, at
  // each submit. (So kernels only read images of host-visible memory.)
  virtual Result<Buffer> make_image(const ImageSource& source);
  // Load time. Fails with kWrongTarget if the image is not for this device, kCorrupt if it is
  // malformed.
  virtual Result<Program> load(const ProgramImage& image) = 0;
  // Load time. What the driver made of the program, and of lists that were recorded with it, for
  // later loads. Some drivers finish their work in a first run. Default: kUnsupported.
  virtual Result<std::vector<DriverBinary>> driver_binaries(Program program);
  // Load time. `slot_count`: how many bindings each submit() of this list gets.
  virtual Result<CommandList> record(std::span<const Command> commands, uint32_t slot_count) = 0;
  // In which form a list is played, for people: "11 of 12 launches by cl_khr_command_buffer".
  // Empty where a backend has one form only.
  virtual std::string describe(CommandList /*list*/) { return {}; }

  // Releases one handle; work that uses it must be done. Unknown handles are ignored.
  virtual void release(Buffer buffer) = 0;
  virtual void release(Program program) = 0;
  virtual void release(CommandList list) = 0;

  // hot path. Starts the list with these slot bindings and returns its ticket. May run the work in
  // the calling thread (the CPU does).
  virtual Result<Ticket> submit(CommandList list, std::span<const Binding> bindings) noexcept = 0;
  // hot path. Blocks until the ticket is reached or the deadline has passed (kDeadlineExceeded; the
  // work goes on).
  virtual Status wait(Ticket ticket, Deadline deadline) noexcept = 0;
  // After a fault: makes the device usable again (all handles but imported memory stay valid), or
  // says why it can't.
  virtual Status reset() = 0;
};

inline Result<Buffer> Device::import_memory(const ForeignMemory& /*memory*/) {
  return base::fail(base::Code::kUnsupported, "hal.import_memory",
                    "the %s device can't use memory that it did not allocate: copy the memory into "
                    "a buffer",
                    info().backend);
}

inline Result<std::vector<DriverBinary>> Device::driver_binaries(Program /*program*/) {
  return base::fail(base::Code::kUnsupported, "hal.driver_binaries",
                    "the %s device's programs are binaries already: no driver makes one of them",
                    info().backend);
}

inline Result<Buffer> Device::make_image(const ImageSource& /*source*/) {
  return base::fail(base::Code::kUnsupported, "hal.make_image",
                    "the %s device has no images: compile the plan without them", info().backend);
}

}  // namespace camshaft::hal
