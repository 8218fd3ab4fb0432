// SPDX-License-Identifier: MIT
// What a backend keeps behind its handles. Numbers only grow, so that a released handle never
// names something else, and the table stays sorted by them: memory is used for live handles only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/status.h"

namespace camshaft::hal {

using base::Result;

template <typename T>
class HandleTable {
 public:
  struct Entry {
    uint32_t id;
    T value;
  };

  // Keeps `value` and returns its number. Allocates; moves other values. Fails with kOutOfMemory
  // when all 2^32 - 1 numbers have been given out.
  Result<uint32_t> add(T value) {
    if (last_id_ == UINT32_MAX) {
      return base::fail(base::Code::kOutOfMemory, "hal.handle_table",
                        "all handle numbers have been given out: open the device again");
    }
    add_as(last_id_ + 1, std::move(value));
    return last_id_;
  }

  // Keeps `value` under a number that another device gave out. False where numbers don't rise.
  bool add_as(uint32_t id, T value) {
    if (id <= last_id_) return false;
    last_id_ = id;
    entries_.push_back(Entry{id, std::move(value)});
    return true;
  }

  // The value, or null for a number that is not in use. Borrowed until the next add() or take().
  // Hot path: logarithmic, no allocation.
  T* find(uint32_t id) noexcept {
    const auto entry = position(id);
    return entry != entries_.end() && entry->id == id ? &entry->value : nullptr;
  }

  // Removes and returns the value, or nothing for a number that is not in use.
  std::optional<T> take(uint32_t id) {
    const auto entry = position(id);
    if (entry == entries_.end() || entry->id != id) return std::nullopt;
    std::optional<T> value(std::move(entry->value));
    entries_.erase(entry);
    return value;
  }

  // All that is in use, in the order of add().
  std::vector<Entry>& entries() { return entries_; }

 private:
  typename std::vector<Entry>::iterator position(uint32_t id) noexcept {
    return std::lower_bound(entries_.begin(), entries_.end(), id,
                            [](const Entry& entry, uint32_t wanted) { return entry.id < wanted; });
  }

  std::vector<Entry> entries_;
  uint32_t last_id_ = 0;
};

}  // namespace camshaft::hal
