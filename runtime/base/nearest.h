// SPDX-License-Identifier: MIT
// Which of the names that there are somebody meant who wrote another. Load time.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace camshaft::base {

// How many letters must be put in, left out, replaced or swapped with their neighbours to make one
// text of the other (Damerau's distance, in which no part is changed twice).
size_t edit_distance(std::string_view a, std::string_view b);

// The name among those offered that another is likely a slip of: few letters away (1 of 3 or 4
// letters, 2 of up to 8, 3 of more), or, from 3 letters on, cut short. Case doesn't count. Three
// letters with another in one's place are another word: no cpu was meant by gpu.
class NearestName {
 public:
  explicit NearestName(std::string_view wanted) : wanted_(wanted) {}

  void offer(std::string_view name);

  // Views the offered name, the first of equally near ones; empty: none is near.
  std::string_view found() const { return found_; }
  // " (did you mean 'NAME'?)", to go behind the wrong name in a sentence; empty: none is near.
  std::string hint() const;

 private:
  std::string_view wanted_;
  std::string_view found_;
  size_t distance_ = 0;  // of found_
};

// The hint for `wanted` among what a range holds; `name` gives an element's name.
template <typename Range, typename Name = std::identity>
std::string did_you_mean(std::string_view wanted, const Range& range, Name name = {}) {
  NearestName nearest(wanted);
  for (const auto& element : range) nearest.offer(std::invoke(name, element));
  return nearest.hint();
}

}  // namespace camshaft::base
