// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>

#include "codegen/lower/tile.h"
#include "codegen/lower/winograd_emitter.h"

namespace camshaft::lower {

using ir::DType;
using ir::LoopKind;

namespace {

// Weights of at least this size are prefetched; smaller ones come fast enough by themselves.
constexpr int64_t kPrefetchBytes = 256 << 10;

}  // namespace

std::vector<std::byte> WinogradEmitter::pack() const {
  const std::vector<float> weights = winograd_weights(task_, conv_);
  const int64_t in = conv_.in_channels;
  const int64_t group_channels = group_vectors_ * lanes_;
  const int64_t set_channels = knobs_.vectors * lanes_;
  std::vector<float> packed(static_cast<size_t>(places_ * in * conv_.out_channels));
  for (int64_t o = 0; o < conv_.out_channels; ++o) {
    const int64_t in_group = o % group_channels;
    const int64_t set = in_group / set_channels;
    const int64_t width = std::min(set_channels, group_channels - set * set_channels);
    const int64_t group = o / group_channels * places_ * group_channels * in;
    for (int64_t c = 0; c < in; ++c) {
      const std::vector<double> window =
          transform_weights(winograd_, weights.data() + (o * in + c) * 9);
      const int64_t at = set * set_channels * in + c * width + in_group % set_channels;
      for (int64_t place = 0; place < places_; ++place) {
        packed[static_cast<size_t>(group + place * group_channels * in + at)] =
            static_cast<float>(window[static_cast<size_t>(place)]);
      }
    }
  }
  std::vector<std::byte> bytes(packed.size() * sizeof(float));
  std::memcpy(bytes.data(), packed.data(), bytes.size());
  return bytes;
}

std::vector<Stmt> WinogradEmitter::product_phase() {
  const int64_t sets = group_vectors_ / knobs_.vectors;
  const int64_t rest = group_vectors_ % knobs_.vectors;
  return loop(kernel_, "place", places_, LoopKind::kSerial, [&](ExprId place) {
    std::vector<Stmt> body = loop(kernel_, "set", sets, LoopKind::kSerial,
                                  [&](ExprId set) { return products(place, set, knobs_.vectors); });
    if (rest > 0) append(body, products(place, kernel_.int_const(sets), rest));
    return body;
  });
}

std::vector<Stmt> WinogradEmitter::products(ExprId place, ExprId set, int64_t vectors) {
  std::vector<Stmt> body;
  int64_t tiles = 0;
  int64_t strips = 0;
  for (const TileRun& run : split_evenly(cut_.block, knobs_.pixels)) {
    append(body, loop(kernel_, "strip", run.count, LoopKind::kSerial, [&](ExprId at) {
             const ExprId tile = kernel_.add(kernel_.mul(at, run.rows), tiles);
             return product_tile({place, set, kernel_.add(at, strips), tile, run.rows, vectors});
           }));
    tiles += run.count * run.rows;
    strips += run.count;
  }
  return body;
}

std::vector<Stmt> WinogradEmitter::product_tile(const Product& p) {
  TileAccumulators acc(kernel_, acc_, p.tiles, p.vectors, lanes_);
  std::vector<Stmt> body = acc.clear();
  const ExprId of_place = kernel_.mul(kernel_.add(kernel_.mul(group_, places_), p.place),
                                      group_vectors_ * lanes_ * conv_.in_channels);
  const ExprId of_set = kernel_.mul(p.set, knobs_.vectors * lanes_ * conv_.in_channels);
  const ExprId weights = kernel_.add(of_place, of_set);
  append(body, loop(kernel_, "cb", conv_.in_blocks(), LoopKind::kSerial, [&](ExprId block) {
           std::vector<Stmt> inside = prefetch_next_set(p, weights, block);
           for (int64_t c = 0; c < lanes_; ++c) {
             const ExprId k = kernel_.add(kernel_.mul(block, lanes_), c);
             const ExprId at = kernel_.add(weights, kernel_.mul(k, p.vectors * lanes_));
             std::vector<std::vector<Stmt>> by_tile;
             for (int64_t i = 0; i < p.tiles; ++i) {
               const ExprId from = v_index(p.place, block, kernel_.add(p.tile, i));
               const ExprId x = kernel_.load(v_, kernel_.add(from, c));
               std::vector<Stmt>& row = by_tile.emplace_back();
               for (int64_t v = 0; v < p.vectors; ++v) {
                 const ExprId w = kernel_.load(u_, kernel_.add(at, v * lanes_), lanes_);
                 row.push_back(acc.multiply_add(i, v, x, w));
               }
             }
             append(inside, in_register_order(std::move(by_tile)));
           }
           return inside;
         }));
  for (int64_t i = 0; i < p.tiles; ++i) {
    for (int64_t v = 0; v < p.vectors; ++v) {
      const ExprId vector = kernel_.add(kernel_.mul(p.set, knobs_.vectors), v);
      body.push_back(
          ir::make_store(m_, m_index(p.place, vector, kernel_.add(p.tile, i)), acc.value(i, v)));
    }
  }
  return body;
}

// Weights are used once a block and mostly come from memory. While the strips of one set of vectors
// are computed, the next set is fetched: evenly, some cache lines for each block of channels.
std::vector<Stmt> WinogradEmitter::prefetch_next_set(const Product& p, ExprId weights,
                                                     ExprId block) {
  const int64_t all = places_ * conv_.in_channels * conv_.out_channels;
  if (all * static_cast<int64_t>(sizeof(float)) < kPrefetchBytes) return {};
  const int64_t set = p.vectors * lanes_ * conv_.in_channels;
  const int64_t strips = (cut_.block + knobs_.pixels - 1) / knobs_.pixels;
  const int64_t steps = strips * conv_.in_blocks();
  const int64_t line = line_elements(DType::kFloat32);
  const int64_t lines = (set / line + steps - 1) / steps;
  const ExprId step = kernel_.add(kernel_.mul(p.strip, conv_.in_blocks()), block);
  const ExprId first = kernel_.add(kernel_.add(weights, set), kernel_.mul(step, lines * line));
  return prefetch_lines(kernel_, u_, first, lines);
}

}  // namespace camshaft::lower
