// SPDX-License-Identifier: MIT
// libFuzzer over what comes from other processes and machines: messages, messages of a bridge,
// frame descriptors. Starts from whole ones of every kind, so it needs no seeds.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "msgq/bridge/wire.h"
#include "msgq/frames/descriptor.h"
#include "msgq/schema/codec.h"
#include "msgq/schema/json.h"
#include "tests/msgq/schema/sample_messages.h"

namespace {

namespace base = camshaft::base;
namespace bridge = camshaft::bridge;
namespace frames = camshaft::frames;
namespace schema = camshaft::schema;

std::vector<std::vector<std::byte>> make_samples() {
  std::vector<std::vector<std::byte>> samples;
  for (const schema::Message& message : schema::sample_messages()) {
    schema::Encoder encoder;
    const base::Bytes bytes = *encoder.encode(message);
    samples.emplace_back(bytes.begin(), bytes.end());
  }
  frames::FrameDescriptor descriptor;
  descriptor.geometry = *frames::lay_out(frames::kNv12, 64, 32);
  const base::Bytes bytes = frames::to_bytes(descriptor);
  samples.emplace_back(bytes.begin(), bytes.end());
  return samples;
}

void check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  static const std::vector<std::vector<std::byte>> samples = make_samples();
  const std::vector<std::byte>& sample = samples[seed % samples.size()];
  if (size >= 16 || max_size < sample.size()) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, sample.data(), sample.size());
  return sample.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const base::Bytes bytes = std::as_bytes(std::span(data, size));
  schema::Message message;
  if (schema::decode(bytes, message).is_ok()) {
    // What was read can be written, and is the same when it is read again.
    schema::Encoder encoder;
    const auto again = encoder.encode(message);
    check(again.has_value());
    schema::Message back;
    check(schema::decode(*again, back).is_ok());
    check(schema::to_json(back) == schema::to_json(message));
  }
  constexpr uint64_t kBufferBytes = 4096;
  if (const auto descriptor = frames::parse_descriptor(bytes, kBufferBytes)) {
    const frames::Geometry& geometry = descriptor->geometry;
    for (uint32_t i = 0; i < geometry.plane_count; ++i) {
      const frames::Plane& plane = geometry.planes[i];
      const uint64_t last_row =
          plane.offset_bytes + uint64_t{plane.stride_bytes} * (plane.rows - 1);
      check(last_row + plane.row_bytes <= kBufferBytes);
    }
  }
  if (const auto wire = bridge::read_wire(bytes)) {
    check(bridge::wire_size(wire->topic, wire->payload.size()) == size);
  }
  return 0;
}
