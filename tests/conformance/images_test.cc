// SPDX-License-Identifier: MIT
// Conformance: images. A device without says so.
#include <catch2/catch.hpp>
#include <cstring>

#include "tests/conformance/suite.h"

using namespace camshaft;
using conformance::Bench;

namespace {

constexpr uint32_t kWidth = 5;
constexpr uint32_t kHeight = 3;
// With a border of one texel.
constexpr uint32_t kColumns = kWidth + 2;
constexpr uint32_t kSeen = kColumns * (kHeight + 2);

hal::ImageShape shape_of(uint32_t pitch_texels) {
  return {.dtype = base::DType::kUInt8,
          .width = kWidth,
          .height = kHeight,
          .row_pitch_bytes = uint64_t{pitch_texels} * 4};
}

// Texels of a row, and then those that lie between it and the next one, as words.
std::vector<uint32_t> make_texels(uint32_t pitch_texels, uint32_t seed) {
  std::vector<uint32_t> texels(size_t{pitch_texels} * kHeight);
  for (uint32_t i = 0; i < texels.size(); ++i) texels[i] = (i + seed) * 0x01030507u;
  return texels;
}

// What the kernel sees: the border is zeros, and what lies between rows is not there.
std::vector<uint32_t> seen_of(const std::vector<uint32_t>& texels, uint32_t pitch_texels) {
  std::vector<uint32_t> seen(kSeen);
  for (uint32_t y = 0; y < kHeight; ++y) {
    for (uint32_t x = 0; x < kWidth; ++x) {
      seen[(y + 1) * kColumns + x + 1] = texels[y * pitch_texels + x];
    }
  }
  return seen;
}

hal::KernelArg as_image(hal::KernelArg arg) {
  arg.image = shape_of(kWidth);
  return arg;
}

// Nothing on devices without images, which say why.
bool has_images(Bench& bench) {
  if (bench.device().info().max_image_width > 0) return true;
  const hal::Allocation memory = bench.host_buffer(4096);
  const auto image =
      bench.device().make_image({.shape = shape_of(kWidth), .buffer = memory.buffer});
  EXPECT(image.error().code() == base::Code::kUnsupported);
  return false;
}

hal::Buffer make_image(Bench& bench, hal::Buffer buffer, uint32_t pitch_texels,
                       uint64_t offset_bytes = 0) {
  const auto image = bench.device().make_image(
      {.shape = shape_of(pitch_texels), .buffer = buffer, .offset_bytes = offset_bytes});
  EXPECT(image.has_value());
  return *image;
}

}  // namespace

CONFORMANCE_TEST("an image shows what the host wrote before each submit") {
  if (!has_images(bench)) return;
  for (const uint32_t pitch : {kWidth, 64u}) {
    const hal::Allocation memory = bench.host_buffer(uint64_t{pitch} * kHeight * 4);
    const hal::Buffer image = make_image(bench, memory.buffer, pitch);
    const hal::Allocation seen = bench.host_buffer(kSeen * 4);
    const hal::CommandList fixed = bench.record({bench.launch(
        conformance::kTexels, kSeen,
        {Bench::in(seen.buffer), as_image(Bench::in(image)), Bench::scalar(kColumns)})});
    const hal::CommandList slotted = bench.record(
        {bench.launch(conformance::kTexels, kSeen,
                      {Bench::in(seen.buffer), as_image(Bench::slot(0)), Bench::scalar(kColumns)})},
        1);
    for (const uint32_t seed : {1u, 1000u, 77u}) {
      const std::vector<uint32_t> texels = make_texels(pitch, seed);
      std::memcpy(memory.host_ptr, texels.data(), texels.size() * 4);
      if (seed == 1000) {
        bench.run(fixed);
      } else {
        bench.run(slotted, {{.buffer = image}});
      }
      const auto* words = static_cast<const uint32_t*>(seen.host_ptr);
      EXPECT(std::vector<uint32_t>(words, words + kSeen) == seen_of(texels, pitch));
      EXPECT(std::memcmp(memory.host_ptr, texels.data(), texels.size() * 4) == 0);
    }
  }
}

CONFORMANCE_TEST("an image of device memory shows what was there") {
  if (!has_images(bench)) return;
  constexpr uint64_t kOffset = 1024;
  for (const uint32_t pitch : {kWidth, 64u}) {
    const std::vector<uint32_t> texels = make_texels(pitch, 5);
    const uint64_t bytes = texels.size() * 4;
    const hal::Allocation source = bench.host_buffer(bytes);
    std::memcpy(source.host_ptr, texels.data(), bytes);
    const hal::Buffer memory = bench.device_buffer(kOffset + bytes);
    bench.run({Bench::copy(Bench::in(source.buffer), Bench::in(memory, kOffset), bytes)});
    const hal::Buffer image = make_image(bench, memory, pitch, kOffset);
    const hal::Allocation seen = bench.host_buffer(kSeen * 4);
    bench.run({bench.launch(
        conformance::kTexels, kSeen,
        {Bench::in(seen.buffer), as_image(Bench::in(image)), Bench::scalar(kColumns)})});
    const auto* words = static_cast<const uint32_t*>(seen.host_ptr);
    EXPECT(std::vector<uint32_t>(words, words + kSeen) == seen_of(texels, pitch));
  }
}
