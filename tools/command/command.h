// SPDX-License-Identifier: MIT
// The command line as a whole.
#pragma once

namespace camshaft::command {

// Parses the arguments, as main() gets them, does what they say, and returns the exit code:
//   0 ok, 1 fault, 2 usage or bad input, 3 unsupported model, 4 wrong target or device,
//   5 outside tolerance, 6 deadline missed, 7 damaged file.
int run_command(int count, const char* const* arguments);

}  // namespace camshaft::command
