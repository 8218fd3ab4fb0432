// SPDX-License-Identifier: MIT
//
// Camera frames in NV12 and the network's input made from them.
//
// NV12: a plane of luma rows, then a plane of interleaved U, V at half the resolution. Rows are
// padded to 128 bytes, the luma plane to 32 rows, the chroma plane to 16, with room behind for the
// hardware that fills such buffers (the layout of Qualcomm's Venus).
//
// The network's input is the model view (camera.h), 512x256 luma and 256x128 chroma, packed as
// uint8 [6][128][256]. With r = 0..127 and c = 0..255:
//   channel 0: Y[2r    ][2c    ]        channel 2: Y[2r    ][2c + 1]        channel 4: U[r][c]
//   channel 1: Y[2r + 1][2c    ]        channel 3: Y[2r + 1][2c + 1]        channel 5: V[r][c]
//
// The warp is by inverse homography, nearest neighbour: luma of the model view at column u, row v
// is the frame's luma at column floor(X / W + 0.5), row floor(Y / W + 0.5), each clamped to the
// frame, where (X, Y, W) = M (u, v, 1). Chroma uses S M S^-1 with S = diag(1/2, 1/2, 1) on the
// chroma planes' own columns and rows. All in float32, sums from left to right.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/roadnet/camera.h"
#include "models/roadnet/renderer.h"

namespace camshaft::roadnet {

struct Nv12Layout {
  int width = 0;
  int height = 0;
  size_t stride_bytes = 0;
  size_t luma_rows = 0;    ///< padded
  size_t chroma_rows = 0;  ///< padded
  size_t chroma_offset_bytes = 0;
  size_t size_bytes = 0;  ///< of the whole buffer, a multiple of 4096
};

/// The layout for pictures of a size; both sides must be even.
Nv12Layout nv12_layout(int width, int height);

/// The road camera's: 1928x1208, stride 2048, 3,756,032 bytes.
Nv12Layout road_camera_layout();

inline constexpr int kInputChannels = 6;
inline constexpr int kInputRows = 128;
inline constexpr int kInputColumns = 256;
inline constexpr size_t kInputBytes = size_t{kInputChannels} * kInputRows * kInputColumns;

using InputBytes = std::span<uint8_t, kInputBytes>;

/// Renders rows [first_row, last_row) of a frame, both even, into a buffer of `road_camera_layout`;
/// padding is left alone. Threads may render disjoint rows of one buffer.
void render_rows(const Renderer& renderer, int first_row, int last_row, std::span<uint8_t> nv12);

/// Renders a whole frame into a new buffer, padding zero.
std::vector<uint8_t> render_frame(const Renderer& renderer);

/// Warps and packs a frame: `nv12` has the given layout, `warp` takes model pixels to frame pixels.
void warp_nv12_to_input(std::span<const uint8_t> nv12, const Nv12Layout& layout,
                        const Homography& warp, InputBytes input);

/// The same bytes as warping the rendered frame with the scene's own warp, but renders only the
/// pixels that the warp reads: some fifteen times faster.
void render_model_view(const Renderer& renderer, InputBytes input);

}  // namespace camshaft::roadnet
