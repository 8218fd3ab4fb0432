// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>
#include <vector>

#include "models/roadnet/drive.h"
#include "models/roadnet/frame.h"

namespace camshaft::roadnet {
namespace {

constexpr size_t kPlane = size_t{kInputRows} * kInputColumns;

// A frame whose bytes tell where they are.
std::vector<uint8_t> marked_frame(const Nv12Layout& layout) {
  std::vector<uint8_t> nv12(layout.size_bytes, 0);
  for (int y = 0; y < layout.height; ++y) {
    for (int x = 0; x < layout.width; ++x) {
      nv12[static_cast<size_t>(y) * layout.stride_bytes + static_cast<size_t>(x)] =
          static_cast<uint8_t>(x * 7 + y * 13);
    }
  }
  for (int y = 0; y < layout.height / 2; ++y) {
    for (int x = 0; x < layout.width / 2; ++x) {
      uint8_t* uv =
          &nv12[layout.chroma_offset_bytes + static_cast<size_t>(y) * layout.stride_bytes +
                static_cast<size_t>(2 * x)];
      uv[0] = static_cast<uint8_t>(x * 3 + y * 5);
      uv[1] = static_cast<uint8_t>(x * 11 + y);
    }
  }
  return nv12;
}

std::vector<uint8_t> warped(const std::vector<uint8_t>& nv12, const Nv12Layout& layout,
                            const Homography& warp) {
  std::vector<uint8_t> input(kInputBytes);
  warp_nv12_to_input(nv12, layout, warp, InputBytes(input.data(), kInputBytes));
  return input;
}

TEST_CASE("frames have the padding that the hardware gives them") {
  const Nv12Layout road = road_camera_layout();
  CHECK(road.stride_bytes == 2048);
  CHECK(road.luma_rows == 1216);
  CHECK(road.chroma_rows == 608);
  CHECK(road.chroma_offset_bytes == 2048 * 1216);
  CHECK(road.size_bytes == 3756032);
  const Nv12Layout other = nv12_layout(1344, 760);
  CHECK(other.stride_bytes == 1408);
  CHECK(other.luma_rows == 768);
  CHECK(other.chroma_rows == 384);
  CHECK(other.size_bytes == (1408 * (768 + 384) + 4096 + 16384 + 4095) / 4096 * 4096);
}

TEST_CASE("rendering fills the picture, in its place, and nothing else") {
  const Renderer renderer(Drive(3).scene(1.0));
  const Nv12Layout layout = road_camera_layout();
  std::vector<uint8_t> nv12(layout.size_bytes, 1);  // no pixel of limited range is 1
  render_rows(renderer, 600, 640, nv12);
  size_t written = 0;
  for (uint8_t byte : nv12) {
    written += byte != 1 ? 1 : 0;
  }
  CHECK(written == 1928 * 40 + 1928 * 20);
  for (int x = 0; x < layout.width; x += 97) {
    const size_t row = 613;
    CHECK(nv12[row * 2048 + static_cast<size_t>(x)] == renderer.luma(x, 613));
    const Chroma chroma = renderer.chroma(x / 2, 306);
    const size_t at =
        layout.chroma_offset_bytes + size_t{306} * 2048 + static_cast<size_t>(x / 2 * 2);
    CHECK(nv12[at] == chroma.u);
    CHECK(nv12[at + 1] == chroma.v);
  }
}

TEST_CASE("the input's planes are the even and odd rows and columns of the view") {
  const Nv12Layout layout = nv12_layout(640, 320);
  const std::vector<uint8_t> input =
      warped(marked_frame(layout), layout, {1, 0, 0, 0, 1, 0, 0, 0, 1});
  int wrong = 0;
  for (int r = 0; r < kInputRows; ++r) {
    for (int c = 0; c < kInputColumns; ++c) {
      const size_t at = static_cast<size_t>(r * kInputColumns + c);
      for (int channel = 0; channel < 4; ++channel) {
        const int x = 2 * c + channel / 2;
        const int y = 2 * r + channel % 2;
        const uint8_t expected = static_cast<uint8_t>(x * 7 + y * 13);
        wrong += input[static_cast<size_t>(channel) * kPlane + at] != expected ? 1 : 0;
      }
      wrong += input[4 * kPlane + at] != static_cast<uint8_t>(c * 3 + r * 5) ? 1 : 0;
      wrong += input[5 * kPlane + at] != static_cast<uint8_t>(c * 11 + r) ? 1 : 0;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("the warp takes the nearest pixel and clamps to the border") {
  const Nv12Layout layout = nv12_layout(640, 320);
  const std::vector<uint8_t> nv12 = marked_frame(layout);
  const auto luma = [&](int x, int y) { return static_cast<uint8_t>(x * 7 + y * 13); };
  std::vector<uint8_t> input = warped(nv12, layout, {1, 0, 10.4f, 0, 1, 3.5f, 0, 0, 1});
  CHECK(input[0] == luma(10, 4));
  input = warped(nv12, layout, {1, 0, -100, 0, 1, -50, 0, 0, 1});
  CHECK(input[0] == luma(0, 0));
  CHECK(input[kPlane - 1] == luma(510 - 100, 254 - 50));
  input = warped(nv12, layout, {4, 0, 0, 0, 4, 0, 0, 0, 1});
  CHECK(input[kPlane - 1] == luma(639, 319));
  input = warped(nv12, layout, {2, 0, 0, 0, 2, 0, 0, 0, 2});  // only the ratio counts
  CHECK(input[5] == luma(10, 0));
}

TEST_CASE("the homography takes the mounting out, at any distance") {
  const Rotation mounting{0.011f, 0.023f, -0.027f};
  const Homography warp = model_to_frame(mounting);
  const CameraPose model = model_view_pose();
  const CameraPose camera = road_camera_pose(mounting);
  for (const Vec3 point : {Vec3{8, 1.5f, 0}, Vec3{30, -2, 0}, Vec3{90, 4, 2}, Vec3{15, 0, 1}}) {
    const Pixel seen = model.project(point);
    const float w = warp[6] * seen.x + warp[7] * seen.y + warp[8];
    const Pixel in_frame = camera.project(point);
    REQUIRE(seen.in_front);
    CHECK((warp[0] * seen.x + warp[1] * seen.y + warp[2]) / w == Approx(in_frame.x).margin(0.02));
    CHECK((warp[3] * seen.x + warp[4] * seen.y + warp[5]) / w == Approx(in_frame.y).margin(0.02));
  }
  const Pixel horizon = model.project({1e6f, 0, 1.22f});
  CHECK(horizon.x == Approx(256.0f).margin(0.01));
  CHECK(horizon.y == Approx(47.6f).margin(0.01));
}

TEST_CASE("rendering the model view is the same as warping the frame, bit for bit") {
  for (uint64_t seed : {1u, 8u}) {
    const Renderer renderer(Drive(seed).scene(12.35));
    std::vector<uint8_t> direct(kInputBytes);
    render_model_view(renderer, InputBytes(direct.data(), kInputBytes));
    const std::vector<uint8_t> frame = render_frame(renderer);
    CHECK(warped(frame, road_camera_layout(), renderer.scene().warp()) == direct);
    Rotation other = renderer.scene().world.mounting;
    other.pitch_rad += 0.002f;
    CHECK(warped(frame, road_camera_layout(), model_to_frame(other)) != direct);
  }
}

}  // namespace
}  // namespace camshaft::roadnet
