// SPDX-License-Identifier: MIT
// must-fail: cannot use 'throw' with exceptions disabled
#include "runtime/base/status.h"

void start() { throw camshaft::base::Code::kIo; }
