// SPDX-License-Identifier: MIT
#include "runtime/base/nearest.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace camshaft::base {
namespace {

constexpr size_t kShortWord = 3;     // letters; shorter ones are like no name
constexpr size_t kMostLetters = 64;  // of what is typed by hand

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return result;
}

size_t most_slips(size_t letters) {
  return letters < 3 ? 0 : letters <= 4 ? 1 : letters <= 8 ? 2 : 3;
}

}  // namespace

size_t edit_distance(std::string_view a, std::string_view b) {
  // Row i holds the distances of the first i letters of a to each beginning of b.
  std::vector<size_t> before_last, last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before_last = std::exchange(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      const bool is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swap) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

void NearestName::offer(std::string_view name) {
  if (wanted_.empty() || wanted_.size() > kMostLetters || name.size() > 2 * kMostLetters) return;
  const std::string wanted = lower(wanted_);
  const std::string offered = lower(name);
  const bool is_cut = wanted.size() >= kShortWord && offered.starts_with(wanted);
  const size_t most = most_slips(std::min(wanted.size(), offered.size()));
  // What is cut short is farther than any slip.
  const size_t distance =
      is_cut ? std::min(most + 1, offered.size() - wanted.size()) : edit_distance(wanted, offered);
  if (distance > most && !is_cut) return;
  const bool is_same_length = wanted.size() == offered.size();
  if (wanted.size() <= kShortWord && is_same_length &&
      !std::is_permutation(wanted.begin(), wanted.end(), offered.begin())) {
    return;
  }
  if (!found_.empty() && distance >= distance_) return;
  found_ = name;
  distance_ = distance;
}

std::string NearestName::hint() const {
  return found_.empty() ? "" : " (did you mean '" + std::string(found_) + "'?)";
}

}  // namespace camshaft::base
