// SPDX-License-Identifier: MIT
#include "msgq/frames/format.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "msgq/frames/descriptor.h"
#include "tests/support/last_sentence.h"

namespace camshaft::frames {
namespace {

FrameDescriptor good_descriptor() {
  FrameDescriptor descriptor;
  descriptor.slot = 3;
  descriptor.pool_id = 77;
  descriptor.sequence = 5;
  descriptor.exposure_start_ns = 100;
  descriptor.exposure_end_ns = 200;
  descriptor.geometry = *lay_out(kNv12, 64, 32);
  return descriptor;
}

}  // namespace

TEST_CASE("planes are laid out as the hardware wants them") {
  // NV12 of a camera whose rows are padded to 128 bytes, and planes to 32 and 16 rows.
  const Geometry nv12 =
      *lay_out(kNv12, 1928, 1208, {.stride_bytes = 128, .luma_rows = 32, .chroma_rows = 16});
  REQUIRE(nv12.plane_count == 2);
  CHECK(nv12.planes[0].stride_bytes == 2048);
  CHECK(nv12.planes[0].row_bytes == 1928);
  CHECK(nv12.planes[0].rows == 1208);
  CHECK(nv12.planes[1].offset_bytes == 2048 * 1216);
  CHECK(nv12.planes[1].rows == 604);
  CHECK(nv12.planes[1].row_bytes == 1928);
  CHECK(nv12.size_bytes == 2048 * 1216 + 2048 * 608);

  const Geometry i420 = *lay_out(kI420, 64, 32, {.stride_bytes = 1});
  CHECK(i420.plane_count == 3);
  CHECK(i420.planes[2].offset_bytes == 64 * 32 + 32 * 16);
  CHECK(i420.size_bytes == 64 * 32 * 3 / 2);
  CHECK(lay_out(kYuyv, 64, 32, {.stride_bytes = 1})->size_bytes == 64 * 32 * 2);
  CHECK(lay_out(kRgb24, 10, 10, {.stride_bytes = 1})->size_bytes == 300);
  CHECK(lay_out(kGrey8, 10, 10)->size_bytes == 640);
  CHECK(lay_out(kBytes, 10, 1)->planes[0].row_bytes == 10);
  CHECK(fourcc_text(kNv12) == "NV12");
  CHECK(fourcc_text(0x01020304) == "????");
}

TEST_CASE("what can't be laid out is refused with a sentence") {
  CHECK(lay_out(fourcc("XYZ1"), 64, 32).error().code() == base::Code::kInvalidArgument);
  CHECK(test::last_sentence().find("format XYZ1") != std::string::npos);
  CHECK(lay_out(kNv12, 63, 32).error().code() == base::Code::kInvalidArgument);
  CHECK(test::last_sentence().find("chroma needs even sizes") != std::string::npos);
  CHECK_FALSE(lay_out(kNv12, 64, 31));
  CHECK(lay_out(kGrey8, 63, 31));  // control: without chroma odd sizes are fine
  CHECK_FALSE(lay_out(kNv12, 0, 32));
  CHECK_FALSE(lay_out(kNv12, 64, 70000));
  CHECK_FALSE(lay_out(kNv12, 64, 32, {.stride_bytes = 48}));
}

TEST_CASE("a descriptor travels as bytes, and is checked where it arrives") {
  const FrameDescriptor sent = good_descriptor();
  const uint64_t size = sent.geometry.size_bytes;
  const auto parsed = parse_descriptor(to_bytes(sent), size);
  REQUIRE(parsed.has_value());
  CHECK(parsed->ref() == sent.ref());
  CHECK(std::memcmp(&*parsed, &sent, sizeof sent) == 0);
  CHECK_FALSE(parse_descriptor(to_bytes(sent).first(100), size));
  CHECK_FALSE(parse_descriptor(to_bytes(sent), size - 1));

  const auto is_refused = [&](auto change) {
    FrameDescriptor descriptor = good_descriptor();
    change(descriptor);
    return check_descriptor(descriptor, size).code() == base::Code::kCorrupt;
  };
  CHECK_FALSE(is_refused([](FrameDescriptor&) {}));
  CHECK(is_refused([](auto& d) { d.version = 2; }));
  CHECK(is_refused([](auto& d) { d.exposure_end_ns = 99; }));
  CHECK(is_refused([](auto& d) { d.geometry.plane_count = 0; }));
  CHECK(is_refused([](auto& d) { d.geometry.plane_count = 5; }));
  CHECK(is_refused([](auto& d) { d.geometry.size_bytes += 1; }));
  CHECK(is_refused([](auto& d) { d.geometry.planes[1].offset_bytes = ~0ull; }));
  CHECK(is_refused([](auto& d) { d.geometry.planes[1].rows += 1; }));
  CHECK(is_refused([](auto& d) { d.geometry.planes[0].rows = ~0u; }));
  CHECK(is_refused([](auto& d) { d.geometry.planes[0].stride_bytes = 1; }));
  CHECK(is_refused([](auto& d) { d.geometry.planes[0].row_bytes = 0; }));
}

}  // namespace camshaft::frames
