// SPDX-License-Identifier: MIT
// Runs cases on an implementation and writes their outputs: one after the other, or several as one
// model.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tools/reference/implementation.h"

namespace camshaft::reference {

// The last two fields of a case's line (conformance_main.cc): what became of it, a tab, what is
// wrong, where several things are separated by " | ".
std::string run_case(const std::filesystem::path& folder, Implementation& implementation);

// The same for several cases, compiled and run as one model: a string for each. Empty: nothing is
// said of that case, which must be run alone, since not all of them together could be run.
std::vector<std::string> run_cases_together(std::span<const std::filesystem::path> folders,
                                            Implementation& implementation);

}  // namespace camshaft::reference
