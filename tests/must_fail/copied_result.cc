// SPDX-License-Identifier: MIT
// must-fail: call to deleted constructor
#include "runtime/base/status.h"

int twice(const camshaft::base::Result<int>& result) {
  camshaft::base::Result<int> copy = result;
  return copy.value() + result.value();
}
