// SPDX-License-Identifier: MIT
// Ctrl-C as a wish to end, for verbs that go on until then and have something to say at the end.
#pragma once

namespace camshaft::command {

// From now on SIGINT and SIGTERM do not end the process; a second one does.
void catch_interrupts();
// Whether one came.
bool is_interrupted();

}  // namespace camshaft::command
