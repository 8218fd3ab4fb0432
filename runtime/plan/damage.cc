// SPDX-License-Identifier: MIT
#include "runtime/plan/damage.h"

#include <cstdarg>
#include <cstdio>

namespace camshaft::plan {

base::Status damaged(const std::string& file, const char* site, const char* format, ...) {
  char what[256];
  va_list args;
  va_start(args, format);
  std::vsnprintf(what, sizeof what, format, args);
  va_end(args);
  return base::fail(base::Code::kCorrupt, site,
                    "%s is damaged: %s; copy the file again or recompile the model", file.c_str(),
                    what);
}

}  // namespace camshaft::plan
