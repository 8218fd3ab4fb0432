// SPDX-License-Identifier: MIT
// compile --dump and --print: the compiler's representations as text.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace camshaft::command {

struct Representation {
  std::string title;  // "graph", "graph after fold_constants", "schedule", ...
  std::string text;
};

// Writes FOLDER/00-graph.txt, FOLDER/01-graph-after-fold-constants.txt, ..., making the folder
// where there is none.
base::Status write_representations(const std::string& folder,
                                   const std::vector<Representation>& representations);

// What --print asks for: the last "graph" (after all passes), or every "schedule".
std::string select_representation(const std::string& kind,
                                  const std::vector<Representation>& representations);

}  // namespace camshaft::command
