// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "msgq/schema/services.h"
#include "runtime/base/status.h"

namespace camshaft::services {

// kInvalidArgument, with a sentence that lists the services there are. Load time.
base::Result<const schema::Service*> known_service(std::string_view name);

}  // namespace camshaft::services
