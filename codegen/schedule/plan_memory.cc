// SPDX-License-Identifier: MIT
// Memory planning: lifetimes by region number, then offsets in one arena. A part lives in its base,
// which lives as long as any of its parts. Placement is greedy by
// size (largest first, each at the lowest offset that is free for its whole lifetime), tried with a
// few orders; the best is kept. The lower bound is the most that is live during any one region.
#include <algorithm>
#include <utility>

#include "codegen/schedule/schedule.h"

namespace camshaft::schedule {
namespace {

int64_t aligned_size(int64_t bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

int64_t aligned_offset(int64_t offset, const BufferInfo& buffer) {
  if (buffer.image.width == 0) return offset;
  return (offset + kImageAlignment - 1) / kImageAlignment * kImageAlignment;
}

bool lives_with(const BufferInfo& a, const BufferInfo& b) {
  return a.first_region <= b.last_region && b.first_region <= a.last_region;
}

// Places `order` one after the other; returns the arena's size and the offsets in `offsets`.
int64_t place(const std::vector<BufferInfo>& buffers, const std::vector<size_t>& order,
              std::vector<int64_t>& offsets) {
  int64_t arena_bytes = 0;
  std::vector<size_t> placed;  // by offset
  for (size_t i : order) {
    const int64_t size = aligned_size(buffers[i].size_bytes);
    int64_t offset = 0;
    for (size_t other : placed) {
      if (!lives_with(buffers[i], buffers[other])) continue;
      if (offset + size <= offsets[other]) break;
      offset = aligned_offset(
          std::max(offset, offsets[other] + aligned_size(buffers[other].size_bytes)), buffers[i]);
    }
    offsets[i] = offset;
    arena_bytes = std::max(arena_bytes, offset + size);
    const auto position =
        std::upper_bound(placed.begin(), placed.end(), offset,
                         [&](int64_t value, size_t p) { return value < offsets[p]; });
    placed.insert(position, i);
  }
  return arena_bytes;
}

BufferInfo& buffer_of(Schedule& schedule, NodeId value) {
  const int32_t index = schedule.buffer_of[static_cast<size_t>(value)];
  CAMSHAFT_CHECK(index >= 0);
  return schedule.buffers[static_cast<size_t>(index)];
}

bool is_placed(const BufferInfo& buffer) {
  return buffer.kind == BufferKind::kArena && buffer.part_of < 0;
}

// A base lives from the first region that writes it or a part of it to the last that reads either.
void find_lifetimes(Schedule& schedule) {
  std::vector<BufferInfo>& buffers = schedule.buffers;
  std::vector<bool> is_written(buffers.size(), false);
  const auto write = [&](int32_t index, int32_t region) {
    BufferInfo& buffer = buffers[static_cast<size_t>(index)];
    if (!is_written[static_cast<size_t>(index)]) buffer.first_region = region;
    buffer.last_region = std::max(buffer.last_region, region);
    is_written[static_cast<size_t>(index)] = true;
  };
  for (size_t r = 0; r < schedule.regions.size(); ++r) {
    const Region& region = schedule.regions[r];
    const auto number = static_cast<int32_t>(r);
    for (const NodeId value : region.written()) {
      const int32_t output = schedule.buffer_of[static_cast<size_t>(value)];
      write(output, number);
      const int32_t base = buffers[static_cast<size_t>(output)].part_of;
      if (base >= 0) write(base, number);
    }
    for (NodeId leaf : region.leaves) buffer_of(schedule, leaf).last_region = number;
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    BufferInfo& part = buffers[i];
    if (part.part_of < 0) continue;
    BufferInfo& base = buffers[static_cast<size_t>(part.part_of)];
    if (!is_written[i]) part.first_region = base.first_region;
    base.last_region = std::max(base.last_region, part.last_region);
    part.last_region = std::max(part.last_region, part.first_region);
  }
}

int64_t lower_bound(const Schedule& schedule) {
  std::vector<int64_t> change(schedule.regions.size() + 1, 0);
  for (const BufferInfo& buffer : schedule.buffers) {
    if (!is_placed(buffer)) continue;
    change[static_cast<size_t>(buffer.first_region)] += aligned_size(buffer.size_bytes);
    change[static_cast<size_t>(buffer.last_region) + 1] -= aligned_size(buffer.size_bytes);
  }
  int64_t live = 0;
  int64_t most = 0;
  for (int64_t step : change) {
    live += step;
    most = std::max(most, live);
  }
  return most;
}

}  // namespace

int32_t add_scratch(Schedule& schedule, int32_t region, int64_t size_bytes) {
  BufferInfo buffer;
  buffer.size_bytes = size_bytes;
  buffer.first_region = buffer.last_region = region;
  schedule.buffers.push_back(buffer);
  return static_cast<int32_t>(schedule.buffers.size()) - 1;
}

void plan_memory(Schedule& schedule) {
  find_lifetimes(schedule);
  std::vector<BufferInfo>& buffers = schedule.buffers;
  std::vector<size_t> by_size;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (is_placed(buffers[i])) by_size.push_back(i);
  }
  std::vector<size_t> by_area = by_size;
  std::vector<size_t> by_time = by_size;
  const auto length = [&](size_t i) -> int64_t {
    return buffers[i].last_region - buffers[i].first_region + 1;
  };
  const auto largest_first = [](std::vector<size_t>& order, const auto& key) {
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return std::pair(-key(a), a) < std::pair(-key(b), b); });
  };
  largest_first(by_size, [&](size_t i) { return buffers[i].size_bytes; });
  largest_first(by_area, [&](size_t i) { return buffers[i].size_bytes * length(i); });
  schedule.arena_lower_bound_bytes = lower_bound(schedule);
  schedule.arena_bytes = INT64_MAX;
  for (const std::vector<size_t>& order : {by_size, by_area, by_time}) {
    std::vector<int64_t> offsets(buffers.size(), 0);
    const int64_t arena_bytes = place(buffers, order, offsets);
    if (arena_bytes >= schedule.arena_bytes) continue;
    schedule.arena_bytes = arena_bytes;
    for (size_t i : order) buffers[i].offset_bytes = offsets[i];
  }
  for (BufferInfo& part : buffers) {
    if (part.part_of < 0) continue;
    part.offset_bytes =
        buffers[static_cast<size_t>(part.part_of)].offset_bytes + part.part_offset_bytes;
  }
}

}  // namespace camshaft::schedule
