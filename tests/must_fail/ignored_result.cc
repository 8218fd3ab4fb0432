// SPDX-License-Identifier: MIT
// must-fail: ignoring return value of function declared with 'nodiscard'
#include "runtime/base/status.h"

camshaft::base::Result<int> count_cameras();

void start() { count_cameras(); }
