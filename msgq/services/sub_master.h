// SPDX-License-Identifier: MIT
// The newest messages of the services that a process reads, and how they are doing.
//
//   auto in = SubMaster::open(transport, {{{"modelOutput"}, {"vehicleState"}}}, {.name =
//   "controlsd"}); while (running) {
//     (void)in->update(deadline_ns);
//     if (in->state("modelOutput").updated) use(*in->body<schema::ModelOutput>("modelOutput"));
//     if (!in->all_ok()) say(in->complaint());   // which service, how late, since when
//   }
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "msgq/schema/codec.h"
#include "msgq/schema/messages.h"
#include "msgq/schema/services.h"
#include "msgq/services/timeliness.h"
#include "msgq/transport/transport.h"
#include "runtime/base/status.h"

namespace camshaft::services {

struct Subscription {
  std::string_view service;
  bool conflate = true;      // update() takes the newest message; else one after the other
  bool wakes = true;         // its messages end update()'s wait
  bool is_optional = false;  // all_ok() does not ask for it
  double rate_hz = -1;       // that is expected; less than 0: as the table says
};

struct SubMasterOptions {
  std::string name = {};  // for people who look at the topics
  Tolerance tolerance = {};
};

// What is known of a service after an update().
struct ServiceState {
  std::string_view name;
  bool updated = false;      // the last update() brought a message
  bool seen = false;         // there was one ever
  bool alive = false;        // the last one is not too old; on-demand services always are
  bool valid = false;        // its writer says that it may be acted upon, and it could be read
  const char* problem = "";  // why the last message could not be read; static
  bool rate_ok = true;       // over 10 s, within the tolerance
  double rate_1s = 0;
  double rate_10s = 0;
  Lateness late = {};       // now
  Lateness last_late = {};  // the last time that is over
  uint64_t times_late = 0;
  uint64_t sequence = 0;
  int64_t sent_ns = 0;    // on the transport's clock
  uint64_t received = 0;  // messages
  uint64_t dropped = 0;   // messages lost because this reader came too late
  uint64_t damaged = 0;   // messages that could not be read

  bool is_ok() const { return seen && alive && valid && rate_ok && !late; }
};

// One thread at a time.
class SubMaster {
 public:
  // Load time. kInvalidArgument for a name that is no service, and as Transport::open_receiver()
  // does. The transport is borrowed.
  static base::Result<SubMaster> open(transport::Transport& transport,
                                      std::span<const Subscription> subscriptions,
                                      const SubMasterOptions& options);

  // Waits until a service that wakes has a message, then takes what all have. kDeadlineExceeded
  // where none has until `deadline_ns` on the transport's clock: states are up to date all the
  // same. Fails otherwise as Waiter::wait() does. A message that can't be read makes its service
  // invalid. Allocates nothing for a service's messages of a size but the first. hot path.
  base::Status update(int64_t deadline_ns) noexcept;

  size_t size() const { return inputs_.size(); }
  // The service must be one of those opened.
  size_t index(std::string_view service) const;
  const ServiceState& state(size_t index) const { return inputs_[index].state; }
  const ServiceState& state(std::string_view service) const { return state(index(service)); }
  // The newest message, until the next update(); it stays what it was where no newer one could be
  // read: look at state().
  const schema::Message& message(size_t index) const { return inputs_[index].message; }
  const schema::Message& message(std::string_view service) const { return message(index(service)); }
  // Its bytes, where the last update() brought them; else empty.
  base::Bytes bytes(size_t index) const { return inputs_[index].bytes; }
  // Null where nothing was seen yet, or the body is another.
  template <typename Body>
  const Body* body(std::string_view service) const {
    return std::get_if<Body>(&message(service).body);
  }

  // Whether every service that is not optional is_ok().
  bool all_ok() const;
  // A sentence about each service that is not, worst first: "modelOutput is 84 ms late, since 12.3
  // s". Allocates.
  std::string complaint() const;

 private:
  struct Input {
    Subscription subscription;
    size_t body = 0;
    std::unique_ptr<transport::Receiver> receiver;
    Timeliness timeliness;
    ServiceState state;
    schema::Message message;
    base::Bytes bytes;
  };
  explicit SubMaster(transport::Transport& transport) : transport_(&transport) {}
  static bool take(Input& input) noexcept;
  void refresh(Input& input, int64_t now_ns) noexcept;

  transport::Transport* transport_;
  std::vector<Input> inputs_;
  std::unique_ptr<transport::Waiter> waiter_;
  int64_t updated_ns_ = 0;
};

}  // namespace camshaft::services
