// SPDX-License-Identifier: MIT
#include "msgq/frames/descriptor.h"

#include <cstring>

namespace camshaft::frames {

base::Result<FrameDescriptor> parse_descriptor(base::Bytes bytes, uint64_t buffer_bytes) {
  FrameDescriptor descriptor;
  if (bytes.size() != sizeof descriptor) {
    return base::fail(base::Code::kCorrupt, "frames.descriptor",
                      "%zu bytes are no frame descriptor, which has %zu", bytes.size(),
                      sizeof descriptor);
  }
  std::memcpy(&descriptor, bytes.data(), sizeof descriptor);
  CAMSHAFT_TRY(check_descriptor(descriptor, buffer_bytes));
  return descriptor;
}

base::Status check_descriptor(const FrameDescriptor& descriptor, uint64_t buffer_bytes) {
  if (descriptor.version != FrameDescriptor().version) {
    return base::fail(base::Code::kCorrupt, "frames.descriptor",
                      "a frame descriptor has version %u, this program knows %u",
                      descriptor.version, FrameDescriptor().version);
  }
  if (descriptor.exposure_end_ns < descriptor.exposure_start_ns) {
    return base::fail(base::Code::kCorrupt, "frames.descriptor",
                      "the exposure of frame %llu ends before it starts",
                      static_cast<unsigned long long>(descriptor.frame_id));
  }
  return check_geometry(descriptor.geometry, buffer_bytes, "a frame descriptor");
}

}  // namespace camshaft::frames
