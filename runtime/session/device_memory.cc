// SPDX-License-Identifier: MIT
#include "runtime/session/device_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/clock.h"

namespace camshaft::session {
namespace {

using base::Result;
using base::Status;

constexpr uint64_t kStagingBytes = 8 << 20;
constexpr int64_t kChunkTimeoutNs = 10'000'000'000;

hal::KernelArg buffer_argument(hal::Buffer buffer, uint64_t offset_bytes) {
  return {.kind = hal::ArgKind::kBuffer, .buffer = buffer, .offset_bytes = offset_bytes};
}

Status copy_now(hal::Device& device, const hal::Command& copy) {
  CAMSHAFT_TRY_ASSIGN(const hal::CommandList list, device.record(std::span(&copy, 1), 0));
  const Result<hal::Ticket> ticket = device.submit(list, {});
  const Status status =
      ticket ? device.wait(*ticket, hal::Deadline{base::mono_time_ns() + kChunkTimeoutNs})
             : ticket.error();
  device.release(list);
  return status;
}

}  // namespace

Result<OwnedBuffer> OwnedBuffer::allocate(hal::Device& device, uint64_t size_bytes,
                                          hal::MemoryKind kind) {
  OwnedBuffer owned;
  if (size_bytes == 0) return owned;
  CAMSHAFT_TRY_ASSIGN(owned.allocation_, device.allocate(size_bytes, kind));
  owned.device_ = &device;
  owned.size_bytes_ = size_bytes;
  return owned;
}

OwnedBuffer::OwnedBuffer(OwnedBuffer&& other) noexcept
    : device_(std::exchange(other.device_, nullptr)),
      allocation_(std::exchange(other.allocation_, {})),
      size_bytes_(std::exchange(other.size_bytes_, 0)) {}

OwnedBuffer& OwnedBuffer::operator=(OwnedBuffer&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(allocation_, other.allocation_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

OwnedBuffer::~OwnedBuffer() {
  if (device_ != nullptr) device_->release(allocation_.buffer);
}

Status upload(hal::Device& device, hal::Buffer destination, base::Bytes bytes) {
  CAMSHAFT_TRY_ASSIGN(const OwnedBuffer staging,
                      OwnedBuffer::allocate(device, std::min<uint64_t>(bytes.size(), kStagingBytes),
                                            hal::MemoryKind::kHostVisible));
  for (uint64_t at = 0; at < bytes.size(); at += kStagingBytes) {
    const base::Bytes chunk = bytes.subspan(at, std::min(bytes.size() - at, kStagingBytes));
    std::memcpy(staging.bytes().data(), chunk.data(), chunk.size());
    hal::Command copy;
    copy.kind = hal::CommandKind::kCopy;
    copy.source = buffer_argument(staging.buffer(), 0);
    copy.destination = buffer_argument(destination, at);
    copy.size_bytes = chunk.size();
    CAMSHAFT_TRY(copy_now(device, copy));
  }
  return base::ok();
}

}  // namespace camshaft::session
