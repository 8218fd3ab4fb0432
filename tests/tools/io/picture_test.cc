// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "tools/io/png.h"
#include "tools/io/yuv420.h"

namespace camshaft::io {
namespace {

using base::Code;

Picture sample_picture(int channels) {
  Picture picture{5, 3, channels, {}};
  for (int i = 0; i < 15 * channels; ++i) picture.pixels.push_back(static_cast<uint8_t>(i * 17));
  return picture;
}

TEST_CASE("pictures of every kind survive a round trip") {
  for (int channels = 1; channels <= 4; ++channels) {
    const Picture picture = sample_picture(channels);
    const base::Result<std::vector<std::byte>> bytes = encode_png(picture);
    REQUIRE(bytes.has_value());
    const base::Result<Picture> again = parse_png(*bytes, "x.png");
    REQUIRE(again.has_value());
    CHECK(again->width == 5);
    CHECK(again->height == 3);
    CHECK(again->channels == channels);
    CHECK(again->pixels == picture.pixels);
  }
}

TEST_CASE("a picture whose sizes don't fit is not written") {
  Picture picture = sample_picture(3);
  picture.pixels.pop_back();
  CHECK(encode_png(picture).error().code() == Code::kInvalidArgument);
  CHECK(encode_png({0, 0, 1, {}}).error().code() == Code::kInvalidArgument);
  CHECK(encode_png({1, 1, 5, std::vector<uint8_t>(5)}).error().code() == Code::kInvalidArgument);
}

TEST_CASE("a picture cut anywhere, or with a bit flipped, is damaged") {
  const std::vector<std::byte> whole = encode_png(sample_picture(3)).value();
  for (size_t size = 0; size < whole.size(); ++size) {
    CHECK(parse_png(base::Bytes(whole).first(size), "x.png").error().code() == Code::kCorrupt);
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    std::vector<std::byte> flipped = whole;
    flipped[i] ^= std::byte{4};
    INFO(i);
    CHECK(parse_png(flipped, "x.png").error().code() == Code::kCorrupt);
  }
}

TEST_CASE("frame sizes are read as they are written") {
  const base::Result<FrameLayout> layout =
      parse_frame_layout("1928x1208:2048:1216", Chroma::kInterleaved);
  REQUIRE(layout.has_value());
  CHECK(layout->width == 1928);
  CHECK(layout->height == 1208);
  CHECK(layout->stride_bytes == 2048);
  CHECK(layout->luma_rows == 1216);
  CHECK(frame_bytes(*layout) == 2048 * 1216 + 2048 * 603 + 1928);
  CHECK(parse_frame_layout("64x32", Chroma::kPlanar)->stride_bytes == 64);
  for (const char* wrong :
       {"", "64", "64x", "x32", "64x32:", "64x32:63", "64x32:62", "63x32", "64x31", "64x32:64:30",
        "64x32:64:32:1", "0x0", "-64x32", "64x32 ", "99999999x32", "64X32"}) {
    INFO(wrong);
    CHECK(parse_frame_layout(wrong, Chroma::kInterleaved).error().code() == Code::kInvalidArgument);
  }
}

TEST_CASE("NV12 is packed into the six channels of the header's table") {
  // Y[row][column] = 10 row + column, stride 6, one luma row of padding pair; U = 100.., V = 200..
  std::vector<std::byte> frame(6 * 6 + 6 * 2, std::byte{255});
  for (int row = 0; row < 4; ++row) {
    for (int column = 0; column < 4; ++column)
      frame[6 * row + column] = std::byte(10 * row + column);
  }
  for (int row = 0; row < 2; ++row) {
    for (int column = 0; column < 2; ++column) {
      frame[36 + 6 * row + 2 * column] = std::byte(100 + 2 * row + column);
      frame[36 + 6 * row + 2 * column + 1] = std::byte(200 + 2 * row + column);
    }
  }
  const FrameLayout layout = parse_frame_layout("4x4:6:6", Chroma::kInterleaved).value();
  std::vector<uint8_t> packed(6 * 2 * 2);
  REQUIRE(pack_frame(frame, layout, "x.nv12", packed).is_ok());
  CHECK(packed == std::vector<uint8_t>{0,  2,  20, 22, 10,  12,  30,  32,  1,   3,   21,  23,
                                       11, 13, 31, 33, 100, 101, 102, 103, 200, 201, 202, 203});
  // A byte less than the last chroma row needs.
  CHECK(pack_frame(base::Bytes(frame).first(36 + 6 + 3), layout, "x.nv12", packed).code() ==
        Code::kInvalidArgument);
  CHECK(pack_frame(base::Bytes(frame).first(36 + 6 + 4), layout, "x.nv12", packed).is_ok());
}

TEST_CASE("both chroma forms survive a round trip and differ") {
  std::vector<uint8_t> packed(6 * 3 * 4);
  for (size_t i = 0; i < packed.size(); ++i) packed[i] = static_cast<uint8_t>(i + 1);
  std::vector<std::vector<std::byte>> frames;
  for (const Chroma chroma : {Chroma::kInterleaved, Chroma::kPlanar}) {
    const FrameLayout layout = parse_frame_layout("8x6:10:8", chroma).value();
    frames.push_back(unpack_frame(packed, layout));
    CHECK(frames.back().size() == frame_bytes(layout));
    std::vector<uint8_t> again(packed.size());
    REQUIRE(pack_frame(frames.back(), layout, "x", again).is_ok());
    CHECK(again == packed);
  }
  CHECK(frames[0] != frames[1]);
}

}  // namespace
}  // namespace camshaft::io
