// SPDX-License-Identifier: MIT
#pragma once

namespace camshaft::base {

// Of the whole project: what `camshaft --version` prints and plans name as their producer.
inline constexpr const char* kVersion = "0.1.0";

}  // namespace camshaft::base
