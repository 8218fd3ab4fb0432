// SPDX-License-Identifier: MIT
#include "msgq/frames/memory.h"

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/msgq/frames/fixture.h"
#include "tests/support/last_sentence.h"

namespace camshaft::frames {
namespace {

// A heap of dma-bufs without the hardware: sealed memory files, and a record of what was asked.
struct SimulatedHeap {
  bool has_heap = true;
  bool has_udmabuf = true;
  int open_accesses = 0;
  int begun[4] = {};  // by Access
  int ended[4] = {};
  bool refuses_sync = false;
};
SimulatedHeap heap;

int simulated_open(const char* path, int) {
  const std::string name = path;
  if ((name == "/dev/dma_heap/system" && heap.has_heap) ||
      (name == "/dev/udmabuf" && heap.has_udmabuf)) {
    return ::memfd_create("heap", MFD_CLOEXEC);
  }
  errno = ENOENT;
  return -1;
}

int sealed_file(uint64_t size_bytes) {
  const int fd = ::memfd_create("dma-buf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  REQUIRE(::ftruncate(fd, static_cast<off_t>(size_bytes)) == 0);
  REQUIRE(::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
  return fd;
}

int simulated_ioctl(int, unsigned long request, void* argument) {
  if (request == DMA_HEAP_IOCTL_ALLOC) {
    auto* const allocation = static_cast<dma_heap_allocation_data*>(argument);
    allocation->fd = static_cast<uint32_t>(sealed_file(allocation->len));
    return 0;
  }
  if (request == UDMABUF_CREATE) {
    const auto* const create = static_cast<const udmabuf_create*>(argument);
    const int seals = ::fcntl(static_cast<int>(create->memfd), F_GET_SEALS);
    REQUIRE((seals & F_SEAL_SHRINK) != 0);  // as the kernel wants
    return sealed_file(create->size);
  }
  REQUIRE(request == DMA_BUF_IOCTL_SYNC);
  const uint64_t flags = static_cast<const dma_buf_sync*>(argument)->flags;
  if (heap.refuses_sync) {
    errno = EIO;
    return -1;
  }
  (((flags & DMA_BUF_SYNC_END) != 0) ? heap.ended : heap.begun)[flags & 3] += 1;
  return 0;
}

constexpr DmaCalls kSimulated = {simulated_open, simulated_ioctl};

}  // namespace

TEST_CASE("readers can look at frames and not change them") {
  const SharedMemory memory = *SharedMemory::make_memfd("test", 4096, true);
  memory.mapping.data()[0] = std::byte{7};
  const Mapping reader = *Mapping::map(memory.fd, 4096, false);
  CHECK(reader.data()[0] == std::byte{7});
  CHECK(::mprotect(reader.data(), 4096, PROT_READ | PROT_WRITE) != 0);
  CHECK_FALSE(Mapping::map(memory.fd, 4096, true));
  CHECK(::ftruncate(memory.fd.get(), 0) != 0);
  CHECK(::pwrite(memory.fd.get(), "x", 1, 0) < 0);
  // Control: memory for all is writable for all, and still not resizable.
  const SharedMemory shared = *SharedMemory::make_memfd("test", 4096, false);
  CHECK(Mapping::map(shared.fd, 4096, true));
  CHECK(::ftruncate(shared.fd.get(), 0) != 0);
}

TEST_CASE("memory that may shrink, or is too small, is not mapped") {
  const OwnedFd unsealed(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::ftruncate(unsealed.get(), 8192) == 0);
  CHECK(check_foreign_memory(unsealed, 4096, "pool").code() == base::Code::kCorrupt);
  CHECK(test::last_sentence().find("may shrink") != std::string::npos);
  const SharedMemory sealed = *SharedMemory::make_memfd("test", 4096, true);
  CHECK(check_foreign_memory(sealed.fd, 4096, "pool").is_ok());
  CHECK(check_foreign_memory(sealed.fd, 4097, "pool").code() == base::Code::kCorrupt);
}

TEST_CASE("a dma-buf's caches are told when the CPU begins and ends") {
  heap = {};
  const MemoryKind kind = GENERATE(MemoryKind::kDmaHeap, MemoryKind::kUdmabuf, MemoryKind::kAny);
  INFO(memory_kind_name(kind));
  Fixture f(3, &kSimulated, kind);
  auto reader = f.join("test", &kSimulated);
  heap = {};
  f.publish(5);  // one access for writing
  CHECK(heap.begun[2] == 1);
  CHECK(heap.ended[2] == 1);
  auto frame = take(*reader);
  CHECK(frame.memory().is_dma_buf);
  {
    auto access = frame.begin_access();
    CHECK(heap.begun[1] == 1);
    CHECK(heap.ended[1] == 0);
  }
  CHECK(heap.ended[1] == 1);
  heap.refuses_sync = true;
  CHECK(frame.begin_access().error().code() == base::Code::kIo);
}

TEST_CASE("memory files need no cache calls") {
  heap = {};
  Fixture f(3, &kSimulated, MemoryKind::kMemfd);
  f.publish(5);
  CHECK(heap.begun[2] == 0);
  CHECK(heap.ended[2] == 0);
}

TEST_CASE("without a heap there are memory files, or a sentence") {
  heap = {.has_heap = false, .has_udmabuf = false};
  const test::QueueDomain domain;
  const auto open = [&](MemoryKind kind) {
    return FramePool::open({.name = "road",
                            .domain = domain.options(),
                            .geometry = *lay_out(kGrey8, 64, 32),
                            .memory = kind,
                            .dma_calls = &kSimulated});
  };
  CHECK(open(MemoryKind::kDmaHeap).error().code() == base::Code::kUnsupported);
  CHECK(test::last_sentence().find("/dev/dma_heap/system does not open") != std::string::npos);
  CHECK(open(MemoryKind::kUdmabuf).error().code() == base::Code::kUnsupported);
  auto pool = open(MemoryKind::kAny);
  REQUIRE(pool.has_value());
  CHECK_FALSE((*pool)->begin()->memory().is_dma_buf);
}

// On machines that have one.
TEST_CASE("a real dma-buf, where the system has a heap") {
  const bool has_heap = ::access("/dev/dma_heap/system", R_OK) == 0;
  const bool has_udmabuf = ::access("/dev/udmabuf", R_OK | W_OK) == 0;
  const test::QueueDomain domain;
  auto pool = FramePool::open({.name = "road",
                               .domain = domain.options(),
                               .geometry = *lay_out(kGrey8, 64, 32),
                               .memory = MemoryKind::kAny});
  REQUIRE(pool.has_value());
  auto frame = (*pool)->begin();
  REQUIRE(frame.has_value());
  CHECK(frame->memory().is_dma_buf == (has_heap || has_udmabuf));
  auto access = frame->begin_access(Access::kWrite);
  REQUIRE(access.has_value());
  access->writable_bytes()[0] = std::byte{1};
  CHECK(access->end().is_ok());
}

}  // namespace camshaft::frames
