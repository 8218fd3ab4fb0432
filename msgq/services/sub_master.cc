// SPDX-License-Identifier: MIT
#include "msgq/services/sub_master.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "msgq/services/known_service.h"
#include "runtime/base/log_ring.h"

namespace camshaft::services {

base::Result<SubMaster> SubMaster::open(transport::Transport& transport,
                                        std::span<const Subscription> subscriptions,
                                        const SubMasterOptions& options) {
  SubMaster master(transport);
  std::vector<transport::Receiver*> wakers;
  const int64_t now_ns = transport.now_ns();
  for (const Subscription& subscription : subscriptions) {
    CAMSHAFT_TRY_ASSIGN(const schema::Service* service, known_service(subscription.service));
    const size_t body = schema::body_index(service->schema);
    const transport::ReceiverOptions receiver_options = {.name = options.name,
                                                         .schema_hash = schema::schema_id(body),
                                                         .conflate = subscription.conflate};
    CAMSHAFT_TRY_ASSIGN(auto receiver,
                        transport.open_receiver(subscription.service, receiver_options));
    if (subscription.wakes) wakers.push_back(receiver.get());
    const double rate_hz = subscription.rate_hz < 0 ? service->rate_hz : subscription.rate_hz;
    Input input = {.subscription = subscription,
                   .body = body,
                   .receiver = std::move(receiver),
                   .timeliness = Timeliness(rate_hz, options.tolerance, now_ns),
                   .state = {},
                   .message = {},
                   .bytes = {}};
    input.subscription.service = service->name;  // which lives for ever
    input.state.name = service->name;
    master.inputs_.push_back(std::move(input));
  }
  if (wakers.empty()) {
    return base::fail(base::Code::kInvalidArgument, "services.sub_master",
                      "a SubMaster needs a service that wakes it");
  }
  CAMSHAFT_TRY_ASSIGN(master.waiter_, transport.make_waiter(wakers));
  for (Input& input : master.inputs_) master.refresh(input, now_ns);
  return master;
}

size_t SubMaster::index(std::string_view service) const {
  const auto found = std::find_if(inputs_.begin(), inputs_.end(), [&](const Input& input) {
    return input.subscription.service == service;
  });
  if (found == inputs_.end()) {
    base::log_failure("'%.*s' is not among the services that this SubMaster was opened with",
                      static_cast<int>(service.size()), service.data());
  }
  CAMSHAFT_CHECK(found != inputs_.end());
  return static_cast<size_t>(found - inputs_.begin());
}

base::Status SubMaster::update(int64_t deadline_ns) noexcept {
  base::Status status;
  bool has_news = false;
  for (Input& input : inputs_) {
    input.state.updated = false;
    input.bytes = {};
  }
  while (status.is_ok() && !has_news) {
    status = waiter_->wait(deadline_ns);
    for (Input& input : inputs_) has_news |= take(input) && input.subscription.wakes;
  }
  updated_ns_ = transport_->now_ns();
  for (Input& input : inputs_) refresh(input, updated_ns_);
  return has_news ? base::ok() : status;
}

// Whether there is news, good or bad.
bool SubMaster::take(Input& input) noexcept {
  ServiceState& state = input.state;
  const base::Result<transport::Received> received = input.receiver->receive();
  const auto reject = [&](const char* problem) {
    state.valid = false;
    state.problem = problem;
    ++state.damaged;
    return true;
  };
  if (!received) {
    const bool is_damaged = received.error().code() == base::Code::kCorrupt;
    return reject(is_damaged ? "its message is damaged" : "its topic can't be read");
  }
  if (!*received) return false;
  const uint64_t before = state.sequence;
  const bool is_next = before != 0 && received->sequence > before;
  input.timeliness.add(received->mono_time_ns, is_next ? received->sequence - before : 1);
  state.sequence = received->sequence;
  state.sent_ns = received->mono_time_ns;
  state.dropped += received->dropped;
  ++state.received;
  if (!schema::decode(received->bytes, input.message).is_ok()) {
    input.message = {};  // a part of one is of no meaning
    return reject("its message is damaged");
  }
  if (input.message.body.index() != input.body) return reject("its message is of another schema");
  input.bytes = received->bytes;
  state.updated = true;
  state.valid = input.message.valid;
  state.problem = "";
  return true;
}

void SubMaster::refresh(Input& input, int64_t now_ns) noexcept {
  Timeliness& timeliness = input.timeliness;
  timeliness.look(now_ns);
  ServiceState& state = input.state;
  state.seen = timeliness.seen();
  state.alive = timeliness.alive();
  state.rate_ok = timeliness.rate_ok();
  state.rate_1s = timeliness.rate_1s();
  state.rate_10s = timeliness.rate_10s();
  state.late = timeliness.late();
  state.last_late = timeliness.last_late();
  state.times_late = timeliness.times_late();
}

bool SubMaster::all_ok() const {
  return std::all_of(inputs_.begin(), inputs_.end(), [](const Input& input) {
    return input.subscription.is_optional || input.state.is_ok();
  });
}

namespace {

std::string complaint_about(const ServiceState& state, const schema::Message& message,
                            int64_t now_ns) {
  char text[256];
  const auto ms = [](int64_t ns) { return static_cast<double>(ns) * 1e-6; };
  const int length = static_cast<int>(state.name.size());
  const char* const name = state.name.data();
  if (state.late) {
    std::snprintf(text, sizeof text, "%.*s is %.0f ms late%s: its message was due %.1f s ago",
                  length, name, ms(state.late.by_ns), state.seen ? "" : " and was never seen",
                  static_cast<double>(now_ns - state.late.since_ns) * 1e-9);
  } else if (!state.seen) {
    std::snprintf(text, sizeof text, "%.*s was never seen", length, name);
  } else if (!state.valid) {
    std::snprintf(text, sizeof text, "%.*s is not valid: %.150s", length, name,
                  *state.problem != 0      ? state.problem
                  : message.reason.empty() ? "no reason given"
                                           : message.reason.c_str());
  } else {
    std::snprintf(text, sizeof text, "%.*s comes %.1f times a second", length, name,
                  state.rate_10s);
  }
  return text;
}

}  // namespace

std::string SubMaster::complaint() const {
  std::vector<const Input*> bad;
  for (const Input& input : inputs_) {
    if (!input.subscription.is_optional && !input.state.is_ok()) bad.push_back(&input);
  }
  std::sort(bad.begin(), bad.end(), [](const Input* a, const Input* b) {
    return a->state.late.by_ns > b->state.late.by_ns;
  });
  std::string text;
  for (const Input* input : bad) {
    text += (text.empty() ? "" : "; ") + complaint_about(input->state, input->message, updated_ns_);
  }
  return text;
}

}  // namespace camshaft::services
