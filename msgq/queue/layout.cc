// SPDX-License-Identifier: MIT
#include "msgq/queue/layout.h"

#include <bit>

#include "runtime/base/bytes.h"

namespace camshaft::queue {
namespace {

using base::Code;

bool has_sane_sizes(const Constants& c) {
  return std::has_single_bit(c.page_bytes) && c.page_bytes >= 4096 &&
         std::has_single_bit(c.ring_bytes) && c.ring_bytes >= c.page_bytes &&
         c.ring_bytes <= kMaxRingBytes && std::has_single_bit(c.entries) &&
         c.entries <= kMaxEntries && c.reader_slots >= 1 && c.reader_slots <= kMaxReaderSlots &&
         c.unused_numbers <= c.first_sequence;
}

}  // namespace

Geometry geometry_of(const Constants& c) {
  Geometry g;
  g.readers_offset = base::align_up(sizeof(PublisherArea), c.page_bytes);
  g.entries_offset =
      g.readers_offset +
      base::align_up(sizeof(WakeLine) + c.reader_slots * sizeof(ReaderSlot), c.page_bytes);
  g.ring_offset = g.entries_offset + base::align_up(c.entries * sizeof(Entry), c.page_bytes);
  g.file_bytes = g.ring_offset + c.ring_bytes;
  return g;
}

uint64_t checksum_of(const Constants& constants) {
  uint64_t words[sizeof(Constants) / 8];
  std::memcpy(words, &constants, sizeof words);
  uint64_t hash = kMagic;
  for (size_t i = 0; i + 1 < std::size(words); ++i) hash = mixed(hash, words[i]);
  return hash;
}

base::Status verify_constants(const Constants& c, uint64_t file_bytes, const char* what) {
  if (c.magic != kMagic) {
    return base::fail(Code::kCorrupt, "queue.magic", "%s is not a topic: wrong first bytes", what);
  }
  if (c.layout_version != kLayoutVersion) {
    return base::fail(Code::kUnsupported, "queue.layout_version",
                      "%s has layout %u and this program knows %u: restart all processes of the "
                      "topic from one build",
                      what, c.layout_version, kLayoutVersion);
  }
  if (c.checksum != checksum_of(c) || !has_sane_sizes(c)) {
    return base::fail(Code::kCorrupt, "queue.constants",
                      "%s has a damaged header: its publisher repairs it, or makes it anew when it "
                      "starts again",
                      what);
  }
  if (geometry_of(c).file_bytes != c.file_bytes || file_bytes < c.file_bytes) {
    return base::fail(Code::kCorrupt, "queue.file_size",
                      "%s has %llu bytes and its header says %llu: somebody cut it", what,
                      static_cast<unsigned long long>(file_bytes),
                      static_cast<unsigned long long>(c.file_bytes));
  }
  return base::ok();
}

}  // namespace camshaft::queue
