// SPDX-License-Identifier: MIT
// Sends messages of the services that a process publishes.
//
//   auto out = PubMaster::open(transport, {{"controls", "health"}});      // check it: a Result
//   schema::Message message;
//   message.valid = true;
//   message.body = controls;                                              // a schema::Controls
//   const base::Status sent = out->send("controls", message);
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "msgq/schema/codec.h"
#include "msgq/schema/messages.h"
#include "msgq/schema/services.h"
#include "msgq/transport/transport.h"
#include "runtime/base/status.h"

namespace camshaft::services {

// One thread at a time.
class PubMaster {
 public:
  // Load time. kInvalidArgument for a name that is no service (schema/services.toml lists them),
  // and as Transport::open_sender() does. The transport is borrowed.
  static base::Result<PubMaster> open(transport::Transport& transport,
                                      std::span<const std::string_view> services);

  // Sends `message` on `service`, whose name and, where it is 0, the time are filled in. Fails with
  // kInvalidArgument where the service is not one of those opened or its schema has another body,
  // and as Sender::send() does. Allocates nothing for a service's messages of a size but the first.
  // hot path.
  base::Status send(std::string_view service, schema::Message& message) noexcept;
  // Bytes of a message that is made already (see schema::Encoder); they are not looked at. hot
  // path.
  base::Status send_bytes(std::string_view service, base::Bytes message) noexcept;

 private:
  struct Output {
    const schema::Service* service = nullptr;
    size_t body = 0;
    std::unique_ptr<transport::Sender> sender;
    schema::Encoder encoder;
  };
  explicit PubMaster(transport::Transport& transport) : transport_(&transport) {}
  base::Result<Output*> find(std::string_view service) noexcept;

  transport::Transport* transport_;
  std::vector<Output> outputs_;
};

}  // namespace camshaft::services
