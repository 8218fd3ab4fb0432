// SPDX-License-Identifier: MIT
// must-fail: ignoring return value of function declared with 'nodiscard'
#include "runtime/base/status.h"

camshaft::base::Status open_camera();

void start() { open_camera(); }
