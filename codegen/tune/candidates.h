// SPDX-License-Identifier: MIT
// What may be chosen for a region: strategies and knobs, and the name under which a choice is
// remembered.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/lower/lower.h"

namespace camshaft::tune {

struct Choice {
  std::string strategy;
  lower::Knobs knobs;
  bool operator==(const Choice&) const = default;
};

// At most `most` choices, the one that is taken without tuning first, then by the cost models'
// order. One is all where nothing else can do the region well.
std::vector<Choice> candidates(const lower::Task& task, size_t most);

// The choice of that strategy and these knobs (lower::to_string) if this compiler proposes it for
// the region, at any place in its order.
std::optional<Choice> find_candidate(const lower::Task& task, std::string_view strategy,
                                     std::string_view knobs);

// The same for regions that compute the same in the same layouts, whatever their nodes are called
// and whatever their weights hold: 32 hexadecimal digits. Another compiler version may give others.
std::string region_key(const lower::Task& task);

}  // namespace camshaft::tune
